/* SPDX-License-Identifier: Apache-2.0 */
/* One user takes all that the limits allow, in one of nine ways (hostile_user.h), while another one
 * makes short calls. The other user loses no call, and its calls take not much longer than beside a
 * process that only computes; the daemon works on no event for more than 5 ms of the processor, and
 * gives back the memory. A virtual machine counts what its host takes away as such time: as long as
 * the longest that passed between two looks of that process at its clock, an event may last more.
 * It takes minutes and needs root: TORUS_TEST_LONG, or TORUS_TEST_HOSTILE_SECONDS (for each kind;
 * 60 without it). An argument names the kinds to try. */
#include "hostile_user.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemons.h"
#include "raw.h"

enum {
    HOSTILE = 65534,
    OTHER = 65533,
    SLICES = 4, /* of an attack: alternately with a process that computes, for half as long and */
    COMPUTE_S = 60, /* at most this in all */
    CALLS_MAX = 1 << 20,
    PAUSE_MS = 2,          /* between two calls */
    FRESH = 50,            /* calls until a new client is tried */
    P99_US = 20000,        /* more than beside the process that computes; */
    MOST_US = 100000,      /* the longest one */
    EVENT_US = 5000,       /* of the processor in one event of the loop; */
    LONGER_S = 120,        /* seconds in which the host may make one longer, */
    EVENT_MOST_US = 20000, /* but not by so much more than it does the other's */
    GROWTH_MB = 20,
    REST_S = 30, /* until the memory is back */
};

/* struct other: the other user's process. */
struct other {
    atomic_bool ends;
    atomic_bool attacked; /* now */
    atomic_uint calls[2]; /* without and with an attack */
    char lost[200];       /* why a call failed; "": none has */
    /* Times of the processor between two looks at the clock of the process that computes: a virtual
     * machine counts what its host takes away. */
    double gap_s;  /* the longest */
    uint32_t gaps; /* longer than EVENT_US */
    double computed_s;
    uint32_t us[2][CALLS_MAX];
};

static double attack_s = 60;
static struct other *other;
static struct hostile *hostile;

static void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

/* ---- the other user ---- */

static bool lost(const char *what, const struct td_reply *reply)
{
    snprintf(other->lost, sizeof other->lost, "%s: %.150s", what,
             reply && reply->text ? reply->text : "the connection has ended");
    return false;
}

static bool join_other(int *fd, uint32_t *group, uint32_t size, const char *name)
{
    struct td_reply reply;
    for (uint32_t i = 0; i < size; i++) {
        struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 2};
        q.u.join.name = name;
        q.u.join.size = size;
        q.u.join.rank = i;
        q.u.join.timeout_ns = -1;
        if ((fd[i] = hostile_open("other")) < 0 || !hostile_send(fd[i], &q, -1))
            return lost("a new client", NULL);
    }
    for (uint32_t i = 0; i < size; i++) {
        reply = (struct td_reply){0};
        if (!hostile_hear(fd[i], &reply) || reply.kind != TD_REPLY_JOINED)
            return lost("a join", &reply);
        group[i] = reply.u.joined.group;
    }
    return true;
}

/* try_anew connects, joins and shares memory as a new process does. */
static bool try_anew(uint32_t number)
{
    char name[40];
    int fd = -1, memory = hostile_memory(1 << 20);
    uint32_t group = 0;
    struct td_reply reply = {0};
    struct td_request q = {
        .kind = TD_REQUEST_REGION, .id = 3, .u.region = {.region = 1, .bytes = 1 << 20}};
    snprintf(name, sizeof name, "new%u", number);
    bool good =
        join_other(&fd, &group, 1, name) &&
        ((hostile_send(fd, &q, memory) && hostile_hear(fd, &reply) && reply.error == TD_OK) ||
         lost("a region", &reply));
    close(fd);
    close(memory);
    return good;
}

static bool barrier(const int *fd, const uint32_t *group, uint64_t sequence)
{
    struct td_reply reply = {0};
    for (uint32_t i = 0; i < 2; i++) {
        struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 10 + sequence};
        q.u.operation.group = group[i];
        q.u.operation.sequence = sequence;
        q.u.operation.timeout_ns = 30 * (int64_t)SECOND;
        q.u.operation.call.kind = TD_KIND_BARRIER;
        if (!hostile_send(fd[i], &q, -1))
            return lost("a call", NULL);
    }
    for (uint32_t i = 0; i < 2; i++)
        if (!hostile_hear(fd[i], &reply) || reply.error != TD_OK)
            return lost("a barrier", &reply);
    return true;
}

static void live(void)
{
    int fd[2];
    uint32_t group[2];
    bool good = join_other(fd, group, 2, "other");
    for (uint64_t n = 0; good && !other->ends; n++) {
        bool attacked = other->attacked;
        double began = seconds();
        good = barrier(fd, group, n);
        uint32_t *calls = (uint32_t *)&other->calls[attacked];
        if (*calls < CALLS_MAX)
            other->us[attacked][(*calls)++] = (uint32_t)((seconds() - began) * 1e6);
        if (good && n % FRESH == FRESH - 1)
            good = try_anew((uint32_t)n);
        poll(NULL, 0, PAUSE_MS);
    }
}

/* ---- processes ---- */

static pid_t begin_process(void (*run)(void), uint32_t uid)
{
    pid_t pid = fork();
    if (pid == 0) {
        hostile_become(uid);
        run();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void end_process(pid_t pid)
{
    int code = 0;
    assert_int_equal(waitpid(pid, &code, 0), pid);
    if (!WIFEXITED(code) || WEXITSTATUS(code) != 0)
        fail_msg("a process of the test ended with %x", (unsigned)code);
}

static const struct hostile_kind *kind;

static void attack(void)
{
    kind->run(hostile);
}

static void compute(void)
{
    struct timespec t;
    double before = 0, now = 0;
    while (seconds() < hostile->until) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
        double gap = before > 0 ? now - before : 0;
        other->gap_s = gap > other->gap_s ? gap : other->gap_s;
        other->gaps += gap * 1e6 > EVENT_US;
        before = now;
    }
    other->computed_s += now;
}

static void run_for(void (*run)(void), double s)
{
    hostile->until = seconds() + s;
    end_process(begin_process(run, HOSTILE));
}

/* ---- the daemon ---- */

static uint64_t memory_mb(void)
{
    char path[64];
    unsigned long pages = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)daemon_pid[0]);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &pages, &resident), 2);
    fclose(f);
    return resident * 4096 >> 20;
}

/* fact reads what the daemon says of itself by a name. */
static void fact(const char *name, char *value, size_t size)
{
    int fd = raw_greeted();
    struct td_request q = {.kind = TD_REQUEST_STATUS, .id = 2};
    q.u.status.section = TD_STATUS_HOST;
    value[0] = '\0';
    do {
        struct td_reply reply = raw_ask(fd, q, -1);
        for (uint32_t i = 0; i < reply.u.status.rows; i++)
            if (strcmp(reply.u.status.row[i].u.fact.name, name) == 0)
                snprintf(value, size, "%s", reply.u.status.row[i].u.fact.value);
        q.u.status.cursor = reply.u.status.next;
    } while (q.u.status.cursor);
    close(fd);
}

static uint64_t fact_number(const char *name)
{
    char text[64];
    fact(name, text, sizeof text);
    return strtoull(text, NULL, 10);
}

/* ---- the test ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* figures sorts the times of calls, and returns their number; it writes p99 and the longest. */
static uint32_t figures(bool attacked, uint32_t *p99, uint32_t *most)
{
    uint32_t n = other->calls[attacked];
    assert_true(n > 0);
    qsort(other->us[attacked], n, sizeof other->us[0][0], by_number);
    *p99 = other->us[attacked][n * (uint64_t)99 / 100];
    *most = other->us[attacked][n - 1];
    return n;
}

static void judge(uint64_t before_mb, uint64_t after_mb)
{
    uint32_t p99[2], most[2], calls[2];
    char of[64], cpu_of[64];
    for (unsigned k = 0; k < 2; k++)
        calls[k] = figures(k, &p99[k], &most[k]);
    fact("event_longest_of", of, sizeof of);
    fact("event_longest_cpu_of", cpu_of, sizeof cpu_of);
    uint64_t longer = fact_number("events_over_5ms");
    uint64_t longest = fact_number("event_longest_cpu") / 1000;
    double may = attack_s / LONGER_S + 4 * other->gaps * attack_s / other->computed_s;
    print_message("%s: %u requests, %u refused; %u calls, p99 %u us (beside the process that "
                  "computes: %u, %u us), longest %u us (%u us); longest event %llu us (%s), of the "
                  "processor %llu us (%s; gap of the other %.0f us), more than 5 ms %llu times "
                  "(%u times in %.0f s); memory %llu MiB, then %llu\n",
                  kind->name, hostile->answered, hostile->refused, calls[1], p99[1], calls[0],
                  p99[0], most[1], most[0], (unsigned long long)fact_number("event_longest") / 1000,
                  of, (unsigned long long)longest, cpu_of, other->gap_s * 1e6,
                  (unsigned long long)longer, other->gaps, other->computed_s,
                  (unsigned long long)before_mb, (unsigned long long)after_mb);
    if (other->lost[0])
        fail_msg("the other user lost %s", other->lost);
    assert_in_range(p99[1], 0, p99[0] + P99_US);
    assert_in_range(most[1], 0, most[0] + MOST_US);
    assert_in_range(longer, 0, 1 + (uint64_t)may);
    assert_in_range(longest, 0, EVENT_MOST_US + (uint64_t)(other->gap_s * 1e6));
    assert_in_range(after_mb, 0, before_mb + GROWTH_MB);
}

static void another_user_is_served_beside_a_hostile_one(void **state)
{
    kind = *state;
    start(1, "");
    assert_int_equal(chmod(folder, 0755), 0);
    memset(other, 0, sizeof *other);
    memset(hostile, 0, sizeof *hostile);
    pid_t process = begin_process(live, OTHER);
    run_for(compute, 1);
    uint64_t before = memory_mb();
    for (int i = 0; i < SLICES && !other->lost[0]; i++) {
        run_for(compute, (attack_s / 2 < COMPUTE_S ? attack_s / 2 : COMPUTE_S) / SLICES);
        other->attacked = true;
        run_for(attack, attack_s / SLICES);
        other->attacked = false;
    }
    double rested = seconds() + REST_S;
    while (seconds() < rested && memory_mb() > before)
        poll(NULL, 0, 100);
    uint64_t after = memory_mb();
    other->ends = true;
    end_process(process);
    judge(before, after);
    stop();
}

int main(int argc, char **argv)
{
    const char *set = getenv("TORUS_TEST_HOSTILE_SECONDS");
    struct CMUnitTest tests[HOSTILE_KINDS];
    size_t count = 0;
    if ((!set && !getenv("TORUS_TEST_LONG")) || getuid() != 0)
        return 77;
    if (set)
        attack_s = strtod(set, NULL);
    other = shared_memory(sizeof *other);
    hostile = shared_memory(sizeof *hostile);
    for (int i = 0; i < HOSTILE_KINDS; i++)
        if (argc < 2 || strstr(hostile_kinds[i].name, argv[1]))
            tests[count++] =
                (struct CMUnitTest){.name = hostile_kinds[i].name,
                                    .test_func = another_user_is_served_beside_a_hostile_one,
                                    .teardown_func = clean_up,
                                    .initial_state = (void *)(uintptr_t)&hostile_kinds[i]};
    return _cmocka_run_group_tests("hostile user", tests, count, NULL, NULL);
}
