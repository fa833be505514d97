/* SPDX-License-Identifier: Apache-2.0 */
#include "receive.h"

#include <stdlib.h>
#include <string.h>

#include "io/control/link/link.h"
#include "io/control/peer.h"
#include "payloads.h"
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

/* ---- tree messages that arrived before their turn ---- */

/* The link comes up again, and its session is asked for the message. */
static const char no_memory[] = "no memory here for a tree message from it";

/* struct taken: a message that the core has taken and that is not fed yet. */
struct taken {
    struct taken *next;
    struct td_early_message *message;
    uint32_t node;
};

void td_peers_keep_early(struct td_peers *peers, const struct td_action *a)
{
    uint32_t node = a->u.early.node;
    uint8_t bytes[TD_TREE_MESSAGE_MAX];
    size_t size = td_wire_encode_message(a->u.early.message, bytes, sizeof bytes);
    if (size == 0 ||
        !td_early_messages_keep(&peers->peer[node].early, a->u.early.number, bytes, size))
        td_peers_drop(peers, node, no_memory);
}

void td_peers_take_early(struct td_peers *peers, uint32_t node, uint64_t number)
{
    struct td_early_message *m = td_early_messages_take(&peers->peer[node].early, number);
    struct taken *t = m ? malloc(sizeof *t) : NULL;
    if (!t) {
        free(m);
        td_peers_drop(peers, node, no_memory);
        return;
    }
    *t = (struct taken){.message = m, .node = node};
    struct taken **last = &peers->taken;
    while (*last)
        last = &(*last)->next;
    *last = t;
}

void td_peers_forget_early(struct td_peers *peers, uint32_t node)
{
    td_early_messages_forget(&peers->peer[node].early);
}

/* next_early returns the next message that was taken, and its node, or NULL. The caller frees it by
 * free. */
static struct td_early_message *next_early(struct td_peers *peers, uint32_t *node)
{
    struct taken *t = peers->taken;
    if (!t)
        return NULL;
    struct td_early_message *m = t->message;
    *node = t->node;
    peers->taken = t->next;
    free(t);
    return m;
}

void td_peers_free_early(struct td_peers *peers)
{
    uint32_t node = 0;
    for (struct td_early_message *m; (m = next_early(peers, &node));)
        free(m);
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++)
        td_peers_forget_early(peers, n);
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
    for (struct td_early_message *m; (m = next_early(peers, &from));) {
        feed_message(peers, from, m->bytes, m->size);
        free(m);
    }
}
