/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <stdlib.h>

#include "collectives/redist/traffic_matrix.h"
#include "base/arena.h"
#include "model/group.h"
#include "model/topology.h"

/* struct nodes: passes on the bytes between nodes. */
struct nodes {
    const struct td_group *group;
    td_load_fn *each;
    void *me;
};

static void by_node(void *me, uint32_t from, uint32_t to, uint64_t bytes)
{
    const struct nodes *n = me;
    n->each(n->me, n->group->node[from], n->group->node[to], bytes);
}

bool td_load_each(const struct td_array_move *m, const struct td_group *g, td_load_fn *each,
                  void *me)
{
    struct nodes nodes = {g, each, me};
    struct td_arena *arena = td_arena_create(td_traffic_memory(m, g->slots));
    bool good = arena && td_traffic_each(m, g->slots, arena, by_node, &nodes);
    td_arena_destroy(arena);
    return good;
}

/* ---- the bound ---- */

/* struct load: the bytes that links must carry. */
struct load {
    const struct td_topology *topology;
    double *in, *out;                   /* [nodes] */
    double hops[TD_DIMENSIONS_MAX];     /* times bytes */
    double *between[TD_DIMENSIONS_MAX]; /* [k + 1][k + 1]: bytes from coordinates below one to
                                           coordinates below the other */
};

static bool load_init(struct load *load, const struct td_topology *t)
{
    *load = (struct load){.topology = t,
                          .in = calloc(t->nodes, sizeof *load->in),
                          .out = calloc(t->nodes, sizeof *load->out)};
    bool good = load->in && load->out;
    for (uint32_t d = 0; d < t->dimensions; d++) {
        size_t k = t->size[d] + (size_t)1;
        load->between[d] = calloc(k * k, sizeof **load->between);
        good = good && load->between[d];
    }
    return good;
}

static void load_fini(struct load *load)
{
    free(load->in);
    free(load->out);
    for (uint32_t d = 0; d < TD_DIMENSIONS_MAX; d++)
        free(load->between[d]);
}

static void load_add(void *me, uint32_t from, uint32_t to, uint64_t moved)
{
    struct load *load = me;
    const struct td_topology *t = load->topology;
    uint32_t a[TD_DIMENSIONS_MAX], b[TD_DIMENSIONS_MAX];
    double bytes = (double)moved;
    if (from == to)
        return;
    load->out[from] += bytes;
    load->in[to] += bytes;
    td_topology_coordinates(t, from, a);
    td_topology_coordinates(t, to, b);
    for (uint32_t d = 0; d < t->dimensions; d++) {
        load->hops[d] += bytes * abs(td_topology_offset(t, from, to, d));
        load->between[d][(a[d] + 1) * (t->size[d] + 1) + b[d] + 1] += bytes;
    }
}

/* of_nodes returns the bound from the bytes that enter or leave one node. */
static double of_nodes(const struct load *load, const struct td_topology *t)
{
    double most = 0;
    for (uint32_t n = 0; n < t->nodes; n++) {
        double links = 0, bytes = load->in[n] > load->out[n] ? load->in[n] : load->out[n];
        for (uint32_t d = 0; d < t->dimensions; d++)
            for (int sign = -1; sign <= 1; sign += 2)
                links += td_topology_neighbour(t, n, d, sign) != n;
        if (links > 0 && bytes / links > most)
            most = bytes / links;
    }
    return most;
}

/* of_slabs returns the bound from the bytes that pass the two planes of a slab, coordinates [i, j)
 * of a dimension. */
static double of_slabs(const double *sum, uint32_t k, bool wrap, double links)
{
    double most = 0;
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t j = i + 1; j <= k && j - i < k; j++) {
            size_t w = k + (size_t)1;
            double within = sum[j * w + j] - sum[i * w + j] - sum[j * w + i] + sum[i * w + i];
            double out = sum[j * w + k] - sum[i * w + k] - within;
            double in = sum[k * w + j] - sum[k * w + i] - within;
            double planes = wrap ? 2 : (i > 0) + (j < k);
            double share = (out > in ? out : in) / (planes * links);
            most = share > most ? share : most;
        }
    return most;
}

/* of_dimension returns the bound from all links of a dimension, and from its planes. */
static double of_dimension(const struct load *load, const struct td_topology *t, uint32_t d)
{
    uint32_t k = t->size[d];
    size_t w = k + (size_t)1;
    double *sum = load->between[d], planes = t->wrap[d] ? k : k - 1.0;
    double links = (double)t->nodes / k; /* of a plane, in each direction */
    for (size_t i = 1; i < w; i++)
        for (size_t j = 1; j < w; j++)
            sum[i * w + j] += sum[(i - 1) * w + j] + sum[i * w + j - 1] - sum[(i - 1) * w + j - 1];
    double all = k > 1 ? load->hops[d] / (2 * planes * links) : 0;
    double slabs = of_slabs(sum, k, t->wrap[d], links);
    return all > slabs ? all : slabs;
}

double td_load_bound(const struct td_array_move *moves, unsigned count, const struct td_topology *t,
                     const struct td_group *g)
{
    struct load load;
    double most = 0;
    bool good = load_init(&load, t);
    for (unsigned i = 0; good && i < count; i++)
        good = td_load_each(&moves[i], g, load_add, &load);
    if (good)
        most = of_nodes(&load, t);
    for (uint32_t d = 0; good && d < t->dimensions; d++) {
        double bytes = of_dimension(&load, t, d);
        most = bytes > most ? bytes : most;
    }
    load_fini(&load);
    return good ? most : -1;
}
