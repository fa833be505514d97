/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_link.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "interfaces.h"
#include "peers_delay.h"
#include "peers_express.h"
#include "peers_handshake.h"
#include "peers_internal.h"
#include "peers_terms.h"
#include "peers_zap.h"
#include "io/bulk/endpoint.h"
#include "io/config/address.h"

enum {
    RETRY_MS_MAX = 1000,   /* greatest interval between attempts, for links that are needed */
    RETRY_MS_IDLE = 15000, /* the same for other links, until a message waits for them */
    REFUSED_MS = 5000,     /* interval after a rejected handshake */
    SLOW_MS = 500,         /* after which an attempt looks for the reason */
    MESSAGES_MAX = 4096,   /* queued messages of a connection */
    BACKLOG = 1024,        /* connections that wait to be accepted */
    KEEPALIVE_S = 20,      /* until the far end of a silent connection is probed */
    PROBES = 5,            /* one a second, until the connection is given up */
    STOPPED_MS = 500,      /* until the first attempt after a goodbye: the daemon still ends */
};

#define STEADY_NS 5000000000u /* a link that was up for 5 s reconnects at once */
#define STILL_NS 6000000000u  /* a link that has not come up for so long is a warning */

/* enum absence: what an attempt has shown of the peer's daemon. REFUSED: none is at its endpoint;
 * ELSEWHERE: the one that is connected to this daemon is not; RUNS: it has connected during the
 * attempt, so that the next one tells whether it is there; NAMELESS: its host is not known. */
enum absence { NOT_KNOWN, REFUSED, ELSEWHERE, RUNS, NAMELESS };

/* how the sentences about a daemon begin that is connected to this one */
static const char runs[] = "its daemon runs";

static void end(struct td_peer *p, const char *text, unsigned after_ms, enum absence absence);

/* about_node returns the fields of a line about a node. */
static struct td_log_fields about_node(uint32_t node)
{
    struct td_log_fields fields = td_log_no_fields;
    fields.node = node;
    return fields;
}

/* complain logs a reason why a link to a node cannot be made. */
static void complain(const struct td_peer *p, const char *text)
{
    struct td_log_fields about = about_node(p->node);
    td_log_with(TD_LOG_WARNING, &about, "node %u: %s", p->node, text);
}

/* ---- replies ---- */

/* how_up returns what has happened to a daemon whose link is up again, in `text` if it must. */
static const char *how_up(const struct td_peer *p, char *text, size_t bytes)
{
    td_time silent_ns = td_core_daemon_silence(p->peers->loop->core, p->node);
    if (p->incarnation_before == p->incarnation)
        return "its daemon runs on";
    enum td_daemon_end how = td_core_daemon_end(p->peers->loop->core, p->node);
    if (p->goodbye || how == TD_DAEMON_STOPPED)
        return "its daemon was started again";
    if (how == TD_DAEMON_DIED)
        return "its daemon was restarted; the earlier one crashed or was killed: see its journal";
    if (!silent_ns)
        return "its daemon was restarted; its journal says how the earlier one ended";
    snprintf(text, bytes,
             "its daemon was restarted; the earlier one had been silent for %.1f s: its journal "
             "says how it ended",
             (double)silent_ns / 1e9);
    return text;
}

/* note_interface notes which interface of this host the link uses. */
static void note_interface(struct td_peer *p)
{
    struct ifaddrs *list = NULL;
    struct sockaddr_storage own;
    p->interface[0] = '\0';
    if (!p->channel || !td_channel_own(p->channel, &own) || getifaddrs(&list) != 0)
        return;
    td_interfaces_find(list, (struct sockaddr *)&own, p->interface, sizeof p->interface);
    freeifaddrs(list);
}

bool td_peer_own_fault(const struct td_peer *p, char *text, size_t bytes)
{
    struct ifaddrs *list = NULL;
    if (!p->interface[0] || getifaddrs(&list) != 0)
        return false;
    bool is = td_interfaces_fault(list, p->interface, p->peers->loop->config->node, text, bytes);
    freeifaddrs(list);
    return is;
}

static void link_up(struct td_peer *p)
{
    struct td_log_fields about = about_node(p->node);
    char text[160];
    p->up = true;
    note_interface(p);
    uv_timer_stop(&p->retry);
    p->up_at = td_loop_now();
    p->peers->up++;
    p->text[0] = p->refusal[0] = p->stranger[0] = '\0';
    if (p->incarnation_before)
        td_log_rated_with(&p->log, p->up_at, TD_LOG_INFO, &about, "link to node %u is up again: %s",
                          p->node, how_up(p, text, sizeof text));
    else if (p->told_down)
        td_log_rated_with(&p->log, p->up_at, TD_LOG_INFO, &about, "link to node %u is up", p->node);
    else
        td_log_rated_with(&p->peers->first_log, p->up_at, TD_LOG_INFO, &about,
                          "link to node %u is established", p->node);
    p->told_down = p->told_refused = p->told_own = p->told_name = p->goodbye = false;
    p->incarnation_before = p->incarnation;
    td_loop_feed(p->peers->loop,
                 &(struct td_event){.kind = TD_EVENT_LINK_UP,
                                    .u.link = {.node = p->node, .incarnation = p->incarnation}});
}

bool td_peer_accepted(struct td_peer *p, const uint8_t *body, size_t size)
{
    struct td_handshake g;
    const char *why = NULL;
    if (td_wire_decode_handshake(body, size, &p->peers->memory, &g, &why) != TD_OK ||
        g.session != p->session)
        return false;
    if (!g.accepted) {
        char text[200];
        /* A daemon that rejects the peer for the same reason knows the values of both. */
        snprintf(text, sizeof text, "it rejected the handshake: %.170s",
                 p->refused[0] && !g.busy ? p->refused : g.text);
        if (strcmp(text, p->refusal) != 0) /* logged once, not at each attempt */
            complain(p, text);
        snprintf(p->refusal, sizeof p->refusal, "%s", text);
        td_peer_end(p, text, g.busy ? 0 : REFUSED_MS);
        return false;
    }
    if (g.node != p->node) {
        td_peer_end(p, "another node answers at its endpoint", RETRY_MS_MAX);
        return false;
    }
    if (p->incarnation && p->incarnation != g.incarnation) {
        td_peer_end(p, "its daemon was restarted", RETRY_MS);
        return false;
    }
    if (!p->incarnation && !td_peer_agree(p, &g)) {
        td_peer_end(p, "its reply does not protect streams as [security] demands", REFUSED_MS);
        return false;
    }
    if (!p->incarnation)
        p->express_agreed = g.express && p->peers->loop->config->express;
    p->incarnation = g.incarnation;
    return true;
}

static void on_channel_answer(void *peer, struct td_channel *channel, const uint8_t *bytes,
                              size_t size)
{
    struct td_peer *p = peer;
    (void)channel;
    if (td_peer_accepted(p, bytes, size) && !p->up)
        link_up(p);
}

/* bulk_of writes the bulk endpoint of a peer. It cannot fail: the configuration is checked. */
static void bulk_of(const struct td_peer *p, char *bulk, size_t bytes)
{
    td_config_bulk(p->peers->loop->config->endpoints[p->node], bulk, bytes);
}

static void on_channel_ended(void *peer, struct td_channel *channel, bool breach, const char *why)
{
    struct td_peer *p = peer;
    char text[120], bulk[600];
    (void)channel;
    (void)breach;
    if (p->up) {
        td_peer_end(p, why, 0);
        return;
    }
    bulk_of(p, bulk, sizeof bulk);
    snprintf(text, sizeof text, "cannot open the packet stream to %.50s: %.40s", bulk, why);
    if (strcmp(text, p->refusal) != 0) /* logged once, not at each attempt */
        complain(p, text);
    snprintf(p->refusal, sizeof p->refusal, "%s", text);
    td_peer_end(p, text, 0);
}

/* resolve writes an endpoint of the peer with the numeric address of its host, if that is known. */
static void resolve(const struct td_peer *p, const char *endpoint, char *text, size_t bytes)
{
    if (p->address[0] && strncmp(endpoint, "tcp://", 6) == 0)
        snprintf(text, bytes, strchr(p->address, ':') ? "tcp://[%s]%s" : "tcp://%s%s", p->address,
                 strrchr(endpoint, ':'));
    else
        snprintf(text, bytes, "%s", endpoint);
}

struct td_channel *td_peer_open_stream(struct td_peer *p, const struct td_channel_calls *calls)
{
    struct td_peers *peers = p->peers;
    char bulk[600], endpoint[700];
    uint8_t bytes[HANDSHAKE_BYTES_MAX];
    struct td_handshake g = td_peers_handshake(peers);
    g.session = p->session;
    g.express = calls->carries_messages;
    g.bulk = !g.express;
    size_t size = td_peers_encode_handshake(&g, bytes, sizeof bytes);
    bulk_of(p, bulk, sizeof bulk);
    resolve(p, bulk, endpoint, sizeof endpoint);
    return td_channel_open(&peers->channels, endpoint, bytes + SESSION_BYTES, size - SESSION_BYTES,
                           &p->terms, calls, p);
}

/* open_channel opens the stream of packets to the host that sent the reply to the handshake. */
static void open_channel(struct td_peer *p, const char *address)
{
    static const struct td_channel_calls calls = {.handshake = on_channel_answer,
                                                  .ended = on_channel_ended};
    snprintf(p->address, sizeof p->address, "%s", address ? address : "");
    p->channel = td_peer_open_stream(p, &calls);
    if (!p->channel)
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
    if (any && size >= SESSION_BYTES && get_u64(bytes) == 0 && !p->channel &&
        td_peer_accepted(p, bytes + SESSION_BYTES, size - SESSION_BYTES))
        open_channel(p, zmq_msg_gets(&message, "Peer-Address"));
    zmq_msg_close(&message);
    return any && p->dealer;
}

/* is_elsewhere returns true if a daemon of the peer that never was reached has been connected to
 * this one for some time: it is at another address; perhaps an earlier one was here. */
static bool is_elsewhere(const struct td_peer *p, unsigned ms)
{
    return p->in && p->incarnation_in != p->incarnation_before &&
           td_loop_now() - p->session_in_at >= ms * UINT64_C(1000000);
}

/* end_elsewhere ends an attempt at an address where that daemon is not. */
static void end_elsewhere(struct td_peer *p, const char *text)
{
    struct td_log_fields about = about_node(p->node);
    if (strncmp(p->text, text, strlen(text)) != 0) /* logged once, not at each attempt */
        td_log_rated_with(&p->log, td_loop_now(), TD_LOG_WARNING, &about, "node %u: %s", p->node,
                          text);
    end(p, text, 0, ELSEWHERE);
}

/* end_handshake ends an attempt whose handshake failed, perhaps by a key. The next one expects the
 * peer's other key, if it has two. `certain`: the peer said so. */
static void end_handshake(struct td_peer *p, const char *text, bool certain)
{
    const uint8_t *key[TD_NODE_KEYS_MAX];
    uint32_t keys = td_security_keys(p->peers->security, p->node, key);
    p->key_turn++;
    if (keys > 1 && p->key_turn % keys != 0) {
        td_peer_end(p, text, RETRY_MS);
        return;
    }
    if (certain && strcmp(text, p->refusal) != 0) /* logged once, not at each attempt */
        complain(p, text);
    if (certain)
        snprintf(p->refusal, sizeof p->refusal, "%s", text);
    td_peer_end(p, text, 0);
}

/* closed_elsewhere ends an attempt whose connection was closed before the handshake, by something
 * else than the daemon of the peer. It returns false if it may be that daemon. */
static bool closed_elsewhere(struct td_peer *p)
{
    bool is = is_elsewhere(p, STREAM_MS);
    if (is)
        end_elsewhere(p, "its daemon runs, but what answers at this address ends the handshake: "
                         "compare [peers] here with its listen");
    return is;
}

/* unanswered ends an attempt that took its time, or found no way. A daemon that is connected to
 * this one neither hangs nor is down. One that connected during the attempt may have started after
 * the requests to connect were lost. */
static void unanswered(struct td_peer *p, const char *text)
{
    if (is_elsewhere(p, 0) && p->session_in_at <= p->attempt_at)
        end_elsewhere(p, "its daemon runs, but nothing answers at this address: correct [peers] "
                         "here, or open its port");
    else if (is_elsewhere(p, 0))
        end(p,
            "its daemon runs and has connected to this node, but this address has not answered "
            "yet: compare [peers] here with its listen",
            RETRY_MS, RUNS);
    else
        td_peer_end(p, text, 0);
}

/* nameless ends an attempt because the look-up of the name in the endpoint has failed. */
static void nameless(struct td_peer *p, const char *why)
{
    const char *name = p->peers->loop->config->endpoints[p->node] + strlen("tcp://");
    char text[600];
    snprintf(text, sizeof text, "the name %.*s cannot be resolved: %s", (int)strcspn(name, ":"),
             name, why);
    end(p, text, 0, NAMELESS);
}

/* is_of_names returns true if an error of libuv is that of a look-up, and what the system calls it.
 */
static bool is_of_names(int error, const char **why)
{
    if (error > UV_EAI_ADDRFAMILY || error < UV_EAI_PROTOCOL)
        return false; /* uv_strerror would allocate a text for 0, and nobody frees it */
    *why = error == UV_EAI_AGAIN    ? gai_strerror(EAI_AGAIN)
           : error == UV_EAI_FAIL   ? gai_strerror(EAI_FAIL)
           : error == UV_EAI_NONAME ? gai_strerror(EAI_NONAME)
                                    : uv_strerror(error);
    return true;
}

static void on_probed(void *user, int error)
{
    struct td_peer *p = user;
    const char *why = NULL;
    p->probe = NULL;
    if (error == UV_ECONNREFUSED && is_elsewhere(p, 0))
        end_elsewhere(p,
                      "its daemon runs, but not at this address: correct [peers] here, or listen "
                      "there");
    else if (error == UV_ECONNREFUSED)
        end(p, "connection refused", 0, REFUSED);
    else if (error == UV_ENETUNREACH || error == UV_ENETDOWN || error == UV_EADDRNOTAVAIL)
        td_peer_end(p, "this node has no route to it: look at its own interfaces and routes", 0);
    else if (is_of_names(error, &why))
        nameless(p, why);
    else if (error)
        unanswered(p, uv_strerror(error));
    else if (!closed_elsewhere(p))
        td_peer_end(p,
                    p->incarnation_before
                        ? "the connection was closed"
                        : "what listens there closed the connection: is it torusd? compare "
                          "[peers] here with its listen",
                    0);
}

/* find_out ends an attempt without a connection: only a host that refuses has no daemon. */
static void find_out(struct td_peer *p)
{
    const char *configured = p->peers->loop->config->endpoints[p->node];
    char endpoint[700];
    if (p->probe)
        return; /* ZeroMQ tells it twice */
    resolve(p, configured, endpoint, sizeof endpoint);
    td_probe_cancel(p->look_up); /* the probe looks up the name, too */
    p->look_up = NULL;
    int error = 0;
    p->probe = td_probe_start(&p->peers->loop->uv, endpoint, on_probed, p, &error);
    if (p->probe)
        return;
    if (strncmp(configured, "tcp://", 6) != 0) /* a Unix socket without a process */
        error = UV_ECONNREFUSED;
    on_probed(p, error);
}

/* end_keyed ends an attempt whose handshake the other end broke off, as a daemon does that has
 * another key than is expected. It is certain if such a key has come from that host, too. */
static void end_keyed(struct td_peer *p)
{
    char text[160] = "it ended the handshake: does it run, with the key of the list of peers?";
    bool certain = p->stranger[0] != '\0';
    if (certain)
        snprintf(text, sizeof text,
                 "it ended the handshake, and its host connects with key %s, which is not in the "
                 "list of peers: compare the keys",
                 p->stranger);
    if (certain || !closed_elsewhere(p))
        end_handshake(p, text, certain);
}

/* end_keyless does the same without keys: a peer with a key may close the connection before its
 * greeting is read. */
static void end_keyless(struct td_peer *p)
{
    if (strncmp(p->peers->loop->config->listen, "tcp://", 6) != 0)
        td_peer_end(p, "the connection was closed", 0);
    else if (!closed_elsewhere(p))
        end_handshake(p, "it ended the handshake: does it run, without a key as this node?", false);
}

/* is_at returns true if the endpoint of a peer, or its last reply, has this numeric address. */
static bool is_at(const struct td_peer *p, const char *address)
{
    const char *endpoint = p->peers->loop->config->endpoints[p->node];
    struct td_address configured = {.host = ""};
    if (strncmp(endpoint, "tcp://", strlen("tcp://")) == 0)
        td_address_read(endpoint + strlen("tcp://"), &configured);
    return td_address_same_host(configured.host, address) ||
           (p->address[0] && td_address_same_host(p->address, address));
}

void td_peers_note_stranger(struct td_peers *peers, const char *address, const char *key)
{
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++) {
        struct td_peer *p = &peers->peer[n];
        if (p->wanted && !p->up && is_at(p, address))
            snprintf(p->stranger, sizeof p->stranger, "%s", key);
    }
}

/* receive_monitor handles an event of a DEALER's connection. */
static bool receive_monitor(void *user, void *socket)
{
    struct td_peer *p = user;
    zmq_msg_t event, address;
    uint16_t number = 0;
    uint32_t value = 0;
    zmq_msg_init(&event);
    zmq_msg_init(&address);
    if (zmq_msg_recv(&event, socket, ZMQ_DONTWAIT) < 0)
        return false;
    const uint8_t *bytes = zmq_msg_data(&event);
    memcpy(&number, bytes, sizeof number);
    if (zmq_msg_size(&event) >= sizeof number + sizeof value)
        memcpy(&value, bytes + sizeof number, sizeof value);
    if (zmq_msg_more(&event))
        zmq_msg_recv(&address, socket, ZMQ_DONTWAIT);
    zmq_msg_close(&event);
    zmq_msg_close(&address);
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
    else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && p->peers->security->keyed)
        end_keyed(p);
    else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        end_keyless(p);
    else if (p->incarnation)
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
    snprintf(inproc, sizeof inproc, "inproc://%u.%llx", p->node, (unsigned long long)p->session);
    int events = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                 ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    void *monitor = NULL;
    if (zmq_socket_monitor(dealer, inproc, events) == 0) {
        monitor = zmq_socket(p->peers->context, ZMQ_PAIR);
        set_int(monitor, ZMQ_LINGER, 0);
        zmq_connect(monitor, inproc);
    }
    return monitor;
}

/* expected_key returns the key that the peer must prove, or NULL without keys. */
static const uint8_t *expected_key(const struct td_peer *p)
{
    const uint8_t *key[TD_NODE_KEYS_MAX];
    uint32_t keys = td_security_keys(p->peers->security, p->node, key);
    return keys ? key[p->key_turn % keys] : NULL;
}

static bool open_dealer(struct td_peer *p)
{
    struct td_peers *peers = p->peers;
    const uint8_t *key = expected_key(p);
    uint8_t identity[IDENTITY_BYTES] = {'T'}, bytes[HANDSHAKE_BYTES_MAX];
    p->session = td_loop_random();
    void *socket = td_peers_open_socket(peers, ZMQ_DEALER);
    if (!socket)
        return false;
    memcpy(identity + 1, &peers->loop->config->node, 4);
    put_u64(identity + 5, p->session);
    zmq_setsockopt(socket, ZMQ_ROUTING_ID, identity, sizeof identity);
    if (key && !td_peers_set_keys(peers, socket, key)) {
        zmq_close(socket);
        return false;
    }
    void *monitor = watch(p, socket);
    struct td_handshake g = td_peers_handshake(peers);
    g.session = p->session;
    g.express = peers->loop->config->express;
    td_peer_offer(p, &g, key);
    size_t length = td_peers_encode_handshake(&g, bytes, sizeof bytes);
    bool good = zmq_connect(socket, peers->loop->config->endpoints[p->node]) == 0 &&
                zmq_send(socket, bytes, length, ZMQ_DONTWAIT) >= 0;
    p->dealer = td_zsocket_create(&peers->zloop, socket, receive_answer, p);
    p->monitor = td_zsocket_create(&peers->zloop, monitor, receive_monitor, p);
    return good && p->dealer && p->monitor;
}

static void close_connections(struct td_peer *p)
{
    /* Stop the monitor before its reader is closed: ZeroMQ closes sockets later, on its own thread,
     * and would wait for ever to deliver an event. */
    if (p->dealer)
        zmq_socket_monitor(td_zsocket_raw(p->dealer), NULL, 0);
    td_zsocket_close(p->dealer);
    td_zsocket_close(p->monitor);
    td_channel_close(p->channel);
    td_probe_cancel(p->probe);
    td_probe_cancel(p->look_up);
    td_peer_close_express(p);
    p->probe = p->look_up = NULL;
    p->dealer = p->monitor = NULL;
    p->channel = NULL;
    td_peer_drop_delayed(p);
    p->owes_counts = false;
    p->incarnation = 0;
}

/* on_silence ends an attempt without a reply. An unresolvable host name, a stopped daemon and a
 * network that loses packets cause no event. */
static void on_silence(uv_timer_t *timer)
{
    struct td_peer *p = timer->data;
    if (p->look_up)
        nameless(p, "no answer to the look-up");
    else
        unanswered(p, p->incarnation_before
                          ? "no answer: its daemon hangs, its host is down, or the network is cut"
                          : "no answer: its daemon hangs, its host is down, the network is cut, or "
                            "its address in [peers] here is wrong");
}

static void on_looked_up(void *user, int error)
{
    struct td_peer *p = user;
    const char *why = NULL;
    p->look_up = NULL;
    if (is_of_names(error, &why) && !p->up && !p->incarnation)
        nameless(p, why);
}

/* on_slow looks up the name of a host that has not replied at once: ZeroMQ does not tell that this
 * is the reason. */
static void on_slow(uv_timer_t *timer)
{
    struct td_peer *p = timer->data;
    struct td_loop *loop = p->peers->loop;
    uv_timer_start(timer, on_silence, ANSWER_MS - SLOW_MS, 0);
    if (!p->incarnation && !p->probe)
        p->look_up = td_probe_name(&loop->uv, loop->config->endpoints[p->node], on_looked_up, p);
}

void td_peer_connect(struct td_peer *p)
{
    p->attempt_at = td_loop_now();
    uv_timer_start(&p->retry, on_slow, SLOW_MS, 0);
    if (p->peers->security->keyed && !expected_key(p))
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
    if (p->retry_ms <= RETRY_MS_MAX || p->dealer)
        return;
    p->retry_ms = RETRY_MS_MAX;
    if (uv_timer_get_due_in(&p->retry) > RETRY_MS_MAX)
        uv_timer_start(&p->retry, on_retry, RETRY_MS_MAX, 0);
}

/* warn_still logs once that a link has not come up for long. The first line about it is usual when
 * daemons start one after the other. */
static void warn_still(struct td_peer *p, const char *text, bool unnamed)
{
    td_time ns = td_loop_now() - p->wanted_at;
    struct td_log_fields about = about_node(p->node);
    if (p->told_still || ns < STILL_NS)
        return;
    p->told_still = true;
    td_log_with(TD_LOG_WARNING, &about, "still no link to node %u after %u s: %s (%.100s); %s",
                p->node, (unsigned)(ns / 1000000000), text,
                p->peers->loop->config->endpoints[p->node],
                unnamed ? "correct [peers] here, or add the name to DNS or /etc/hosts"
                        : "start torusd there, or compare [peers] here with its listen");
}

static void end(struct td_peer *p, const char *text, unsigned after_ms, enum absence absence)
{
    bool refused = absence == REFUSED || absence == ELSEWHERE, unnamed = absence == NAMELESS;
    char fault[120];
    bool own = !refused && td_peer_own_fault(p, fault, sizeof fault);
    text = own ? fault : text;
    if (p->up && td_loop_now() - p->up_at >= STEADY_NS)
        p->retry_ms = RETRY_MS; /* otherwise it could fail again and again without a pause */
    bool was_up = p->up, other = strncmp(p->text, text, strlen(text)) != 0;
    bool news = p->unacknowledged.first || (refused && (!p->told_refused || other)) ||
                (p->refusal[0] && other) || own != p->told_own || unnamed != p->told_name ||
                (absence == RUNS && strncmp(p->text, runs, strlen(runs)) != 0);
    p->up = false;
    p->peers->up -= was_up;
    close_connections(p);
    if (p->peers->loop->stopped)
        return;
    p->absent = refused;
    struct td_log_fields about = about_node(p->node);
    unsigned ms = after_ms ? after_ms : p->retry_ms;
    unsigned most = p->steady ? RETRY_MS_MAX : RETRY_MS_IDLE;
    p->retry_ms = 2 * p->retry_ms > most ? most : 2 * p->retry_ms;
    uv_timer_start(&p->retry, on_retry, ms, 0);
    if (!p->incarnation_before && !p->refusal[0] && absence != ELSEWHERE && absence != RUNS)
        warn_still(p, text, unnamed);
    if (!was_up && !news && p->told_down) /* report it once, and again while messages wait */
        return;
    snprintf(p->text, sizeof p->text, "%s (%.100s)", text,
             p->peers->loop->config->endpoints[p->node]);
    if (was_up && p->peers->loop->stopping)
        td_log_rated_with(&p->log, td_loop_now(), TD_LOG_INFO, &about,
                          "link to node %u has ended, as this daemon stops", p->node);
    else if (was_up)
        td_log_rated_with(&p->log, td_loop_now(), p->goodbye ? TD_LOG_INFO : TD_LOG_WARNING, &about,
                          "link to node %u is down: %s", p->node, p->text);
    else if (!p->told_down && !p->refusal[0])
        td_log_rated_with(&p->log, td_loop_now(), TD_LOG_INFO, &about,
                          "no link to node %u yet: %s; retrying", p->node, p->text);
    p->told_down = true;
    p->told_own = own;
    p->told_name = unnamed;
    p->told_refused = p->told_refused || refused;
    td_loop_feed(p->peers->loop,
                 &(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                                    .u.link = {.node = p->node,
                                               .text = p->text,
                                               .refused = refused,
                                               .rejected = p->refusal[0] || absence == ELSEWHERE}});
}

void td_peer_end(struct td_peer *p, const char *text, unsigned after_ms)
{
    end(p, text, after_ms, NOT_KNOWN);
}

void td_peer_want(struct td_peer *p)
{
    if (p->wanted)
        return;
    p->wanted = true;
    p->wanted_at = td_loop_now();
    p->peers->wanted++;
    td_peer_connect(p);
}

void td_peer_end_in(struct td_peer *p)
{
    td_channel_close(p->in);
    td_channel_close(p->express_in);
    p->in = p->express_in = NULL;
    p->session_in = 0;
    p->expected = p->express_expected = false;
}

void td_peers_drop(struct td_peers *peers, uint32_t node, const char *text)
{
    struct td_peer *p = &peers->peer[node];
    if (!p->up) /* otherwise td_peer_end logs the reason */
        complain(p, text);
    if (p->wanted)
        td_peer_end(p, text, RETRY_MS);
}

void td_peers_part(struct td_peers *peers, uint32_t node, const char *text)
{
    struct td_peer *p = &peers->peer[node];
    p->goodbye = true;
    td_peer_end_in(p);
    if (p->wanted)
        td_peer_end(p, text, STOPPED_MS);
}
