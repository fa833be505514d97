/* SPDX-License-Identifier: Apache-2.0 */
/* Long calls of ranks on one node, each rank a process, and the memory that the ranks lend each
 * other for them. */
#include <stdlib.h>
#include <string.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(memory_that_a_rank_frees_is_unmapped_by_the_others, clean_up),
        cmocka_unit_test_teardown(long_broadcasts_to_many_ranks_arrive_whole, clean_up),
        cmocka_unit_test_teardown(long_scans_of_many_ranks_are_those_of_requests, clean_up),
        cmocka_unit_test_teardown(memory_of_copies_is_kept, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
