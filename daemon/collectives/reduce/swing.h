/* SPDX-License-Identifier: Apache-2.0 */
/* swing: the partners of a node when vectors are halved, or doubled, on a torus whose rings have a
 * power of two of nodes (De Sensi and others, "Swing: short-cutting rings for higher bandwidth
 * allreduce", NSDI 2024).
 *
 * In turn t of a ring a node exchanges with the node (1 - (-2)^(t + 1)) / 3 places on if its place
 * is even, otherwise the same distance back: 1, -1, 3, -5, ... So partners are at most a third of
 * the doubled range apart (with exclusive or: half of it), and each exchange is between two nodes.
 * A turn of all dimensions is complete before the next begins.
 *
 * 2 D pieces move at the same time. Piece (p, 0) begins in dimension p; piece (p, 1) is its mirror
 * image: even and odd places are exchanged. So each step of all pieces uses every link if the
 * dimensions are equally long.
 *
 * Nodes have labels with one bit per step. Nodes whose first s bits are equal have the same part of
 * the vector after s halvings. Partners in step s have the same first s bits and differ in the
 * next. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDUCE_SWING_H
#define TD_COLLECTIVES_REDUCE_SWING_H

#include "collectives/method.h"

enum { TD_SWING_STEPS_MAX = 12 };
_Static_assert(TD_NODES_MAX <= 1 << TD_SWING_STEPS_MAX, "a step doubles");

/* td_swing_fits returns true if a grid is a torus whose rings have a power of two of nodes.
 * td_swing_applies checks the grid of a call (method.h). */
bool td_swing_fits(const struct td_grid *grid);
bool td_swing_applies(struct td_query *q);
/* td_swing_steps returns the number of exchanges that halve a vector down to a node's part. */
uint32_t td_swing_steps(const struct td_grid *grid);

/* struct td_traffic: a node's exchange in a step of a piece. */
struct td_traffic {
    uint32_t dimension, turn;
    uint32_t partner; /* slot */
    uint32_t hops;
    int sign;     /* of the way to the partner */
    uint32_t bit; /* of this node's label; the partner has the other value */
};
struct td_traffic td_swing_exchange(const struct td_grid *grid, uint32_t slot, uint32_t piece,
                                    uint32_t step);
/* td_swing_place returns a slot's label as a number, in which the first step's bit is the highest.
 * td_swing_slot returns the slot with that number. */
uint32_t td_swing_place(const struct td_grid *grid, uint32_t slot, uint32_t piece);
uint32_t td_swing_slot(const struct td_grid *grid, uint32_t place, uint32_t piece);
/* td_swing_chain makes the families of a piece wait for each other: first the local ranks' sums,
 * then each exchange with the sums of the one before. */
void td_swing_chain(struct td_program *p, unsigned fold, unsigned recv, unsigned combine,
                    unsigned send);

#endif
