/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_internal.h"

#include <stdlib.h>
#include <string.h>

#include "handover.h"

enum {
    ZERO_COPY_BYTES = 32768, /* below, a copy costs less than to be told that the loan is over */
};

/* struct kept: a tree message until the core forgets it; the connection's session goes in front. */
struct kept {
    struct kept *next;
    uint64_t number;
    size_t size;
    uint8_t bytes[];
};

/* struct loan: bytes of a region that ZeroMQ reads; given back from its thread. */
struct loan {
    struct loan *next;
    struct td_peers *peers;
    uint64_t handle;
    uint32_t region;
};

/* ---- tree messages ---- */

static void keep(struct td_peer *p, uint64_t number, const uint8_t *bytes, size_t size)
{
    struct kept *k = malloc(sizeof *k + size);
    if (!k) { /* as with a lost event: better to be started anew */
        td_log(TD_LOG_ERROR, "no memory for messages to node %u", p->node);
        abort();
    }
    k->next = NULL;
    k->number = number;
    k->size = size;
    memcpy(k->bytes, bytes, size);
    *p->kept_last = k;
    p->kept_last = &k->next;
}

static void send_frame(struct td_peer *p, uint8_t *bytes, size_t size)
{
    put_u64(bytes, p->way[TREE].session);
    void *socket = td_zsocket_raw(p->way[TREE].socket);
    int sent = zmq_send(socket, bytes, size, ZMQ_DONTWAIT);
    td_zsocket_stir(p->way[TREE].socket);
    if (sent < 0)
        td_peer_end(p, "it does not take our messages", RETRY_MS);
}

void td_peers_repeat_tree(struct td_peers *peers, uint32_t node, uint64_t number)
{
    struct td_peer *p = &peers->peer[node];
    for (struct kept *k = p->kept; k && p->up; k = k->next)
        if (k->number >= number)
            send_frame(p, k->bytes, k->size);
}

void td_peers_forget_tree(struct td_peers *peers, uint32_t node, uint64_t number)
{
    struct td_peer *p = &peers->peer[node];
    while (p->kept && p->kept->number <= number) {
        struct kept *k = p->kept;
        p->kept = k->next;
        free(k);
    }
    if (!p->kept)
        p->kept_last = &p->kept;
}

void td_peers_send_tree(struct td_peers *peers, const struct td_action *a)
{
    struct td_peer *p = &peers->peer[a->u.tree.node];
    struct td_message m = a->u.tree.message;
    uint8_t bytes[SESSION_BYTES + TD_TREE_MESSAGE_MAX], payload[TD_RIDE_BYTES_MAX];
    int64_t ride = td_slice_bytes(&a->u.tree.payload);
    if (ride > 0 && ride <= TD_RIDE_BYTES_MAX) {
        uint8_t *room[2 * TD_NODE_RANKS_MAX];
        struct td_bases bases;
        struct td_view scratch_only = a->u.tree.view;
        scratch_only.ranks = 0; /* the payload that rides lies in scratch */
        td_regions_bases(peers->loop->regions, &scratch_only, room, &bases);
        td_compute_pack(&a->u.tree.payload, &bases, 0, (uint64_t)ride, payload);
        m.payload = payload;
        m.payload_bytes = (uint32_t)ride;
    }
    size_t size = td_wire_encode_message(&m, bytes + SESSION_BYTES, sizeof bytes - SESSION_BYTES);
    if (size == 0) {
        td_log(TD_LOG_ERROR, "a tree message to node %u is too large and was dropped", p->node);
        return;
    }
    if (m.number)
        keep(p, m.number, bytes, size + SESSION_BYTES);
    td_peer_want(p);
    if (!p->up)
        td_peer_hurry(p);
    else if (!a->u.tree.held)
        send_frame(p, bytes, size + SESSION_BYTES);
}

/* ---- packets ---- */

static void tell_sent(struct td_peers *peers, uint64_t handle)
{
    td_loop_feed(peers->loop, &(struct td_event){.kind = TD_EVENT_SENT, .u.sent.handle = handle});
}

/* give_back runs on ZeroMQ's thread. */
static void give_back(void *data, void *hint)
{
    struct loan *loan = hint;
    TD_TAKE_OVER(loan);
    struct td_peers *peers = loan->peers;
    (void)data;
    uv_mutex_lock(&peers->lock);
    loan->next = peers->loans;
    peers->loans = loan;
    uv_mutex_unlock(&peers->lock);
    uv_async_send(&peers->returned);
}

void td_peers_take_returned(struct td_peers *peers)
{
    uv_mutex_lock(&peers->lock);
    struct loan *loan = peers->loans;
    peers->loans = NULL;
    uv_mutex_unlock(&peers->lock);
    while (loan) {
        struct loan *next = loan->next;
        td_regions_let_go(peers->loop->regions, loan->region);
        if (!peers->loop->stopped)
            tell_sent(peers, loan->handle);
        free(loan);
        loan = next;
    }
}

/* region_of returns whose memory the piece from byte `at` of a slice lies in. */
static uint32_t region_of(const struct td_slice *s, const struct td_view *view, uint64_t at)
{
    bool destination = s->space == TD_SPACE_DESTINATION;
    if (s->space == TD_SPACE_SCRATCH)
        return TD_SCRATCH_HANDLE;
    return (destination ? view->destination : view->source)[td_compute_rank(s, at)].handle;
}

/* make_payload readies the payload's message: the bytes themselves where they lie in one piece,
 * else a copy. Returns false without memory; *lent tells whether SENT comes later. */
static bool make_payload(struct td_peers *peers, const struct td_action *a, zmq_msg_t *message,
                         bool *lent)
{
    const struct td_packet *packet = &a->u.packet.packet;
    const struct td_view *view = &a->u.packet.view;
    const struct td_slice *slice = &a->u.packet.slice;
    struct td_bases bases;
    uint8_t *few[64], **room = few;
    if (2 * (size_t)view->ranks > sizeof few / sizeof few[0] &&
        !(room = malloc(2 * (size_t)view->ranks * sizeof *room)))
        return false;
    td_regions_bases(peers->loop->regions, view, room, &bases);
    const uint8_t *piece = NULL;
    if (packet->bytes >= ZERO_COPY_BYTES)
        piece = td_compute_contiguous(slice, &bases, packet->offset, packet->bytes);
    struct loan *loan = piece ? malloc(sizeof *loan) : NULL;
    *lent = loan != NULL;
    bool good = true;
    if (loan) {
        *loan = (struct loan){.peers = peers,
                              .handle = a->u.packet.handle,
                              .region = region_of(slice, view, packet->offset)};
        td_regions_hold(peers->loop->regions, loan->region);
        TD_HAND_OVER(loan);
        zmq_msg_init_data(message, (void *)(uintptr_t)piece, packet->bytes, give_back, loan);
    } else if ((good = zmq_msg_init_size(message, packet->bytes) == 0)) {
        td_compute_pack(slice, &bases, packet->offset, packet->bytes, zmq_msg_data(message));
    }
    if (room != few)
        free(room);
    return good;
}

void td_peer_send_frames(struct td_peer *p, const struct td_packet *packet, zmq_msg_t *payload)
{
    uint8_t header[SESSION_BYTES + TD_WIRE_PACKET_BYTES];
    void *socket = td_zsocket_raw(p->way[BULK].socket);
    put_u64(header, p->way[BULK].session);
    td_wire_encode_packet(packet, header + SESSION_BYTES);
    bool good =
        zmq_send(socket, header, sizeof header, ZMQ_DONTWAIT | (payload ? ZMQ_SNDMORE : 0)) >= 0;
    if (payload && good)
        good = zmq_msg_send(payload, socket, ZMQ_DONTWAIT) >= 0;
    if (payload && !good)
        zmq_msg_close(payload); /* a lent one is given back by that */
    td_zsocket_stir(p->way[BULK].socket);
    if (!good)
        td_peer_end(p, "it does not take our packets", RETRY_MS);
}

/* pass lets a packet go over the link, with its payload, if there is one, which it takes. */
static void pass(struct td_peer *p, const struct td_packet *packet, zmq_msg_t *payload)
{
    if (!td_peers_are_slow(p->peers)) {
        td_peer_send_frames(p, packet, payload);
        return;
    }
    if (td_peer_delay(p, packet, payload))
        return;
    if (payload)
        zmq_msg_close(payload);
    td_peer_end(p, "no memory for packets to it", RETRY_MS);
}

void td_peers_send_packet(struct td_peers *peers, const struct td_action *a)
{
    struct td_peer *p = &peers->peer[a->u.packet.node];
    const struct td_packet *packet = &a->u.packet.packet;
    bool data = packet->kind == TD_PACKET_DATA, lent = false;
    zmq_msg_t payload;
    if (!p->up) { /* the core will hear of the link's end */
        if (data)
            tell_sent(peers, a->u.packet.handle);
        return;
    }
    if (data && !make_payload(peers, a, &payload, &lent)) {
        tell_sent(peers, a->u.packet.handle);
        td_peer_end(p, "no memory for packets to it", RETRY_MS);
        return;
    }
    pass(p, packet, data ? &payload : NULL);
    if (data && !lent)
        tell_sent(peers, a->u.packet.handle);
}

void td_peers_forward_packet(struct td_peers *peers, const struct td_action *a)
{
    struct td_peer *p = &peers->peer[a->u.forward.node];
    zmq_msg_t payload;
    if (!p->up) /* the core will hear of the link's end */
        return;
    td_peers_share_buffer(peers, a->u.forward.buffer, &payload);
    pass(p, &a->u.forward.packet, &payload);
}
