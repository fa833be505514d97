/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unix.h"

static void on_returned(uv_async_t *async)
{
    td_peers_take_returned(async->data);
}

static bool bind_router(struct td_peers *peers, int kind, char *why, size_t why_bytes)
{
    const char *listen = peers->loop->config->listen;
    char endpoint[600];
    void *socket = td_peers_open_socket(peers, ZMQ_ROUTER, kind);
    if (!socket) {
        snprintf(why, why_bytes, "cannot listen for peers: %s", zmq_strerror(errno));
        return false;
    }
    if (kind == BULK)
        td_config_bulk(listen, endpoint, sizeof endpoint);
    else
        snprintf(endpoint, sizeof endpoint, "%s", listen);
    char text[200] = "";
    bool clear = strncmp(endpoint, "ipc://", 6) != 0 ||
                 td_unix_clear(endpoint + 6, SOCK_STREAM, text, sizeof text);
    if (!clear || zmq_bind(socket, endpoint) != 0) {
        const char *hint = clear ? "" : ", or set listen in [peers]";
        if (clear && errno == EADDRINUSE)
            hint = ": another daemon, or a program that ss -ltnp shows, has the port; set port or "
                   "listen in [peers]";
        snprintf(why, why_bytes, "cannot listen for peers on %s: %s%s", endpoint,
                 clear ? zmq_strerror(errno) : text, hint);
        zmq_close(socket);
        return false;
    }
    peers->router[kind] = td_zsocket_create(
        &peers->zloop, socket, kind == TREE ? td_peers_receive_tree : td_peers_receive_bulk, peers);
    return peers->router[kind] != NULL;
}

struct td_peers *td_peers_create(struct td_loop *loop)
{
    const struct td_topology *t = &loop->config->topology;
    struct td_peers *peers = calloc(1, sizeof *peers);
    if (!peers)
        return NULL;
    peers->loop = loop;
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
    td_zloop_init(&peers->zloop, &loop->uv);
    uv_mutex_init(&peers->lock);
    uv_async_init(&loop->uv, &peers->returned, on_returned);
    peers->returned.data = peers;
    for (uint32_t n = 0; n < t->nodes; n++) {
        struct td_peer *p = &peers->peer[n];
        p->peers = peers;
        p->node = n;
        p->retry_ms = RETRY_MS;
        p->kept_last = &p->kept;
        p->delayed_last = &p->delayed;
        uv_timer_init(&loop->uv, &p->retry);
        p->retry.data = p;
    }
    return peers;
}

bool td_peers_bind(struct td_peers *peers, char *why, size_t why_bytes)
{
    if (td_peers_are_slow(peers) &&
        !td_alarm_init(&peers->delays, &peers->loop->uv, td_peers_let_go, peers)) {
        snprintf(why, why_bytes, "cannot make a timer for links with a rate: %s", strerror(errno));
        return false;
    }
    return peers->loop->config->topology.nodes == 1 ||
           (bind_router(peers, TREE, why, why_bytes) && bind_router(peers, BULK, why, why_bytes));
}

/* start_neighbours: on the routed fabric packets go to neighbours alone, and only over links that
 * are up: nothing else would open them. */
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
    peers->peer[0].steady = true; /* processes that want to join wait for it without a word */
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++)
        if (td_topology_tree(me, n)) {
            peers->peer[n].steady = true;
            td_peer_want(&peers->peer[n]);
        }
    if (peers->loop->config->settings.tuning.fabric == TD_FABRIC_ROUTED)
        start_neighbours(peers);
}

uint32_t td_peers_up(const struct td_peers *peers)
{
    return peers->up;
}

uint32_t td_peers_wanted(const struct td_peers *peers)
{
    return peers->wanted;
}

void td_peers_free(struct td_peers *peers)
{
    if (!peers)
        return;
    td_alarm_fini(&peers->delays);
    uv_mutex_destroy(&peers->lock);
    free(peers->peer);
    free(peers);
}

/* unlink_bound removes the files of what was bound, and nobody else's. */
static void unlink_bound(struct td_peers *peers)
{
    const char *listen = peers->loop->config->listen;
    char bulk[600];
    if (strncmp(listen, "ipc://", 6) != 0)
        return;
    if (peers->router[TREE])
        unlink(listen + 6);
    if (peers->router[BULK] && td_config_bulk(listen, bulk, sizeof bulk))
        unlink(bulk + 6);
}

void td_peers_close(struct td_peers *peers)
{
    if (!peers)
        return;
    const struct td_config *config = peers->loop->config;
    for (uint32_t n = 0; n < config->topology.nodes; n++) {
        td_peer_end(&peers->peer[n], "", 0);
        td_peers_forget_tree(peers, n, UINT64_MAX);
        uv_close((uv_handle_t *)&peers->peer[n].retry, NULL);
    }
    for (int kind = 0; kind < KINDS; kind++)
        td_zsocket_close(peers->router[kind]);
    td_peers_free_buffers(peers);
    zmq_ctx_term(peers->context); /* ZeroMQ's thread ends here: it gives back what it still had */
    td_peers_take_returned(peers);
    unlink_bound(peers);
    uv_close((uv_handle_t *)&peers->zloop.prepare, NULL);
    uv_close((uv_handle_t *)&peers->zloop.check, NULL);
    uv_close((uv_handle_t *)&peers->zloop.idle, NULL);
    uv_close((uv_handle_t *)&peers->returned, NULL);
}
