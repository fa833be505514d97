/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"
#include "random.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint64_t state = 3;

uint64_t groups_draw(uint64_t below)
{
    return random_below(&state, below);
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
    assert(nodes > 0);
    for (uint32_t r = 0; form == GROUPS_CYCLIC && r < g->size; r++)
        g->rank_node[r] = node[r % nodes];
    if (form == GROUPS_SHUFFLED || form == GROUPS_UNEVEN)
        random_shuffle(&state, g->rank_node, g->size, sizeof *g->rank_node);
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
