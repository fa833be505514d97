/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives that use all links of a torus, on tori of 1 to 4 dimensions, for a root on every
 * node, in place and out of place: checked symbolically (symbolic.h), and the bytes on each link
 * against the bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "collectives/select.h"
#include "base/arena.h"
#include "seeds.h"
#include "symbolic.h"

static const char *const shapes[] = {"2",       "3",       "4",   "7",     "2x2",   "2x3",
                                     "3x3",     "4x4",     "5x3", "2x2x2", "3x3x3", "4x2x3",
                                     "2x2x2x2", "3x2x2x2", "9x3", "2x8x1", "16x2"};

struct world {
    struct td_topology topology;
    uint32_t rank_node[3 * SYMBOLIC_RANKS_MAX], size, per_node;
};

static struct world make(const char *shape, uint32_t per_node)
{
    struct world w = {.per_node = per_node};
    size_t at = 0;
    const char *why = NULL;
    assert_int_equal(td_topology_parse(&w.topology, shape, &at, &why), TD_OK);
    w.size = w.topology.nodes * per_node;
    for (uint32_t r = 0; r < w.size; r++)
        w.rank_node[r] = r / per_node;
    return w;
}

/* is_left_out returns true for most of the cases under a sanitizer, which takes ten times as long.
 */
static bool is_left_out(void)
{
    static uint64_t number;
    return !seeds_pick(number++, 7);
}

static void check(const struct world *w, const struct td_call *call, uint64_t relay_bytes,
                  bool in_place, const char *shape)
{
    if (is_left_out())
        return;
    struct symbolic_stats stats;
    const struct symbolic_case c = {.compile = td_select_compile,
                                    .call = *call,
                                    .seed = 7,
                                    .topology = w->topology,
                                    .tuning = {.fabric = TD_FABRIC_ROUTED,
                                               .rings = TD_RINGS_BUCKET,
                                               .packet_bytes = 1024,
                                               .burst = 1,
                                               .relay_bytes = relay_bytes},
                                    .rank_node = w->rank_node,
                                    .size = w->size,
                                    .in_place = in_place,
                                    .orders = 2};
    const char *wrong = symbolic_check(&c, &stats);
    char text[160];
    td_call_print(call, text, sizeof text);
    if (wrong)
        fail_msg("%s on %s with %u ranks a node, %llu bytes of relay: %s", text, shape, w->per_node,
                 (unsigned long long)relay_bytes, wrong);
    assert_false(stats.rides);
}

static void allreduce_goes_round_all_rings(void **unused)
{
    (void)unused;
    static const uint64_t counts[] = {300, 1001, 5000};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (uint32_t per_node = 1; per_node <= 2; per_node++) {
            struct world w = make(shapes[s], per_node);
            if (w.size >= SYMBOLIC_RANKS_MAX)
                continue;
            for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
                if (counts[i] * w.size > 40000) /* long cases that test nothing more */
                    continue;
                const struct td_call call = {.kind = TD_KIND_ALLREDUCE,
                                             .type = TD_TYPE_DOUBLE,
                                             .op = TD_OP_SUM,
                                             .count = counts[i]};
                check(&w, &call, 1 << 30, i % 2, shapes[s]);
                check(&w, &call, 6 * 2000, i % 2, shapes[s]); /* in several segments */
            }
        }
}

static const char *const powers[] = {"2",   "4",      "8",       "16",      "32",    "2x2",
                                     "2x4", "4x4",    "8x2",     "2x2x2",   "4x2x2", "2x2x4",
                                     "8x4", "16x2x1", "2x2x2x2", "2x2x4x2", "8x8"};

static void check_swing(const struct world *w, const char *shape, enum td_kind kind, uint64_t count,
                        unsigned rings, bool in_place)
{
    if (is_left_out())
        return;
    bool reduces = td_call_reduces(kind);
    struct symbolic_stats stats;
    const struct symbolic_case c = {.compile = td_select_compile,
                                    .call = {.kind = (uint8_t)kind,
                                             .type = reduces ? TD_TYPE_DOUBLE : TD_TYPE_BYTE,
                                             .op = reduces ? TD_OP_SUM : TD_OP_NONE,
                                             .count = count},
                                    .seed = 7,
                                    .topology = w->topology,
                                    .tuning = {.fabric = TD_FABRIC_ROUTED,
                                               .rings = (uint8_t)rings,
                                               .packet_bytes = 1024,
                                               .relay_bytes = 1 << 30},
                                    .rank_node = w->rank_node,
                                    .size = w->size,
                                    .in_place = in_place,
                                    .orders = 2};
    const char *wrong = symbolic_check(&c, &stats);
    if (wrong)
        fail_msg("%s of %llu on %s, %u ranks a node, rings %u: %s", td_kind_name(kind),
                 (unsigned long long)count, shape, w->per_node, rings, wrong);
    assert_false(stats.rides);
}

/* also with fewer elements than nodes, so that some nodes have no part */
static void allreduce_halves_with_near_partners(void **unused)
{
    (void)unused;
    static const uint64_t counts[] = {1, 7, 64, 301};
    for (size_t s = 0; s < sizeof powers / sizeof powers[0]; s++)
        for (uint32_t per_node = 1; per_node <= 2; per_node++) {
            struct world w = make(powers[s], per_node);
            for (size_t i = 0; w.size <= 32 && i < sizeof counts / sizeof counts[0]; i++) {
                check_swing(&w, powers[s], TD_KIND_ALLREDUCE, counts[i], TD_RINGS_SWING, i % 2);
                check_swing(&w, powers[s], TD_KIND_ALLREDUCE, counts[i], TD_RINGS_WHOLE, i % 2);
            }
        }
}

/* ranks in blocks, or round robin; also blocks with fewer elements than pieces */
static void blocks_are_halved_and_doubled_with_near_partners(void **unused)
{
    (void)unused;
    static const uint64_t counts[] = {1, 21};
    for (size_t s = 0; s < sizeof powers / sizeof powers[0]; s++)
        for (uint32_t form = 0; form < 3; form++) {
            struct world w = make(powers[s], form ? 2 : 1);
            for (uint32_t r = 0; form == 2 && r < w.size; r++)
                w.rank_node[r] = r % w.topology.nodes;
            for (size_t i = 0; w.size <= 32 && i < sizeof counts / sizeof counts[0]; i++) {
                check_swing(&w, powers[s], TD_KIND_REDUCE_SCATTER, counts[i], TD_RINGS_SWING,
                            false);
                check_swing(&w, powers[s], TD_KIND_ALLGATHER, counts[i], TD_RINGS_SWING, false);
            }
        }
}

static void blocks_go_round_all_rings(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (uint32_t form = 0; form < 3;
             form++) { /* one rank per node, two in blocks, two round robin */
            struct world w = make(shapes[s], form ? 2 : 1);
            for (uint32_t r = 0; form == 2 && r < w.size; r++)
                w.rank_node[r] = r % w.topology.nodes;
            if (w.size >= SYMBOLIC_RANKS_MAX)
                continue;
            struct td_call call = {
                .kind = TD_KIND_ALLGATHER, .type = TD_TYPE_BYTE, .count = 2049 + s};
            check(&w, &call, 1 << 30, false, shapes[s]);
            call = (struct td_call){.kind = TD_KIND_REDUCE_SCATTER,
                                    .type = TD_TYPE_DOUBLE,
                                    .op = TD_OP_SUM,
                                    .count = 260 + s};
            check(&w, &call, 1 << 30, false, shapes[s]);
            if (w.size <= 16) /* in four segments, the last a short one */
                check(&w, &call, (uint64_t)w.size * 6 * 600, false, shapes[s]);
        }
}

static void scans_pass_on_chunks_of_some_packets(void **unused)
{
    (void)unused;
    static const char *const chains[] = {"3", "5", "2x3", "3x4", "16"};
    for (size_t s = 0; s < sizeof chains / sizeof chains[0]; s++)
        for (uint32_t per_node = 1; per_node <= 2; per_node++)
            for (unsigned form = 0; form < 4; form++) {
                struct world w = make(chains[s], per_node);
                struct symbolic_stats stats;
                const struct symbolic_case c = {
                    .compile = td_select_compile,
                    .call = {.kind = form % 2 ? TD_KIND_SCAN : TD_KIND_EXSCAN,
                             .type = TD_TYPE_DOUBLE,
                             .op = TD_OP_SUM,
                             .count = form < 2 ? 2500 : 300}, /* several windows, or one */
                    .topology = w.topology,
                    .tuning = {.fabric = TD_FABRIC_ROUTED,
                               .packet_bytes = 64,
                               .relay_bytes = form < 2 ? 1 << 12 : 1 << 30},
                    .rank_node = w.rank_node,
                    .size = w.size,
                    .in_place = form / 2 == per_node % 2,
                    .orders = 2};
                const char *wrong = symbolic_check(&c, &stats);
                if (wrong)
                    fail_msg("scan of %llu on %s, %u ranks a node: %s",
                             (unsigned long long)c.call.count, chains[s], per_node, wrong);
            }
}

static void broadcast_goes_down_edge_disjoint_trees(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (uint32_t per_node = 1; per_node <= 2; per_node++) {
            struct world w = make(shapes[s], per_node);
            if (w.size >= SYMBOLIC_RANKS_MAX)
                continue;
            /* the first rank of every node, and with few ranks all */
            for (uint32_t root = 0; root<w.size; root += w.size> 16 ? per_node : 1) {
                const struct td_call call = {.kind = TD_KIND_BROADCAST,
                                             .type = TD_TYPE_BYTE,
                                             .count = 2049 + 7000 * (root % 2) + root,
                                             .root = root};
                check(&w, &call, 1 << 30, true, shapes[s]);
            }
        }
}

static void a_reduction_comes_up_edge_disjoint_trees(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (uint32_t per_node = 1; per_node <= 2; per_node++) {
            struct world w = make(shapes[s], per_node);
            for (uint32_t root = 0; w.size <= 16 && root < w.size; root++) {
                const struct td_call call = {.kind = TD_KIND_REDUCE,
                                             .type = TD_TYPE_DOUBLE,
                                             .op = TD_OP_SUM,
                                             .count = 300 + 7000 * (root % 2),
                                             .root = root};
                check(&w, &call, 1 << 30, root % 2, shapes[s]);
                check(&w, &call, 1, root % 2, shapes[s]); /* one chunk per segment */
            }
        }
}

/* link_loads counts the bytes that SENDs of one hop put on every directed link. */
static void no_two_trees_share_a_link(void **unused)
{
    (void)unused;
    enum { BYTES = 1 << 20, NODES = 64, DIRECTIONS = 8 };
    static const char *const large[] = {"4x4x4", "8x8", "2x4x3", "3x3x3", "2x2x2x2"};
    for (size_t s = 0; s < sizeof large / sizeof large[0]; s++) {
        struct world w = make(large[s], 1);
        uint64_t load[NODES][NODES][2] = {{{0}}}, total = 0;
        struct td_arena *arena = td_arena_create(1 << 20);
        struct td_group group;
        assert_int_equal(td_group_build(&group, arena, w.rank_node, w.size), TD_OK);
        const struct td_tuning tuning = {.fabric = TD_FABRIC_ROUTED, .packet_bytes = 1024};
        const struct td_call call = {
            .kind = TD_KIND_BROADCAST, .type = TD_TYPE_BYTE, .count = BYTES, .root = w.size / 3};
        for (uint32_t slot = 0; slot < w.size; slot++) {
            const struct td_compile_input in = {.call = &call,
                                                .group = &group,
                                                .slot = slot,
                                                .topology = &w.topology,
                                                .tuning = &tuning};
            struct td_program p;
            td_select_compile(&in, &p);
            for (unsigned f = 0; f < p.families; f++)
                for (uint64_t i = 0; p.family[f].kind == TD_SEND && i < p.family[f].count; i++) {
                    struct td_step step;
                    p.step_at(&p, f, i, &step);
                    assert_int_equal(td_topology_distance(&w.topology, slot, step.peer), 1);
                    load[slot][step.peer][step.sign < 0] += (uint64_t)td_step_bytes(&step);
                    total += (uint64_t)td_step_bytes(&step);
                }
        }
        uint64_t piece = BYTES / (2 * w.topology.dimensions) + 1;
        for (uint32_t a = 0; a < w.size; a++)
            for (uint32_t b = 0; b < w.size; b++)
                for (int way = 0; way < 2; way++)
                    assert_true(load[a][b][way] <= piece);
        assert_int_equal(total, (uint64_t)BYTES * (w.size - 1));
        td_group_free(&group, arena);
        td_arena_destroy(arena);
    }
}

static void check_prefix(const struct world *w, const char *shape, uint64_t count, unsigned how)
{
    struct symbolic_stats stats;
    const struct symbolic_case c = {
        .compile = td_select_compile,
        .call = {.kind = TD_KIND_PREFIX, .type = TD_TYPE_DOUBLE, .op = TD_OP_SUM, .count = count},
        .seed = 7,
        .topology = w->topology,
        .tuning = {.fabric = TD_FABRIC_ROUTED,
                   .prefix = (uint8_t)how,
                   .packet_bytes = 1024,
                   .relay_bytes = 1 << 30},
        .rank_node = w->rank_node,
        .size = w->size,
        .orders = 2};
    const char *wrong = symbolic_check(&c, &stats);
    if (wrong)
        fail_msg("prefix, method %u, on %s with %u ranks a node: %s", how, shape, w->per_node,
                 wrong);
    assert_false(stats.rides);
}

static void prefix_streams_over_a_tree_of_neighbours(void **unused)
{
    (void)unused;
    static const char *const meshes[] = {"3mx4", "5m", "2mx3x2"};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0] + 3; s++)
        for (uint32_t per_node = 1; per_node <= 3; per_node++) {
            const char *shape = s < 3 ? meshes[s] : shapes[s - 3];
            struct world w = make(shape, per_node);
            for (uint32_t r = w.size; per_node == 3 && r > 1; r--) { /* ranks in random order */
                uint32_t other = (r * 7 + 3) % r, node = w.rank_node[other];
                w.rank_node[other] = w.rank_node[r - 1];
                w.rank_node[r - 1] = node;
            }
            for (unsigned how = TD_PREFIX_STREAM; w.size <= 27 && how < TD_PREFIXES; how++)
                check_prefix(&w, shape, 1 + 90 * (s % 2), how);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_goes_round_all_rings),
        cmocka_unit_test(allreduce_halves_with_near_partners),
        cmocka_unit_test(blocks_are_halved_and_doubled_with_near_partners),
        cmocka_unit_test(blocks_go_round_all_rings),
        cmocka_unit_test(scans_pass_on_chunks_of_some_packets),
        cmocka_unit_test(broadcast_goes_down_edge_disjoint_trees),
        cmocka_unit_test(a_reduction_comes_up_edge_disjoint_trees),
        cmocka_unit_test(no_two_trees_share_a_link),
        cmocka_unit_test(prefix_streams_over_a_tree_of_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
