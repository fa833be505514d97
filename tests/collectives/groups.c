/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

uint64_t groups_draw(uint64_t below)
{
    static uint64_t state = 3;
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % below;
}

static bool belongs(const struct groups_placed *g, uint32_t node)
{
    const struct td_topology *t = &g->topology;
    uint32_t last = t->dimensions - 1, c[TD_DIMENSIONS_MAX];
    td_topology_coordinates(t, node, c);
    if (g->form == GROUPS_BOX)
        return t->size[last] == 1 || c[last] + 1 < t->size[last];
    return g->form != GROUPS_SCATTERED || node == 0 || groups_draw(3) != 0;
}

static void shuffle(struct groups_placed *g)
{
    for (uint32_t r = g->size; r > 1; r--) {
        uint32_t other = (uint32_t)groups_draw(r), swap = g->rank_node[other];
        g->rank_node[other] = g->rank_node[r - 1];
        g->rank_node[r - 1] = swap;
    }
}

void groups_place(struct groups_placed *g, const char *shape, enum groups_form form,
                  uint32_t per_node)
{
    uint32_t node[SYMBOLIC_NODES_MAX], nodes = 0;
    *g = (struct groups_placed){.form = form};
    assert_int_equal(td_topology_parse(&g->topology, shape, &(size_t){0}, &(const char *){0}),
                     TD_OK);
    assert_true(g->topology.nodes * per_node <= SYMBOLIC_RANKS_MAX);
    for (uint32_t n = 0; n < g->topology.nodes; n++)
        if (belongs(g, n))
            node[nodes++] = n;
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t ranks = form == GROUPS_UNEVEN ? 1 + (uint32_t)groups_draw(per_node) : per_node;
        for (uint32_t k = 0; k < ranks; k++)
            g->rank_node[g->size++] = node[i];
    }
    for (uint32_t r = 0; form == GROUPS_CYCLIC && r < g->size; r++)
        g->rank_node[r] = node[r % nodes];
    if (form == GROUPS_SHUFFLED || form == GROUPS_UNEVEN)
        shuffle(g);
}

void groups_pick(struct groups_placed *g, const char *shape, uint32_t nodes)
{
    *g = (struct groups_placed){.form = GROUPS_SCATTERED};
    assert_int_equal(td_topology_parse(&g->topology, shape, &(size_t){0}, &(const char *){0}),
                     TD_OK);
    assert_true(nodes <= SYMBOLIC_RANKS_MAX && nodes <= g->topology.nodes);
    while (g->size < nodes) {
        uint32_t node = (uint32_t)groups_draw(g->topology.nodes), taken = 0;
        for (uint32_t r = 0; r < g->size; r++)
            taken += g->rank_node[r] == node;
        if (!taken)
            g->rank_node[g->size++] = node;
    }
}

uint64_t groups_nodes(const struct groups_placed *g, uint64_t *most)
{
    uint64_t nodes = 0;
    *most = 0;
    for (uint32_t n = 0; n < g->topology.nodes; n++) {
        uint64_t here = 0;
        for (uint32_t r = 0; r < g->size; r++)
            here += g->rank_node[r] == n;
        nodes += here > 0;
        *most = here > *most ? here : *most;
    }
    return nodes;
}
