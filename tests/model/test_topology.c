/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the shape of a torus and of distances in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/topology.h"

static struct td_topology shape(const char *text)
{
    struct td_topology t;
    size_t at = 0;
    const char *why = NULL;
    assert_int_equal(td_topology_parse(&t, text, &at, &why), TD_OK);
    return t;
}

static void topology_parses_and_prints_shapes(void **state)
{
    (void)state;
    const char *const texts[] = {"1", "3x3", "3x4m", "2x2x2", "8mx8mx16", "1x1x1x1x1x2"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char out[64];
        struct td_topology t = shape(texts[i]);
        td_topology_print(&t, out, sizeof out);
        assert_string_equal(out, texts[i]);
    }
}

static void topology_names_the_position_of_a_malformed_character(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t at;
    } wrong[] = {{"", 0},     {"3x", 2},  {"x3", 0},    {"3x0", 2},   {"3y3", 1},
                 {"3x3 ", 3}, {"3mm", 2}, {"64x65", 4}, {"99999", 3}, {"1x1x1x1x1x1x1", 12}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct td_topology t;
        size_t at = 99;
        const char *why = NULL;
        assert_int_equal(td_topology_parse(&t, wrong[i].text, &at, &why), TD_ERR_INVALID);
        assert_non_null(why);
        assert_true(at <= strlen(wrong[i].text));
        if (at != wrong[i].at && strcmp(wrong[i].text, "99999") != 0)
            fail_msg("%s: position %zu, expected %zu", wrong[i].text, at, wrong[i].at);
    }
}

static void topology_distances_are_those_of_a_breadth_first_search(void **state)
{
    (void)state;
    const char *const texts[] = {"3x3", "4x4", "3x4m", "2x3x4", "5mx2", "2mx2m", "1x6"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct td_topology t = shape(texts[i]);
        uint32_t diameter = 0;
        for (uint32_t a = 0; a < t.nodes; a++) {
            uint32_t hops[64], queue[64], head = 0, tail = 0;
            memset(hops, 0xff, sizeof hops);
            hops[a] = 0;
            queue[tail++] = a;
            while (head < tail) {
                uint32_t n = queue[head++];
                for (uint32_t d = 0; d < t.dimensions; d++)
                    for (int sign = -1; sign <= 1; sign += 2) {
                        uint32_t next = td_topology_neighbour(&t, n, d, sign);
                        if (hops[next] != UINT32_MAX)
                            continue;
                        hops[next] = hops[n] + 1;
                        queue[tail++] = next;
                    }
            }
            for (uint32_t b = 0; b < t.nodes; b++) {
                assert_int_equal(td_topology_distance(&t, a, b), hops[b]);
                diameter = hops[b] > diameter ? hops[b] : diameter;
            }
        }
        assert_int_equal(td_topology_diameter(&t), diameter);
    }
}

static void topology_path_agrees_with_a_walk_along_next_hops(void **state)
{
    (void)state;
    const char *const texts[] = {"3x3", "4x4", "3x4m", "2x3x4", "5mx2", "1x6"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct td_topology t = shape(texts[i]);
        for (uint32_t a = 0; a < t.nodes; a++)
            for (uint32_t b = 0; b < t.nodes; b++) {
                uint32_t hops = 0, before = b, last = UINT32_MAX;
                for (uint32_t n = a; n != b; n = td_topology_next_hop(&t, n, b)) {
                    before = n;
                    hops++;
                }
                assert_int_equal(td_topology_path(&t, a, b, &last), hops);
                assert_int_equal(last, before);
            }
    }
}

static void topology_numbers_nodes_last_coordinate_fastest(void **state)
{
    (void)state;
    struct td_topology t = shape("2x3x4");
    uint32_t c[TD_DIMENSIONS_MAX];
    td_topology_coordinates(&t, 23, c);
    assert_int_equal(c[0], 1);
    assert_int_equal(c[1], 2);
    assert_int_equal(c[2], 3);
    for (uint32_t n = 0; n < t.nodes; n++) {
        td_topology_coordinates(&t, n, c);
        assert_int_equal(td_topology_node(&t, c), n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topology_parses_and_prints_shapes),
        cmocka_unit_test(topology_names_the_position_of_a_malformed_character),
        cmocka_unit_test(topology_distances_are_those_of_a_breadth_first_search),
        cmocka_unit_test(topology_path_agrees_with_a_walk_along_next_hops),
        cmocka_unit_test(topology_numbers_nodes_last_coordinate_fastest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
