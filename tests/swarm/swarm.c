/* SPDX-License-Identifier: Apache-2.0 */
/* torus-swarm: faults drawn from seeds, on simulated machines (docs/simulator.md). */
#include <getopt.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "play.h"
#include "system/standard.h"
#include "system/written.h"

enum { JOBS_MAX = 64, SEED_SECONDS = 60, FAILURES = 5, TEXT_MAX = 1300 };

static const char program[] = "torus-swarm";
static const char usage[] =
    "usage: torus-swarm --seeds N [OPTION]...\n"
    "Plays N seeds. Each draws a machine, jobs, groups, calls and faults. While the faults happen, "
    "results\n"
    "and errors must be right; after them, all calls must end and a new job must work.\n"
    "\n"
    "  --from S          the first seed (default 1)\n"
    "  --jobs J          processes (default 1)\n"
    "  --skip KIND,...   without the faults of these kinds: process, daemon, silence, pause, "
    "reset,\n"
    "                    one-way, slow, partition, timed-out, corrupt, duplicate, memory, compute\n"
    "  --without I,...   without these faults of the seed, which a failure numbers from 0\n"
    "  --failures N      end after so many seeds have failed (default 5)\n"
    "  --digest          print a hash of all replies of each seed, to compare two builds\n"
    "  --json            print the summary as JSON\n"
    "  --trace FILE      write one line for every event\n";

/* struct worker: a process that plays seeds, in memory that it shares with its parent. */
struct worker {
    int err; /* what it writes to standard error */
    uint64_t seed, seeds;
    struct swarm_report sum;
    char text[TEXT_MAX];
};

/* struct shared: memory of all processes. */
static struct shared {
    _Atomic uint64_t next;
    struct worker worker[JOBS_MAX + 1]; /* the last one repeats failures */
} * shared;

static struct swarm_options_all {
    uint64_t seeds, from, failures;
    uint32_t jobs, skip, without;
    bool json, digest;
    const char *trace;
} options = {.from = 1, .failures = FAILURES, .jobs = 1};

static pid_t pids[JOBS_MAX]; /* of the workers */
static struct worker *self;  /* in a worker: its record */

/* ---- in a worker ---- */

static void fail(const char *text)
{
    snprintf(self->text, sizeof self->text, "%s", text);
    _exit(1);
}

static void add(struct swarm_report *sum, const struct swarm_report *r)
{
    for (int k = 0; k < SWARM_FAULT_KINDS; k++)
        sum->happened[k] += r->happened[k];
    sum->events += r->events;
    sum->calls += r->calls;
    sum->good += r->good;
    sum->groups += r->groups;
    sum->shrinks += r->shrinks;
    sum->end += r->end;
    sum->digest += r->digest;
}

static uint32_t skipped(const struct swarm_case *c)
{
    uint32_t without = 0;
    for (uint32_t i = 0; i < c->faults; i++)
        without |= (options.skip >> c->fault[i].kind & 1u) << i;
    return without;
}

static void play(uint64_t seed, uint32_t without, FILE *trace)
{
    struct swarm_case c;
    struct swarm_report report;
    struct itimerval limit = {.it_value.tv_sec = SEED_SECONDS};
    self->seed = seed;
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
    swarm_draw(&c, seed);
    swarm_play(&c, without | skipped(&c), trace, &report, fail);
    add(&self->sum, &report);
    if (options.digest && !options.json)
        dprintf(STDOUT_FILENO, "%llu %016llx\n", (unsigned long long)seed,
                (unsigned long long)report.digest);
    self->seeds++;
}

static void begin_worker(struct worker *w)
{
    self = w;
    w->text[0] = 0;
    if (ftruncate(w->err, 0) || lseek(w->err, 0, SEEK_SET) || dup2(w->err, STDERR_FILENO) < 0)
        _exit(2);
}

static void work(struct worker *w)
{
    begin_worker(w);
    FILE *trace = options.trace ? fopen(options.trace, "a") : NULL;
    if (trace)
        setvbuf(trace, NULL, _IOLBF, 0); /* a crash loses nothing */
    for (uint64_t i = 0; (i = atomic_fetch_add(&shared->next, 1)) < options.seeds;)
        play(options.from + i, options.without, trace);
    if (trace)
        fclose(trace);
    _exit(0);
}

/* ---- in the parent ---- */

/* explain completes the text of a worker that ended: an assertion, or a signal. */
static void explain(struct worker *w, int status)
{
    char said[400] = "";
    if (w->text[0])
        return;
    ssize_t size = pread(w->err, said, sizeof said - 1, 0);
    said[size > 0 ? size : 0] = 0;
    said[strcspn(said, "\n")] = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGVTALRM)
        snprintf(w->text, sizeof w->text, "no end: it computes for more than %d s", SEED_SECONDS);
    else
        snprintf(w->text, sizeof w->text, "crash (%s %d): %s",
                 WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), said);
}

static void spawn(struct worker *w)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        work(w);
    pids[w - shared->worker] = pid;
}

/* fails returns true if a seed fails without some faults. */
static bool fails(uint64_t seed, uint32_t without, char *text)
{
    struct worker *w = &shared->worker[JOBS_MAX];
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        begin_worker(w);
        play(seed, without, NULL);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    if (status == 0)
        return false;
    explain(w, status);
    snprintf(text, TEXT_MAX, "%s", w->text);
    return true;
}

/* minimize removes faults as long as the seed still fails. */
static uint32_t minimize(const struct swarm_case *c, uint32_t without, char *text)
{
    for (bool fewer = true; fewer;) {
        fewer = false;
        for (uint32_t i = 0; i < c->faults; i++) {
            uint32_t less = without | 1u << i;
            if (less != without && fails(c->seed, less, text)) {
                without = less;
                fewer = true;
            }
        }
    }
    return without;
}

static void print_case(const struct swarm_case *c, uint32_t without)
{
    char text[200];
    printf("  shape %s, %s fabric, express %u, packets of %u, carries %u, %u credits, "
           "%u ranks, %u steps, %u groups, latency %llu ns\n",
           c->shape, c->routed ? "routed" : "direct", c->express_permille, c->packet_bytes,
           c->carry_bytes, c->credits, c->ranks, c->steps, c->groups,
           (unsigned long long)c->latency_ns);
    for (uint32_t i = 0; i < c->faults; i++)
        if (!(without >> i & 1)) {
            swarm_print_fault(&c->fault[i], text, sizeof text);
            printf("  fault %u: %s\n", i, text);
        }
}

static void print_command(const struct swarm_case *c, uint32_t without)
{
    printf("build/bin/torus-swarm --seeds 1 --from %llu", (unsigned long long)c->seed);
    for (uint32_t i = 0, some = 0; i < c->faults; i++)
        if (without >> i & 1)
            printf("%s%u", some++ ? "," : " --without ", i);
}

/* print_text prints a text as a part of a string of JSON. */
static void print_text(const char *text)
{
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar((unsigned char)*text < ' ' ? ' ' : *text);
}

static void report_failure(uint64_t seed, const char *first, uint64_t number)
{
    struct swarm_case c;
    char text[TEXT_MAX];
    swarm_draw(&c, seed);
    uint32_t without = options.without | skipped(&c);
    bool again = fails(seed, without, text);
    if (again)
        without = minimize(&c, without, text);
    else
        snprintf(text, sizeof text, "%s (not when it is repeated alone)", first);
    if (options.json) {
        printf("%s\n  {\"seed\": %llu, \"text\": \"", number ? "," : "", (unsigned long long)seed);
        print_text(text);
        printf("\", \"command\": \"");
        print_command(&c, without);
        printf("\"}");
        return;
    }
    printf("seed %llu failed: %s\n", (unsigned long long)seed, text);
    print_case(&c, without);
    printf("to repeat: ");
    print_command(&c, without);
    printf("\n");
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* processor_seconds returns the processor time of all workers that have ended. */
static double processor_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void print_summary(double time, uint64_t failed)
{
    struct swarm_report sum = {0};
    uint64_t seeds = 0;
    for (uint32_t i = 0; i < options.jobs; i++) {
        add(&sum, &shared->worker[i].sum);
        seeds += shared->worker[i].seeds;
    }
    double each = seeds ? processor_seconds() * 1000 / (double)seeds : 0;
    printf(
        options.json
            ? "],\n\"seeds\": %llu, \"failed\": %llu, \"seconds\": %.1f, "
              "\"processor_ms_per_seed\": %.1f,\n"
              "\"events\": %llu, \"virtual_seconds\": %.0f, \"calls\": %llu, \"replies_good\": "
              "%llu, \"groups\": %llu, \"shrinks\": %llu,\n\"faults\": {"
            : "%llu seeds passed, %llu failed, %.1f s, %.1f ms of processor time a seed\n"
              "  %llu events in %.0f s of virtual time; %llu calls, %llu good replies, %llu groups "
              "made, %llu shrinks\n  faults:",
        (unsigned long long)seeds, (unsigned long long)failed, time, each,
        (unsigned long long)sum.events, (double)sum.end / 1e9, (unsigned long long)sum.calls,
        (unsigned long long)sum.good, (unsigned long long)sum.groups,
        (unsigned long long)sum.shrinks);
    for (int k = 0; k < SWARM_FAULT_KINDS; k++)
        printf(options.json ? "%s\"%s\": %u" : "%s %s %u", k ? "," : "",
               swarm_fault_name((enum swarm_fault_kind)k), sum.happened[k]);
    if (options.digest)
        printf(options.json ? "}, \"digest\": \"%016llx\"}\n" : "\n  digest %016llx\n",
               (unsigned long long)sum.digest);
    else
        printf(options.json ? "}}\n" : "\n");
}

/* reap waits for a worker that ended. It returns NULL when none is left. */
static struct worker *reap(int *status)
{
    pid_t pid = wait(status);
    for (uint32_t i = 0; i < options.jobs; i++)
        if (pid > 0 && pids[i] == pid)
            return &shared->worker[i];
    return NULL;
}

static uint64_t play_all(void)
{
    uint64_t failed = 0;
    int status = 0;
    for (uint32_t i = 0; i < options.jobs; i++)
        spawn(&shared->worker[i]);
    for (struct worker *w; (w = reap(&status));) {
        if (status == 0)
            continue;
        explain(w, status);
        char text[TEXT_MAX];
        snprintf(text, sizeof text, "%s", w->text);
        report_failure(w->seed, text, failed++);
        if (failed >= options.failures)
            atomic_store(&shared->next, options.seeds);
        spawn(w);
    }
    return failed;
}

/* ---- options ---- */

static bool read_number(const char *text, uint64_t *number)
{
    char *end = NULL;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end;
}

static bool read_list(char *text, bool kinds, uint32_t *bits)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        uint64_t number = 32;
        for (int k = 0; kinds && k < SWARM_FAULT_KINDS; k++)
            if (strcmp(word, swarm_fault_name((enum swarm_fault_kind)k)) == 0)
                number = (uint64_t)k;
        if ((!kinds && !read_number(word, &number)) || number >= 32) {
            fprintf(stderr, "torus-swarm: unknown %s: %s\n", kinds ? "kind" : "fault", word);
            return false;
        }
        *bits |= 1u << number;
    }
    return true;
}

static bool read_option(int name)
{
    uint64_t number = 0;
    switch (name) {
    case 'k':
        return read_list(optarg, true, &options.skip);
    case 'w':
        return read_list(optarg, false, &options.without);
    case 'd':
        options.digest = true;
        return true;
    case 'j':
        options.json = true;
        return true;
    case 't':
        options.trace = optarg;
        return true;
    case 'n':
        return read_number(optarg, &options.seeds);
    case 'f':
        return read_number(optarg, &options.from);
    case 'm':
        return read_number(optarg, &options.failures);
    case 'p':
        if (!read_number(optarg, &number) || number < 1 || number > JOBS_MAX)
            return false;
        options.jobs = (uint32_t)number;
        return true;
    default:
        return false;
    }
}

static int run(int argc, char **argv)
{
    static const struct option names[] = {{"seeds", 1, 0, 'n'},
                                          {"from", 1, 0, 'f'},
                                          {"jobs", 1, 0, 'p'},
                                          {"skip", 1, 0, 'k'},
                                          {"without", 1, 0, 'w'},
                                          {"json", 0, 0, 'j'},
                                          {"failures", 1, 0, 'm'},
                                          {"trace", 1, 0, 't'},
                                          {"help", 0, 0, 'h'},
                                          {"digest", 0, 0, 'd'},
                                          {0}};
    for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (name == 'h')
            return fputs(usage, stdout) < 0;
        if (!read_option(name)) {
            fputs(usage, stderr);
            return 2;
        }
    }
    if (optind != argc || options.seeds == 0) {
        fputs(usage, stderr);
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = 0; i <= JOBS_MAX; i++) {
        if (shared != MAP_FAILED && i > options.jobs && i < JOBS_MAX)
            continue;
        if (shared == MAP_FAILED || (shared->worker[i].err = memfd_create("swarm", 0)) < 0) {
            fprintf(stderr, "torus-swarm: no memory\n");
            return 1;
        }
    }
    if (options.trace && /* each worker appends to it */
        !td_written_close(fopen(options.trace, "we"), program, options.trace))
        return 1;
    if (options.json)
        printf("{\"from\": %llu, \"failures\": [", (unsigned long long)options.from);
    double begin = seconds();
    uint64_t failed = play_all();
    print_summary(seconds() - begin, failed);
    return failed > 0;
}

int main(int argc, char **argv)
{
    td_standard_start();
    return td_written_end(program, run(argc, argv));
}
