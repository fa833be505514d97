/* SPDX-License-Identifier: Apache-2.0 */
/* bound: what no routing of a collective can beat; of an all-to-all as exact integers. A link's
 * load may be half a message, so loads are given twice. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_COST_BOUND_H
#define TD_COLLECTIVES_COST_BOUND_H

#include "model/topology.h"

/* td_bound_load2 returns twice the messages that the busiest directed link of a dimension carries
 * when every node sends one message to every other, by minimal ways, ties halved: N/k floor(k^2/4)
 * on a torus, where all links of the dimension carry that; twice as much in the middle of a mesh.
 * k = 2 counts as two parallel cables in torus form, one in mesh form. */
uint64_t td_bound_load2(const struct td_topology *t, uint32_t dimension);
/* td_bound_longest returns the dimension with the highest load, the first of equals. */
uint32_t td_bound_longest(const struct td_topology *t);
/* td_alltoall_bound returns twice the bytes that pass the busiest link: T_min is half of it over a
 * link's bytes a second. With bytes = packets of a message, it is twice T_min in slots. */
uint64_t td_alltoall_bound(const struct td_topology *t, uint64_t bytes);
/* td_bound_slots returns what no way of doing a collective of `ranks` nodes can beat, in slots: of
 * the bytes that must come into or leave some node by its 2 D links, and the hops of the diameter
 * for data that must cross it. `bytes` as in a call: of the vector, of each rank's part, or for
 * each other. An all-to-all of a part of the machine is taken for as loaded as one of the whole. */
double td_bound_slots(const struct td_topology *t, unsigned kind, uint64_t bytes, uint32_t ranks,
                      uint32_t packet_bytes);

#endif
