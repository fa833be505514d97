/* SPDX-License-Identifier: Apache-2.0 */
/* player: a rank that calls again and again, whatever happens to its job, and writes down what it
 * is told.
 *
 *   player SOCKET JOB RANKS RANK [PAUSE_US [KINDS [fork]]]
 *
 * Call n of each rank is of a kind that n determines, with data that n and the rank determine: a
 * result shows whether calls of equal numbers have met, and whether all ranks have made them. After
 * RANK_FAILED and NODE_FAILED the player shrinks its
 * group, and goes on in the new one with call 0. After PARTITIONED it calls again, unless the
 * others go on without it. It pauses up to PAUSE_US between two calls. KINDS: the number of kinds
 * of calls, 1 (allreduces) to 8 (all). `fork`: a child keeps the connection open. SIGTERM ends it
 * after the current call, or in it.
 *
 * A second thread wakes once per TICK_MS and says when it woke late: the processor was busy then.
 * Each line of the output begins with a word; times are seconds of CLOCK_MONOTONIC:
 *
 *   joined TIME
 *   good TIME GENERATION CALL              at most once per 20 ms
 *   waited TIME GENERATION CALL BEGAN      a call or a shrink that took more than 0.3 s
 *   pending TIME GENERATION CALL BEGAN     it still waits
 *   error TIME GENERATION CALL BEGAN CODE SENTENCE
 *   shrunk TIME GENERATION BEGAN CHAIN MEMBERS     the new group; CHAIN: hash of its ancestors
 *   over TIME
 *   wrong TIME ...
 *   failed TIME CODE SENTENCE              it is not a rank of the job
 *   late TIME SECONDS
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <torus/torus.h>

enum {
    MS = 1000000,
    SECOND = 1000 * MS,
    TICK_MS = 10,
    COUNT_MAX = 40000,
    RANKS_MAX = 64,
    KINDS_MAX = 8,
    PATTERN = 0x5a,
};

static torus_context *context;
static torus_group *world, *group;
static uint32_t generation;
static uint64_t call, random_state, chain;
static int64_t *from, *to;
static useconds_t pause_us = 5000;
static unsigned kinds = 1;
static volatile sig_atomic_t ends;
static _Atomic int64_t began; /* of the call under way; 0: none */
static _Atomic uint64_t current;
static atomic_bool shrinking;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)SECOND + t.tv_nsec;
}

static double seconds(int64_t ns)
{
    return (double)ns / SECOND;
}

__attribute__((format(printf, 2, 3))) static void say(const char *word, const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    printf("%s %.6f %s\n", word, seconds(now()), text);
}

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t draw(uint64_t below)
{
    random_state = mix(random_state);
    return random_state % below;
}

static void on_signal(int number)
{
    (void)number;
    ends = 1;
}

/* ---- calls ---- */

/* number_of returns element k of a rank's data in a call. */
static int64_t number_of(uint64_t n, uint32_t rank, size_t k)
{
    return (int64_t)((n + 64 * generation) * 1000003 + rank * 4099 + k);
}

/* struct shape: kind and counts of a call, equal on all ranks. */
struct shape {
    enum { SUM, BARRIER, BROADCAST, ALLTOALL, ALLGATHER, DUP } kind;
    size_t count;
    uint32_t root;
};

static struct shape shape_of(uint64_t n)
{
    static const struct shape shapes[KINDS_MAX] = {
        {SUM, 1, 0},       {SUM, 3000, 0},      {BARRIER, 0, 0},    {BROADCAST, 1000, 0},
        {ALLTOALL, 16, 0}, {SUM, COUNT_MAX, 0}, {ALLGATHER, 64, 0}, {DUP, 1, 0},
    };
    struct shape s = shapes[n % kinds];
    s.root = (uint32_t)(n / kinds % torus_size(group));
    return s;
}

/* results_of returns the number of elements that a call writes. */
static size_t results_of(const struct shape *s)
{
    if (s->kind == BARRIER)
        return 0;
    return s->kind == ALLTOALL || s->kind == ALLGATHER ? s->count * torus_size(group) : s->count;
}

static int start(torus_group *g, const struct shape *s, torus_request **r)
{
    uint32_t me = torus_rank(g), size = torus_size(g);
    size_t given = s->kind == ALLTOALL ? s->count * size : s->count;
    for (size_t k = 0; k < given; k++)
        from[k] = number_of(call, me, k);
    memset(to, PATTERN, results_of(s) * sizeof *to);
    switch (s->kind) {
    case BARRIER:
        return torus_ibarrier(g, r);
    case BROADCAST:
        if (me == s->root)
            memcpy(to, from, s->count * sizeof *to);
        return torus_ibroadcast(g, to, s->count, TORUS_INT64, s->root, r);
    case ALLTOALL:
        return torus_ialltoall(g, from, to, s->count, TORUS_INT64, r);
    case ALLGATHER:
        return torus_iallgather(g, from, to, s->count, TORUS_INT64, r);
    case SUM:
    case DUP:
    default:
        return torus_iallreduce(g, from, to, s->count, TORUS_INT64, TORUS_SUM, r);
    }
}

static int64_t expected(const struct shape *s, size_t k)
{
    uint32_t me = torus_rank(group), size = torus_size(group);
    int64_t sum = 0;
    if (s->kind == BROADCAST)
        return number_of(call, s->root, k);
    if (s->kind == ALLGATHER)
        return number_of(call, (uint32_t)(k / s->count), k % s->count);
    if (s->kind == ALLTOALL)
        return number_of(call, (uint32_t)(k / s->count), me * s->count + k % s->count);
    for (uint32_t rank = 0; rank < size; rank++)
        sum += number_of(call, rank, k);
    return sum;
}

static void check(const struct shape *s)
{
    for (size_t k = 0; k < results_of(s); k++)
        if (to[k] != expected(s, k)) {
            say("wrong", "%u %" PRIu64 " kind %d: element %zu of %zu is %" PRId64 ", not %" PRId64,
                generation, call, s->kind, k, results_of(s), to[k], expected(s, k));
            return;
        }
}

/* finish waits for a request. After SIGTERM it returns TORUS_PENDING. */
static int finish(torus_request *r)
{
    int error = TORUS_PENDING;
    while (error == TORUS_PENDING && !ends)
        error = torus_wait(r, 50 * MS);
    return error;
}

static int run(torus_group *g, const struct shape *s)
{
    torus_request *r = NULL;
    int error = start(g, s, &r);
    return error == TORUS_OK ? finish(r) : error;
}

/* run_in_dup makes the call in a duplicate of the group. */
static int run_in_dup(const struct shape *s)
{
    torus_group *made = NULL;
    torus_request *r = NULL;
    int error = torus_idup(group, &made, &r);
    if (error == TORUS_OK)
        error = finish(r);
    if (error != TORUS_OK)
        return error;
    error = run(made, s);
    if (error != TORUS_PENDING)
        (void)torus_group_free(made);
    return error;
}

static void note_wait(int64_t since)
{
    if (now() - since > 300 * (int64_t)MS)
        say("waited", "%u %" PRIu64 " %.6f", generation, call, seconds(since));
}

/* make_call makes one call and returns its outcome. */
static int make_call(void)
{
    struct shape s = shape_of(call);
    int64_t since = now();
    atomic_store(&current, call);
    atomic_store(&began, since);
    int error = s.kind == DUP ? run_in_dup(&s) : run(group, &s);
    atomic_store(&began, 0);
    if (error == TORUS_PENDING)
        return error;
    note_wait(since);
    if (error == TORUS_OK)
        check(&s);
    else
        say("error", "%u %" PRIu64 " %.6f %d %s", generation, call, seconds(since), error,
            torus_last_error(context));
    return error;
}

/* ---- after an error ---- */

static void rest(uint64_t us)
{
    if (us && !ends)
        usleep((useconds_t)us);
}

/* untouched checks that nobody writes to the buffer of a call that has failed. */
static void untouched(void)
{
    memset(to, PATTERN, COUNT_MAX * sizeof *to);
    rest(2000 + draw(20000));
    for (size_t i = 0; i < COUNT_MAX * sizeof *to; i++)
        if (((unsigned char *)to)[i] != PATTERN) {
            say("wrong", "%u %" PRIu64 " a buffer was written after its call had ended", generation,
                call);
            return;
        }
}

static bool is_over(int error)
{
    return error == TORUS_ERR_SHUTDOWN ||
           (error == TORUS_ERR_PARTITIONED && strstr(torus_last_error(context), "go on without"));
}

/* print_members writes the ranks of the world that are in a group. */
static void print_members(torus_group *g, char *text, size_t bytes)
{
    size_t used = 0;
    for (uint32_t i = 0; i < torus_size(g) && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%d", i ? "," : "",
                                 torus_translate(g, i, world));
}

/* adopt goes on in the group that a shrink has made. */
static void adopt(torus_group *made, int64_t since)
{
    char members[RANKS_MAX * 4] = "";
    print_members(made, members, sizeof members);
    if (group != world)
        (void)torus_group_free(group);
    group = made;
    generation++;
    call = 0;
    say("shrunk", "%u %.6f %016" PRIx64 " %s", generation, seconds(since), chain, members);
    for (const char *c = members; *c; c++)
        chain = mix(chain ^ (unsigned char)*c);
}

/* shrink replaces the group by that of the survivors. It returns false if that will never be. */
static bool shrink(void)
{
    atomic_store(&shrinking, true);
    while (!ends) {
        torus_group *made = NULL;
        torus_request *r = NULL;
        int64_t since = now();
        atomic_store(&began, since);
        int error = torus_ishrink(group, &made, &r);
        if (error == TORUS_OK)
            error = finish(r);
        atomic_store(&began, 0);
        if (error == TORUS_PENDING)
            break;
        note_wait(since);
        if (error == TORUS_OK) {
            adopt(made, since);
            break;
        }
        say("error", "%u shrink %.6f %d %s", generation, seconds(since), error,
            torus_last_error(context));
        if (is_over(error))
            return false;
        rest(20000 + draw(40000));
    }
    atomic_store(&shrinking, false);
    return true;
}

/* handle goes on after an error; it returns false if the group will never work again. */
static bool handle(int error)
{
    if (error == TORUS_ERR_BUSY || error == TORUS_ERR_NO_MEMORY) { /* the call does not count */
        rest(5000);
        return true;
    }
    untouched();
    if (is_over(error))
        return false;
    if (error == TORUS_ERR_RANK_FAILED || error == TORUS_ERR_NODE_FAILED)
        return shrink();
    call++;
    rest(10000 + draw(30000));
    return true;
}

static void play(void)
{
    int64_t told = 0;
    while (!ends) {
        int error = make_call();
        if (error == TORUS_PENDING)
            return;
        if (error == TORUS_OK) {
            if (now() - told > 20 * (int64_t)MS) {
                told = now();
                say("good", "%u %" PRIu64, generation, call);
            }
            call++;
            if (pause_us)
                rest(draw(pause_us));
        } else if (!handle(error)) {
            say("over", "%u", generation);
            return;
        }
    }
}

/* ---- the process ---- */

/* watch is the second thread. */
static void *watch(void *unused)
{
    (void)unused;
    int64_t told = 0;
    for (;;) {
        int64_t before = now();
        nanosleep(&(struct timespec){.tv_nsec = TICK_MS * MS}, NULL);
        int64_t at = now(), late = at - before - TICK_MS * (int64_t)MS, since = atomic_load(&began);
        if (late > 50 * (int64_t)MS)
            say("late", "%.3f", seconds(late));
        if (since && at - since > 300 * (int64_t)MS && at - told > 300 * (int64_t)MS) {
            told = at;
            say("pending", "%u %" PRId64 " %.6f", generation,
                atomic_load(&shrinking) ? -1 : (int64_t)atomic_load(&current), seconds(since));
        }
    }
    return NULL;
}

static int fail(const char *what, int error)
{
    if (error != TORUS_PENDING)
        say("failed", "%d %s: %s", error, what, torus_last_error(context));
    return error == TORUS_PENDING ? 0 : 1;
}

/* join returns true if this process is a rank of the job; else *code is the exit code. */
static bool join(const char *socket, const char *job, uint32_t ranks, int32_t rank, int *code)
{
    struct torus_open_options o = {.size = sizeof o, .socket = socket};
    struct torus_join_options j = {
        .size = sizeof j, .name = job, .ranks = ranks, .rank = rank, .rank_set = 1};
    torus_request *r = NULL;
    int error = torus_open(&context, &o);
    const char *what = "open";
    if (error == TORUS_OK) {
        what = "join";
        error = torus_ijoin(context, &j, &world, &r);
        if (error == TORUS_OK)
            error = finish(r);
    }
    if (error == TORUS_OK) {
        what = "alloc";
        from = torus_alloc(context, COUNT_MAX * sizeof *from);
        to = torus_alloc(context, COUNT_MAX * sizeof *to);
        error = from && to ? TORUS_OK : TORUS_ERR_NO_MEMORY;
    }
    if (error != TORUS_OK)
        *code = fail(what, error);
    return error == TORUS_OK;
}

int main(int count, char **words)
{
    pthread_t thread;
    if (count < 5 || count > 8) {
        fprintf(stderr, "usage: player SOCKET JOB RANKS RANK [PAUSE_US [KINDS [fork]]]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_signal}, NULL);
    uint32_t ranks = (uint32_t)atoi(words[3]);
    random_state = mix((uint64_t)getpid());
    if (count > 5)
        pause_us = (useconds_t)atoi(words[5]);
    if (count > 6)
        kinds = (unsigned)atoi(words[6]);
    if (ranks > RANKS_MAX || kinds == 0 || kinds > KINDS_MAX)
        return 2;
    int code = 0;
    bool joined = join(words[1], words[2], ranks, atoi(words[4]), &code);
    if (joined && count > 7 && fork() == 0) { /* dies with the process group */
        for (;;)
            pause();
    }
    if (joined && pthread_create(&thread, NULL, watch, NULL) == 0) {
        say("joined", "%u", torus_rank(world));
        group = world;
        play();
        while (!ends)
            usleep(20000);
    }
    torus_close(context);
    return code;
}
