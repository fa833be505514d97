/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the placement of ranks on nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "model/group.h"
#include "random.h"

static void group_finds_every_rank_in_any_placement(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create(1 << 20);
    for (unsigned seed = 1; seed < 200; seed++) {
        uint32_t rank_node[40], size = 1 + seed % 40, seen = 0;
        uint64_t random = seed;
        for (uint32_t r = 0; r < size; r++)
            rank_node[r] = seed % 3 == 0   ? r * 5 / size
                           : seed % 3 == 1 ? r % 4
                                           : (uint32_t)random_below(&random, 9);
        struct td_group g;
        assert_int_equal(td_group_build(&g, arena, rank_node, size), TD_OK);
        for (uint32_t slot = 0; slot < g.slots; slot++) {
            assert_int_equal(td_group_slot(&g, g.node[slot]), slot);
            for (uint32_t local = 0; local < td_group_slot_ranks(&g, slot); local++, seen++) {
                uint32_t rank = td_group_rank(&g, slot, local), s = 99, l = 99;
                assert_int_equal(rank_node[rank], g.node[slot]);
                td_group_locate(&g, rank, &s, &l);
                assert_int_equal(s, slot);
                assert_int_equal(l, local);
            }
        }
        assert_int_equal(seen, size);
        td_group_free(&g, arena);
        assert_int_equal(td_arena_used(arena), 0);
    }
    td_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_finds_every_rank_in_any_placement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
