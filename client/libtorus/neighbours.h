/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours: the ranks with which a rank exchanges data, on a grid or by the edges of a graph. */
#ifndef TORUS_NEIGHBOURS_H
#define TORUS_NEIGHBOURS_H

#include "group.h"

/* struct tl_neighbours: one of the two; both NULL: the call is not a neighbour exchange. */
struct tl_neighbours {
    const struct torus_grid *grid;
    const struct torus_graph *graph;
};

/* tl_neighbours_check returns NULL if the grid or graph fits the group, else the sentence of the
 * error. */
const char *tl_neighbours_check(const torus_group *g, const struct tl_neighbours *n);

/* tl_neighbours_blocks returns the number of blocks of the source (which 0) or of the destination
 * (1). */
uint32_t tl_neighbours_blocks(const struct tl_neighbours *n, int which);

/* tl_neighbours_rank finds the rank of a block. It returns false if the grid ends there. */
bool tl_neighbours_rank(const torus_group *g, const struct tl_neighbours *n, int which,
                        uint32_t block, uint32_t *rank);

/* tl_neighbours_turn returns the place of a block among the blocks for the same rank: the first
 * block sent to a rank is the first that it receives. */
uint32_t tl_neighbours_turn(const struct tl_neighbours *n, int which, uint32_t block);

/* tl_neighbours_hash identifies a grid, which is equal on all ranks; 0 for a graph. */
uint64_t tl_neighbours_hash(const struct tl_neighbours *n);

#endif
