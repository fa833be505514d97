/* SPDX-License-Identifier: Apache-2.0 */
#include "listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "door.h"
#include "handshake.h"
#include "io/bulk/endpoint.h"
#include "io/control/keys/terms.h"
#include "io/control/keys/zap.h"
#include "io/control/link/link.h"
#include "io/control/peer.h"
#include "io/control/traffic/receive.h"
#include "io/descriptors.h"

/* clear removes the file of a Unix socket that no process serves. */
static bool clear(const char *endpoint, char *why, size_t why_bytes)
{
    char text[200] = "";
    if (strncmp(endpoint, "ipc://", 6) != 0 ||
        td_unix_clear(endpoint + 6, SOCK_STREAM, text, sizeof text))
        return true;
    snprintf(why, why_bytes, "cannot listen for peers on %s: %s, or set listen in [peers]",
             endpoint, text);
    return false;
}

static bool complain(const char *endpoint, int error, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "cannot listen for peers on %s: %s%s", endpoint, zmq_strerror(error),
             error == EADDRINUSE
                 ? ": another process has the port (see ss -ltnp): stop it, or set port or listen "
                   "in [peers]"
                 : "");
    return false;
}

/* bind_router binds the ROUTER to its endpoint. ZeroMQ would remove any file at the path of a Unix
 * socket, before and after, so this process makes that socket. It returns false with errno. */
static bool bind_router(struct td_peers *peers, void *socket, const char *endpoint)
{
    const char *path = td_endpoint_path(endpoint);
    int fd = path ? td_endpoint_listen(endpoint) : -1;
    if (!path)
        return zmq_bind(socket, endpoint) == 0;
    if (fd < 0 || zmq_setsockopt(socket, ZMQ_USE_FD, &fd, sizeof fd) != 0)
        return false;
    td_unix_note(&peers->file, path);
    return zmq_bind(socket, endpoint) == 0;
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
        td_door_reject(peers, m, &origin,
                       origin.revoked ? "its key was revoked" : "malformed message");
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

/* receive_message receives a message of the ROUTER. */
static bool receive_message(void *user, void *router)
{
    struct td_peers *peers = user;
    zmq_msg_t part[3]; /* identity, body, and any excess part */
    int parts = td_zsocket_parts(router, part, 3);
    if (parts == 0)
        td_door_drained(peers);
    else if (parts == 2)
        receive_body(peers, router, &part[0], &part[1]);
    else if (parts > 2) {
        struct td_origin origin = td_peers_origin(peers, &part[2]);
        td_door_reject(peers, &part[2], &origin, "a message of too many parts");
    }
    for (int i = 0; i < 3; i++)
        zmq_msg_close(&part[i]);
    return parts > 0;
}

static void on_unbound(struct td_peers *peers);

/* open_router opens the ROUTER at its endpoint. */
static bool open_router(struct td_peers *peers, char *why, size_t why_bytes)
{
    const char *endpoint = peers->loop->config->listen;
    if (td_descriptors_free() < TD_DESCRIPTORS_LEAST) { /* zmq_bind would end the process */
        char text[200];
        td_descriptors_text(text, sizeof text);
        snprintf(why, why_bytes, "cannot listen for peers on %s: %s", endpoint, text);
        return false;
    }
    void *socket = td_peers_open_socket(peers, ZMQ_ROUTER);
    if (!socket || !clear(endpoint, why, why_bytes) || !td_peers_set_keys(peers, socket, NULL) ||
        !td_door_open(peers, socket, on_unbound) || !bind_router(peers, socket, endpoint)) {
        if (!why[0])
            complain(endpoint, errno, why, why_bytes);
        if (socket) {
            zmq_socket_monitor(socket, NULL, 0);
            zmq_close(socket);
        }
        return false;
    }
    peers->router = td_zsocket_create(&peers->zloop, socket, receive_message, peers);
    return peers->router != NULL;
}

/* close_router ends all connections of the ROUTER, and the streams that belong to them. */
static void close_router(struct td_peers *peers)
{
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++)
        td_peer_end_in(&peers->peer[n]);
    td_door_close(peers);
    td_zsocket_close(peers->router);
    peers->router = NULL;
}

static void on_unbound(struct td_peers *peers)
{
    char why[300] = "";
    if (!peers->replacing)
        return;
    peers->replacing = false;
    close_router(peers);
    if (!open_router(peers, why, sizeof why))
        td_log(TD_LOG_ERROR, "%s; no peer can connect until torusd is restarted", why);
}

static void on_stranger_ended(void *user, struct td_channel *channel, bool breach, const char *why)
{
    struct td_peers *peers = user;
    char address[80];
    (void)breach;
    if (td_channel_address(channel, address, sizeof address))
        td_reject(&peers->rejections, address, "", why);
}

/* listen_for_channels accepts channels at the port or path after that of the ROUTER. It asks ZeroMQ
 * for the resolved address. */
static bool listen_for_channels(struct td_peers *peers, char *why, size_t why_bytes)
{
    static const struct td_channel_calls of_strangers = {.handshake =
                                                             td_peers_receive_channel_handshake,
                                                         .terms = td_peers_find_terms,
                                                         .ended = on_stranger_ended};
    char endpoint[600] = "";
    size_t size = sizeof peers->bound;
    if (zmq_getsockopt(td_zsocket_raw(peers->router), ZMQ_LAST_ENDPOINT, peers->bound, &size) !=
            0 ||
        td_config_bulk(peers->bound, endpoint, sizeof endpoint))
        return complain(peers->bound, EINVAL, why, why_bytes);
    if (!clear(endpoint, why, why_bytes))
        return false;
    peers->listener = td_listener_create(&peers->channels, endpoint, &of_strangers, peers);
    return peers->listener || complain(endpoint, errno, why, why_bytes);
}

bool td_peers_listen(struct td_peers *peers, char *why, size_t why_bytes)
{
    return (td_peers_start_zap(peers) ||
            complain(peers->loop->config->listen, errno, why, why_bytes)) &&
           open_router(peers, why, why_bytes) && listen_for_channels(peers, why, why_bytes);
}

void td_peers_replace_router(struct td_peers *peers)
{
    if (peers->router && !peers->replacing)
        peers->replacing = zmq_unbind(td_zsocket_raw(peers->router), peers->bound) == 0;
}

void td_peers_stop_listening(struct td_peers *peers)
{
    td_unix_remove(&peers->file);
    td_door_close(peers);
    td_zsocket_close(peers->router);
    td_zsocket_close(peers->zap); /* after the ROUTER: without it every key would be accepted */
    td_listener_close(peers->listener);
}
