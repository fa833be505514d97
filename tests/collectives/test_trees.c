/* SPDX-License-Identifier: Apache-2.0 */
/* Rooted calls along trees of neighbours, on groups with gaps, checked symbolically (symbolic.h).
 * TORUS_TEST_LONG=1 runs ten times as many groups, and all roots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collectives/select.h"
#include "groups.h"
#include "common/node_set.h"
#include "seeds.h"

static bool long_run;

/* struct gaps: ranks on nodes that leave gaps. */
struct gaps {
    struct td_topology topology;
    uint32_t size, rank_node[SYMBOLIC_RANKS_MAX];
};

/* place_gaps puts 1 to per_node ranks on each node that `who` names, in random order. */
static void place_gaps(struct gaps *g, const char *shape, const char *who, uint64_t seed,
                       uint32_t per_node)
{
    uint32_t node[SYMBOLIC_NODES_MAX], nodes = 0;
    const char *why = NULL;
    *g = (struct gaps){0};
    assert_int_equal(td_topology_parse(&g->topology, shape, &(size_t){0}, &why), TD_OK);
    assert_true(g->topology.nodes <= SYMBOLIC_NODES_MAX);
    assert_true(td_node_set_parse(&g->topology, who, seed, node, &nodes, &why));
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t k = 1 + (uint32_t)groups_draw(per_node);
             k > 0 && g->size + nodes - i - 1 < SYMBOLIC_RANKS_MAX; k--)
            g->rank_node[g->size++] = node[i];
    for (uint32_t r = g->size; r > 1 && seed % 2; r--) {
        uint32_t other = (uint32_t)groups_draw(r), swap = g->rank_node[other];
        g->rank_node[other] = g->rank_node[r - 1];
        g->rank_node[r - 1] = swap;
    }
}

static void check(const struct gaps *g, struct symbolic_case c, struct symbolic_stats *stats)
{
    c.compile = td_select_compile;
    c.topology = g->topology;
    c.rank_node = g->rank_node;
    c.size = g->size;
    c.seed = groups_draw(UINT64_MAX);
    c.orders = 2;
    const char *wrong = symbolic_check(&c, stats);
    if (wrong) {
        char shape[64], call[160];
        td_topology_print(&g->topology, shape, sizeof shape);
        td_call_print(&c.call, call, sizeof call);
        fail_msg("%s from %u on %s, %u ranks, spread %d: %s", call, c.call.root, shape, g->size,
                 c.tuning.rooted_tree, wrong);
    }
}

static struct symbolic_case make(enum td_kind kind, uint64_t count)
{
    bool reduces = td_call_reduces(kind);
    struct symbolic_case c = {0};
    c.call = (struct td_call){.kind = (uint8_t)kind,
                              .type = reduces ? TD_TYPE_INT32 : TD_TYPE_BYTE,
                              .op = reduces ? TD_OP_SUM : TD_OP_NONE,
                              .count = count};
    c.tuning = (struct td_tuning){.fabric = TD_FABRIC_ROUTED,
                                  .burst = 1,
                                  .packet_bytes = 64,
                                  .relay_bytes = (uint64_t)1 << 30};
    return c;
}

static const struct {
    const char *shape, *who;
} machines[] = {{"4x4", "random:0.6"},
                {"8x8", "random:0.4"},
                {"8mx8m", "random:0.3"},
                {"3x3x3", "random:0.7"},
                {"4x4mx4", "random:0.5"},
                {"2x2x2x2", "random:0.8"},
                {"64", "random:0.4"},
                {"5x5", "nodes:0,2,4,10,12"},
                {"4x8", "nodes:0-3,16-25"},
                {"3x5m", "nodes:7"},
                {"4mx4m", "all"},
                {"2x2x2x2x2x2", "random:0.7"},
                {"4x4x4", "nodes:0,2,8,10,21,23,29,31,32,34,40,42,53,55,61,63"}};

static void rooted_calls(enum td_kind kind, enum td_rooted_tree spread)
{
    static const uint64_t counts[] = {1, 15, 16, 17, 100, 333, 700};
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++)
        for (uint64_t seed = 0; seed < (long_run ? 20 : 2); seed++) {
            struct gaps g;
            place_gaps(&g, machines[m].shape, machines[m].who, seed, 1 + (uint32_t)(seed % 3));
            uint64_t count = counts[groups_draw(7)];
            struct symbolic_case c = make(kind, count);
            c.tuning.rooted_tree = (uint8_t)spread;
            for (uint32_t root = 0; root < g.size; root++) {
                if (!long_run && root > 1 && root + 1 < g.size)
                    continue;
                c.call.root = root;
                c.in_place = kind == TD_KIND_REDUCE && groups_draw(2);
                check(&g, c, NULL);
            }
        }
}

static void broadcast_reaches_all_along_every_tree(void **unused)
{
    (void)unused;
    rooted_calls(TD_KIND_BROADCAST, TD_ROOTED_TREE_PLANES);
    rooted_calls(TD_KIND_BROADCAST, TD_ROOTED_TREE_BINARY);
    rooted_calls(TD_KIND_BROADCAST, TD_ROOTED_TREE_BINOMIAL);
}

/* The chain is of the direct fabric. The counts give one piece, one and a bit, and several. */
static void broadcast_reaches_all_along_the_chain(void **unused)
{
    (void)unused;
    static const uint64_t counts[] = {1, (1 << 13) + 1, 5 << 13, 70001};
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        struct gaps g;
        place_gaps(&g, machines[m].shape, machines[m].who, m, 1 + (uint32_t)(m % 3));
        struct symbolic_case c = make(TD_KIND_BROADCAST, counts[m % 4]);
        c.tuning.fabric = TD_FABRIC_DIRECT;
        c.tuning.packet_bytes = 4096;
        c.tuning.message_bytes = 1 << 10;
        c.tuning.rooted_tree = TD_ROOTED_TREE_CHAIN;
        for (c.call.root = 0; c.call.root < g.size; c.call.root += g.size / 3 + 1)
            check(&g, c, NULL);
    }
}

static void reduce_folds_each_rank_once(void **unused)
{
    (void)unused;
    rooted_calls(TD_KIND_REDUCE, TD_ROOTED_TREE_PLANES);
    rooted_calls(TD_KIND_REDUCE, TD_ROOTED_TREE_BINOMIAL);
}

static void gather_and_scatter_pass_every_block_on(void **unused)
{
    (void)unused;
    rooted_calls(TD_KIND_GATHER, TD_ROOTED_TREE_PLANES);
    rooted_calls(TD_KIND_SCATTER, TD_ROOTED_TREE_PLANES);
}

/* a long vector is folded in a window of chunks, however long it is */
static void reduce_keeps_no_more_of_a_longer_vector(void **unused)
{
    (void)unused;
    uint64_t scratch[2] = {0, 0};
    for (int longer = 0; longer < 2; longer++) {
        struct symbolic_stats stats;
        struct gaps g;
        place_gaps(&g, "4x4", "random:0.6", 3, 1);
        struct symbolic_case c = make(TD_KIND_REDUCE, longer ? 4000 : 1000);
        c.tuning.packet_bytes = 64;
        c.tuning.rooted_tree = TD_ROOTED_TREE_PLANES;
        check(&g, c, &stats);
        for (uint32_t s = 0; s < stats.slots; s++)
            scratch[longer] += stats.scratch[s];
    }
    assert_true(scratch[0] > 0);
    assert_true(scratch[1] <= 3 * scratch[0]); /* chunks are longer, not more */
}

/* if nodes would have to store too much, blocks go directly to the root */
static void gather_keeps_within_relay_bytes(void **unused)
{
    (void)unused;
    struct gaps g;
    struct symbolic_stats stats;
    place_gaps(&g, "4x4", "random:0.6", 5, 1);
    struct symbolic_case c = make(TD_KIND_GATHER, 1000);
    check(&g, c, &stats);
    uint64_t kept = 0;
    for (uint32_t s = 0; s < stats.slots; s++)
        kept += stats.scratch[s];
    assert_true(kept > 0);
    c.tuning.relay_bytes = 1 << 12;
    check(&g, c, &stats);
    for (uint32_t s = 0; s < stats.slots; s++)
        assert_int_equal(stats.scratch[s], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_reaches_all_along_every_tree),
        cmocka_unit_test(broadcast_reaches_all_along_the_chain),
        cmocka_unit_test(reduce_folds_each_rank_once),
        cmocka_unit_test(gather_and_scatter_pass_every_block_on),
        cmocka_unit_test(reduce_keeps_no_more_of_a_longer_vector),
        cmocka_unit_test(gather_keeps_within_relay_bytes),
    };
    long_run = seeds_long();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
