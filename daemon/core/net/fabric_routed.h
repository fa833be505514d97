/* SPDX-License-Identifier: Apache-2.0 */
/* torus: the routed fabric as this node takes part in it. Messages (SEND steps) become shipments of
 * the router; what the router moves becomes packets on the links to the neighbours; packets that
 * come are moved on, or are for a step here.
 *
 * A message is done when its destination says so (DELIVERED): a neighbour's acknowledgement only
 * says that the packet has got one hop further. Moves happen when the driver wakes the core, after
 * all that came at the same time: packets in transit are then known, and go first.
 *
 * With a link rate every direction is busy for as long as a packet takes on it; without one, links
 * take what the credits allow.
 * A packet on a link is kept, with its header, until the neighbour has it; the link sends it again
 * after a resume. When a neighbour is given up, what was on the way to it or came from it is lost:
 * of messages that have a shortest way through it, which fail with its name, at their origin.
 * Packets of others are dropped where no way is left.
 * Owns: the router, messages on their way out, notes of packets in transit or not acknowledged.
 * Borrows: operations. Source: algorithms of us8095585 figures 5 to 9; the bubble rule is in
 * router.h. */
#ifndef TD_CORE_NET_FABRIC_ROUTED_H
#define TD_CORE_NET_FABRIC_ROUTED_H

#include "base/span.h"
#include "router.h"
#include "core/core_internal.h"

enum { TD_TICKETS = 4096 /* messages of a node on their way */ };

struct td_torus;
struct td_transfer;

/* td_torus_create returns NULL when there is no memory. Only for the routed fabric. */
struct td_torus *td_torus_create(struct td_core *core);
enum td_send_result {
    TD_SEND_ACCEPTED,
    TD_SEND_QUEUE_FULL, /* *queue is full until packets move */
    TD_SEND_NO_TICKET,  /* tickets or memory are used up until a message ends */
    TD_SEND_ROUTE_LOST, /* a lost node lies on the route, and the operation has ended */
};

/* td_torus_send accepts a SEND step; the notice `delivered` follows when it is done. After
 * QUEUE_FULL and NO_TICKET the notice queues_have_room says when to try again. */
enum td_send_result td_torus_send(struct td_core *core, struct td_operation *operation,
                                  unsigned family, uint64_t index, const struct td_step *step,
                                  uint32_t *queue);
/* td_torus_router returns the node's router, for inspection; NULL on the direct fabric. */
const struct td_router *td_torus_router(const struct td_core *core);
/* td_torus_has_room returns true if a queue that was full has room again. */
bool td_torus_has_room(const struct td_core *core, uint32_t queue);
/* td_torus_abandon drops what has not left yet of an operation. */
void td_torus_abandon(struct td_core *core, struct td_operation *operation);
/* td_torus_packet takes a packet from a neighbour. False: the neighbour broke the rules, *why says
 * how, and the buffer is still the caller's. */
bool td_torus_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                     uint32_t buffer, const char **why);
/* td_torus_freed: a packet for a step here has been dealt with. */
void td_torus_freed(struct td_core *core, uint32_t session, unsigned direction, unsigned channel);
/* td_torus_delivered: the destination has all of a message. */
void td_torus_delivered(struct td_core *core, uint32_t node, uint64_t ticket);
/* td_torus_settle ends the packets of a link that the neighbour has acknowledged, or that were
 * lost, and that are no longer read, as far as there is room. */
void td_torus_settle(struct td_core *core, struct td_link *link);
/* td_torus_fetch_packet and fetch_ticket have memory come that a packet from a node, or the end of
 * a message, is going to need. */
void td_torus_fetch_packet(const struct td_core *core, uint32_t node);
void td_torus_fetch_ticket(const struct td_core *core, uint64_t ticket);
/* td_torus_send_again sends what the neighbour may not have received; false: there is no room. */
bool td_torus_send_again(struct td_core *core, struct td_link *link);
void td_torus_link_open(struct td_core *core, uint32_t node);
/* td_torus_link_lost: the session to a node has ended; what needs the node fails with its name, all
 * nodes are told when it is a neighbour. td_torus_news takes what another node tells so. */
void td_torus_link_lost(struct td_core *core, uint32_t node);
void td_torus_news(struct td_core *core, uint32_t from, const struct td_message *m);
/* td_torus_turn lets packets move. td_torus_wake_at returns when that makes sense next. */
void td_torus_turn(struct td_core *core);
td_time td_torus_wake_at(const struct td_core *core);
/* struct td_torus_way: a direction of travel, as people may see it. */
struct td_torus_way {
    uint32_t neighbour; /* the node itself where a mesh ends */
    uint64_t bytes;     /* of payload, sent that way */
    uint64_t retries;   /* packets sent again after the link was lost */
    uint32_t resumes;   /* times that the link's sessions went on where they had stopped */
};
void td_torus_look(const struct td_core *core, unsigned direction, struct td_torus_way *way);
/* td_torus_spans adds what nearly every turn reads to the spans of the core (core.h). */
unsigned td_torus_spans(const struct td_core *core, struct td_span *spans, unsigned count);

#endif
