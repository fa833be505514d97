/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of schedules: the problem that two layouts define, and the placement of the owners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collectives/redist/redist_torus.h"
#include "model/overlap.h"
#include "random.h"

static struct td_arena *arena;
static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
    return random_below(&state, below);
}

static struct td_schedule_problem along(const struct td_schedule_axis *axis)
{
    return (struct td_schedule_problem){.p = axis->p, .q = axis->q, .dimensions = 1, .axis = axis};
}

/* ---- layouts ---- */

static void problem_volumes_are_the_elements_that_owners_share(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < 300; i++) {
        struct td_schedule_axis axis[TD_DIMENSIONS_MAX];
        struct td_schedule_problem problem = {0};
        struct td_layout layout[2];
        uint64_t size[2] = {1, 1}, blocks = 0;
        uint32_t parts[2][2];
        uint64_t block[2][2];
        for (uint32_t side = 0; side < 2; side++)
            for (uint32_t d = 0; d < 2; d++) {
                parts[side][d] = 1 + (uint32_t)draw(4);
                block[side][d] = 1 + draw(4);
                size[d] *= parts[side][d] * block[side][d]; /* whole superblocks */
            }
        for (uint32_t side = 0; side < 2; side++) {
            uint8_t first = (uint8_t)draw(2);
            assert_true(td_layout_init(&layout[side], arena, 2, size,
                                       parts[side][0] * parts[side][1], false));
            for (uint32_t d = 0; d < 2; d++)
                td_layout_distribute(&layout[side], d, block[side][d], parts[side][d]);
            layout[side].grid_order[0] = first;
            layout[side].grid_order[1] = !first;
        }
        td_schedule_pose(&problem, axis, &layout[0], &layout[1]);
        for (uint32_t p = 0; p < problem.p; p++)
            for (uint32_t q = 0; q < problem.q; q++)
                blocks += td_schedule_volume(&problem, p, q);
        for (uint32_t p = 0; p < problem.p; p++)
            for (uint32_t q = 0; q < problem.q; q++)
                assert_int_equal(td_overlap_count(&layout[0], &layout[1], p, q) * blocks,
                                 td_schedule_volume(&problem, p, q) * size[0] * size[1]);
        td_layout_free(&layout[0], arena);
        td_layout_free(&layout[1], arena);
    }
}

static void layouts_with_offsets_or_boxes_have_no_problem_axes(void **unused)
{
    (void)unused;
    struct td_schedule_axis axis[TD_DIMENSIONS_MAX];
    struct td_schedule_problem problem = {0};
    struct td_layout distributed, boxes;
    uint64_t size[1] = {24};
    assert_true(td_layout_init(&distributed, arena, 1, size, 3, false));
    assert_true(td_layout_init(&boxes, arena, 1, size, 3, true));
    td_layout_distribute(&distributed, 0, 2, 3);
    td_schedule_pose(&problem, axis, &distributed, &distributed);
    assert_ptr_equal(problem.axis, axis);
    td_schedule_pose(&problem, axis, &distributed, &boxes);
    assert_null(problem.axis);
    distributed.axis[0].offset = 1;
    td_schedule_pose(&problem, axis, &distributed, &distributed);
    assert_null(problem.axis);
    td_layout_free(&distributed, arena);
    td_layout_free(&boxes, arena);
}

/* ---- on a torus ---- */

/* place puts owners on nodes from `first` on. */
static const uint32_t *place(uint32_t *node, uint32_t owners, uint32_t first)
{
    for (uint32_t i = 0; i < owners; i++)
        node[i] = first + i;
    return node;
}

static struct td_topology torus(const char *shape)
{
    struct td_topology t;
    size_t at;
    const char *why;
    assert_int_equal(td_topology_parse(&t, shape, &at, &why), TD_OK);
    return t;
}

static void loads_count_each_link_of_a_route(void **unused)
{
    (void)unused;
    struct td_schedule_axis axis = {4, 4, 1, 4};
    struct td_schedule_problem problem = along(&axis);
    struct td_topology ring = torus("4");
    uint32_t node[4];
    place(node, 4, 0);
    struct td_schedule_places places = {&ring, node, node};
    struct td_schedule s;
    struct td_schedule_load load;
    assert_true(td_schedule_build(&s, arena, TD_SCHEDULE_CIRCULANT, &problem));
    assert_true(td_schedule_load(&s, &problem, &places, arena, &load));
    /* rotations by 0, 1, 2 and -1: 0, 1, half each way over 2 links, 1; together 2 per direction */
    assert_int_equal(load.steps2, 2 * (0 + 1 + 1 + 1));
    assert_int_equal(load.together2, 2 * 2);
}

static void settling_never_loads_links_more(void **unused)
{
    (void)unused;
    static const uint32_t cases[][4] = {{64, 64, 32, 0}, {64, 64, 64, 0}, {28, 36, 14, 28},
                                        {28, 36, 6, 28}, {24, 39, 8, 24}, {32, 32, 16, 32},
                                        {32, 64, 16, 0}, {48, 64, 6, 0}};
    struct td_topology t = torus("8x8");
    uint32_t from[64], to[64], less = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct td_schedule_axis axis = {cases[i][0], cases[i][1], 1, cases[i][2]};
        struct td_schedule_problem problem = along(&axis);
        struct td_schedule_places places = {&t, place(from, axis.p, 0),
                                            place(to, axis.q, cases[i][3])};
        struct td_schedule s;
        struct td_schedule_load before, after;
        assert_true(td_schedule_build(&s, arena, TD_SCHEDULE_AUTO, &problem));
        assert_true(td_schedule_load(&s, &problem, &places, arena, &before));
        assert_true(td_schedule_settle(&s, &places, arena));
        assert_true(td_schedule_load(&s, &problem, &places, arena, &after));
        assert_true(after.steps2 <= before.steps2 && after.steps2 >= after.together2);
        assert_int_equal(after.together2, before.together2);
        less += after.steps2 < before.steps2;
    }
    assert_true(less >= 4);
}

static int all_is_given_back(void **unused)
{
    (void)unused;
    return td_arena_used(arena) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problem_volumes_are_the_elements_that_owners_share),
        cmocka_unit_test(layouts_with_offsets_or_boxes_have_no_problem_axes),
        cmocka_unit_test(loads_count_each_link_of_a_route),
        cmocka_unit_test(settling_never_loads_links_more),
    };
    arena = td_arena_create((size_t)4 << 20);
    if (!arena)
        return 2;
    int failed = cmocka_run_group_tests(tests, NULL, all_is_given_back);
    td_arena_destroy(arena);
    return failed;
}
