/* SPDX-License-Identifier: Apache-2.0 */
#include "packets.h"

#include <stdlib.h>
#include <string.h>

#include "io/control/link/link.h"
#include "io/control/peer.h"
#include "payloads.h"

enum {
    LENT_BYTES = 4096, /* smaller payloads are copied, which costs less than a loan */
};

void td_peer_transmit(struct td_peer *p, const struct td_packet *packet, struct td_payload *payload)
{
    p->owed.due = false; /* this packet has later ones */
    if (!td_channel_send(p->out.channel, packet, payload))
        td_peer_end(p, "cannot send packets to it", RETRY_MS);
}

/* ---- counts that wait for the end of the turn ---- */

static void send_all(struct td_peers *peers)
{
    struct td_peer *p = NULL;
    while ((p = peers->owing)) {
        peers->owing = p->owed.next;
        p->owed.listed = false;
        if (p->owed.due)
            td_peer_transmit(p, &p->owed.packet, NULL);
    }
}

static void on_check(uv_check_t *check)
{
    send_all(check->data);
}

static void on_prepare(uv_prepare_t *prepare)
{
    send_all(prepare->data);
}

void td_peers_counts_init(struct td_peers *peers)
{
    uv_check_init(&peers->loop->uv, &peers->counts_check);
    uv_prepare_init(&peers->loop->uv, &peers->counts_prepare);
    peers->counts_check.data = peers->counts_prepare.data = peers;
    uv_check_start(&peers->counts_check, on_check);
    uv_prepare_start(&peers->counts_prepare, on_prepare);
}

void td_peers_counts_close(struct td_peers *peers)
{
    send_all(peers);
    uv_close((uv_handle_t *)&peers->counts_check, NULL);
    uv_close((uv_handle_t *)&peers->counts_prepare, NULL);
}

void td_peer_keep_counts(struct td_peer *p, const struct td_packet *packet)
{
    p->owed.packet = *packet;
    p->owed.due = p->state == TD_CONNECTION_UP; /* otherwise LINK_DOWN follows */
    if (p->owed.listed)
        return;
    p->owed.listed = true;
    p->owed.next = p->peers->owing;
    p->peers->owing = p;
}

/* ---- delayed packets ---- */

static void set_alarm(struct td_peers *peers)
{
    td_time at = TD_TIME_NEVER;
    for (const struct td_peer *p = peers->slow; p; p = p->delay.next)
        if (p->delay.first && p->delay.first->at < at)
            at = p->delay.first->at;
    td_alarm_set(&peers->delays, at);
}

void td_peers_send_due(void *user)
{
    struct td_peers *peers = user;
    td_time now = td_loop_now();
    for (struct td_peer *p = peers->slow; p; p = p->delay.next)
        while (p->delay.first && p->delay.first->at <= now) {
            struct td_delayed *d = p->delay.first;
            p->delay.first = d->next;
            td_peer_transmit(p, &d->packet, d->payload);
            free(d);
        }
    set_alarm(peers);
}

bool td_peers_are_slow(const struct td_peers *peers)
{
    const struct td_settings *s = &peers->loop->config->settings;
    return s->tuning.fabric == TD_FABRIC_ROUTED && (s->link_rate || s->link_latency_ns);
}

/* hold_back sends a packet after the time that the link takes. It owns the payload, if any. Without
 * memory it returns false and changes nothing. */
static bool hold_back(struct td_peer *p, const struct td_packet *packet, struct td_payload *payload)
{
    struct td_peers *peers = p->peers;
    const struct td_settings *s = &peers->loop->config->settings;
    struct td_delayed *d = calloc(1, sizeof *d);
    if (!d)
        return false;
    d->packet = *packet;
    d->payload = payload;
    uint32_t bytes = payload ? packet->bytes : s->packet_bytes;
    d->at = td_loop_now() + td_settings_link_time(s, bytes) + (td_time)s->link_latency_ns;
    if (!p->delay.until) {
        p->delay.next = peers->slow;
        peers->slow = p;
    }
    if (d->at < p->delay.until) /* a short packet does not overtake */
        d->at = p->delay.until;
    p->delay.until = d->at;
    bool first = !p->delay.first;
    *(first ? &p->delay.first : &p->delay.last->next) = d;
    p->delay.last = d;
    if (first)
        set_alarm(peers);
    return true;
}

/* ---- sending ---- */

/* report_sent queues a SENT event. It may be called while a link is being closed. */
static void report_sent(struct td_peers *peers, uint64_t handle)
{
    td_loop_post(peers->loop, &(struct td_event){.kind = TD_EVENT_SENT, .u.sent.handle = handle});
}

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

/* pass sends a packet over the link, delayed if links are slow. It owns the payload, if any. */
static void pass(struct td_peer *p, const struct td_packet *packet, struct td_payload *payload)
{
    if (!td_peers_are_slow(p->peers)) {
        td_peer_transmit(p, packet, payload);
        return;
    }
    if (hold_back(p, packet, payload))
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
