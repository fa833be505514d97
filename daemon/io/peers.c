/* SPDX-License-Identifier: Apache-2.0 */
#include "peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "handover.h"
#include "wire/wire.h"
#include "zsocket.h"

enum {
    TREE,
    BULK,
    KINDS,
    SESSION_BYTES = 8,
    WAITING_MAX = 1024, /* tree messages waiting for a connection to one peer */
    RETRY_MS = 50,
    RETRY_MS_MAX = 1000,
    REFUSED_MS = 5000,
    ANSWER_MS = 5000, /* for both greetings to be answered: ZeroMQ does not tell of all failures */
    ZERO_COPY_BYTES = 16384,
    SOCKET_BUFFER = 4 << 20,
    IDENTITY_BYTES = 13, /* 'T', node, session */
};

struct waiting {
    struct waiting *next;
    size_t size;
    uint8_t bytes[];
};

/* struct way: one DEALER of a peer. */
struct way {
    struct td_zsocket *socket, *monitor;
    struct td_peer *peer;
    uint64_t session;
    bool accepted;
};

struct td_peer {
    struct td_peers *peers;
    uint32_t node;
    bool wanted, up, told_down;
    struct way way[KINDS];
    uint64_t incarnation; /* of the far end, as its answers say */
    uint64_t session_in[KINDS], incarnation_in;
    uv_timer_t retry;
    unsigned retry_ms;
    struct waiting *waiting, **waiting_last;
    uint32_t waiting_count;
    char text[200]; /* why it is down */
};

/* struct loan: bytes of a region that ZeroMQ reads; given back from its thread. */
struct loan {
    struct loan *next;
    struct td_peers *peers;
    uint64_t handle;
    uint32_t region;
};

struct buffer {
    zmq_msg_t message;
    uint32_t next_free;
    bool used;
};

struct td_peers {
    struct td_loop *loop;
    void *context;
    struct td_zloop zloop;
    struct td_zsocket *router[KINDS];
    struct td_peer *peer; /* [nodes] */
    char shape[128];
    uint32_t up, wanted;
    struct buffer *buffer;
    uint32_t buffers, buffer_free; /* UINT32_MAX: none */
    uv_mutex_t lock;
    uv_async_t returned;
    struct loan *loans; /* come back, under the lock */
    struct td_wire_memory memory;
};

static void end_link(struct td_peer *p, const char *text, unsigned after_ms);
static void connect_peer(struct td_peer *p);

static void put_u64(uint8_t *bytes, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_u64(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static uint64_t random_number(void)
{
    uint64_t x = 0;
    while (getrandom(&x, sizeof x, 0) != sizeof x || x == 0)
        continue;
    return x;
}

/* ---- greetings ---- */

static struct td_greeting own_greeting(struct td_peers *peers)
{
    return (struct td_greeting){.major = TD_WIRE_MAJOR,
                                .minor = TD_WIRE_MINOR,
                                .node = peers->loop->config->node,
                                .incarnation = peers->loop->incarnation,
                                .digest = peers->loop->digest,
                                .shape = peers->shape};
}

static size_t encode_greeting(const struct td_greeting *g, uint8_t *bytes, size_t size)
{
    put_u64(bytes, 0); /* no session yet: that is how a greeting is known */
    size_t packed = td_wire_encode_greeting(g, bytes + SESSION_BYTES, size - SESSION_BYTES);
    return packed ? packed + SESSION_BYTES : 0;
}

/* objection returns NULL, or why a greeting is refused. */
static const char *objection(struct td_peers *peers, const struct td_greeting *g, char *text,
                             size_t bytes)
{
    if (g->major != TD_WIRE_MAJOR || (int64_t)g->minor + 1 < TD_WIRE_MINOR)
        snprintf(text, bytes, "it speaks version %u.%u between daemons, this one %d.%d", g->major,
                 g->minor, TD_WIRE_MAJOR, TD_WIRE_MINOR);
    else if (g->node >= peers->loop->config->topology.nodes || g->node == peers->loop->config->node)
        snprintf(text, bytes, "it says it is node %u, this is node %u of %s", g->node,
                 peers->loop->config->node, peers->shape);
    else if (strcmp(g->shape, peers->shape) != 0)
        snprintf(text, bytes, "its shape is %s, here it is %s", g->shape, peers->shape);
    else if (g->digest != peers->loop->digest)
        snprintf(text, bytes, "its [network] settings or progress_timeout differ from those here");
    else
        return NULL;
    return text;
}

static void take_greeting(struct td_peers *peers, void *router, zmq_msg_t *identity,
                          const uint8_t *body, size_t size)
{
    struct td_greeting g, answer = own_greeting(peers);
    const char *why = NULL;
    char text[200];
    uint8_t bytes[1024];
    if (td_wire_decode_greeting(body, size, &peers->memory, &g, &why) != TD_OK) {
        td_log(TD_LOG_WARNING, "a peer was turned away: %s", why);
        return;
    }
    const char *wrong = objection(peers, &g, text, sizeof text);
    if (wrong) {
        td_log(TD_LOG_WARNING, "a daemon that calls itself node %u was refused: %s", g.node, wrong);
    } else {
        struct td_peer *p = &peers->peer[g.node];
        p->session_in[g.bulk ? BULK : TREE] = g.session;
        p->incarnation_in = g.incarnation;
        if (p->way[TREE].socket && p->incarnation && p->incarnation != g.incarnation)
            end_link(p, "the daemon there was started anew", RETRY_MS);
        else if (p->wanted && !p->up && uv_is_active((uv_handle_t *)&p->retry) &&
                 !p->way[TREE].socket)
            connect_peer(p); /* it is there now: no need to wait */
    }
    answer.session = g.session;
    answer.bulk = g.bulk;
    answer.accepted = !wrong;
    answer.text = wrong;
    size_t length = encode_greeting(&answer, bytes, sizeof bytes);
    if (zmq_send(router, zmq_msg_data(identity), zmq_msg_size(identity),
                 ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(router, bytes, length, ZMQ_DONTWAIT);
}

static void flush_waiting(struct td_peer *p)
{
    while (p->waiting) {
        struct waiting *w = p->waiting;
        p->waiting = w->next;
        put_u64(w->bytes, p->way[TREE].session);
        zmq_send(td_zsocket_raw(p->way[TREE].socket), w->bytes, w->size, ZMQ_DONTWAIT);
        free(w);
    }
    p->waiting_last = &p->waiting;
    p->waiting_count = 0;
    td_zsocket_stir(p->way[TREE].socket);
}

static void link_up(struct td_peer *p)
{
    p->up = true;
    uv_timer_stop(&p->retry);
    p->told_down = false;
    p->retry_ms = RETRY_MS;
    p->peers->up++;
    p->text[0] = '\0';
    td_log(TD_LOG_DEBUG, "node %u is up", p->node);
    flush_waiting(p);
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
        td_log(TD_LOG_WARNING, "node %u: %s", p->node, text);
        end_link(p, text, REFUSED_MS);
        return false;
    }
    if (g.node != p->node || (p->incarnation && p->incarnation != g.incarnation)) {
        end_link(p, g.node != p->node ? "another node answers there" : "it was started anew",
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
        end_link(w->peer, w->accepted ? "its daemon is gone" : "its daemon does not answer", 0);
        return false;
    }
    return true;
}

/* ---- connecting ---- */

static void set_int(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

static void *open_socket(struct td_peers *peers, int type, int kind)
{
    void *socket = zmq_socket(peers->context, type);
    const struct td_settings *s = &peers->loop->config->settings;
    if (!socket)
        return NULL;
    int depth = kind == TREE ? 4096 : 4 * (int)s->link_credits + 64;
    int64_t largest = kind == TREE ? TD_TREE_MESSAGE_MAX + 64 : (int64_t)s->packet_bytes + 64;
    set_int(socket, ZMQ_LINGER, 0);
    set_int(socket, ZMQ_SNDHWM, depth);
    set_int(socket, ZMQ_RCVHWM, depth);
    set_int(socket, ZMQ_IPV6, 1);
    if (type == ZMQ_DEALER)
        set_int(socket, ZMQ_RECONNECT_IVL, -1);
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
    *w = (struct way){.peer = p, .session = random_number()};
    void *socket = open_socket(peers, ZMQ_DEALER, kind);
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
    struct td_greeting g = own_greeting(peers);
    g.session = w->session;
    g.bulk = kind == BULK;
    size_t length = encode_greeting(&g, bytes, sizeof bytes);
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
    p->incarnation = 0;
}

/* on_silence: a host name that cannot be resolved, a daemon that is stopped, a network that
 * swallows packets: none of them makes an event. */
static void on_silence(uv_timer_t *timer)
{
    end_link(timer->data, "its daemon does not answer", 0);
}

static void connect_peer(struct td_peer *p)
{
    uv_timer_start(&p->retry, on_silence, ANSWER_MS, 0);
    if (!open_way(p, TREE) || !open_way(p, BULK))
        end_link(p, zmq_strerror(errno), RETRY_MS_MAX);
}

static void on_retry(uv_timer_t *timer)
{
    connect_peer(timer->data);
}

/* end_link closes what there is of a link, tells the core once, and arranges the next attempt:
 * after_ms from now, 0 for the peer's own rhythm. */
static void end_link(struct td_peer *p, const char *text, unsigned after_ms)
{
    bool was_up = p->up, lost = p->waiting != NULL;
    close_ways(p);
    p->up = false;
    p->peers->up -= was_up;
    while (p->waiting) {
        struct waiting *w = p->waiting;
        p->waiting = w->next;
        free(w);
    }
    p->waiting_last = &p->waiting;
    p->waiting_count = 0;
    if (p->peers->loop->stopped)
        return;
    unsigned ms = after_ms ? after_ms : p->retry_ms;
    p->retry_ms = 2 * p->retry_ms > RETRY_MS_MAX ? RETRY_MS_MAX : 2 * p->retry_ms;
    uv_timer_start(&p->retry, on_retry, ms, 0);
    if (!was_up && !lost && p->told_down) /* once, and whenever messages were lost */
        return;
    p->told_down = true;
    snprintf(p->text, sizeof p->text, "%s (%.100s)", text,
             p->peers->loop->config->endpoints[p->node]);
    if (was_up)
        td_log(TD_LOG_WARNING, "the link to node %u is down: %s", p->node, p->text);
    td_loop_feed(p->peers->loop, &(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                                                    .u.link = {.node = p->node, .text = p->text}});
}

static void want(struct td_peer *p)
{
    if (p->wanted)
        return;
    p->wanted = true;
    p->peers->wanted++;
    connect_peer(p);
}

void td_peers_drop(struct td_peers *peers, uint32_t node, const char *text)
{
    struct td_peer *p = &peers->peer[node];
    td_log(TD_LOG_WARNING, "node %u: %s", node, text);
    if (p->wanted)
        end_link(p, text, RETRY_MS);
}

/* ---- buffers ---- */

/* keep_buffer takes over the message and returns its handle, UINT32_MAX without memory. */
static uint32_t keep_buffer(struct td_peers *peers, zmq_msg_t *message)
{
    if (peers->buffer_free == UINT32_MAX) {
        uint32_t more = peers->buffers ? peers->buffers : 64;
        /* zmq_msg_t may not be moved in memory by realloc: move them one by one */
        struct buffer *grown = calloc(peers->buffers + more, sizeof *grown);
        if (!grown)
            return UINT32_MAX;
        for (uint32_t i = 0; i < peers->buffers; i++) {
            zmq_msg_init(&grown[i].message);
            zmq_msg_move(&grown[i].message, &peers->buffer[i].message);
            zmq_msg_close(&peers->buffer[i].message);
            grown[i].used = peers->buffer[i].used;
        }
        for (uint32_t i = peers->buffers; i < peers->buffers + more; i++) {
            zmq_msg_init(&grown[i].message);
            grown[i].next_free = peers->buffer_free;
            peers->buffer_free = i;
        }
        free(peers->buffer);
        peers->buffer = grown;
        peers->buffers += more;
    }
    uint32_t handle = peers->buffer_free;
    struct buffer *b = &peers->buffer[handle];
    peers->buffer_free = b->next_free;
    b->used = true;
    zmq_msg_move(&b->message, message);
    return handle;
}

const uint8_t *td_peers_buffer(struct td_peers *peers, uint32_t buffer)
{
    return zmq_msg_data(&peers->buffer[buffer].message);
}

void td_peers_release_buffer(struct td_peers *peers, uint32_t buffer)
{
    if (buffer >= peers->buffers || !peers->buffer[buffer].used)
        return;
    struct buffer *b = &peers->buffer[buffer];
    zmq_msg_close(&b->message);
    zmq_msg_init(&b->message);
    b->used = false;
    b->next_free = peers->buffer_free;
    peers->buffer_free = buffer;
}

/* ---- receiving ---- */

static void take_tree(struct td_peers *peers, uint32_t node, const uint8_t *body, size_t size)
{
    struct td_message m;
    const char *why = NULL;
    if (td_wire_decode_message(body, size, &peers->memory, &m, &why) != TD_OK) {
        td_peers_drop(peers, node, why);
        return;
    }
    td_loop_feed(peers->loop, &(struct td_event){.kind = TD_EVENT_TREE_MESSAGE,
                                                 .u.tree = {.node = node, .message = &m}});
}

static void take_packet(struct td_peers *peers, uint32_t node, const uint8_t *body, size_t size,
                        zmq_msg_t *payload)
{
    struct td_event e = {.kind = TD_EVENT_PACKET, .u.packet = {.node = node, .buffer = UINT32_MAX}};
    struct td_packet *packet = &e.u.packet.packet;
    const char *why = NULL;
    if (td_wire_decode_packet(body, size, packet, &why) != TD_OK) {
        td_peers_drop(peers, node, why);
        return;
    }
    if ((packet->kind == TD_PACKET_DATA) != (payload != NULL) ||
        (payload && zmq_msg_size(payload) != packet->bytes)) {
        td_peers_drop(peers, node, "a packet came with a payload of another size");
        return;
    }
    if (payload && (e.u.packet.buffer = keep_buffer(peers, payload)) == UINT32_MAX) {
        td_peers_drop(peers, node, "no memory for its packets");
        return;
    }
    td_loop_feed(peers->loop, &e);
}

/* take_frames takes one message of a ROUTER: identity, body, and for bulk data a payload. */
static bool take_frames(struct td_peers *peers, void *router, int kind)
{
    zmq_msg_t part[4];
    int parts = 0;
    bool more = true;
    while (more) {
        zmq_msg_t *m = &part[parts < 4 ? parts : 3];
        if (parts >= 4)
            zmq_msg_close(m);
        zmq_msg_init(m);
        if (zmq_msg_recv(m, router, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(m);
            break;
        }
        more = zmq_msg_more(m);
        parts++;
    }
    bool any = parts > 0;
    if (parts == 2 || parts == 3) {
        const uint8_t *identity = zmq_msg_data(&part[0]), *body = zmq_msg_data(&part[1]);
        size_t size = zmq_msg_size(&part[1]);
        uint32_t node = UINT32_MAX;
        if (zmq_msg_size(&part[0]) == IDENTITY_BYTES && identity[0] == 'T')
            memcpy(&node, identity + 1, 4);
        uint64_t session = size >= SESSION_BYTES ? get_u64(body) : 0;
        if (session == 0 && size > SESSION_BYTES && parts == 2)
            take_greeting(peers, router, &part[0], body + SESSION_BYTES, size - SESSION_BYTES);
        else if (session != 0 && node < peers->loop->config->topology.nodes &&
                 peers->peer[node].session_in[kind] == session) {
            if (kind == TREE && parts == 2)
                take_tree(peers, node, body + SESSION_BYTES, size - SESSION_BYTES);
            else if (kind == BULK)
                take_packet(peers, node, body + SESSION_BYTES, size - SESSION_BYTES,
                            parts == 3 ? &part[2] : NULL);
        }
    }
    for (int i = 0; i < parts && i < 4; i++)
        zmq_msg_close(&part[i]);
    return any;
}

static bool receive_tree(void *user, void *router)
{
    return take_frames(user, router, TREE);
}

static bool receive_bulk(void *user, void *router)
{
    return take_frames(user, router, BULK);
}

/* ---- sending ---- */

static bool wait_for_link(struct td_peer *p, const uint8_t *bytes, size_t size)
{
    struct waiting *w = p->waiting_count < WAITING_MAX ? malloc(sizeof *w + size) : NULL;
    if (!w)
        return false;
    w->next = NULL;
    w->size = size;
    memcpy(w->bytes, bytes, size);
    *p->waiting_last = w;
    p->waiting_last = &w->next;
    p->waiting_count++;
    return true;
}

void td_peers_send_tree(struct td_peers *peers, const struct td_action *a)
{
    struct td_peer *p = &peers->peer[a->u.tree.node];
    struct td_message m = a->u.tree.message;
    uint8_t bytes[SESSION_BYTES + TD_TREE_MESSAGE_MAX], payload[TD_RIDE_BYTES_MAX];
    int64_t ride = td_slice_bytes(&a->u.tree.payload);
    if (ride > 0 && ride <= TD_RIDE_BYTES_MAX) {
        uint8_t *room[2 * TD_NODE_RANKS_MAX];
        struct td_bases bases;
        struct td_view scratch_only = a->u.tree.view;
        scratch_only.ranks = 0; /* the payload that rides lies in scratch */
        td_regions_bases(peers->loop->regions, &scratch_only, room, &bases);
        td_compute_pack(&a->u.tree.payload, &bases, 0, (uint64_t)ride, payload);
        m.payload = payload;
        m.payload_bytes = (uint32_t)ride;
    }
    size_t size = td_wire_encode_message(&m, bytes + SESSION_BYTES, sizeof bytes - SESSION_BYTES);
    if (size == 0) {
        td_log(TD_LOG_ERROR, "a tree message to node %u is too large and was dropped", p->node);
        return;
    }
    want(p);
    if (!p->up) {
        wait_for_link(p, bytes, size + SESSION_BYTES);
        return;
    }
    put_u64(bytes, p->way[TREE].session);
    void *socket = td_zsocket_raw(p->way[TREE].socket);
    int sent = zmq_send(socket, bytes, size + SESSION_BYTES, ZMQ_DONTWAIT);
    td_zsocket_stir(p->way[TREE].socket);
    if (sent < 0)
        end_link(p, "it does not take our messages", RETRY_MS);
}

static void tell_sent(struct td_peers *peers, uint64_t handle)
{
    td_loop_feed(peers->loop, &(struct td_event){.kind = TD_EVENT_SENT, .u.sent.handle = handle});
}

/* give_back runs on ZeroMQ's thread. */
static void give_back(void *data, void *hint)
{
    struct loan *loan = hint;
    TD_TAKE_OVER(loan);
    struct td_peers *peers = loan->peers;
    (void)data;
    uv_mutex_lock(&peers->lock);
    loan->next = peers->loans;
    peers->loans = loan;
    uv_mutex_unlock(&peers->lock);
    uv_async_send(&peers->returned);
}

static void take_returned(struct td_peers *peers)
{
    uv_mutex_lock(&peers->lock);
    struct loan *loan = peers->loans;
    peers->loans = NULL;
    uv_mutex_unlock(&peers->lock);
    while (loan) {
        struct loan *next = loan->next;
        td_regions_let_go(peers->loop->regions, loan->region);
        if (!peers->loop->stopped)
            tell_sent(peers, loan->handle);
        free(loan);
        loan = next;
    }
}

static void on_returned(uv_async_t *async)
{
    take_returned(async->data);
}

static uint32_t region_of(const struct td_slice *s, const struct td_view *view)
{
    if (s->space == TD_SPACE_SCRATCH)
        return TD_SCRATCH_HANDLE;
    return (s->space == TD_SPACE_SOURCE ? view->source : view->destination)[s->rank].handle;
}

/* make_payload readies the payload's message: the bytes themselves where they lie in one piece,
 * else a copy. Returns false without memory; *lent tells whether SENT comes later. */
static bool make_payload(struct td_peers *peers, const struct td_action *a, zmq_msg_t *message,
                         bool *lent)
{
    const struct td_packet *packet = &a->u.packet.packet;
    const struct td_view *view = &a->u.packet.view;
    const struct td_slice *slice = &a->u.packet.slice;
    struct td_bases bases;
    uint8_t *few[64], **room = few;
    if (2 * (size_t)view->ranks > sizeof few / sizeof few[0] &&
        !(room = malloc(2 * (size_t)view->ranks * sizeof *room)))
        return false;
    td_regions_bases(peers->loop->regions, view, room, &bases);
    const uint8_t *piece = NULL;
    bool rank_loops = false; /* a piece of one loop turn lies in the slice's first rank only */
    for (int l = 0; l < slice->levels; l++)
        rank_loops = rank_loops || slice->level[l].rank_stride != 0;
    if (packet->bytes >= ZERO_COPY_BYTES && !rank_loops)
        piece = td_compute_contiguous(slice, &bases, packet->offset, packet->bytes);
    struct loan *loan = piece ? malloc(sizeof *loan) : NULL;
    *lent = loan != NULL;
    bool good = true;
    if (loan) {
        *loan = (struct loan){
            .peers = peers, .handle = a->u.packet.handle, .region = region_of(slice, view)};
        td_regions_hold(peers->loop->regions, loan->region);
        TD_HAND_OVER(loan);
        zmq_msg_init_data(message, (void *)(uintptr_t)piece, packet->bytes, give_back, loan);
    } else if ((good = zmq_msg_init_size(message, packet->bytes) == 0)) {
        td_compute_pack(slice, &bases, packet->offset, packet->bytes, zmq_msg_data(message));
    }
    if (room != few)
        free(room);
    return good;
}

void td_peers_send_packet(struct td_peers *peers, const struct td_action *a)
{
    struct td_peer *p = &peers->peer[a->u.packet.node];
    const struct td_packet *packet = &a->u.packet.packet;
    bool data = packet->kind == TD_PACKET_DATA, lent = false;
    uint8_t header[SESSION_BYTES + TD_WIRE_PACKET_BYTES];
    zmq_msg_t payload;
    if (!p->up) { /* the core will hear of the link's end */
        if (data)
            tell_sent(peers, a->u.packet.handle);
        return;
    }
    if (data && !make_payload(peers, a, &payload, &lent)) {
        tell_sent(peers, a->u.packet.handle);
        end_link(p, "no memory for packets to it", RETRY_MS);
        return;
    }
    void *socket = td_zsocket_raw(p->way[BULK].socket);
    put_u64(header, p->way[BULK].session);
    td_wire_encode_packet(packet, header + SESSION_BYTES);
    bool good =
        zmq_send(socket, header, sizeof header, ZMQ_DONTWAIT | (data ? ZMQ_SNDMORE : 0)) >= 0;
    if (data && good)
        good = zmq_msg_send(&payload, socket, ZMQ_DONTWAIT) >= 0;
    if (data && !good)
        zmq_msg_close(&payload); /* a lent one is given back by that */
    td_zsocket_stir(p->way[BULK].socket);
    if (data && !lent)
        tell_sent(peers, a->u.packet.handle);
    if (!good)
        end_link(p, "it does not take our packets", RETRY_MS);
}

/* ---- life ---- */

static bool somebody_listens(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return false;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool yes = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return yes;
}

static bool bind_router(struct td_peers *peers, int kind, char *why, size_t why_bytes)
{
    const char *listen = peers->loop->config->listen;
    char endpoint[600];
    void *socket = open_socket(peers, ZMQ_ROUTER, kind);
    if (!socket)
        return false;
    if (kind == BULK)
        td_config_bulk(listen, endpoint, sizeof endpoint);
    else
        snprintf(endpoint, sizeof endpoint, "%s", listen);
    set_int(socket, ZMQ_ROUTER_MANDATORY, 1);
    if (strncmp(endpoint, "ipc://", 6) == 0) {
        if (somebody_listens(endpoint + 6)) {
            snprintf(why, why_bytes, "another daemon listens for peers on %s", endpoint);
            zmq_close(socket);
            return false;
        }
        unlink(endpoint + 6); /* of a daemon that was killed */
    }
    if (zmq_bind(socket, endpoint) != 0) {
        snprintf(why, why_bytes, "cannot listen for peers on %s: %s", endpoint,
                 zmq_strerror(errno));
        zmq_close(socket);
        return false;
    }
    peers->router[kind] =
        td_zsocket_create(&peers->zloop, socket, kind == TREE ? receive_tree : receive_bulk, peers);
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
        p->waiting_last = &p->waiting;
        uv_timer_init(&loop->uv, &p->retry);
        p->retry.data = p;
    }
    return peers;
}

bool td_peers_bind(struct td_peers *peers, char *why, size_t why_bytes)
{
    return peers->loop->config->topology.nodes == 1 ||
           (bind_router(peers, TREE, why, why_bytes) && bind_router(peers, BULK, why, why_bytes));
}

void td_peers_start(struct td_peers *peers)
{
    uint32_t me = peers->loop->config->node;
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++)
        if ((n && (n - 1) / TD_TREE_ARITY == me && n != me) ||
            (me && (me - 1) / TD_TREE_ARITY == n))
            want(&peers->peer[n]);
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
        end_link(&peers->peer[n], "", 0);
        uv_close((uv_handle_t *)&peers->peer[n].retry, NULL);
    }
    for (int kind = 0; kind < KINDS; kind++)
        td_zsocket_close(peers->router[kind]);
    for (uint32_t i = 0; i < peers->buffers; i++)
        zmq_msg_close(&peers->buffer[i].message);
    free(peers->buffer);
    zmq_ctx_term(peers->context); /* ZeroMQ's thread ends here: it gives back what it still had */
    take_returned(peers);
    unlink_bound(peers);
    uv_close((uv_handle_t *)&peers->zloop.prepare, NULL);
    uv_close((uv_handle_t *)&peers->zloop.check, NULL);
    uv_close((uv_handle_t *)&peers->zloop.idle, NULL);
    uv_close((uv_handle_t *)&peers->returned, NULL);
}
