/* SPDX-License-Identifier: Apache-2.0 */
/* peers_delay: emulation of a link's rate and latency. The core spaces packets (link_rate). This
 * file holds each packet until its last byte would reach the other end, and delivers packets in
 * order. A packet without payload carries counts that ride on the next packet, and takes as long as
 * a full one, as in torus-sim. Tree messages are not delayed. Credits bound the held packets. When
 * the link ends they are dropped, and the session retransmits them. */
#include "peers_delay.h"

#include <stdlib.h>

#include "peers_internal.h"
#include "peers_send.h"

struct td_delayed {
    struct td_delayed *next;
    td_time at;
    struct td_packet packet;
    struct td_payload *payload;
};

void td_peer_drop_delayed(struct td_peer *p)
{
    while (p->delay.first) {
        struct td_delayed *d = p->delay.first;
        p->delay.first = d->next;
        td_payload_drop(d->payload);
        free(d);
    }
}

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

bool td_peer_delay(struct td_peer *p, const struct td_packet *packet, struct td_payload *payload)
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
