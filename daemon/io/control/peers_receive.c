/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_receive.h"

#include <stdlib.h>
#include <string.h>

#include "peers_buffers.h"
#include "peers_door.h"
#include "peers_early.h"
#include "peers_handshake.h"
#include "peers_internal.h"
#include "peers_link.h"
#include "peers_places.h"
#include "peers_zap.h"
#include "wire/peer.h"

/* ---- packets ---- */

enum { LANDING_BYTES = 16384 }; /* smaller payloads are copied, which costs less */

static void end_landing(struct td_payload *payload)
{
    td_places_free((struct td_places *)payload);
}

/* lands returns true if the packet's bytes may be read to the place `to` now. */
static bool lands(struct td_peer *p, const struct td_packet *packet, struct td_compute *to)
{
    return packet->bytes >= LANDING_BYTES &&
           td_core_landing(p->peers->loop->core, p->node, packet, to);
}

/* find_pieces returns true if the place has few pieces. If there are more places, the bytes are
 * copied there from the first one, which then is in one piece. */
static bool find_pieces(const struct td_regions *regions, const struct td_compute *to,
                        struct td_pieces *pieces)
{
    return td_regions_pieces(regions, &to->view, &to->step.to, to->offset, to->bytes, pieces) &&
           (pieces->count == 1 || to->step.to_lanes.count == 1);
}

struct td_payload *td_peer_place(void *peer, const struct td_packet *packet, struct td_payload *now)
{
    struct td_peer *p = peer;
    struct td_regions *regions = p->peers->loop->regions;
    struct td_compute to;
    if (!lands(p, packet, &to))
        return NULL;
    if (now) { /* the packet names its operation and step: if one byte stays, the others do */
        uint32_t region = 0;
        const uint8_t *first =
            td_regions_piece(regions, &to.view, &to.step.to, to.offset, 1, &region);
        return first == td_places_first((const struct td_places *)now) ? now : NULL;
    }
    struct td_pieces pieces;
    struct td_places *landing = find_pieces(regions, &to, &pieces)
                                    ? td_places_new(p->peers, &pieces, packet->bytes, end_landing)
                                    : NULL;
    return landing ? &landing->payload : NULL;
}

void td_peer_arriving(void *peer, const struct td_packet *packet)
{
    const struct td_peer *p = peer;
    td_loop_feed(p->peers->loop,
                 &(struct td_event){.kind = TD_EVENT_ARRIVING,
                                    .u.arriving = {.node = p->node, .packet = packet}});
}

void td_peer_receive_packet(void *peer, struct td_channel *channel, const struct td_packet *packet,
                            struct td_payload *payload)
{
    struct td_peer *p = peer;
    struct td_event e = {.kind = TD_EVENT_PACKET,
                         .u.packet = {.node = p->node, .packet = *packet, .buffer = UINT32_MAX}};
    if (payload && (e.u.packet.buffer = td_peers_keep_buffer(p->peers, payload)) == UINT32_MAX) {
        td_payload_drop(payload);
        td_peers_drop(p->peers, p->node, "no memory here for a packet from it");
        td_channel_close(channel);
        p->in.channel = NULL;
        return;
    }
    td_loop_feed(p->peers->loop, &e);
}

/* ---- tree messages ---- */

static void feed_message(struct td_peers *peers, uint32_t node, const uint8_t *body, size_t size)
{
    struct td_message m;
    const char *why = NULL;
    if (td_wire_decode_message(body, size, &peers->memory, &m, &why) != TD_OK) {
        td_peers_drop(peers, node, why);
        return;
    }
    td_loop_feed(
        peers->loop,
        &(struct td_event){
            .kind = TD_EVENT_TREE_MESSAGE,
            .u.tree = {.node = node, .message = &m, .two_paths = peers->peer[node].in.express}});
}

void td_peers_receive_message(struct td_peers *peers, uint32_t node, const uint8_t *body,
                              size_t size)
{
    uint32_t from = node;
    feed_message(peers, node, body, size);
    for (struct td_early_message *m; (m = td_peers_next_early(peers, &from));) {
        feed_message(peers, from, m->bytes, m->size);
        free(m);
    }
}

/* receive_body handles a message of two parts: the identity of its DEALER, and the body. With keys
 * its node is that of its key, otherwise that of the identity. */
static void receive_body(struct td_peers *peers, void *router, zmq_msg_t *identity, zmq_msg_t *m)
{
    const uint8_t *name = zmq_msg_data(identity), *body = zmq_msg_data(m);
    size_t size = zmq_msg_size(m);
    struct td_origin origin = td_peers_origin(peers, m);
    uint32_t node = origin.node;
    td_door_pass(peers, m);
    if (origin.revoked || size <= SESSION_BYTES) {
        char key[TD_KEY_PREFIX + 1];
        td_origin_key(&origin, key);
        td_reject(&peers->rejections, td_peers_address(m), key,
                  origin.revoked ? "its key was revoked" : "malformed message");
        td_door_end(peers, m);
        return;
    }
    if (!peers->security->keyed && zmq_msg_size(identity) == IDENTITY_BYTES && name[0] == 'T')
        memcpy(&node, name + 1, 4);
    uint64_t session = get_u64(body);
    if (session == 0)
        td_peers_receive_handshake(peers, router, identity, m, &origin);
    else if (node < peers->loop->config->topology.nodes && peers->peer[node].in.session == session)
        td_peers_receive_message(peers, node, body + SESSION_BYTES, size - SESSION_BYTES);
}

bool td_peers_receive_tree(void *user, void *router)
{
    struct td_peers *peers = user;
    zmq_msg_t part[3]; /* identity, body, and any excess part */
    int parts = 0;
    bool more = true;
    while (more) {
        zmq_msg_t *m = &part[parts < 3 ? parts : 2];
        if (parts >= 3)
            zmq_msg_close(m);
        zmq_msg_init(m);
        if (zmq_msg_recv(m, router, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(m);
            break;
        }
        more = zmq_msg_more(m);
        parts++;
    }
    if (parts == 0)
        td_door_drained(peers);
    else if (parts == 2)
        receive_body(peers, router, &part[0], &part[1]);
    else if (parts > 2) {
        struct td_origin origin = td_peers_origin(peers, &part[2]);
        char key[TD_KEY_PREFIX + 1];
        td_origin_key(&origin, key);
        td_reject(&peers->rejections, td_peers_address(&part[2]), key,
                  "a message of too many parts");
        td_door_end(peers, &part[2]);
    }
    for (int i = 0; i < parts && i < 3; i++)
        zmq_msg_close(&part[i]);
    return parts > 0;
}
