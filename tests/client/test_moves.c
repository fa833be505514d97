/* SPDX-License-Identifier: Apache-2.0 */
/* Redistributions among ranks on one node, each rank a process: they copy from each other's memory
 * and need no request. TORUS_TEST_CASE=SEED makes one random move alone. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "libtorus/group.h"
#include "players.h"
#include "random.h"
#include "redist_desc.h"
#include "sim/moves.h"

enum { CASES = 120, TIMES = 3, GUARD = 64, GUARD_BYTE = 0x5a };

/* ---- results ---- */

/* obtain returns memory for a buffer, with bytes around it that nobody may change. */
static uint8_t *obtain(uint64_t bytes, bool plain)
{
    uint8_t *memory =
        plain ? malloc(bytes + 2 * GUARD) : torus_alloc(context, bytes + 2 * (size_t)GUARD);
    HOLDS(memory);
    memset(memory, GUARD_BYTE, bytes + 2 * GUARD);
    return memory + GUARD;
}

static void give_back(uint8_t *buffer, uint64_t bytes, bool plain)
{
    for (int i = 0; i < GUARD; i++)
        HOLDS(buffer[i - GUARD] == GUARD_BYTE && buffer[bytes + (uint64_t)i] == GUARD_BYTE);
    if (plain)
        free(buffer - GUARD);
    else
        WELL(torus_free(context, buffer - GUARD));
}

/* execute executes a plan once; a few times this rank makes a request, so the others do, too. */
static void execute(torus_plan *plan, const void *source, void *destination, bool by_request)
{
    torus_request *request = NULL;
    if (!by_request) {
        WELL(torus_execute(plan, source, destination));
        return;
    }
    WELL(torus_start(plan, source, destination, &request));
    WELL(torus_wait(request, 20 * (int64_t)SECOND));
}

/* make_move plans a move and executes it a few times: from plain memory or not, in place or not, as
 * this rank likes. */
static void make_move(const struct move *m, uint32_t rank, uint64_t *random)
{
    torus_plan *plan = NULL;
    const struct torus_redist_desc d = redist_desc(m);
    WELL(torus_plan_redist(world, &d, &plan));
    uint64_t bytes[2] = {torus_plan_bytes(plan, 0), torus_plan_bytes(plan, 1)};
    uint64_t most = bytes[0] > bytes[1] ? bytes[0] : bytes[1];
    uint8_t *given = malloc(most + 1), *wanted = malloc(most + 1);
    HOLDS(given && wanted && moves_fill(m, 0, rank, given) == bytes[0] &&
          moves_fill(m, 1, rank, wanted) == bytes[1]);
    for (int i = 0; i < TIMES; i++) {
        bool plain = random_below(random, 2), in_place = random_below(random, 4) == 0;
        uint64_t room[2] = {bytes[0], in_place ? most : bytes[1]};
        uint8_t *from = obtain(room[0], plain), *to = obtain(room[1], plain);
        memcpy(in_place ? to : from, given, bytes[0]);
        execute(plan, in_place ? TORUS_IN_PLACE : from, to, random_below(random, 40) == 0);
        HOLDS(memcmp(to, wanted, bytes[1]) == 0);
        HOLDS(in_place || memcmp(from, given, bytes[0]) == 0);
        give_back(from, room[0], plain);
        give_back(to, room[1], plain);
    }
    free(given);
    free(wanted);
    WELL(torus_plan_free(plan));
}

/* move_all makes random moves, the same on all ranks. */
static void move_all(uint32_t rank)
{
    const char *one = getenv("TORUS_TEST_CASE");
    uint64_t own = rank + 100, first = one ? strtoull(one, NULL, 10) : 0;
    for (uint64_t seed = first; seed < (one ? first + 1 : CASES); seed++) {
        struct td_arena *arena = td_arena_create(4 << 20);
        struct move m;
        char why[MOVE_TEXT];
        layouts_seed(seed * 77);
        moves_random(&m, PLAYERS);
        if (!moves_read(&m, arena, PLAYERS, why)) {
            fprintf(stderr, "TORUS_TEST_CASE=%llu: %s\n", (unsigned long long)seed, why);
            _exit(1);
        }
        make_move(&m, rank, &own);
        td_arena_destroy(arena);
    }
    HOLDS(!world->segment || world->by_segment > 0 || one);
    WELL(torus_barrier(world));
    torus_close(context);
}

static void any_layout_becomes_any_other(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, move_all);
    finish(PLAYERS);
    stop();
}

/* ---- endings ---- */

static torus_plan *plan_of(const char *from, const char *to, size_t count)
{
    torus_plan *plan = NULL;
    const struct torus_redist_desc d = {.size = sizeof d,
                                        .dimensions = 1,
                                        .element_bytes = 8,
                                        .shape = {count},
                                        .from = from,
                                        .to = to};
    WELL(torus_plan_redist(world, &d, &plan));
    return plan;
}

/* move_until_error makes a move again and again until one fails, and reports the failure. */
static void move_until_error(uint32_t rank)
{
    enum { COUNT = 1 << 16 };
    int error = TORUS_OK;
    torus_plan *plan = plan_of("cyclic(2)", "cyclic(28)", COUNT);
    void *from = torus_alloc(context, COUNT * 8), *to = torus_alloc(context, COUNT * 8);
    HOLDS(from && to);
    told->ready++;
    while ((error = torus_execute(plan, from, to)) == TORUS_OK)
        told->calls[rank]++;
    report(rank, error);
    await(&told->go, 1);
}

static void a_killed_rank_ends_the_moves_of_the_others(void **state)
{
    (void)state;
    start(1, "");
    for (uint32_t victim = 0; victim < PLAYERS; victim++) {
        begin(PLAYERS, move_until_error);
        await(&told->calls[victim], 50);
        kill_player(victim);
    }
    stop();
}

/* make_mistakes executes another plan than the others, then makes a call of another kind, then has
 * no memory; every rank learns of the first two. */
static void make_mistakes(uint32_t rank)
{
    enum { COUNT = 1000 };
    static uint64_t from[COUNT], to[COUNT];
    torus_plan *plan = plan_of("block", "cyclic", COUNT),
               *other = plan_of("block", "cyclic", COUNT);
    HOLDS(torus_execute(rank == 1 ? other : plan, from, to) == TORUS_ERR_MISMATCH);
    WELL(torus_execute(plan, from, to));
    int error = rank == 2 ? torus_barrier(world) : torus_execute(plan, from, to);
    HOLDS(error == TORUS_ERR_MISMATCH && strstr(torus_last_error(context), "barrier"));
    HOLDS(torus_execute(plan, from, NULL) == TORUS_ERR_INVALID);
    HOLDS(torus_execute(plan, from, from + 1) == TORUS_ERR_INVALID);
    HOLDS(strstr(torus_last_error(context), "overlap"));
    HOLDS(torus_execute(NULL, from, to) == TORUS_ERR_INVALID);
    WELL(torus_execute(plan, from, to));
    WELL(torus_plan_free(plan));
    WELL(torus_plan_free(other));
    torus_close(context);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    start(1, "");
    begin(PLAYERS, make_mistakes);
    finish(PLAYERS);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(any_layout_becomes_any_other, clean_up),
        cmocka_unit_test_teardown(a_killed_rank_ends_the_moves_of_the_others, clean_up),
        cmocka_unit_test_teardown(mistakes_are_named, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
