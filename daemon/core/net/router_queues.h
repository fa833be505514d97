/* SPDX-License-Identifier: Apache-2.0 */
/* router_queues: the output queues of a router, and how jobs take turns in them.
 * Only router.c includes this header. */
#ifndef TD_CORE_NET_ROUTER_QUEUES_H
#define TD_CORE_NET_ROUTER_QUEUES_H

#include "router_state.h"

struct td_arena;

/* td_queues_init returns false if the arena is full. */
bool td_queues_init(struct td_router *r, struct td_arena *arena);
/* td_queues_has_room and td_queues_ship serve td_router_has_room and td_router_ship. */
bool td_queues_has_room(const struct td_router *r, const struct output *out, uint64_t job);
bool td_queues_ship(struct td_router *r, struct output *out, const struct td_shipment *s);
/* td_queues_drain fills the FIFOs from the queues. */
void td_queues_drain(struct td_router *r);
/* td_queues_discard drops the shipments that are dead. */
void td_queues_discard(struct td_router *r, bool (*dead)(void *owner, uint64_t tag), void *owner);

#endif
