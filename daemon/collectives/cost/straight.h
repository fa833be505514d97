/* SPDX-License-Identifier: Apache-2.0 */
/* straight: the predicted time of a call on the direct fabric. There a node has one link to all
 * others, which carries both directions at once, so that the time is that of the node which sends
 * or receives most, and of the messages that wait for one another.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_COST_STRAIGHT_H
#define TD_COLLECTIVES_COST_STRAIGHT_H

#include "collectives/method.h"

/* td_straight_cost returns the cost, or 0 (no prediction) on the routed fabric and on one node.
 * `bytes`: the most that a node sends, or receives. `path`: messages one after the other. */
uint64_t td_straight_cost(const struct td_program *p, uint64_t bytes, uint64_t path);

#endif
