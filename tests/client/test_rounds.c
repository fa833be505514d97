/* SPDX-License-Identifier: Apache-2.0 */
/* Long calls of ranks on one node, each rank a process, and the memory that the ranks lend each
 * other for them. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libtorus/group.h"
#include "players.h"
#include "random.h"
#include "segment/segment.h"

/* count_maps returns how many regions of its own and of other ranks this process has mapped. */
static int count_maps(void)
{
    char line[512];
    int count = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    HOLDS(f);
    while (fgets(line, sizeof line, f))
        count += strstr(line, "memfd:torus (deleted)") != NULL;
    fclose(f);
    return count;
}

static void free_and_allocate(uint32_t rank)
{
    enum { COUNT = 1 << 22, ROUNDS = 12 };
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint8_t *memory = torus_alloc(context, COUNT);
        memset(memory, (int)(rank + i), COUNT);
        for (uint32_t root = 0; root < PLAYERS; root++)
            WELL(torus_broadcast(world, memory, COUNT, TORUS_UINT8, root));
        HOLDS(memory[0] == i && memory[COUNT - 1] == i);
        told->calls[rank] += count_maps() > 1; /* its own, and those of others */
        WELL(torus_free(context, memory));
    }
    WELL(torus_barrier(world)); /* all ranks have freed theirs */
    WELL(torus_barrier(world));
    WELL(torus_barrier(world));
    HOLDS(count_maps() <= 1);
    torus_close(context);
}

static void memory_that_a_rank_frees_is_unmapped_by_the_others(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, free_and_allocate);
    finish(PLAYERS);
    stop();
}

/* send_long broadcasts as much as a line holds, a little less, and more, from each rank in turn.
 * The next call of a rank begins while others still copy. */
static void send_long(uint32_t rank, uint32_t ranks)
{
    enum { LINE = 2 * TD_SEGMENT_DATA_MAX, CALLS = 60 };
    static const size_t sizes[] = {LINE, LINE - 8, TD_SEGMENT_DATA_MAX + 8, LINE + 8, 8};
    static uint64_t plain[LINE / 8 + 1];
    for (uint32_t i = 0; i < CALLS; i++) {
        size_t count = sizes[i % 5] / 8;
        uint32_t root = i % ranks;
        for (size_t k = 0; k < count && rank == root; k++)
            plain[k] = (uint64_t)i << 32 | k;
        WELL(torus_broadcast(world, plain, count, TORUS_UINT64, root));
        for (size_t k = 0; k < count; k++)
            HOLDS(plain[k] == ((uint64_t)i << 32 | k));
    }
    WELL(torus_barrier(world));
    HOLDS(!world->segment || world->by_segment > 0);
}

/* run_many runs a job of `ranks` ranks on one node. */
static void run_many(uint32_t ranks, void (*play)(uint32_t rank, uint32_t ranks))
{
    enum { MOST = 16 };
    pid_t one[MOST];
    start(1, "");
    for (uint32_t r = 0; r < ranks; r++)
        if ((one[r] = fork()) == 0) {
            alarm(60);
            open_and_join("many", r, ranks);
            play(r, ranks);
            torus_close(context);
            _exit(GOOD);
        }
    for (uint32_t r = 0; r < ranks; r++) {
        int code = 0;
        waitpid(one[r], &code, 0);
        assert_true(WIFEXITED(code) && WEXITSTATUS(code) == GOOD);
    }
    stop();
}

static void long_broadcasts_to_many_ranks_arrive_whole(void **state)
{
    (void)state;
    run_many(7, send_long); /* more than copy the root's memory by turns */
}

static bool is_same(const void *one, const void *other, size_t bytes)
{
    return memcmp(one, other, bytes) == 0;
}

/* scan_long makes scans in parts, and the same ones by request. */
static void scan_long(uint32_t rank, uint32_t ranks)
{
    enum { LEAST = 8192, MOST = 20000, CALLS = 24 };
    static double plain[MOST], to[2][MOST + 1];
    double *lent = torus_alloc(context, sizeof plain), *shared = torus_alloc(context, sizeof plain);
    torus_group *other = NULL;
    uint64_t common = 11, own = rank + 100;
    WELL(torus_dup(world, &other));
    for (uint32_t i = 0; i < CALLS; i++) {
        size_t count = i == 0 ? LEAST : LEAST + (size_t)random_below(&common, MOST - LEAST);
        bool in_place = random_below(&common, 3) == 0, exclusive = random_below(&common, 2) == 0;
        double *from = random_below(&own, 2) ? lent : plain;
        double *result = random_below(&own, 2) ? shared : to[0];
        torus_request *request = NULL;
        for (size_t k = 0; k < count; k++) /* sums that depend on their order */
            from[k] = 1.0 / (double)(1 + (rank * 7919 + k * 31 + i) % 9973);
        memcpy(result, from, sizeof plain);
        memcpy(to[1], from, sizeof plain);
        to[0][MOST] = to[1][MOST] = rank;
        const void *source = in_place ? TORUS_IN_PLACE : from;
        if (exclusive) {
            WELL(torus_exscan(world, source, result, count, TORUS_DOUBLE, TORUS_SUM));
            WELL(torus_iexscan(other, source, to[1], count, TORUS_DOUBLE, TORUS_SUM, &request));
        } else {
            WELL(torus_scan(world, source, result, count, TORUS_DOUBLE, TORUS_SUM));
            WELL(torus_iscan(other, source, to[1], count, TORUS_DOUBLE, TORUS_SUM, &request));
        }
        WELL(torus_wait(request, 20 * (int64_t)SECOND));
        HOLDS(is_same(result, to[1], sizeof plain));
        HOLDS(to[0][MOST] == rank && to[1][MOST] == rank);
    }
    WELL(torus_barrier(world));
    HOLDS(!world->segment || world->by_segment >= CALLS / 2); /* some may go by request */
    HOLDS(ranks == torus_size(world));
}

static void long_scans_of_many_ranks_are_those_of_requests(void **state)
{
    (void)state;
    run_many(13, scan_long);
}

static uint64_t region_bytes(void)
{
    struct torus_statistics s = {.size = sizeof s};
    WELL(torus_statistics(context, &s));
    return s.region_bytes;
}

/* lend_plain makes calls with plain memory, which the library copies for the other ranks. */
static void lend_plain(uint32_t rank)
{
    enum { COUNT = 1 << 19, CALLS = 12, LARGE = (65 << 20) / 8 };
    static uint64_t from[COUNT], to[COUNT];
    uint64_t *large = calloc(LARGE, sizeof *large);
    HOLDS(large);
    uint64_t kept = 0;
    void *small[CALLS];
    for (uint32_t i = 0; i < CALLS; i++) {
        small[i] = torus_alloc(context, 64); /* not where the copies are */
        for (size_t k = 0; k < COUNT; k++)
            from[k] = k + i + rank;
        WELL(torus_allreduce(world, from, to, COUNT, TORUS_UINT64, TORUS_SUM));
        for (size_t k = 0; k < COUNT; k++)
            HOLDS(to[k] == PLAYERS * (k + i) + PLAYERS * (PLAYERS - 1) / 2);
        HOLDS(i == 0 || region_bytes() == kept); /* the copies have no new memory */
        kept = region_bytes();
    }
    for (uint32_t i = 0; i < CALLS; i++)
        WELL(torus_free(context, small[i]));
    HOLDS(kept >= sizeof from && kept < 4 * sizeof from);
    large[LARGE - 1] = 4711 + rank;
    WELL(torus_broadcast(world, large, LARGE, TORUS_UINT64, 0));
    HOLDS(large[LARGE - 1] == 4711);
    HOLDS(region_bytes() <= (4 << 20) + sizeof from); /* too much to keep */
    WELL(torus_barrier(world));
    free(large);
    torus_close(context);
}

static void memory_of_copies_is_kept(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, lend_plain);
    finish(PLAYERS);
    stop();
}

/* ---- plain memory that the others read (cma.h) ---- */

/* Blocks of an all-to-all, and of a gather or a scatter: together 16 MiB and more. */
enum {
    BLOCK = (1 << 20) + 8,
    LARGE_BLOCK = (4 << 20) + 8,
    PLAIN = PLAYERS * LARGE_BLOCK,
    KINDS = 3
};

/* forbid makes the kernel refuse this process the memory of others, as some containers do. */
static void forbid(void)
{
    struct sock_filter rule[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog rules = {.len = sizeof rule / sizeof rule[0], .filter = rule};
    HOLDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    HOLDS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &rules) == 0);
}

/* is_permitted returns true if this process may read memory of another one that it did not start.
 */
static bool is_permitted(void)
{
    static uint8_t byte; /* at the same address in the parent */
    struct iovec here = {&byte, 1};
    bool may = process_vm_readv(getppid(), &here, 1, &here, 1, 0) == 1;
    if (!may)
        fprintf(stderr,
                "this machine forbids to read the memory of other processes: all is copied\n");
    return may;
}

static uint64_t staged_bytes(void)
{
    struct torus_statistics s = {.size = sizeof s};
    WELL(torus_statistics(context, &s));
    return s.staged_bytes;
}

/* make_plain makes a call of one of the kinds that read plain memory. `request` NULL: it waits. */
static int make_plain(torus_group *g, uint32_t kind, bool in_place, uint32_t root, uint8_t *from,
                      uint8_t *to, torus_request **request)
{
    bool at_root = torus_rank(g) == root;
    const void *source = in_place && (kind == 0 || (kind == 1 && at_root)) ? TORUS_IN_PLACE : from;
    void *result = in_place && kind == 2 && at_root ? TORUS_IN_PLACE : to;
    if (kind == 0)
        return request ? torus_ialltoall(g, source, to, BLOCK, TORUS_UINT8, request)
                       : torus_alltoall(g, source, to, BLOCK, TORUS_UINT8);
    if (kind == 1)
        return request ? torus_igather(g, source, to, LARGE_BLOCK, TORUS_UINT8, root, request)
                       : torus_gather(g, source, to, LARGE_BLOCK, TORUS_UINT8, root);
    return request ? torus_iscatter(g, from, result, LARGE_BLOCK, TORUS_UINT8, root, request)
                   : torus_scatter(g, from, result, LARGE_BLOCK, TORUS_UINT8, root);
}

static void fill_words(uint8_t *memory, uint64_t seed)
{
    for (size_t k = 0; k + 8 <= PLAIN; k += 8) {
        uint64_t word = (k + seed) * UINT64_C(0x9e3779b97f4a7c15);
        memcpy(memory + k, &word, 8);
    }
}

/* Under the thread sanitizer, which sees nothing of other processes, the contents take ten times as
 * long as the calls. So there are fewer: too few to be sure that some were lent, or copied later.
 */
#ifdef __SANITIZE_THREAD__
enum { FREE_CALLS = 6, LATER_CALLS = 12, ENOUGH_CALLS = 0 };
#else
enum { FREE_CALLS = 20, LATER_CALLS = 50, ENOUGH_CALLS = 1 };
#endif

/* struct crossing: random calls of the first `kinds` kinds. */
struct crossing {
    uint32_t calls, kinds;
    uint32_t forbidden; /* from this call on rank 1 cannot read the memory of others */
    uint32_t lent;      /* of the calls in plain memory that met: those in which nothing, */
    uint32_t copied;    /* and something was copied */
};

/* cross makes calls, and the same ones by request. */
static void cross(uint32_t rank, struct crossing *x)
{
    torus_group *other = NULL;
    uint64_t common = 5, own = rank + 100, met = 0;
    static uint8_t plain[PLAIN], to[2][PLAIN + 1];
    uint8_t *lent = torus_alloc(context, PLAIN), *shared = torus_alloc(context, PLAIN);
    WELL(torus_dup(world, &other));
    for (uint32_t i = 0; i < x->calls; i++) {
        if (i == x->forbidden && rank == 1)
            forbid();
        torus_request *request = NULL;
        uint32_t kind = (uint32_t)random_below(&common, x->kinds),
                 root = (uint32_t)random_below(&common, PLAYERS);
        bool in_place = random_below(&common, 4) == 0;
        uint8_t *from = random_below(&own, 4) ? plain : lent;
        uint8_t *result = random_below(&own, 2) ? to[0] + random_below(&own, 2) : shared;
        fill_words(from, rank * 50 + i);
        fill_words(to[1], rank * 3 + i);
        memcpy(result, to[1], PLAIN);
        WELL(torus_barrier(world)); /* or ranks would be late, and the call go by request */
        uint64_t staged = staged_bytes(), before = world->by_segment;
        WELL(make_plain(world, kind, in_place, root, from, result, NULL));
        bool meets = world->by_segment > before;
        if (met >= 2 && meets && !in_place && from == plain)
            *(staged_bytes() == staged ? &x->lent : &x->copied) += 1;
        met += meets;
        WELL(make_plain(other, kind, in_place, root, from, to[1], &request));
        WELL(torus_wait(request, 20 * (int64_t)SECOND));
        HOLDS(is_same(result, to[1], PLAIN));
    }
    WELL(torus_barrier(world));
}

static void cross_freely(uint32_t rank)
{
    struct crossing x = {.calls = FREE_CALLS, .kinds = KINDS, .forbidden = UINT32_MAX};
    bool permitted = is_permitted();
    cross(rank, &x);
    HOLDS(x.copied == 0 || !permitted);
    HOLDS(x.lent > 0 || !ENOUGH_CALLS || !permitted || !world->segment);
    torus_close(context);
}

static void cross_never(uint32_t rank)
{
    struct crossing x = {.calls = 12, .kinds = 1};
    cross(rank, &x);
    HOLDS(x.lent == 0);
    HOLDS(x.copied > 0 || !world->segment);
    torus_close(context);
}

/* cross_at_first makes all-to-alls only: who fails to read ends the call before others have heard
 * of it. */
static void cross_at_first(uint32_t rank)
{
    struct crossing x = {.calls = LATER_CALLS, .kinds = 1, .forbidden = 8};
    bool permitted = is_permitted();
    cross(rank, &x);
    /* in the end; the memory of rank 1 can be read */
    HOLDS(rank == 1 || x.copied > 0 || !ENOUGH_CALLS || !permitted || !world->segment);
    torus_close(context);
}

static void plain_memory_is_read_where_it_is(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, cross_freely);
    finish(PLAYERS);
    stop();
}

static void plain_memory_is_copied_if_one_rank_may_not_read_it(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, cross_never);
    finish(PLAYERS);
    begin(PLAYERS, cross_at_first);
    finish(PLAYERS);
    stop();
}

/* cross_until_death makes all-to-alls of plain memory until one fails, and reports the failure. */
static void cross_until_death(uint32_t rank)
{
    static uint8_t from[PLAYERS * BLOCK], to[PLAYERS * BLOCK];
    int error = TORUS_OK;
    told->ready++;
    while ((error = torus_alltoall(world, from, to, BLOCK, TORUS_UINT8)) == TORUS_OK)
        told->calls[rank]++;
    report(rank, error);
    await(&told->go, 1);
}

static void a_rank_that_dies_while_others_read_its_memory_ends_their_calls(void **state)
{
    (void)state;
    start(1, "");
    for (uint32_t i = 0; i < 8; i++) {
        begin(PLAYERS, cross_until_death);
        await(&told->ready, PLAYERS);
        await(&told->calls[i % PLAYERS], 5);
        pause_ms(1 + i % 3);
        kill_player(i % PLAYERS);
    }
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(memory_that_a_rank_frees_is_unmapped_by_the_others, clean_up),
        cmocka_unit_test_teardown(long_broadcasts_to_many_ranks_arrive_whole, clean_up),
        cmocka_unit_test_teardown(long_scans_of_many_ranks_are_those_of_requests, clean_up),
        cmocka_unit_test_teardown(memory_of_copies_is_kept, clean_up),
        cmocka_unit_test_teardown(plain_memory_is_read_where_it_is, clean_up),
        cmocka_unit_test_teardown(plain_memory_is_copied_if_one_rank_may_not_read_it, clean_up),
        cmocka_unit_test_teardown(a_rank_that_dies_while_others_read_its_memory_ends_their_calls,
                                  clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
