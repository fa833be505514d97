/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_send.h"

#include <stdlib.h>
#include <string.h>

#include "peers_buffers.h"
#include "peers_counts.h"
#include "peers_delay.h"
#include "peers_express.h"
#include "peers_internal.h"
#include "peers_link.h"
#include "peers_places.h"
#include "wire/peer.h"

enum {
    LENT_BYTES = 4096, /* smaller payloads are copied, which costs less than a loan */
};

/* report_sent queues a SENT event. It may be called while a link is being closed. */
static void report_sent(struct td_peers *peers, uint64_t handle)
{
    td_loop_post(peers->loop, &(struct td_event){.kind = TD_EVENT_SENT, .u.sent.handle = handle});
}

/* ---- tree messages ---- */

/* send_frame sends SESSION_BYTES, which it fills in, and a message of `size` bytes. A numbered one
 * may take the express path, without those bytes. */
static void send_frame(struct td_peer *p, uint8_t *bytes, size_t size, bool numbered)
{
    if (numbered && td_peer_send_express(p, bytes + SESSION_BYTES, size, false))
        return;
    put_u64(bytes, p->out.session);
    /* no td_zsocket_stir: a DEALER of a link that is up receives nothing */
    int sent = zmq_send(td_zsocket_raw(p->out.dealer), bytes, size + SESSION_BYTES, ZMQ_DONTWAIT);
    if (sent < 0)
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
        send_frame(p, bytes, m->size, true);
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
    if (a->u.relay.message->number && td_peer_send_express(p, bytes + SESSION_BYTES, size, true))
        return;
    put_u64(bytes, p->out.session);
    (void)zmq_send(td_zsocket_raw(p->out.dealer), bytes, size + SESSION_BYTES, ZMQ_DONTWAIT);
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
        send_frame(p, bytes, size, m.number != 0);
}

void td_peers_send_tree(struct td_peers *peers, const struct td_action *a)
{
    send_tree(peers, a);
    if (a->u.tree.handle)
        report_sent(peers, a->u.tree.handle);
}

/* ---- packets ---- */

static void end_loan(struct td_payload *payload)
{
    struct td_places *loan = (struct td_places *)payload;
    struct td_peers *peers = loan->peers;
    uint64_t handle = loan->handle;
    td_places_free(loan);
    if (!peers->loop->stopped)
        report_sent(peers, handle);
}

/* lend returns the bytes of a packet at their places, or NULL if they are in too many pieces. */
static struct td_payload *lend(struct td_peers *peers, const struct td_action *a)
{
    const struct td_packet *packet = &a->u.packet.packet;
    struct td_pieces pieces;
    if (!td_regions_pieces(peers->loop->regions, &a->u.packet.view, &a->u.packet.slice,
                           packet->offset, packet->bytes, &pieces))
        return NULL;
    struct td_places *loan = td_places_new(peers, &pieces, packet->bytes, end_loan);
    if (!loan)
        return NULL;
    loan->handle = a->u.packet.handle;
    return &loan->payload;
}

/* make_payload returns the payload of a packet: the bytes at their places if the pieces are long,
 * and the stream is not sealed, otherwise a copy. It returns NULL if memory runs out. *lent: SENT
 * is reported with the last release.
 */
static struct td_payload *make_payload(struct td_peers *peers, const struct td_action *a,
                                       bool sealed, bool *lent)
{
    const struct td_packet *packet = &a->u.packet.packet;
    struct td_payload *payload = NULL;
    if (packet->bytes >= LENT_BYTES && !peers->channels.faulted && !sealed)
        payload = lend(peers, a);
    *lent = payload != NULL;
    if (payload)
        return payload;
    payload = td_payload_new(&peers->pool, packet->bytes);
    if (payload) {
        uint8_t *room[2 * TD_NODE_RANKS_MAX];
        struct td_bases bases;
        td_regions_bases(peers->loop->regions, &a->u.packet.view, room, &bases);
        td_compute_pack(&a->u.packet.slice, &bases, packet->offset, packet->bytes, payload->data);
    }
    return payload;
}

void td_peer_transmit(struct td_peer *p, const struct td_packet *packet, struct td_payload *payload)
{
    p->owed.due = false; /* this packet has later ones */
    if (!td_channel_send(p->out.channel, packet, payload))
        td_peer_end(p, "cannot send packets to it", RETRY_MS);
}

/* pass sends a packet over the link, delayed if links are slow. It owns the payload, if any. */
static void pass(struct td_peer *p, const struct td_packet *packet, struct td_payload *payload)
{
    if (!td_peers_are_slow(p->peers)) {
        td_peer_transmit(p, packet, payload);
        return;
    }
    if (td_peer_delay(p, packet, payload))
        return;
    td_payload_drop(payload);
    td_peer_end(p, "no memory here for a packet to it", RETRY_MS);
}

void td_peers_send_packet(struct td_peers *peers, const struct td_action *a)
{
    struct td_peer *p = &peers->peer[a->u.packet.node];
    const struct td_packet *packet = &a->u.packet.packet;
    bool data = packet->kind == TD_PACKET_DATA, lent = false;
    if (!data && a->u.packet.may_wait) {
        td_peer_keep_counts(p, packet);
        return;
    }
    struct td_payload *payload =
        data && p->state == TD_CONNECTION_UP
            ? make_payload(peers, a, p->out.terms.kind >= TD_SEAL_AUTHENTICATE, &lent)
            : NULL;
    if (p->state == TD_CONNECTION_UP && data && !payload)
        td_peer_end(p, "no memory here for a packet to it", RETRY_MS);
    else if (p->state == TD_CONNECTION_UP) /* otherwise LINK_DOWN follows */
        pass(p, packet, payload);
    if (data && !lent)
        report_sent(peers, a->u.packet.handle);
}

void td_peers_forward_packet(struct td_peers *peers, const struct td_action *a)
{
    struct td_peer *p = &peers->peer[a->u.forward.node];
    if (p->state == TD_CONNECTION_UP) /* otherwise LINK_DOWN follows */
        pass(p, &a->u.forward.packet, td_peers_share_buffer(peers, a->u.forward.buffer));
}
