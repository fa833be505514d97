/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the small pure modules: topology, layout, group, arena, calls, permutations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collectives/collectives.h"
#include "base/arena.h"
#include "model/call.h"
#include "model/group.h"
#include "model/layout.h"
#include "model/program.h"
#include "model/topology.h"
#include "base/quantity.h"

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

static void topology_points_at_the_wrong_character(void **state)
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
            fail_msg("%s: %zu, not %zu", wrong[i].text, at, wrong[i].at);
    }
}

static void topology_distances_are_those_of_a_breadth_first_search(void **state)
{
    (void)state;
    const char *const texts[] = {"3x3", "4x4", "3x4m", "2x3x4", "5mx2", "2mx2m", "1x6"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct td_topology t = shape(texts[i]);
        uint32_t most = 0;
        for (uint32_t a = 0; a < t.nodes; a++) {
            uint32_t hops[64], queue[64], head = 0, tail = 0;
            memset(hops, 0xff, sizeof hops);
            hops[a] = 0;
            queue[tail++] = a;
            while (head < tail) {
                uint32_t n = queue[head++];
                for (uint32_t d = 0; d < t.dimensions; d++)
                    for (int way = -1; way <= 1; way += 2) {
                        uint32_t next = td_topology_neighbour(&t, n, d, way);
                        if (hops[next] != UINT32_MAX)
                            continue;
                        hops[next] = hops[n] + 1;
                        queue[tail++] = next;
                    }
            }
            for (uint32_t b = 0; b < t.nodes; b++) {
                assert_int_equal(td_topology_distance(&t, a, b), hops[b]);
                most = hops[b] > most ? hops[b] : most;
            }
        }
        assert_int_equal(td_topology_diameter(&t), most);
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

static void layout_blocks_cover_and_do_not_overlap(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 60; n++)
        for (uint64_t parts = 1; parts < 20; parts++) {
            uint64_t at = 0, shared = 0;
            for (uint64_t p = 0; p < parts; p++) {
                struct td_range b = td_block(n, parts, p), s = td_share(n, parts, p);
                assert_int_equal(b.begin, at);
                for (uint64_t i = b.begin; i < b.begin + b.count; i++)
                    assert_int_equal(td_block_owner(n, parts, i), p);
                at += b.count;
                assert_int_equal(s.begin, shared);
                shared += s.count;
            }
            assert_int_equal(at, n);
            assert_int_equal(shared, n);
        }
    assert_int_equal(td_block(344, 9, 0).count, 39);
    assert_int_equal(td_block(344, 9, 8).count, 32);
}

static void group_finds_every_rank_in_any_placement(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create(1 << 20);
    for (unsigned seed = 1; seed < 200; seed++) {
        uint32_t rank_node[40], size = 1 + seed % 40, seen = 0;
        srand(seed);
        for (uint32_t r = 0; r < size; r++)
            rank_node[r] = seed % 3 == 0   ? r * 5 / size
                           : seed % 3 == 1 ? r % 4
                                           : (uint32_t)rand() % 9;
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

static void arena_gives_back_what_it_took(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create(1 << 16);
    void *held[64] = {0};
    srand(7);
    for (int i = 0; i < 20000; i++) {
        int at = rand() % 64;
        if (held[at]) {
            td_arena_free(arena, held[at]);
            held[at] = NULL;
        } else {
            size_t bytes = (size_t)(rand() % 2000);
            unsigned char *p = td_arena_alloc(arena, bytes);
            for (size_t b = 0; p && b < bytes; b++)
                assert_int_equal(p[b], 0);
            if (p)
                memset(p, 0xa5, bytes);
            held[at] = p;
        }
    }
    for (int i = 0; i < 64; i++)
        td_arena_free(arena, held[i]);
    assert_int_equal(td_arena_used(arena), 0);
    void *all = td_arena_alloc(arena, (1 << 16) - 64); /* the pieces have grown together again */
    assert_non_null(all);
    assert_null(td_arena_alloc(arena, 64));
    td_arena_destroy(arena);
}

static void ranges_never_overlap_and_come_back_whole(void **state)
{
    (void)state;
    static struct td_ranges ranges;
    struct {
        uint64_t offset, bytes;
    } held[32];
    size_t count = 0;
    td_ranges_init(&ranges, 1 << 20);
    srand(11);
    for (int i = 0; i < 20000; i++) {
        if (count && (rand() % 2 || count == 32)) {
            size_t at = (size_t)rand() % count;
            td_ranges_give(&ranges, held[at].offset, held[at].bytes);
            held[at] = held[--count];
            continue;
        }
        uint64_t bytes = (uint64_t)(rand() % 100000), offset = td_ranges_take(&ranges, bytes);
        if (offset == UINT64_MAX)
            continue;
        for (size_t k = 0; k < count; k++)
            assert_true(offset + bytes <= held[k].offset ||
                        held[k].offset + held[k].bytes <= offset || bytes == 0 ||
                        held[k].bytes == 0);
        held[count].offset = offset;
        held[count++].bytes = bytes;
    }
    while (count--)
        td_ranges_give(&ranges, held[count].offset, held[count].bytes);
    assert_int_equal(ranges.used, 0);
    assert_int_equal(td_ranges_take(&ranges, 1 << 20), 0);
    assert_int_equal(td_ranges_take(&ranges, 1), UINT64_MAX);
}

static void order_is_a_permutation_and_depends_on_the_seed(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 300; n++) {
        unsigned char seen[300] = {0};
        uint64_t same = 0;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t at = td_permutation_at(n, n, i);
            assert_true(at < n);
            assert_int_equal(seen[at]++, 0);
            same += at == td_permutation_at(n + 1, n, i);
        }
        if (n > 50)
            assert_true(same < n / 2);
    }
}

static void calls_are_checked_compared_and_printed(void **state)
{
    (void)state;
    char text[160];
    struct td_call a = {
        .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_DOUBLE, .op = TD_OP_SUM, .count = 10};
    struct td_call b = a;
    assert_null(td_call_check(&a, 4));
    assert_int_equal(td_call_compare(&a, &b), 0);
    b.count = 11;
    assert_true(td_call_compare(&a, &b) < 0 && td_call_compare(&b, &a) > 0);
    td_call_print(&a, text, sizeof text);
    assert_string_equal(text, "allreduce(sum, double, 10)");
    b.count = UINT64_MAX / 8;
    assert_non_null(td_call_check(&b, 4));
    b = (struct td_call){.kind = TD_KIND_BROADCAST, .type = TD_TYPE_BYTE, .root = 4};
    assert_non_null(td_call_check(&b, 4));
    b.kind = TD_KIND_MAX;
    assert_non_null(td_call_check(&b, 4));
}

static void transforms_scale_as_they_say(void **state)
{
    (void)state;
    struct td_fft f = {.dimensions = 2,
                       .type = TD_TYPE_COMPLEX_DOUBLE,
                       .sign = TD_FFT_FORWARD,
                       .scale = TD_SCALE_ORTHO,
                       .size = {344, 403}};
    td_fft_all(&f);
    assert_null(td_fft_check(&f));
    double ortho = td_fft_factor(&f);
    f.scale = TD_SCALE_FULL;
    assert_true(ortho * ortho / td_fft_factor(&f) - 1 < 1e-15);
    assert_true(1 - ortho * ortho / td_fft_factor(&f) < 1e-15);
    f.size[1] = 0;
    assert_non_null(td_fft_check(&f));
}

static void slices_merge_what_is_adjacent(void **state)
{
    (void)state;
    struct td_slice s = td_slice_at(TD_SPACE_SOURCE, 0, 8, 16);
    td_slice_loop(&s, 3, 100, 0);
    td_slice_loop(&s, 1, 7, 1);
    td_slice_loop(&s, 4, 16, 0);
    assert_int_equal(td_slice_bytes(&s), 3 * 4 * 16);
    td_slice_simplify(&s);
    assert_int_equal(s.levels, 1);
    assert_int_equal(s.run, 64);
    assert_int_equal(td_slice_bytes(&s), 3 * 4 * 16);
}

static void quantities_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"4096", 4096},
                {"64 KiB", 65536},
                {"64K", 65536},
                {"5MB", 5000000},
                {"16777215T", (((uint64_t)1 << 24) - 1) << 40},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {
        "", "K", "-1", " 1", "1 KiBs", "18446744073709551616", "16777216T", "1/s", "0x10", "1.5K"};
    uint64_t value = 0;
    char text[32];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(td_quantity_parse(good[i].text, &value));
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(td_quantity_parse(bad[i], &value));
    assert_true(td_quantity_parse_rate("5MB/s", &value) && value == 5000000);
    assert_true(td_quantity_parse_rate("5M", &value) && value == 5 << 20);
    assert_string_equal(td_quantity_print(512, text, sizeof text), "512 bytes");
    assert_string_equal(td_quantity_print(1536, text, sizeof text), "1.5 KiB");
    assert_string_equal(td_quantity_print_rate(5e6, text, sizeof text), "5 MB/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_are_read_and_written),
        cmocka_unit_test(topology_parses_and_prints_shapes),
        cmocka_unit_test(topology_points_at_the_wrong_character),
        cmocka_unit_test(topology_distances_are_those_of_a_breadth_first_search),
        cmocka_unit_test(topology_numbers_nodes_last_coordinate_fastest),
        cmocka_unit_test(layout_blocks_cover_and_do_not_overlap),
        cmocka_unit_test(group_finds_every_rank_in_any_placement),
        cmocka_unit_test(arena_gives_back_what_it_took),
        cmocka_unit_test(ranges_never_overlap_and_come_back_whole),
        cmocka_unit_test(order_is_a_permutation_and_depends_on_the_seed),
        cmocka_unit_test(calls_are_checked_compared_and_printed),
        cmocka_unit_test(transforms_scale_as_they_say),
        cmocka_unit_test(slices_merge_what_is_adjacent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
