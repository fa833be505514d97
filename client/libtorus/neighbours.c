/* SPDX-License-Identifier: Apache-2.0 */
#include "neighbours.h"

#include "base/hash.h"

static const char *wrong_size(const char *name, size_t given, size_t size)
{
    return given ? tl_sentence("%s.size is %zu, not %zu: set it to sizeof the structure", name,
                               given, size)
                 : tl_sentence("%s.size is 0: set it to sizeof the structure", name);
}

static const char *check_grid(const struct torus_grid *grid, uint32_t size)
{
    uint64_t ranks = 1;
    if (grid->size != sizeof *grid)
        return wrong_size("torus_grid", grid->size, sizeof *grid);
    if (grid->dimensions == 0 || grid->dimensions > TORUS_DIMENSIONS_MAX)
        return "torus_grid.dimensions must be 1 to 6";
    for (uint32_t d = 0; d < grid->dimensions; d++) {
        if (grid->extent[d] == 0 || grid->extent[d] > size)
            return "the product of the grid's extents must be the size of the group";
        ranks *= grid->extent[d]; /* no overflow: below 2^28, as both factors are at most 2^14 */
        if (ranks > size)
            break;
    }
    return ranks == size ? NULL : "the product of the grid's extents must be the size of the group";
}

static const char *check_edges(const uint32_t *rank, uint32_t count, uint32_t size)
{
    if (count > INT32_MAX / 2)
        return "the graph has too many edges";
    if (count > 0 && !rank)
        return "a list of the graph is NULL";
    for (uint32_t i = 0; i < count; i++)
        if (rank[i] >= size)
            return "an edge of the graph ends at a rank that is not in the group";
    return NULL;
}

const char *tl_neighbours_check(const torus_group *g, const struct tl_neighbours *n)
{
    const struct torus_graph *graph = n->graph;
    if (n->grid)
        return check_grid(n->grid, g->size);
    if (!graph)
        return "the grid or graph is NULL";
    if (graph->size != sizeof *graph)
        return wrong_size("torus_graph", graph->size, sizeof *graph);
    const char *wrong = check_edges(graph->source, graph->sources, g->size);
    return wrong ? wrong : check_edges(graph->destination, graph->destinations, g->size);
}

uint32_t tl_neighbours_blocks(const struct tl_neighbours *n, int which)
{
    if (n->grid)
        return 2 * n->grid->dimensions;
    return which == 0 ? n->graph->destinations : n->graph->sources;
}

/* beside finds the neighbour in direction `b` (2 x dimension, + 1 for up). */
static bool beside(const struct torus_grid *grid, uint32_t rank, uint32_t b, uint32_t *found)
{
    uint32_t stride = 1, d = b / 2, extent = grid->extent[d];
    for (uint32_t i = d + 1; i < grid->dimensions; i++)
        stride *= grid->extent[i];
    uint32_t own = rank / stride % extent;
    if (!grid->periodic[d] && own == (b % 2 ? extent - 1 : 0))
        return false;
    uint32_t other = (own + (b % 2 ? 1 : extent - 1)) % extent;
    *found = rank - own * stride + other * stride;
    return true;
}

bool tl_neighbours_rank(const torus_group *g, const struct tl_neighbours *n, int which,
                        uint32_t block, uint32_t *rank)
{
    if (n->grid)
        return beside(n->grid, g->rank, block, rank);
    *rank = which == 0 ? n->graph->destination[block] : n->graph->source[block];
    return true;
}

uint32_t tl_neighbours_turn(const struct tl_neighbours *n, int which, uint32_t block)
{
    /* if both neighbours in a dimension are one rank, the block that it sends down comes first, and
     * that one arrives from above */
    return n->grid && which == 1 ? block ^ 1 : block;
}

uint64_t tl_neighbours_hash(const struct tl_neighbours *n)
{
    if (!n->grid)
        return 0;
    uint64_t h = td_hash_add(TD_HASH_START, n->grid->dimensions);
    for (uint32_t d = 0; d < n->grid->dimensions; d++)
        h = td_hash_add(td_hash_add(h, n->grid->extent[d]), n->grid->periodic[d] != 0);
    return h;
}
