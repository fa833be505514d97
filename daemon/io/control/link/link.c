/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces.h"
#include "io/bulk/endpoint.h"
#include "io/control/keys/target.h"
#include "io/control/keys/terms.h"
#include "io/control/keys/zap.h"
#include "io/control/peer.h"
#include "probe.h"
#include "told.h"

enum {
    RETRY_MS_IDLE = 15000, /* as RETRY_MS_MAX, for other links, until a message waits for them */
    REFUSED_MS = 5000,     /* interval after a rejected handshake */
    SLOW_MS = 500,         /* after which an attempt looks for the reason */
    MESSAGES_MAX = 4096,   /* queued messages of a connection */
    BACKLOG = 1024,        /* connections that wait to be accepted */
    KEEPALIVE_S = 20,      /* until the far end of a silent connection is probed */
    PROBES = 5,            /* one a second, until the connection is given up */
    STOPPED_MS = 500,      /* until the first attempt after a goodbye: the daemon still ends */
};

#define STEADY_NS 5000000000u /* a link that was up for 5 s reconnects at once */

static void end(struct td_peer *p, struct td_reason r);

/* ---- replies ---- */

/* note_interface notes which interface of this host the link uses. */
static void note_interface(struct td_peer *p)
{
    struct ifaddrs *list = NULL;
    struct sockaddr_storage own;
    p->last.interface[0] = '\0';
    if (!td_channel_own(p->out.channel, &own) || getifaddrs(&list) != 0)
        return;
    td_interfaces_find(list, (struct sockaddr *)&own, p->last.interface, sizeof p->last.interface);
    freeifaddrs(list);
}

static void link_up(struct td_peer *p)
{
    td_connection_transition(&p->state, TD_CONNECTION_COME_UP);
    uv_timer_stop(&p->retry);
    td_peer_tell_up(p);
    p->peers->up++;
    p->target.stranger[0] = '\0';
    p->last.incarnation = p->out.incarnation;
    p->last.up_at = td_loop_now();
    p->last.goodbye = false;
    note_interface(p);
    td_loop_feed(p->peers->loop, &(struct td_event){.kind = TD_EVENT_LINK_UP,
                                                    .u.link = {.node = p->node,
                                                               .incarnation = p->out.incarnation}});
}

bool td_peer_accepted(struct td_peer *p, const uint8_t *body, size_t size)
{
    struct td_handshake g;
    const char *why = NULL;
    if (td_wire_decode_handshake(body, size, &p->peers->memory, &g, &why) != TD_OK ||
        g.session != p->out.session)
        return false;
    if (!g.accepted) {
        char text[200];
        /* A daemon that rejects the peer for the same reason knows the values of both. */
        snprintf(text, sizeof text, "it rejected the handshake: %.170s",
                 p->told.refused[0] && !g.busy ? p->told.refused : g.text);
        td_peer_complain_once(p, text);
        td_peer_end(p, text, g.busy ? 0 : REFUSED_MS);
        return false;
    }
    if (g.node != p->node) {
        td_peer_end(p, "another node answers at its endpoint", RETRY_MS_MAX);
        return false;
    }
    if (p->out.incarnation && p->out.incarnation != g.incarnation) {
        td_peer_end(p, "its daemon was restarted", RETRY_MS);
        return false;
    }
    if (p->state != TD_CONNECTION_CALLING)
        return true;
    if (!td_peer_agree(p, &g)) {
        td_peer_end(p, "its reply does not protect streams as [security] demands", REFUSED_MS);
        return false;
    }
    td_connection_transition(&p->state, TD_CONNECTION_AGREE);
    if (g.express && p->peers->loop->config->express)
        td_express_transition(&p->express_state, TD_EXPRESS_AGREE);
    p->out.incarnation = g.incarnation;
    return true;
}

static void on_channel_answer(void *peer, struct td_channel *channel, const uint8_t *bytes,
                              size_t size)
{
    struct td_peer *p = peer;
    (void)channel;
    if (td_peer_accepted(p, bytes, size))
        link_up(p);
}

static void on_channel_ended(void *peer, struct td_channel *channel, bool breach, const char *why)
{
    struct td_peer *p = peer;
    char text[120], bulk[600];
    (void)channel;
    (void)breach;
    if (p->state == TD_CONNECTION_UP) {
        td_peer_end(p, why, 0);
        return;
    }
    td_peer_bulk(p, bulk, sizeof bulk);
    snprintf(text, sizeof text, "cannot open the packet stream to %.50s: %.40s", bulk, why);
    td_peer_complain_once(p, text);
    td_peer_end(p, text, 0);
}

struct td_channel *td_peer_open_stream(struct td_peer *p, const struct td_channel_calls *calls)
{
    struct td_peers *peers = p->peers;
    char bulk[600], endpoint[700];
    uint8_t bytes[HANDSHAKE_BYTES_MAX];
    struct td_handshake g = td_peers_handshake(peers);
    g.session = p->out.session;
    g.express = calls->carries_messages;
    g.bulk = !g.express;
    size_t size = td_peers_encode_handshake(&g, bytes, sizeof bytes);
    td_peer_bulk(p, bulk, sizeof bulk);
    td_peer_resolve(p, bulk, endpoint, sizeof endpoint);
    return td_channel_open(&peers->channels, endpoint, bytes + SESSION_BYTES, size - SESSION_BYTES,
                           &p->out.terms, calls, p);
}

/* open_channel opens the stream of packets to the host that sent the reply to the handshake. */
static void open_channel(struct td_peer *p, const char *address)
{
    static const struct td_channel_calls calls = {.handshake = on_channel_answer,
                                                  .ended = on_channel_ended};
    snprintf(p->target.address, sizeof p->target.address, "%s", address ? address : "");
    p->out.channel = td_peer_open_stream(p, &calls);
    if (!p->out.channel)
        td_peer_end(p, strerror(errno), 0);
}

/* receive_answer handles a reply on a DEALER. */
static bool receive_answer(void *user, void *socket)
{
    struct td_peer *p = user;
    zmq_msg_t message;
    zmq_msg_init(&message);
    bool any = zmq_msg_recv(&message, socket, ZMQ_DONTWAIT) >= 0;
    const uint8_t *bytes = zmq_msg_data(&message);
    size_t size = zmq_msg_size(&message);
    if (any && size >= SESSION_BYTES && get_u64(bytes) == 0 && p->state == TD_CONNECTION_CALLING &&
        td_peer_accepted(p, bytes + SESSION_BYTES, size - SESSION_BYTES))
        open_channel(p, zmq_msg_gets(&message, "Peer-Address"));
    zmq_msg_close(&message);
    return any && p->out.dealer;
}

/* end_handshake ends an attempt whose handshake failed, perhaps by a key. The next one expects the
 * peer's other key, if it has two. `certain`: the peer said so. */
static void end_handshake(struct td_peer *p, const char *text, bool certain)
{
    bool other = td_peer_turn_key(p);
    if (certain && !other)
        td_peer_complain_once(p, text);
    td_peer_end(p, text, other ? RETRY_MS : 0);
}

static void end_broken_off(struct td_peer *p)
{
    bool certain = false;
    struct td_reason r = td_reason_broken_off(p, &certain);
    if (r.cause == TD_CAUSE_ELSEWHERE)
        end(p, r);
    else
        end_handshake(p, r.text, certain);
}

static void on_probed(void *user, int error)
{
    struct td_peer *p = user;
    p->out.probe = NULL;
    end(p, td_reason_probed(p, error));
}

/* find_out ends an attempt without a connection: only a host that refuses has no daemon. */
static void find_out(struct td_peer *p)
{
    const char *configured = p->peers->loop->config->endpoints[p->node];
    char endpoint[700];
    if (p->out.probe)
        return; /* ZeroMQ tells it twice */
    td_peer_resolve(p, configured, endpoint, sizeof endpoint);
    td_probe_cancel(p->out.look_up); /* the probe looks up the name, too */
    p->out.look_up = NULL;
    int error = 0;
    p->out.probe = td_probe_start(&p->peers->loop->uv, endpoint, on_probed, p, &error);
    if (p->out.probe)
        return;
    if (strncmp(configured, "tcp://", 6) != 0) /* a Unix socket without a process */
        error = UV_ECONNREFUSED;
    on_probed(p, error);
}

/* receive_monitor handles an event of a DEALER's connection. */
static bool receive_monitor(void *user, void *socket)
{
    struct td_peer *p = user;
    uint16_t number = 0;
    uint32_t value = 0;
    if (!td_zsocket_event(socket, &number, &value))
        return false;
    if (number == ZMQ_EVENT_CONNECTED) {
        td_endpoint_hasten((int)value);
        return true;
    }
    if (number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        end_handshake(p, "it does not accept the key of this node: add it to its list of peers",
                      true);
    else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)
        end_handshake(p, "the handshake failed: is insecure set on one of the two nodes only?",
                      true);
    else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        end_broken_off(p);
    else if (p->state != TD_CONNECTION_CALLING)
        td_peer_end(p, "the connection was closed", 0);
    else
        find_out(p);
    return false;
}

/* ---- connecting ---- */

static void set_int(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

void *td_peers_open_socket(struct td_peers *peers, int type)
{
    void *socket = zmq_socket(peers->context, type);
    if (!socket)
        return NULL;
    int64_t largest = TD_TREE_MESSAGE_MAX + 64;
    set_int(socket, ZMQ_LINGER, 0);
    set_int(socket, ZMQ_SNDHWM, MESSAGES_MAX);
    set_int(socket, ZMQ_RCVHWM, MESSAGES_MAX);
    set_int(socket, ZMQ_IPV6, 1);
    set_int(socket, ZMQ_HANDSHAKE_IVL, ANSWER_MS);
    /* TCP waits ever longer before it tries again. A link that no job needs would carry nothing for
     * as long again as its way was lost, and the first call over it would fail. */
    set_int(socket, ZMQ_TCP_MAXRT, (int)peers->channels.silence_ms);
    if (type == ZMQ_DEALER)
        set_int(socket, ZMQ_RECONNECT_IVL, -1);
    else
        set_int(socket, ZMQ_ROUTER_MANDATORY, 1);
    if (type == ZMQ_ROUTER) {
        set_int(socket, ZMQ_BACKLOG, BACKLOG);
        /* nobody closes the connections of a host that has gone */
        set_int(socket, ZMQ_TCP_KEEPALIVE, 1);
        set_int(socket, ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_S);
        set_int(socket, ZMQ_TCP_KEEPALIVE_INTVL, 1);
        set_int(socket, ZMQ_TCP_KEEPALIVE_CNT, PROBES);
    }
    zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    return socket;
}

/* watch returns a socket that receives the events of a DEALER's connection, or NULL. */
static void *watch(struct td_peer *p, void *dealer)
{
    char inproc[64];
    snprintf(inproc, sizeof inproc, "inproc://%u.%llx", p->node,
             (unsigned long long)p->out.session);
    int events = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                 ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    return td_zsocket_monitor(p->peers->context, dealer, inproc, events);
}

static bool open_dealer(struct td_peer *p)
{
    struct td_peers *peers = p->peers;
    const uint8_t *key = td_peer_key(p);
    uint8_t identity[IDENTITY_BYTES] = {'T'}, bytes[HANDSHAKE_BYTES_MAX];
    p->out.session = td_loop_random();
    void *socket = td_peers_open_socket(peers, ZMQ_DEALER);
    if (!socket)
        return false;
    memcpy(identity + 1, &peers->loop->config->node, 4);
    put_u64(identity + 5, p->out.session);
    zmq_setsockopt(socket, ZMQ_ROUTING_ID, identity, sizeof identity);
    if (key && !td_peers_set_keys(peers, socket, key)) {
        zmq_close(socket);
        return false;
    }
    void *monitor = watch(p, socket);
    struct td_handshake g = td_peers_handshake(peers);
    g.session = p->out.session;
    g.express = peers->loop->config->express;
    td_peer_offer(p, &g, key);
    size_t length = td_peers_encode_handshake(&g, bytes, sizeof bytes);
    bool good = zmq_connect(socket, peers->loop->config->endpoints[p->node]) == 0 &&
                zmq_send(socket, bytes, length, ZMQ_DONTWAIT) >= 0;
    p->out.dealer = td_zsocket_create(&peers->zloop, socket, receive_answer, p);
    p->out.monitor = td_zsocket_create(&peers->zloop, monitor, receive_monitor, p);
    return good && p->out.dealer && p->out.monitor;
}

static void drop_delayed(struct td_peer *p)
{
    while (p->delay.first) {
        struct td_delayed *d = p->delay.first;
        p->delay.first = d->next;
        td_payload_drop(d->payload);
        free(d);
    }
}

static void close_connections(struct td_peer *p)
{
    /* Stop the monitor before its reader is closed: ZeroMQ closes sockets later, on its own thread,
     * and would wait for ever to deliver an event. */
    if (p->out.dealer)
        zmq_socket_monitor(td_zsocket_raw(p->out.dealer), NULL, 0);
    td_zsocket_close(p->out.dealer);
    td_zsocket_close(p->out.monitor);
    td_channel_close(p->out.channel);
    td_channel_close(p->out.express);
    td_probe_cancel(p->out.probe);
    td_probe_cancel(p->out.look_up);
    p->out = (struct td_outbound){.session = 0};
    td_express_transition(&p->express_state, TD_EXPRESS_CLOSE);
    drop_delayed(p);
    p->owed.due = false;
}

/* on_silence ends an attempt without a reply. An unresolvable host name, a stopped daemon and a
 * network that loses packets cause no event. */
static void on_silence(uv_timer_t *timer)
{
    struct td_peer *p = timer->data;
    if (p->out.look_up)
        end(p, td_reason_nameless(p, "no answer to the look-up"));
    else
        end(p, td_reason_unanswered(
                   p, p->last.incarnation
                          ? "no answer: its daemon hangs, its host is down, or the network is cut"
                          : "no answer: its daemon hangs, its host is down, the network is cut, or "
                            "its address in [peers] here is wrong"));
}

static void on_looked_up(void *user, int error)
{
    struct td_peer *p = user;
    const char *why = NULL;
    p->out.look_up = NULL;
    if (td_reason_is_of_names(error, &why) && p->state == TD_CONNECTION_CALLING)
        end(p, td_reason_nameless(p, why));
}

/* on_slow looks up the name of a host that has not replied at once: ZeroMQ does not tell that this
 * is the reason. */
static void on_slow(uv_timer_t *timer)
{
    struct td_peer *p = timer->data;
    struct td_loop *loop = p->peers->loop;
    uv_timer_start(timer, on_silence, ANSWER_MS - SLOW_MS, 0);
    if (p->state == TD_CONNECTION_CALLING && !p->out.probe)
        p->out.look_up =
            td_probe_name(&loop->uv, loop->config->endpoints[p->node], on_looked_up, p);
}

void td_peer_connect(struct td_peer *p)
{
    td_connection_transition(&p->state, TD_CONNECTION_CONNECT);
    p->out.began_at = td_loop_now();
    uv_timer_start(&p->retry, on_slow, SLOW_MS, 0);
    if (p->peers->security->keyed && !td_peer_key(p))
        td_peer_end(p, "[security] peers has no key for it", 0);
    else if (!open_dealer(p))
        td_peer_end(p, zmq_strerror(errno), RETRY_MS_MAX);
}

static void on_retry(uv_timer_t *timer)
{
    td_peer_connect(timer->data);
}

void td_peer_hurry(struct td_peer *p)
{
    if (p->retry_ms <= RETRY_MS_MAX || p->out.dealer)
        return;
    p->retry_ms = RETRY_MS_MAX;
    if (uv_timer_get_due_in(&p->retry) > RETRY_MS_MAX)
        uv_timer_start(&p->retry, on_retry, RETRY_MS_MAX, 0);
}

static void end(struct td_peer *p, struct td_reason r)
{
    bool absent = td_reason_is_absence(r.cause), was_up = p->state == TD_CONNECTION_UP;
    if (!absent && td_peer_own_fault(p, r.text, sizeof r.text))
        r.cause = TD_CAUSE_OWN;
    if (was_up && td_loop_now() - p->last.up_at >= STEADY_NS)
        p->retry_ms = RETRY_MS; /* otherwise it could fail again and again without a pause */
    p->peers->up -= was_up;
    close_connections(p);
    td_connection_transition(&p->state, absent ? TD_CONNECTION_REFUSE : TD_CONNECTION_END);
    if (p->peers->loop->stopped)
        return;
    unsigned ms = r.after_ms ? r.after_ms : p->retry_ms;
    unsigned most = p->steady ? RETRY_MS_MAX : RETRY_MS_IDLE;
    p->retry_ms = 2 * p->retry_ms > most ? most : 2 * p->retry_ms;
    uv_timer_start(&p->retry, on_retry, ms, 0);
    if (td_peer_tell_end(p, &r, was_up))
        td_loop_feed(p->peers->loop,
                     &(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                                        .u.link = {.node = p->node,
                                                   .text = p->told.text,
                                                   .refused = absent,
                                                   .rejected = p->told.refusal[0] ||
                                                               r.cause == TD_CAUSE_ELSEWHERE}});
}

void td_peer_end(struct td_peer *p, const char *text, unsigned after_ms)
{
    end(p, td_reason(TD_CAUSE_OTHER, text, after_ms));
}

void td_peer_want(struct td_peer *p)
{
    if (p->state != TD_CONNECTION_IDLE)
        return;
    p->wanted_at = td_loop_now();
    p->peers->wanted++;
    td_peer_connect(p);
}

void td_peer_end_in(struct td_peer *p)
{
    td_channel_close(p->in.channel);
    td_channel_close(p->in.express);
    p->in.channel = p->in.express = NULL;
    p->in.session = 0;
    p->in.expected = p->in.express_expected = false;
}

void td_peers_drop(struct td_peers *peers, uint32_t node, const char *text)
{
    struct td_peer *p = &peers->peer[node];
    if (p->state != TD_CONNECTION_UP) /* otherwise td_peer_end logs the reason */
        td_peer_complain(p, text);
    if (p->state != TD_CONNECTION_IDLE)
        td_peer_end(p, text, RETRY_MS);
}

void td_peers_part(struct td_peers *peers, uint32_t node, const char *text)
{
    struct td_peer *p = &peers->peer[node];
    p->last.goodbye = true;
    td_peer_end_in(p);
    if (p->state != TD_CONNECTION_IDLE)
        td_peer_end(p, text, STOPPED_MS);
}
