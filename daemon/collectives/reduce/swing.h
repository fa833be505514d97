/* SPDX-License-Identifier: Apache-2.0 */
/* swing: who exchanges with whom when vectors are halved, or doubled, on a torus whose rings have a
 * power of two of nodes (De Sensi and others, "Swing: short-cutting rings for higher bandwidth
 * allreduce", NSDI 2024).
 *
 * In turn t round a ring a node exchanges with the one (1 - (-2)^(t + 1)) / 3 places on, if its
 * place is even, or back: 1, -1, 3, -5, ... So partners are never farther apart than a third of
 * what has been doubled, where exclusive or would have them half of it apart, and each exchange is
 * of a pair. A turn of all dimensions is over before the next begins.
 *
 * 2 D pieces go at the same time. Piece (p, 0) takes dimension p first; piece (p, 1) is its mirror
 * image: even places are odd ones there. So each step of all pieces has every link busy, as long as
 * the sizes of dimensions are equal.
 *
 * Nodes have labels, a bit a step: those whose first s bits are the same have the same part of the
 * vector after s halvings, and partners in step s have the same first s bits and differ in the
 * next. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDUCE_SWING_H
#define TD_COLLECTIVES_REDUCE_SWING_H

#include "collectives/method.h"

enum { TD_SWING_STEPS_MAX = 12 };
_Static_assert(TD_NODES_MAX <= 1 << TD_SWING_STEPS_MAX, "a step doubles");

/* td_swing_fits returns true if a grid is a torus whose rings have a power of two of nodes.
 * td_swing_applies asks that of a call's grid (method.h). */
bool td_swing_fits(const struct td_grid *grid);
bool td_swing_applies(struct td_query *q);
/* td_swing_steps returns how many exchanges halve a vector down to a node's part. */
uint32_t td_swing_steps(const struct td_grid *grid);

/* struct td_traffic: a node's part in a step of a piece. */
struct td_traffic {
    uint32_t dimension, turn;
    uint32_t partner; /* slot */
    uint32_t hops;
    int sign;     /* of the way to it */
    uint32_t bit; /* of this node's label; the partner's is the other */
};
struct td_traffic td_swing_exchange(const struct td_grid *grid, uint32_t slot, uint32_t piece,
                                    uint32_t step);
/* td_swing_place returns a slot's label as a number, the first step's bit the highest;
 * td_swing_slot the slot that has it. */
uint32_t td_swing_place(const struct td_grid *grid, uint32_t slot, uint32_t piece);
uint32_t td_swing_slot(const struct td_grid *grid, uint32_t place, uint32_t piece);
/* td_swing_chain makes the families of a piece wait for each other: local ranks' sums first, then
 * each exchange with the sums of the one before. */
void td_swing_chain(struct td_program *p, unsigned fold, unsigned recv, unsigned combine,
                    unsigned send);

#endif
