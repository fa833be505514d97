/* SPDX-License-Identifier: Apache-2.0 */
/* bound: lower bounds on the time of a collective, for any routing. Those of an all-to-all are
 * exact integers. A link's load may be half a message, so loads are doubled. Pure: no I/O, clock,
 * or globals. */
#ifndef TD_COLLECTIVES_COST_BOUND_H
#define TD_COLLECTIVES_COST_BOUND_H

#include "model/topology.h"

/* td_bound_load2 returns twice the messages that the busiest directed link of a dimension carries
 * if every node sends one message to every other by minimal routes, with ties halved. The load is
 * N/k floor(k^2/4) on a torus, on all links of the dimension, and twice that in the middle of a
 * mesh. k = 2 counts as two parallel cables in a torus, one in a mesh. */
uint64_t td_bound_load2(const struct td_topology *t, uint32_t dimension);
/* td_bound_longest returns the dimension with the highest load; of equal ones, the first. */
uint32_t td_bound_longest(const struct td_topology *t);
/* td_alltoall_bound returns twice the bytes that pass the busiest link. T_min is half of that
 * divided by a link's bytes per second. UINT64_MAX: more than 64 bits. */
uint64_t td_alltoall_bound(const struct td_topology *t, uint64_t bytes);
/* td_bound_slots returns the lower bound of a collective of `ranks` nodes in slots: the bytes that
 * must enter or leave some node on its 2 D links, and the hops of the diameter for data that must
 * cross it; a hop takes the time of a packet, or of the bytes of a partial one. `bytes` is as in a
 * call: of the vector, of each rank's part, or per pair. An all-to-all of a part of the machine
 * counts as loaded as one of the whole. */
double td_bound_slots(const struct td_topology *t, unsigned kind, uint64_t bytes, uint32_t ranks,
                      uint32_t packet_bytes);

#endif
