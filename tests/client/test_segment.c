/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking calls of ranks on one node, each rank a process: they need no request, and are the same
 * as requests in all else. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "players.h"
#include "random.h"

enum { CASES = 250, COUNTS = 5000 /* beyond the longest line */ };

/* ---- results ---- */

/* struct trial: a random call, the same on all ranks. */
struct trial {
    int kind, type, op;
    size_t count;
    uint32_t root;
    bool in_place;
};

static struct trial draw(uint64_t *random)
{
    static const int types[] = {TORUS_DOUBLE, TORUS_FLOAT,       TORUS_INT32,
                                TORUS_HALF,   TORUS_LONG_DOUBLE, TORUS_COMPLEX_DOUBLE};
    static const int ops[] = {TORUS_SUM, TORUS_PROD};
    struct trial t = {.kind = (int)random_below(random, 10),
                      .type = types[random_below(random, 6)],
                      .op = ops[random_below(random, 2)],
                      .count = (size_t)random_below(random, COUNTS),
                      .root = (uint32_t)random_below(random, PLAYERS)};
    static const uint64_t most[] = {20, 300, COUNTS};
    t.count %= most[random_below(random, 3)];
    t.in_place = random_below(random, 3) == 0;
    return t;
}

/* make makes a call; `request` NULL: it waits. */
static int make(torus_group *g, const struct trial *t, void *from, void *to,
                torus_request **request)
{
    const void *s = t->in_place ? TORUS_IN_PLACE : from;
    const void *at_root = t->in_place && torus_rank(g) == t->root ? TORUS_IN_PLACE : from;
    switch (t->kind) {
    case 0:
        return request ? torus_ibarrier(g, request) : torus_barrier(g);
    case 1:
        return request ? torus_ibroadcast(g, to, t->count, t->type, t->root, request)
                       : torus_broadcast(g, to, t->count, t->type, t->root);
    case 2:
        return request ? torus_ireduce(g, at_root, to, t->count, t->type, t->op, t->root, request)
                       : torus_reduce(g, at_root, to, t->count, t->type, t->op, t->root);
    case 3:
        return request ? torus_iallreduce(g, s, to, t->count, t->type, t->op, request)
                       : torus_allreduce(g, s, to, t->count, t->type, t->op);
    case 4:
        return request ? torus_iscan(g, s, to, t->count, t->type, t->op, request)
                       : torus_scan(g, s, to, t->count, t->type, t->op);
    case 5:
        return request ? torus_iexscan(g, s, to, t->count, t->type, t->op, request)
                       : torus_exscan(g, s, to, t->count, t->type, t->op);
    case 6:
        return request ? torus_igather(g, at_root, to, t->count, t->type, t->root, request)
                       : torus_gather(g, at_root, to, t->count, t->type, t->root);
    case 7:
        return request ? torus_iallgather(g, s, to, t->count, t->type, request)
                       : torus_allgather(g, s, to, t->count, t->type);
    case 8:
        return request ? torus_ialltoall(g, s, to, t->count, t->type, request)
                       : torus_alltoall(g, s, to, t->count, t->type);
    default:
        return request ? torus_ireduce_scatter(g, s, to, t->count, t->type, t->op, request)
                       : torus_reduce_scatter(g, s, to, t->count, t->type, t->op);
    }
}

static void fill(uint8_t *memory, size_t bytes, uint32_t rank, uint64_t seed)
{
    /* numbers near 1 of every type that has a sign, an exponent and a fraction */
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (uint8_t)(random_at(rank, i, seed) + 50);
}

/* compare makes random calls twice: in one group as this rank likes, in the other by request. */
static void compare(uint32_t rank)
{
    enum { ROOM = PLAYERS * COUNTS * 16 };
    torus_group *other = NULL;
    uint64_t common = 7, own = rank + 100;
    static uint8_t plain[ROOM + 1], to[2][ROOM + 1]; /* one more: some buffers are unaligned */
    uint8_t *shared = torus_alloc(context, ROOM), *lent = torus_alloc(context, ROOM);
    WELL(torus_dup(world, &other));
    for (uint64_t i = 0; i < CASES; i++) {
        struct trial t = draw(&common);
        torus_request *request = NULL, *second = NULL;
        uint8_t *from = random_below(&own, 2) ? lent : plain + random_below(&own, 2);
        uint8_t *result = random_below(&own, 3) == 0 ? shared : to[0] + random_below(&own, 2);
        fill(from, ROOM, rank, i);
        fill(to[1], ROOM, rank, i + 1000);
        memcpy(result, to[1], ROOM);
        if (random_below(&own, 20) == 0)
            WELL(make(world, &t, from, result, &second));
        else
            WELL(make(world, &t, from, result, NULL));
        WELL(make(other, &t, from, to[1], &request));
        if (second)
            WELL(torus_wait(second, 20 * (int64_t)SECOND));
        WELL(torus_wait(request, 20 * (int64_t)SECOND));
        if (t.type == TORUS_LONG_DOUBLE) /* its padding is undefined */
            for (size_t k = 0; k < ROOM; k++)
                if (k % 16 >= 10)
                    result[k] = to[1][k] = 0;
        if (memcmp(result, to[1], ROOM) != 0) {
            fprintf(stderr, "rank %u, case %d: kind %d type %d count %zu root %u in place %d\n",
                    rank, (int)i, t.kind, t.type, t.count, t.root, t.in_place);
            _exit(1);
        }
    }
    WELL(torus_barrier(world));
    torus_close(context);
}

static void results_are_those_of_requests(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, compare);
    finish(PLAYERS);
    stop();
}

static void results_are_the_same_without_segments(void **state)
{
    (void)state;
    start(1, "[node]\nsegments = no\n");
    begin(PLAYERS, compare);
    finish(PLAYERS);
    stop();
}

/* ---- endings ---- */

/* count_barriers makes barriers until one fails, and reports the failure. */
static void count_barriers(uint32_t rank)
{
    int error = TORUS_OK;
    told->ready++;
    while ((error = torus_barrier(world)) == TORUS_OK)
        told->calls[rank]++;
    report(rank, error);
    await(&told->go, 1);
}

/* count_long makes long calls until one fails, and reports the failure. */
static void count_long(uint32_t rank)
{
    enum { COUNT = 1 << 16 };
    int error = TORUS_OK;
    double *from = torus_alloc(context, COUNT * sizeof *from),
           *to = torus_alloc(context, COUNT * sizeof *to);
    told->ready++;
    for (bool other = false; error == TORUS_OK; other = !other) {
        error = other ? torus_alltoall(world, from, to, COUNT / PLAYERS, TORUS_DOUBLE)
                      : torus_allreduce(world, from, to, COUNT, TORUS_DOUBLE, TORUS_SUM);
        told->calls[rank] += error == TORUS_OK;
    }
    report(rank, error);
    await(&told->go, 1);
}

static void a_killed_rank_ends_the_calls_of_the_others(void **state)
{
    (void)state;
    start(1, "");
    for (unsigned round = 0; round < 12; round++) {
        uint32_t victim = round % PLAYERS;
        begin(PLAYERS, round % 2 ? count_long : count_barriers);
        await(&told->ready, PLAYERS);
        await(&told->calls[victim], 100);
        pause_ms(1 + round * 3);
        kill_player(victim);
    }
    stop();
}

static void calls_end_when_the_daemon_is_killed(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, count_barriers);
    await(&told->calls[0], 100);
    double since = seconds();
    kill(daemon_pid[0], SIGKILL);
    waitpid(daemon_pid[0], NULL, 0);
    daemon_pid[0] = 0;
    assert_ended(PLAYERS, since, TORUS_ERR_SHUTDOWN, "the daemon has stopped");
    told->go = 1;
    finish(PLAYERS);
}

static void calls_end_when_the_daemon_is_stopped(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, count_barriers);
    await(&told->calls[0], 100);
    double since = seconds();
    kill(daemon_pid[0], SIGTERM);
    for (uint32_t r = 0; r < PLAYERS; r++) {
        while (told->error[r] == TORUS_OK && seconds() < since + 10)
            pause_ms(1);
        assert_int_not_equal(told->error[r], TORUS_OK);
        assert_true(told->at[r] < since + 1);
    }
    told->go = 1;
    finish(PLAYERS);
    assert_int_equal(waitpid(daemon_pid[0], NULL, 0), daemon_pid[0]);
    daemon_pid[0] = 0;
}

static void leave_after_some(uint32_t rank)
{
    int error = TORUS_OK;
    for (int i = 0; i < 50; i++)
        WELL(torus_barrier(world));
    if (rank == 2) {
        told->at[2] = seconds();
        torus_close(context);
        return;
    }
    while ((error = torus_barrier(world)) == TORUS_OK)
        continue;
    report(rank, error);
}

static void a_rank_that_leaves_ends_the_calls_of_the_others(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, leave_after_some);
    await(&told->ready, 0);
    double since = seconds();
    assert_ended(2, since + 1, TORUS_ERR_RANK_FAILED, "rank 2 has left job job");
    finish(PLAYERS);
    stop();
}

/* go_on makes calls of several kinds until the test says that it is enough. */
static void go_on(uint32_t rank)
{
    enum { COUNT = 1 << 15 };
    int64_t all[PLAYERS], own = rank, sum = 0, over = 0, late = 0;
    int64_t *numbers = torus_alloc(context, COUNT * sizeof *numbers),
            *sums = torus_alloc(context, COUNT * sizeof *sums);
    told->ready++;
    while (!over) {
        late = told->go;
        WELL(torus_allreduce(world, &late, &over, 1, TORUS_INT64, TORUS_MAX));
        WELL(torus_allgather(world, &own, all, 1, TORUS_INT64));
        WELL(torus_scan(world, &own, &sum, 1, TORUS_INT64, TORUS_SUM));
        for (int64_t r = 0; r < PLAYERS; r++)
            HOLDS(all[r] == r);
        HOLDS(sum == own * (own + 1) / 2);
        for (int64_t i = 0; i < COUNT; i++)
            numbers[i] = own + i;
        WELL(torus_allreduce(world, numbers, sums, COUNT, TORUS_INT64, TORUS_SUM));
        WELL(torus_allreduce(world, TORUS_IN_PLACE, numbers, COUNT, TORUS_INT64, TORUS_SUM));
        for (int64_t i = 0; i < COUNT; i++)
            HOLDS(sums[i] == PLAYERS * (PLAYERS - 1) / 2 + PLAYERS * i && numbers[i] == sums[i]);
        told->calls[rank]++;
    }
    WELL(torus_barrier(world));
    torus_close(context);
}

static void a_stopped_rank_is_waited_for(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, go_on);
    await(&told->ready, PLAYERS);
    for (uint32_t round = 0; round < 20; round++) {
        pid_t one = player[round % PLAYERS];
        uint32_t before = told->calls[0];
        kill(one, SIGSTOP);
        pause_ms(round % 2 ? 2 : 60); /* shorter and longer than the others wait in the segment */
        kill(one, SIGCONT);
        await(&told->calls[0], before + 20);
    }
    told->go = 1;
    finish(PLAYERS);
    stop();
}

static void fork_a_child(uint32_t rank)
{
    enum { COUNT = 1 << 17 };
    int code = 0;
    uint8_t *memory = torus_alloc(context, COUNT);
    WELL(torus_broadcast(world, memory, COUNT, TORUS_UINT8, 1));
    WELL(torus_barrier(world));
    pid_t child = fork();
    HOLDS(child >= 0);
    if (child == 0) {
        int64_t value = rank;
        bool good = torus_barrier(world) == TORUS_ERR_FORKED &&
                    torus_allreduce(world, TORUS_IN_PLACE, &value, 1, TORUS_INT64, TORUS_SUM) ==
                        TORUS_ERR_FORKED;
        torus_close(context);
        _exit(good ? 0 : 1);
    }
    HOLDS(waitpid(child, &code, 0) == child && code == 0);
    WELL(torus_broadcast(world, memory, COUNT, TORUS_UINT8, 1));
    WELL(torus_barrier(world));
    torus_close(context);
}

static void a_child_makes_no_calls(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, fork_a_child);
    finish(PLAYERS);
    stop();
}

static void call_something_else(uint32_t rank)
{
    int64_t value = rank;
    for (int i = 0; i < 5; i++)
        WELL(torus_barrier(world));
    double before = seconds();
    int error = rank == 1
                    ? torus_allreduce(world, TORUS_IN_PLACE, &value, 1, TORUS_INT64, TORUS_SUM)
                    : torus_barrier(world);
    HOLDS(error == TORUS_ERR_MISMATCH && seconds() < before + 1);
    HOLDS(strstr(torus_last_error(context), "barrier") &&
          strstr(torus_last_error(context), "rank 1 called allreduce(sum, int64, 1)") &&
          strstr(torus_last_error(context), "as operation 5 of job job"));
    for (int i = 0; i < 5; i++) /* the group goes on */
        WELL(torus_barrier(world));
    static uint8_t large[1 << 16];
    error = rank == 3 ? torus_broadcast(world, large, sizeof large, TORUS_BYTE, 3)
                      : torus_barrier(world);
    HOLDS(error == TORUS_ERR_MISMATCH);
    HOLDS(strstr(torus_last_error(context), "rank 3 called broadcast"));
    for (int i = 0; i < 5; i++)
        WELL(torus_barrier(world));
    WELL(torus_barrier(world));
}

static void different_calls_are_named(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, call_something_else);
    finish(PLAYERS);
    stop();
}

static void time_out(uint32_t rank)
{
    static const int64_t limit[] = {0, 10000000, 100000000};
    for (int i = 0; i < 3; i++) {
        WELL(torus_barrier(world));
        WELL(torus_set_timeout(world, limit[i]));
        double before = seconds();
        int error = rank == 3 ? TORUS_OK : torus_barrier(world);
        double took = seconds() - before;
        if (rank == 3) {
            while (told->ready < (PLAYERS - 1) * (uint32_t)(i + 1))
                pause_ms(1);
            HOLDS(torus_barrier(world) == TORUS_ERR_TIMEOUT);
        } else {
            HOLDS(error == TORUS_ERR_TIMEOUT && strstr(torus_last_error(context), "rank 3"));
            HOLDS(took < 10 && took > 1e-9 * (double)limit[i] * 0.9);
            told->ready++;
        }
        WELL(torus_set_timeout(world, -1));
    }
    WELL(torus_barrier(world));
}

static void time_limits_hold(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, time_out);
    finish(PLAYERS);
    stop();
}

/* ---- waiting ---- */

static void be_late(uint32_t rank)
{
    struct rusage before, after;
    for (int i = 0; i < 10; i++)
        WELL(torus_barrier(world));
    getrusage(RUSAGE_SELF, &before);
    if (rank == 0)
        pause_ms(2000);
    told->ready++;
    WELL(torus_barrier(world));
    getrusage(RUSAGE_SELF, &after);
    double used = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                  (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
                  1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) +
                  1e-6 * (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec);
    HOLDS(used < 0.02);
}

static void ranks_that_wait_sleep_and_late_ones_are_listed(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, be_late);
    await(&told->ready, PLAYERS - 1);
    pause_ms(900);
    char command[300], line[300];
    bool names = false, counts = false;
    snprintf(command, sizeof command, TORUSCTL " ops --socket %s/s0", folder);
    FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c): the command is the test's own */
    while (f && fgets(line, sizeof line, f)) {
        names = names || strstr(line, "missing   0");
        counts = counts || strstr(line, "number 10");
    }
    pclose(f);
    assert_true(names && counts);
    finish(PLAYERS);
    stop();
}

/* ---- one context in several threads, and several groups ---- */

struct pair {
    torus_group *group;
    uint32_t rank;
    int way;
};

static void *call_many(void *argument)
{
    const struct pair *p = argument;
    for (int i = 0; i < 300; i++) {
        int64_t sum = 0, own = (int64_t)p->rank + i;
        torus_request *r = NULL;
        if (i % 7 == p->way &&
            torus_iallreduce(p->group, &own, &sum, 1, TORUS_INT64, TORUS_SUM, &r) != TORUS_OK)
            return "cannot start";
        int error = r ? torus_wait(r, 20 * (int64_t)SECOND)
                      : torus_allreduce(p->group, &own, &sum, 1, TORUS_INT64, TORUS_SUM);
        if (error != TORUS_OK || sum != 6 + 4 * i)
            return "wrong sum";
    }
    return NULL;
}

/* share calls in two groups from two threads at the same time; the ranks begin in different
 * orders. */
static void share(uint32_t rank)
{
    char path[128];
    torus_group *second = NULL;
    pthread_t thread[2];
    snprintf(path, sizeof path, "%s/s0", folder);
    const struct torus_open_options o = {.size = sizeof o, .socket = path, .threads = 1};
    struct torus_join_options j = as(PLAYERS, (int32_t)rank);
    j.name = "threads";
    torus_close(context);
    WELL(torus_open(&context, &o));
    WELL(torus_join(context, &j, &world));
    WELL(torus_dup(world, &second));
    struct pair pair[2] = {{world, rank, (int)rank}, {second, rank, 3}};
    for (uint32_t i = 0; i < 2; i++)
        HOLDS(pthread_create(&thread[i], NULL, call_many, &pair[(i + rank) % 2]) == 0);
    for (uint32_t i = 0; i < 2; i++) {
        void *wrong = NULL;
        pthread_join(thread[i], &wrong);
        if (wrong)
            fprintf(stderr, "rank %u: %s\n", rank, (const char *)wrong);
        HOLDS(!wrong);
    }
    WELL(torus_barrier(world));
    torus_close(context);
}

static void threads_share_a_context(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, share);
    finish(PLAYERS);
    stop();
}

static void make_groups(uint32_t rank)
{
    for (int round = 0; round < 8; round++) {
        torus_group *half = NULL, *same = NULL;
        torus_persistent *p = NULL;
        torus_request *r = NULL;
        int64_t sum = 0, own = rank;
        WELL(torus_split(world, (int32_t)(rank % 2), round, &half));
        WELL(torus_dup(half, &same));
        WELL(torus_allreduce_init(same, &own, &sum, 1, TORUS_INT64, TORUS_SUM, &p));
        for (int i = 0; i < 10; i++) {
            WELL(torus_barrier(half));
            WELL(torus_allreduce(same, &own, &sum, 1, TORUS_INT64, TORUS_SUM));
            HOLDS(sum == 2 + 2 * (rank % 2));
            sum = 0;
            WELL(torus_persistent_start(p, &r));
            WELL(torus_barrier(same));
            WELL(torus_wait(r, 20 * (int64_t)SECOND));
            HOLDS(sum == 2 + 2 * (rank % 2));
        }
        WELL(torus_persistent_free(p));
        WELL(torus_barrier(world));
        WELL(torus_group_free(same));
        WELL(torus_group_free(half));
    }
    WELL(torus_barrier(world));
    torus_close(context);
}

static void groups_have_segments_of_their_own(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, make_groups);
    finish(PLAYERS);
    stop();
}

/* ---- a hostile rank ---- */

/* find_segment returns the mapping of a segment of this process. */
static uint8_t *find_segment(size_t *bytes)
{
    char line[400];
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "torus segment")) {
            unsigned long from = 0, to = 0;
            HOLDS(sscanf(line, "%lx-%lx", &from, &to) == 2);
            fclose(f);
            *bytes = to - from;
            return (uint8_t *)from;
        }
    HOLDS(!"a segment");
    return NULL;
}

/* corrupt writes random bytes into the segment of its own job; the others call on. All of them may
 * fail, but the daemon and the other job must not. */
static void corrupt(uint32_t rank)
{
    uint64_t random = 5;
    size_t bytes = 0;
    uint8_t *memory = find_segment(&bytes);
    double end = seconds() + 2;
    int64_t own = 1, sum = 0;
    enum { COUNT = 1 << 14 };
    int64_t *many = torus_alloc(context, 2 * COUNT * sizeof *many);
    while (seconds() < end) {
        if (rank > 0) {
            torus_set_timeout(world, 10000000);
            torus_allreduce(world, &own, &sum, 1, TORUS_INT64, TORUS_SUM);
            torus_allreduce(world, many, many + COUNT, COUNT, TORUS_INT64, TORUS_SUM);
            continue;
        }
        for (int i = 0; i < 1000; i++) {
            size_t most = random_below(&random, 2) ? 1024 : bytes;
            memory[random_below(&random, most)] = (uint8_t)random_below(&random, 256);
        }
    }
}

static void a_rank_that_corrupts_its_segment_harms_its_own_job_only(void **state)
{
    (void)state;
    torus_context *c = NULL;
    start(1, "[node]\nsegments = yes\n");
    pid_t other[2];
    for (uint32_t r = 0; r < 2; r++)
        if ((other[r] = fork()) == 0) {
            alarm(60);
            open_and_join("other", r, 2);
            for (double end = seconds() + 2.5; seconds() < end;) {
                int64_t own = 1, sum = 0, over = 0, late = seconds() > end - 0.2;
                for (int i = 0; i < 100; i++) {
                    WELL(torus_allreduce(world, &own, &sum, 1, TORUS_INT64, TORUS_SUM));
                    HOLDS(sum == 2);
                }
                WELL(torus_allreduce(world, &late, &over, 1, TORUS_INT64, TORUS_MAX));
                if (over)
                    break;
            }
            _exit(GOOD);
        }
    begin(PLAYERS, corrupt);
    finish(PLAYERS);
    for (uint32_t r = 0; r < 2; r++) {
        int code = 0;
        waitpid(other[r], &code, 0);
        assert_true(WIFEXITED(code) && WEXITSTATUS(code) == GOOD);
    }
    c = open_at(0);
    torus_close(c);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(results_are_those_of_requests, clean_up),
        cmocka_unit_test_teardown(results_are_the_same_without_segments, clean_up),
        cmocka_unit_test_teardown(a_killed_rank_ends_the_calls_of_the_others, clean_up),
        cmocka_unit_test_teardown(calls_end_when_the_daemon_is_killed, clean_up),
        cmocka_unit_test_teardown(calls_end_when_the_daemon_is_stopped, clean_up),
        cmocka_unit_test_teardown(a_rank_that_leaves_ends_the_calls_of_the_others, clean_up),
        cmocka_unit_test_teardown(a_stopped_rank_is_waited_for, clean_up),
        cmocka_unit_test_teardown(a_child_makes_no_calls, clean_up),
        cmocka_unit_test_teardown(different_calls_are_named, clean_up),
        cmocka_unit_test_teardown(time_limits_hold, clean_up),
        cmocka_unit_test_teardown(ranks_that_wait_sleep_and_late_ones_are_listed, clean_up),
        cmocka_unit_test_teardown(threads_share_a_context, clean_up),
        cmocka_unit_test_teardown(groups_have_segments_of_their_own, clean_up),
        cmocka_unit_test_teardown(a_rank_that_corrupts_its_segment_harms_its_own_job_only,
                                  clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
