/* SPDX-License-Identifier: Apache-2.0 */
/* link: the way to one other node: whether it is up, the packets in flight on it, and the messages
 * waiting for credit. Also what was last heard from the node (health).
 *
 * A link is a pair of one-way sessions. On the way out, packets are numbered from 1; at most
 * `link_credits` of them are unfreed at the far end. On the way in, packets come in order, and what
 * was received and freed is told back in the header of our own packets or in a CREDIT.
 * Owns: transfers until delivered. Borrows: the operations they are for.
 * Invariant: freed <= received <= sent <= freed + link_credits, seen from either end. */
#ifndef TD_CORE_LINK_H
#define TD_CORE_LINK_H

#include "state.h"

/* struct td_transfer: a message on its way: a SEND step of an operation. */
struct td_transfer {
    struct td_transfer *next;
    struct td_operation *operation;
    unsigned family; /* of the SEND, at this node */
    uint64_t index;
    struct td_step step;
    uint64_t bytes, offset; /* offset: handed to the link so far */
    uint32_t unsettled;     /* packets in flight */
    bool abandoned;         /* its operation has ended: nobody waits for it */
    bool delivered;         /* routed: the destination has said so */
    uint32_t ticket;        /* routed */
};

enum { TD_LINK_TEXT_MAX = 160 };

struct td_link {
    struct td_task task;
    uint32_t node;
    bool up, wanted;
    bool neighbour;   /* in the node tree */
    uint32_t watches; /* communicators and joins that want to know of its death */
    uint64_t incarnation;
    char *text; /* why it went down, TD_LINK_TEXT_MAX bytes; NULL: it never did */

    uint64_t sent, acknowledged, freed_there;
    struct td_flight *packets,
        **packets_last; /* not settled: acknowledged and read by the driver */
    struct td_transfer *queue, **queue_last;

    uint32_t session; /* of the way out: new when the link goes down */

    uint32_t session_in; /* of the way in, as the far end numbers it */
    uint64_t received, freed;
    uint64_t received_told, freed_told;

    td_time heard_at, spoke_at;
    uint8_t *news; /* neighbours: the nodes that are up on its side */
};

void td_link_init(struct td_core *core);
void td_link_fini(struct td_core *core);
void td_link_up(struct td_core *core, uint32_t node, uint64_t incarnation);
/* td_link_why returns why a link is not up. */
const char *td_link_why(const struct td_link *link);
/* td_link_neighbour finds the neighbours in the node tree, by increasing number: *place is 0 at
 * first. False: there are no more. */
bool td_link_neighbour(const struct td_core *core, uint32_t *place, uint32_t *node);
void td_link_down(struct td_core *core, uint32_t node, const char *text);
/* td_link_send queues a SEND step; td_engine_delivered tells when it is done. False: no memory. */
bool td_link_send(struct td_core *core, struct td_operation *operation, unsigned family,
                  uint64_t index, const struct td_step *step);
/* td_link_abandon drops what is queued of an operation. What is in flight settles by itself. */
void td_link_abandon(struct td_core *core, struct td_operation *operation);
void td_link_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                    uint32_t buffer);
void td_link_sent(struct td_core *core, uint64_t handle);
/* td_link_freed: a packet received in that session has been dealt with. */
void td_link_freed(struct td_core *core, uint32_t node, uint32_t session);
/* td_link_stamp gives a packet that is being sent its place in the session. The flight is on the
 * link until the far end has acknowledged it and the driver reads no more. */
void td_link_stamp(struct td_core *core, uint32_t node, struct td_flight *flight,
                   struct td_packet *packet);
/* td_link_fill writes what was received from there into any packet that goes there. */
void td_link_fill(struct td_core *core, uint32_t node, struct td_packet *packet);
/* td_link_drop ends a session whose far end broke the rules. */
void td_link_drop(struct td_core *core, uint32_t node, const char *text);
/* td_link_watch and unwatch: somebody here depends on the node. */
void td_link_watch(struct td_core *core, uint32_t node);
void td_link_unwatch(struct td_core *core, uint32_t node);

/* ---- health ---- */

void td_health_heard(struct td_core *core, uint32_t node, const struct td_message *heartbeat);
/* td_health_tick sends heartbeats that are due and ends links that are silent. */
void td_health_tick(struct td_core *core);
/* td_health_changed tells the neighbours who is up, now. */
void td_health_changed(struct td_core *core, uint32_t except);
enum td_peer_state td_health_state(struct td_core *core, uint32_t node);

#endif
