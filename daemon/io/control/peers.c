/* SPDX-License-Identifier: Apache-2.0 */
#include "peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "door/listen.h"
#include "io/config/config_host.h"
#include "keys/zap.h"
#include "link/link.h"
#include "link/reasons.h"
#include "peer.h"
#include "traffic/express.h"
#include "traffic/packets.h"
#include "traffic/payloads.h"
#include "traffic/receive.h"
#include "traffic/tree.h"

struct td_peers *td_peers_create(struct td_loop *loop)
{
    const struct td_topology *t = &loop->config->topology;
    struct td_peers *peers = calloc(1, sizeof *peers);
    if (!peers)
        return NULL;
    peers->loop = loop;
    peers->security = &loop->config->security;
    peers->buffer_free = UINT32_MAX;
    peers->peer = calloc(t->nodes, sizeof *peers->peer);
    peers->context = zmq_ctx_new();
    if (!peers->peer || !peers->context) {
        free(peers->peer);
        free(peers);
        return NULL;
    }
    zmq_ctx_set(peers->context, ZMQ_MAX_SOCKETS, 65000);
    td_topology_print(t, peers->shape, sizeof peers->shape);
    peers->terms = td_terms_settings(TD_TERMS_LINK, &loop->config->settings, peers->term);
    td_zloop_init(&peers->zloop, &loop->uv);
    td_peers_counts_init(peers);
    td_rejections_init(&peers->rejections, &loop->uv);
    td_payload_pool_init(&peers->pool, loop->config->settings.packet_bytes);
    peers->channels = (struct td_channels){
        .uv = &loop->uv,
        .pool = &peers->pool,
        .descriptors = &loop->descriptors,
        .handshake_ms = ANSWER_MS,
        .arriving_ms = (unsigned)(loop->config->settings.heartbeat_ns / 4000000),
        .keyed = peers->security->keyed,
        .congestion = td_config_congestion_name(loop->config),
        .silence_ms = (unsigned)(loop->config->settings.progress_timeout_ns / 1000000)};
    for (uint32_t n = 0; n < t->nodes; n++) {
        struct td_peer *p = &peers->peer[n];
        p->peers = peers;
        p->node = n;
        p->retry_ms = RETRY_MS;
        uv_timer_init(&loop->uv, &p->retry);
        p->retry.data = p;
    }
    return peers;
}

bool td_peers_bind(struct td_peers *peers, char *why, size_t why_bytes)
{
    if (td_peers_are_slow(peers) &&
        !td_alarm_init(&peers->delays, &peers->loop->uv, td_peers_send_due, peers)) {
        snprintf(why, why_bytes, "cannot create a timer for link_rate: %s", strerror(errno));
        return false;
    }
    return peers->loop->config->topology.nodes == 1 || td_peers_listen(peers, why, why_bytes);
}

static void keep_open(struct td_peer *p)
{
    p->steady = true;
    td_peer_want(p);
}

void td_peers_start(struct td_peers *peers)
{
    const struct td_topology *t = &peers->loop->config->topology;
    uint32_t me = peers->loop->config->node;
    if (peers->loop->config->settings.tuning.fabric == TD_FABRIC_ROUTED) {
        for (uint32_t d = 0; d < t->dimensions; d++)
            for (int sign = -1; sign <= 1; sign += 2) {
                uint32_t n = td_topology_neighbour(t, me, d, sign);
                if (n != me)
                    keep_open(&peers->peer[n]);
            }
        return;
    }
    peers->peer[0].steady = true; /* joins need it, and do not hurry it */
    for (uint32_t n = 0; n < t->nodes; n++)
        if (td_topology_tree(me, n))
            keep_open(&peers->peer[n]);
}

void td_peers_settle(struct td_peers *peers)
{
    td_channels_settle(&peers->channels);
}

void td_peers_region_lost(struct td_peers *peers)
{
    peers->channels.faulted = false;
}

uint64_t td_peers_bulk_reads(const struct td_peers *peers)
{
    return peers->channels.bulk_reads;
}

uint32_t td_peers_up(const struct td_peers *peers)
{
    return peers->up;
}

uint32_t td_peers_wanted(const struct td_peers *peers)
{
    return peers->wanted;
}

uint32_t td_peers_most(const struct td_peers *peers)
{
    bool routed = peers->loop->config->settings.tuning.fabric == TD_FABRIC_ROUTED;
    return routed ? peers->wanted : peers->loop->config->topology.nodes - 1;
}

uint32_t td_peers_mtu(const struct td_peers *peers, uint32_t *node)
{
    uint32_t least = 0;
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++) {
        const struct td_peer *p = &peers->peer[n];
        uint32_t mtu = p->state == TD_CONNECTION_UP ? td_channel_mtu(p->out.channel) : 0;
        if (!mtu || (least && mtu >= least))
            continue;
        least = mtu;
        *node = n;
    }
    return least;
}

bool td_peers_own_fault(const struct td_peers *peers, uint32_t node, char *text, size_t bytes)
{
    return peers && td_peer_own_fault(&peers->peer[node], text, bytes);
}

const struct td_security *td_peers_security(const struct td_peers *peers)
{
    return peers->security;
}

/* has returns true if a key may be a node. */
static bool has(const struct td_security *s, const uint8_t key[TD_KEY_BYTES], uint32_t node)
{
    return td_security_node(s, key) == node;
}

/* end_revoked ends both ways of a link, if the peer's key is not in the list any more. */
static void end_revoked(struct td_peer *p)
{
    static const char why[] = "its key was revoked";
    const struct td_security *s = p->peers->security;
    if (p->in.session && !has(s, p->in.terms.public_key[0], p->node))
        td_peer_end_in(p);
    if (p->out.dealer && !has(s, p->out.terms.public_key[1], p->node))
        td_peer_end(p, why, RETRY_MS);
}

bool td_peers_reload(struct td_peers *peers, struct td_security *fresh)
{
    char digits[TD_KEY_TEXT];
    bool changed =
        memcmp(fresh->public_key, peers->security->public_key, sizeof fresh->public_key) != 0;
    bool same = td_security_same(fresh, peers->security);
    td_security_free(&peers->reloaded);
    peers->reloaded = *fresh;
    peers->security = &peers->reloaded;
    td_key_wipe(fresh->secret, sizeof fresh->secret);
    *fresh = (struct td_security){.keyed = false};
    td_key_print(peers->security->public_key, digits);
    td_log(TD_LOG_INFO, "the keys were read again: %u key%s of peers; this node has %s%.*s",
           peers->security->peers, peers->security->peers == 1 ? "" : "s",
           changed ? "a new one, " : "", TD_KEY_PREFIX, digits);
    if (changed)
        td_peers_replace_router(peers);
    td_peers_renew_holders(peers);
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++)
        end_revoked(&peers->peer[n]);
    return !same;
}

void td_peers_free(struct td_peers *peers)
{
    if (!peers)
        return;
    td_alarm_fini(&peers->delays);
    td_payload_pool_fini(&peers->pool);
    td_security_free(&peers->reloaded);
    free(peers->holder);
    free(peers->peer);
    free(peers);
}

void td_peers_close(struct td_peers *peers)
{
    if (!peers)
        return;
    const struct td_config *config = peers->loop->config;
    td_peers_flush(peers); /* the last messages, before the connections end */
    td_peers_counts_close(peers);
    for (uint32_t n = 0; n < config->topology.nodes; n++) {
        if (peers->peer[n].state != TD_CONNECTION_IDLE)
            td_peer_end(&peers->peer[n], "", 0);
        td_peers_forget_tree(peers, n, UINT64_MAX);
        uv_close((uv_handle_t *)&peers->peer[n].retry, NULL);
    }
    td_peers_stop_listening(peers);
    td_channels_close(&peers->channels);
    td_rejections_close(&peers->rejections);
    td_peers_free_early(peers);
    td_peers_free_buffers(peers);
    while (zmq_ctx_term(peers->context) != 0 && errno == EINTR)
        continue; /* a signal, such as that of a measurement's end, interrupts the wait */
    uv_close((uv_handle_t *)&peers->zloop.prepare, NULL);
    uv_close((uv_handle_t *)&peers->zloop.check, NULL);
    uv_close((uv_handle_t *)&peers->zloop.idle, NULL);
}
