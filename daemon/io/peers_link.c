/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    RETRY_MS_MAX = 1000,   /* of links that are needed, */
    RETRY_MS_IDLE = 15000, /* and of those that were, until a message hurries them */
    REFUSED_MS = 5000,
    ANSWER_MS = 5000, /* for both greetings to be answered: ZeroMQ does not tell of all failures */
    SOCKET_BUFFER = 4 << 20,
};

/* ---- what comes back ---- */

static void link_up(struct td_peer *p)
{
    p->up = true;
    uv_timer_stop(&p->retry);
    p->retry_ms = RETRY_MS;
    p->peers->up++;
    p->text[0] = p->refusal[0] = '\0';
    td_log(p->told_down ? TD_LOG_INFO : TD_LOG_DEBUG, "node %u is up", p->node);
    p->told_down = p->told_refused = false;
    td_loop_feed(p->peers->loop,
                 &(struct td_event){.kind = TD_EVENT_LINK_UP,
                                    .u.link = {.node = p->node, .incarnation = p->incarnation}});
}

/* take_answer reads what comes back on a DEALER. */
static bool take_answer(void *user, void *socket)
{
    struct way *w = user;
    struct td_peer *p = w->peer;
    struct td_greeting g;
    const char *why = NULL;
    uint8_t bytes[1024];
    int size = zmq_recv(socket, bytes, sizeof bytes, ZMQ_DONTWAIT);
    if (size < 0)
        return false;
    if (size < SESSION_BYTES || size > (int)sizeof bytes || get_u64(bytes) != 0 ||
        td_wire_decode_greeting(bytes + SESSION_BYTES, (size_t)size - SESSION_BYTES,
                                &p->peers->memory, &g, &why) != TD_OK ||
        g.session != w->session)
        return true;
    if (!g.accepted) {
        char text[200];
        snprintf(text, sizeof text, "it refused us: %.170s", g.text);
        if (strcmp(text, p->refusal) != 0) /* once, not at each attempt */
            td_log(TD_LOG_WARNING, "node %u: %s", p->node, text);
        snprintf(p->refusal, sizeof p->refusal, "%s", text);
        td_peer_end(p, text, REFUSED_MS);
        return false;
    }
    if (g.node != p->node || (p->incarnation && p->incarnation != g.incarnation)) {
        td_peer_end(p, g.node != p->node ? "another node answers there" : "it was started anew",
                    RETRY_MS_MAX);
        return false;
    }
    p->incarnation = g.incarnation;
    w->accepted = true;
    if (p->way[TREE].accepted && p->way[BULK].accepted && !p->up)
        link_up(p);
    return true;
}

/* take_monitor reads the fate of a DEALER's connection. */
static bool take_monitor(void *user, void *socket)
{
    struct way *w = user;
    zmq_msg_t event, address;
    uint16_t number = 0;
    zmq_msg_init(&event);
    zmq_msg_init(&address);
    if (zmq_msg_recv(&event, socket, ZMQ_DONTWAIT) < 0)
        return false;
    memcpy(&number, zmq_msg_data(&event), sizeof number);
    if (zmq_msg_more(&event))
        zmq_msg_recv(&address, socket, ZMQ_DONTWAIT);
    zmq_msg_close(&event);
    zmq_msg_close(&address);
    if (number == ZMQ_EVENT_DISCONNECTED || number == ZMQ_EVENT_CLOSED ||
        number == ZMQ_EVENT_CONNECT_RETRIED || number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
        if (w->accepted || number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
            td_peer_end(w->peer, "the connection was closed", 0);
        else
            td_peer_refused(w->peer, "no daemon answers there");
        return false;
    }
    return true;
}

/* ---- connecting ---- */

static void set_int(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

/* bulk_depth returns how many packets may wait for a connection to take them: all that credits
 * allow, and as many that give credit. In the routed fabric a link has three channels for each of
 * its directions, and two directions in a ring of two. */
static int bulk_depth(const struct td_settings *s)
{
    if (s->tuning.fabric == TD_FABRIC_ROUTED)
        return 4 * TD_CHANNELS * (int)s->router.slots + 64;
    return 4 * (int)s->link_credits + 64;
}

void *td_peers_open_socket(struct td_peers *peers, int type, int kind)
{
    void *socket = zmq_socket(peers->context, type);
    const struct td_settings *s = &peers->loop->config->settings;
    if (!socket)
        return NULL;
    int depth = kind == TREE ? 4096 : bulk_depth(s);
    int64_t largest = kind == TREE ? TD_TREE_MESSAGE_MAX + 64 : (int64_t)s->packet_bytes + 64;
    set_int(socket, ZMQ_LINGER, 0);
    set_int(socket, ZMQ_SNDHWM, depth);
    set_int(socket, ZMQ_RCVHWM, depth);
    set_int(socket, ZMQ_IPV6, 1);
    if (type == ZMQ_DEALER)
        set_int(socket, ZMQ_RECONNECT_IVL, -1);
    else
        set_int(socket, ZMQ_ROUTER_MANDATORY, 1);
    if (kind == BULK) {
        set_int(socket, ZMQ_SNDBUF, SOCKET_BUFFER);
        set_int(socket, ZMQ_RCVBUF, SOCKET_BUFFER);
    }
    zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    return socket;
}

static bool endpoint_of(struct td_peers *peers, uint32_t node, int kind, char *out, size_t bytes)
{
    const char *control = peers->loop->config->endpoints[node];
    if (kind == BULK)
        return td_config_bulk(control, out, bytes);
    return (size_t)snprintf(out, bytes, "%s", control) < bytes;
}

static bool open_way(struct td_peer *p, int kind)
{
    struct td_peers *peers = p->peers;
    struct way *w = &p->way[kind];
    char endpoint[600], inproc[64];
    uint8_t identity[IDENTITY_BYTES] = {'T'}, bytes[1024];
    *w = (struct way){.peer = p, .session = td_loop_random()};
    void *socket = td_peers_open_socket(peers, ZMQ_DEALER, kind);
    if (!socket || !endpoint_of(peers, p->node, kind, endpoint, sizeof endpoint))
        return false;
    memcpy(identity + 1, &peers->loop->config->node, 4);
    put_u64(identity + 5, w->session);
    zmq_setsockopt(socket, ZMQ_ROUTING_ID, identity, sizeof identity);
    snprintf(inproc, sizeof inproc, "inproc://%u.%d.%llx", p->node, kind,
             (unsigned long long)w->session);
    int events = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED |
                 ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
    void *monitor = NULL;
    if (zmq_socket_monitor(socket, inproc, events) == 0) {
        monitor = zmq_socket(peers->context, ZMQ_PAIR);
        set_int(monitor, ZMQ_LINGER, 0);
        zmq_connect(monitor, inproc);
    }
    struct td_greeting g = td_peers_greeting(peers);
    g.session = w->session;
    g.bulk = kind == BULK;
    size_t length = td_peers_encode_greeting(&g, bytes, sizeof bytes);
    bool good =
        zmq_connect(socket, endpoint) == 0 && zmq_send(socket, bytes, length, ZMQ_DONTWAIT) >= 0;
    w->socket = td_zsocket_create(&peers->zloop, socket, take_answer, w);
    w->monitor = td_zsocket_create(&peers->zloop, monitor, take_monitor, w);
    return good && w->socket && w->monitor;
}

static void close_ways(struct td_peer *p)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct way *w = &p->way[kind];
        /* The monitor stops before its reader goes: ZeroMQ closes sockets later, on a thread of its
         * own, and would wait for ever with an event that nobody takes. */
        if (w->socket)
            zmq_socket_monitor(td_zsocket_raw(w->socket), NULL, 0);
        td_zsocket_close(w->socket);
        td_zsocket_close(w->monitor);
        w->socket = w->monitor = NULL;
        w->accepted = false;
    }
    td_peer_drop_delayed(p);
    p->incarnation = 0;
}

/* on_silence: a host name that cannot be resolved, a daemon that is stopped, a network that
 * swallows packets: none of them makes an event. */
static void on_silence(uv_timer_t *timer)
{
    td_peer_end(timer->data, "its daemon does not answer", 0);
}

void td_peer_connect(struct td_peer *p)
{
    uv_timer_start(&p->retry, on_silence, ANSWER_MS, 0);
    if (!open_way(p, TREE) || !open_way(p, BULK))
        td_peer_end(p, zmq_strerror(errno), RETRY_MS_MAX);
}

static void on_retry(uv_timer_t *timer)
{
    td_peer_connect(timer->data);
}

void td_peer_hurry(struct td_peer *p)
{
    if (p->retry_ms <= RETRY_MS_MAX || p->way[TREE].socket)
        return;
    p->retry_ms = RETRY_MS_MAX;
    if (uv_timer_get_due_in(&p->retry) > RETRY_MS_MAX)
        uv_timer_start(&p->retry, on_retry, RETRY_MS_MAX, 0);
}

static void end(struct td_peer *p, const char *text, unsigned after_ms, bool refused)
{
    bool was_up = p->up, news = p->kept || (refused && !p->told_refused);
    close_ways(p);
    p->up = false;
    p->peers->up -= was_up;
    if (p->peers->loop->stopped)
        return;
    unsigned ms = after_ms ? after_ms : p->retry_ms;
    unsigned most = p->steady ? RETRY_MS_MAX : RETRY_MS_IDLE;
    p->retry_ms = 2 * p->retry_ms > most ? most : 2 * p->retry_ms;
    uv_timer_start(&p->retry, on_retry, ms, 0);
    if (!was_up && !news && p->told_down) /* once, and while messages wait */
        return;
    snprintf(p->text, sizeof p->text, "%s (%.100s)", text,
             p->peers->loop->config->endpoints[p->node]);
    if (was_up)
        td_log(TD_LOG_WARNING, "the link to node %u is down: %s", p->node, p->text);
    else if (!p->told_down && !p->refusal[0])
        td_log(TD_LOG_INFO, "node %u is not there yet: %s", p->node, p->text);
    p->told_down = true;
    p->told_refused = p->told_refused || refused;
    td_loop_feed(
        p->peers->loop,
        &(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                           .u.link = {.node = p->node, .text = p->text, .refused = refused}});
}

void td_peer_end(struct td_peer *p, const char *text, unsigned after_ms)
{
    end(p, text, after_ms, false);
}

void td_peer_refused(struct td_peer *p, const char *text)
{
    end(p, text, 0, true);
}

void td_peer_want(struct td_peer *p)
{
    if (p->wanted)
        return;
    p->wanted = true;
    p->peers->wanted++;
    td_peer_connect(p);
}

void td_peers_drop(struct td_peers *peers, uint32_t node, const char *text)
{
    struct td_peer *p = &peers->peer[node];
    if (!p->up) /* else the link's end is logged, with the reason */
        td_log(TD_LOG_WARNING, "node %u: %s", node, text);
    if (p->wanted)
        td_peer_end(p, text, RETRY_MS);
}
