/* SPDX-License-Identifier: Apache-2.0 */
#include "peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/config/config_host.h"
#include "peers_internal.h"
#include "peers_buffers.h"
#include "peers_counts.h"
#include "peers_delay.h"
#include "peers_early.h"
#include "peers_express.h"
#include "peers_link.h"
#include "peers_listen.h"
#include "peers_reasons.h"
#include "peers_send.h"

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

/* start_neighbours connects to the torus neighbours. On the routed fabric this daemon connects to
 * no other node. */
static void start_neighbours(struct td_peers *peers)
{
    const struct td_topology *t = &peers->loop->config->topology;
    uint32_t me = peers->loop->config->node;
    for (uint32_t d = 0; d < t->dimensions; d++)
        for (int sign = -1; sign <= 1; sign += 2) {
            uint32_t n = td_topology_neighbour(t, me, d, sign);
            if (n == me)
                continue;
            peers->peer[n].steady = true;
            td_peer_want(&peers->peer[n]);
        }
}

void td_peers_start(struct td_peers *peers)
{
    uint32_t me = peers->loop->config->node;
    if (peers->loop->config->settings.tuning.fabric == TD_FABRIC_ROUTED) {
        start_neighbours(peers);
        return;
    }
    peers->peer[0].steady = true; /* joins need it, and do not hurry it */
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++)
        if (td_topology_tree(me, n)) {
            peers->peer[n].steady = true;
            td_peer_want(&peers->peer[n]);
        }
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
