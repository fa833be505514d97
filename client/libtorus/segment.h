/* SPDX-License-Identifier: Apache-2.0 */
/* segment: blocking calls of a group whose ranks are all on one node, without a request. The ranks
 * meet in memory that they share (daemon/segment); the daemon does not serve it. The data of a
 * short call passes through that memory. In a long one the ranks read each other's memory
 * (rounds.h).
 *
 * A call that waits too long there, or that differs between the ranks, is made again by request, by
 * all ranks. So are the calls of a group with requests in flight, and non-blocking calls.
 * Owns: the mapping of the group's segment. */
#ifndef TORUS_SEGMENT_H
#define TORUS_SEGMENT_H

#include "work.h"

struct tl_move;
struct tl_own;
struct tl_segment;

/* tl_segment_adopt gives a group the segment that came with the reply to its creation, if one came:
 * c->passed. If it cannot be mapped, the calls of this rank go by request. If this process has no
 * descriptor left for it, tl_segment_adopt leaves and frees the group, and returns
 * TORUS_ERR_SYSTEM: each call of the group would wait for this rank's request. */
int tl_segment_adopt(torus_group *g, const struct td_reply *reply);

/* tl_segment_await waits until no other thread makes a call of the group in its segment: calls are
 * numbered in the order in which they begin. */
void tl_segment_await(torus_group *g);

/* tl_segment_has returns true if the call belongs in the group's segment. The answer depends on the
 * group and the call only, so it is the same on all ranks. */
bool tl_segment_has(const torus_group *g, const struct td_call *call);
/* tl_segment_run makes the call in the segment. It returns TORUS_OK or an error that ends the call;
 * TORUS_PENDING: it goes by request, after w->waited_ns. */
int tl_segment_run(struct tl_work *w);
/* tl_segment_move is tl_segment_run for the execution of a redistribution. `own` NULL: this rank
 * makes the call by request. */
int tl_segment_move(torus_group *g, const struct td_call *call, const struct tl_move *move,
                    const struct tl_own *own, int64_t *waited_ns);
/* tl_segment_barrier is tl_segment_run for a barrier. */
int tl_segment_barrier(torus_group *g, int64_t *waited_ns);
/* tl_segment_withdraw tells the other ranks that the next call of the group goes by request. */
void tl_segment_withdraw(torus_group *g);

#endif
