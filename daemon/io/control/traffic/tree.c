/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "express.h"
#include "io/control/link/link.h"
#include "io/control/peer.h"
#include "wire/peer.h"

/* send_frame sends SESSION_BYTES, which it fills in, and a message of `size` bytes. A numbered one
 * may take the express path, without those bytes. A `loose` message, which its sender keeps, is
 * dropped if the queue is full. */
static void send_frame(struct td_peer *p, uint8_t *bytes, size_t size, bool numbered, bool loose)
{
    if (numbered && td_peer_send_express(p, bytes + SESSION_BYTES, size, loose))
        return;
    put_u64(bytes, p->out.session);
    /* no td_zsocket_stir: a DEALER of a link that is up receives nothing */
    int sent = zmq_send(td_zsocket_raw(p->out.dealer), bytes, size + SESSION_BYTES, ZMQ_DONTWAIT);
    if (sent < 0 && !loose)
        td_peer_end(p, "cannot queue a message to it", RETRY_MS);
}

void td_peers_repeat_tree(struct td_peers *peers, uint32_t node, uint32_t via, uint64_t number)
{
    const struct td_unacknowledged_message *m =
        td_unacknowledged_from(&peers->peer[node].unacknowledged, number);
    struct td_peer *p = via == UINT32_MAX ? NULL : &peers->peer[via];
    for (; m && p && p->state == TD_CONNECTION_UP; m = m->next) {
        uint8_t bytes[SESSION_BYTES + TD_TREE_MESSAGE_MAX];
        memcpy(bytes + SESSION_BYTES, m->bytes, m->size);
        send_frame(p, bytes, m->size, true, false);
    }
}

void td_peers_forget_tree(struct td_peers *peers, uint32_t node, uint64_t number)
{
    td_unacknowledged_acknowledge(&peers->peer[node].unacknowledged, number);
}

void td_peers_forward_tree(struct td_peers *peers, const struct td_action *a)
{
    struct td_peer *p = &peers->peer[a->u.relay.node];
    uint8_t bytes[SESSION_BYTES + TD_TREE_MESSAGE_MAX];
    size_t size = td_wire_encode_message(a->u.relay.message, bytes + SESSION_BYTES,
                                         sizeof bytes - SESSION_BYTES);
    if (size == 0 || p->state != TD_CONNECTION_UP)
        return;
    td_peer_want_express(p, a->u.relay.message->kind);
    send_frame(p, bytes, size, a->u.relay.message->number != 0, true);
}

static void send_tree(struct td_peers *peers, const struct td_action *a)
{
    struct td_unacknowledged *unacknowledged = &peers->peer[a->u.tree.node].unacknowledged;
    uint32_t via = a->u.tree.via;
    struct td_peer *p = via == UINT32_MAX ? NULL : &peers->peer[via];
    struct td_message m = a->u.tree.message;
    uint8_t bytes[SESSION_BYTES + TD_TREE_MESSAGE_MAX], payload[TD_LONG_RIDE_BYTES_MAX];
    uint32_t carried = a->u.tree.payload_bytes;
    if (carried > 0 && carried <= TD_LONG_RIDE_BYTES_MAX) {
        uint8_t *room[2 * TD_NODE_RANKS_MAX];
        struct td_bases bases;
        td_regions_bases(peers->loop->regions, &a->u.tree.view, room, &bases);
        td_compute_pack(&a->u.tree.payload, &bases, a->u.tree.payload_offset, carried, payload);
        td_message_load(&m, payload, carried);
    }
    size_t size = td_wire_encode_message(&m, bytes + SESSION_BYTES, sizeof bytes - SESSION_BYTES);
    if (size == 0) {
        td_log(TD_LOG_ERROR, "a tree message to node %u is too large and was dropped",
               a->u.tree.node);
        return;
    }
    if (m.number &&
        !td_unacknowledged_keep(unacknowledged, m.number, bytes + SESSION_BYTES, size)) {
        td_log(TD_LOG_ERROR, "no memory for a tree message to node %u: the daemon aborts",
               a->u.tree.node);
        abort(); /* a lost message would break the session; a restart recovers */
    }
    if (!p)
        return; /* no route is left */
    td_peer_want(p);
    if (p->state != TD_CONNECTION_UP) {
        td_peer_hurry(p);
        return;
    }
    td_peer_want_express(p, m.kind);
    if (!a->u.tree.held)
        send_frame(p, bytes, size, m.number != 0, false);
}

void td_peers_send_tree(struct td_peers *peers, const struct td_action *a)
{
    send_tree(peers, a);
    if (a->u.tree.handle)
        td_loop_post(peers->loop,
                     &(struct td_event){.kind = TD_EVENT_SENT, .u.sent.handle = a->u.tree.handle});
}
