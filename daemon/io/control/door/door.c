/* SPDX-License-Identifier: Apache-2.0 */
#include "door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/control/link/link.h"
#include "io/control/peer.h"
#include "io/descriptors.h"
#include "tcp_bytes.h"

enum {
    STRANGERS_MAX = 64,
    LOOK_MS = 100,            /* between two looks at the connections */
    LOOK_SOON_MS = 10,        /* the same while one of them is suspected */
    UNFINISHED_MAX = 1 << 20, /* bytes of a message that is not complete */
};

/* struct guest: a connection that the ROUTER has accepted. */
struct guest {
    int copy; /* of its descriptor */
    bool tcp;
    bool known;   /* a message has arrived */
    bool fresh;   /* a message has arrived since the last look */
    bool suspect; /* it had sent too much at the last look */
    bool ended;   /* by this module */
    char address[INET6_ADDRSTRLEN];
    uint64_t since_ms, bytes;   /* received at the look after its last message */
    uint64_t drained;           /* d->drained when it became a suspect */
    uint32_t node;              /* whose session began on it */
    uint64_t session;           /* 0: none */
    struct guest *next, **link; /* the list of strangers, the oldest first */
};

struct td_door {
    struct td_peers *peers;
    void (*unbound)(struct td_peers *peers);
    struct td_zsocket *monitor;
    uv_timer_t look;
    struct guest **guest; /* [guests] by descriptor */
    int guests;
    struct guest *stranger, **last;
    unsigned strangers, connections;
    bool listens_on_tcp;
    unsigned unknown_keys; /* connections with unknown keys that have not ended yet */
    uint64_t drained;      /* how often the ROUTER had no message left */
    char failure[100];     /* of the handshake whose connection ends next */
};

/* ---- one connection ---- */

static const char unknown[] = "an unknown address";

/* address_of writes the address of the other end. A connection that has ended has none any more. */
static void address_of(int fd, char *text, socklen_t bytes)
{
    struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof a;
    if (getpeername(fd, (struct sockaddr *)&a, &size) != 0)
        snprintf(text, bytes, "%s", unknown);
    else if (a.ss_family == AF_UNIX)
        snprintf(text, bytes, "this machine");
    else if (a.ss_family == AF_INET)
        inet_ntop(AF_INET, &((struct sockaddr_in *)&a)->sin_addr, text, bytes);
    else
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&a)->sin6_addr, text, bytes);
}

static void reject(struct td_door *d, const struct guest *g, const char *why)
{
    td_reject(&d->peers->rejections, g->address, "", why);
}

/* turn_out ends a connection; ZeroMQ notices and closes it. */
static void turn_out(struct td_door *d, struct guest *g, const char *why)
{
    if (g->ended)
        return;
    g->ended = true;
    if (why)
        reject(d, g, why);
    shutdown(g->copy, SHUT_RDWR);
}

static void unlist(struct td_door *d, struct guest *g)
{
    if (!g->link)
        return;
    *g->link = g->next;
    if (g->next)
        g->next->link = g->link;
    else
        d->last = g->link;
    g->link = NULL;
    d->strangers--;
}

static struct guest *find(const struct td_door *d, int fd)
{
    return fd >= 0 && fd < d->guests ? d->guest[fd] : NULL;
}

static void drop(struct td_door *d, int fd)
{
    struct guest *g = find(d, fd);
    if (!g)
        return;
    unlist(d, g);
    d->guest[fd] = NULL;
    d->connections--;
    close(g->copy);
    free(g);
}

/* is_here returns true if the socket is a connection to the ROUTER: its number may have passed to
 * another file since ZeroMQ reported it, such as the connection of a client, or a stream. */
static bool is_here(const struct td_door *d, int fd, bool *tcp)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } a = {.any.sa_family = AF_UNSPEC};
    socklen_t size = sizeof a, length = sizeof(int);
    int listens = 0;
    const char *bound = d->peers->bound, *port = strrchr(bound, ':');
    if (getsockname(fd, &a.any, &size) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens || !port)
        return false;
    *tcp = a.any.sa_family == AF_INET || a.any.sa_family == AF_INET6;
    if (!d->listens_on_tcp)
        return a.any.sa_family == AF_UNIX && strcmp(a.un.sun_path, bound + strlen("ipc://")) == 0;
    in_port_t own = a.any.sa_family == AF_INET ? a.in.sin_port : a.in6.sin6_port;
    return *tcp && ntohs(own) == strtoul(port + 1, NULL, 10);
}

static bool make_room(struct td_door *d, int fd)
{
    int room = d->guests ? d->guests : 64;
    while (room <= fd)
        room *= 2;
    if (room == d->guests)
        return true;
    struct guest **grown = realloc(d->guest, (size_t)room * sizeof(struct guest *));
    if (!grown)
        return false;
    memset(grown + d->guests, 0, (size_t)(room - d->guests) * sizeof(struct guest *));
    d->guest = grown;
    d->guests = room;
    return true;
}

static void admit(struct td_door *d, int fd)
{
    bool tcp = false;
    drop(d, fd); /* its end was not reported */
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct guest *g =
        copy >= 0 && is_here(d, copy, &tcp) && make_room(d, fd) ? calloc(1, sizeof *g) : NULL;
    if (!g) {
        if (copy >= 0)
            close(copy);
        return;
    }
    *g = (struct guest){.copy = copy, .tcp = tcp, .since_ms = uv_now(&d->peers->loop->uv)};
    address_of(copy, g->address, sizeof g->address); /* while it lasts */
    g->link = d->last;
    *d->last = g;
    d->last = &g->next;
    d->guest[fd] = g;
    d->strangers++;
    d->connections++;
    struct td_loop *loop = d->peers->loop;
    td_descriptors_take(&loop->descriptors, 2); /* the socket of ZeroMQ, and the copy */
    if (!td_descriptors_has(&loop->descriptors, 0, TD_DESCRIPTORS_LEAST, uv_now(&loop->uv))) {
        char why[200];
        td_descriptors_text(why, sizeof why);
        turn_out(d, g, why);
    }
    for (struct guest *s = d->stranger; s && d->strangers > STRANGERS_MAX; s = d->stranger) {
        turn_out(d, s, "too many connections without a handshake");
        unlist(d, s);
    }
}

/* ---- looks ---- */

/* check returns true if a connection has sent too much without completing a message. It is ended if
 * the ROUTER has been drained since the look before. */
static bool check(struct td_door *d, struct guest *g)
{
    uint64_t bytes = g->tcp && !g->ended ? td_tcp_bytes(g->copy, g->bytes) : g->bytes;
    if (g->fresh)
        g->bytes = bytes;
    g->fresh = false;
    if (bytes - g->bytes <= UNFINISHED_MAX) {
        g->suspect = false;
        return false;
    }
    if (g->suspect && g->drained != d->drained) {
        turn_out(d, g, "its message has no end");
        return false;
    }
    if (!g->suspect)
        g->drained = d->drained;
    g->suspect = true;
    td_zsocket_stir(d->peers->router);
    return true;
}

static void on_look(uv_timer_t *timer)
{
    struct td_door *d = timer->data;
    uint64_t now = uv_now(timer->loop), period = LOOK_MS;
    for (struct guest *s = d->stranger; s && now - s->since_ms > ANSWER_MS; s = d->stranger) {
        turn_out(d, s, "no handshake in 5 s");
        unlist(d, s);
    }
    bool tcp = false;
    for (int i = 0; i < d->guests; i++)
        if (d->guest[i]) {
            tcp |= d->guest[i]->tcp;
            if (check(d, d->guest[i]))
                period = LOOK_SOON_MS;
        }
    if (tcp || d->strangers)
        uv_timer_start(&d->look, on_look, period, 0);
}

/* ---- events of ZeroMQ ---- */

static const char *name_failure(uint16_t event, uint32_t value)
{
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        return "the connection ended before its handshake";
    if (value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
        return "it has no key, or it has one and this daemon has none";
    if (value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
        return "it expects another key of this daemon";
    return "malformed handshake";
}

/* end_unopened ends a session whose stream has not come. */
static void end_unopened(struct td_peer *p, uint64_t session)
{
    if (p->in.session == session && !p->in.channel)
        td_peer_end_in(p);
}

/* handle_end counts a connection that ends as rejected, if it has sent no message. ZeroMQ's thread
 * reports a failed handshake right before the end, but an unknown key some time before. */
static void handle_end(struct td_door *d, int fd)
{
    const struct guest *g = find(d, fd);
    bool rejected = g ? g->tcp && !g->known && !g->ended : d->listens_on_tcp;
    if (rejected && !d->failure[0] && d->unknown_keys) {
        d->unknown_keys--; /* keys/zap.c has counted it */
        rejected = false;
    }
    const char *why = d->failure[0] ? d->failure : "malformed handshake";
    if (rejected && g)
        reject(d, g, why);
    else if (rejected) /* it ended before a look at its address */
        td_reject(&d->peers->rejections, unknown, "", why);
    if (g && g->session)
        end_unopened(&d->peers->peer[g->node], g->session);
    d->failure[0] = '\0';
    drop(d, fd);
}

static void handle_event(struct td_door *d, uint16_t event, uint32_t value)
{
    switch (event) {
    case ZMQ_EVENT_ACCEPTED:
        admit(d, (int)value);
        if (!uv_is_active((uv_handle_t *)&d->look))
            uv_timer_start(&d->look, on_look, LOOK_MS, 0);
        break;
    case ZMQ_EVENT_DISCONNECTED:
        handle_end(d, (int)value);
        break;
    case ZMQ_EVENT_CLOSED: /* of the listener */
        d->unbound(d->peers);
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        d->unknown_keys++;
        break;
    default:
        snprintf(d->failure, sizeof d->failure, "%s", name_failure(event, value));
    }
}

static bool receive_event(void *user, void *socket)
{
    struct td_door *d = user;
    uint16_t number = 0;
    uint32_t value = 0;
    if (!td_zsocket_event(socket, &number, &value))
        return false;
    handle_event(d, number, value);
    return true;
}

/* ---- life ---- */

bool td_door_open(struct td_peers *peers, void *router, void (*unbound)(struct td_peers *peers))
{
    const int events = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                       ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                       ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    struct td_door *d = calloc(1, sizeof *d);
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "inproc://door.%llx", (unsigned long long)td_loop_random());
    if (!d)
        return false;
    d->peers = peers;
    d->unbound = unbound;
    d->last = &d->stranger;
    d->listens_on_tcp = strncmp(peers->loop->config->listen, "tcp://", 6) == 0;
    uv_timer_init(&peers->loop->uv, &d->look);
    d->look.data = d;
    peers->door = d;
    void *monitor = td_zsocket_monitor(peers->context, router, endpoint, events);
    d->monitor = td_zsocket_create(&peers->zloop, monitor, receive_event, d);
    return d->monitor != NULL;
}

void td_door_pass(struct td_peers *peers, zmq_msg_t *message)
{
    struct guest *g = find(peers->door, zmq_msg_get(message, ZMQ_SRCFD));
    if (!g)
        return;
    if (!g->known)
        unlist(peers->door, g);
    g->known = g->fresh = true;
    g->suspect = false;
}

void td_door_drained(struct td_peers *peers)
{
    peers->door->drained++;
}

void td_door_remember(struct td_peers *peers, zmq_msg_t *message, uint32_t node)
{
    struct guest *g = find(peers->door, zmq_msg_get(message, ZMQ_SRCFD));
    if (!g)
        return;
    g->node = node;
    g->session = peers->peer[node].in.session;
}

void td_door_reject(struct td_peers *peers, zmq_msg_t *message, const struct td_origin *origin,
                    const char *why)
{
    struct guest *g = find(peers->door, zmq_msg_get(message, ZMQ_SRCFD));
    char key[TD_KEY_PREFIX + 1];
    td_origin_key(origin, key);
    td_reject(&peers->rejections, td_peers_address(message), key, why);
    if (g)
        turn_out(peers->door, g, NULL);
}

static void on_closed(uv_handle_t *handle)
{
    struct td_door *d = handle->data;
    free(d->guest);
    free(d);
}

void td_door_close(struct td_peers *peers)
{
    struct td_door *d = peers->door;
    if (!d)
        return;
    if (peers->router) /* before its reader closes: ZeroMQ's thread would wait to deliver */
        zmq_socket_monitor(td_zsocket_raw(peers->router), NULL, 0);
    td_zsocket_close(d->monitor);
    for (int i = 0; i < d->guests; i++)
        drop(d, i);
    uv_close((uv_handle_t *)&d->look, on_closed);
    peers->door = NULL;
}
