/* SPDX-License-Identifier: Apache-2.0 */
#include "cables.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "model/topology.h"
#include "daemons.h"

enum { WAYS_MAX = 4 * NODES_MAX, KINDS = 2, WIRES_MAX = 4 * WAYS_MAX, BUFFER = 65536 };

struct way {
    uint32_t from, to;
    int listener[KINDS];
    bool cut;
    unsigned turned_away; /* attempts that were rejected since it was cut */
};

/* struct wire: a connection. Bytes from end[i] to the other end are in buffer[i]. */
struct wire {
    struct way *way; /* NULL: none */
    int end[2];
    struct {
        size_t begin, end;
        uint8_t bytes[BUFFER];
    } buffer[2];
    uint64_t carried;
    bool express; /* it carries tree messages without ZeroMQ */
    bool snapped;
};

static struct way way[WAYS_MAX];
static uint32_t ways;
static struct wire *wire[WIRES_MAX];
static struct td_topology topology;
static pthread_t thread;
static bool running, ending;
static int bell;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;

/* ---- on the thread, under the lock ---- */

static void unplug(struct wire *w)
{
    close(w->end[0]);
    close(w->end[1]);
    w->way = NULL;
}

static struct wire *free_wire(void)
{
    for (int i = 0; i < WIRES_MAX; i++) {
        if (!wire[i])
            wire[i] = calloc(1, sizeof *wire[i]);
        if (wire[i] && !wire[i]->way)
            return wire[i];
    }
    return NULL;
}

static int connect_to(uint32_t node, int kind)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/p%u%s", folder, node,
             kind ? ".bulk" : "");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
        return fd;
    close(fd);
    return -1;
}

static void take_connection(struct way *y, int kind)
{
    int near = accept4(y->listener[kind], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int far = near < 0 || y->cut ? -1 : connect_to(y->to, kind);
    struct wire *w = far < 0 ? NULL : free_wire();
    y->turned_away += near >= 0 && y->cut;
    if (w) {
        *w = (struct wire){.way = y, .end = {near, far}};
        return;
    }
    if (near >= 0)
        close(near);
    if (far >= 0)
        close(far);
}

/* move forwards the bytes that one end of a wire has sent. It returns false at the end of the
 * connection. */
static bool move(struct wire *w, int from)
{
    ssize_t size = 0;
    if (w->buffer[from].begin == w->buffer[from].end) {
        size = recv(w->end[from], w->buffer[from].bytes, BUFFER, 0);
        if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        w->buffer[from].begin = 0;
        w->buffer[from].end = size > 0 ? (size_t)size : 0;
        if (from == 0 && w->carried == 0 && size >= 4)
            w->express = memcmp(w->buffer[0].bytes, "EXPR", 4) == 0;
    }
    size_t left = w->buffer[from].end - w->buffer[from].begin;
    size = left ? send(w->end[1 - from], w->buffer[from].bytes + w->buffer[from].begin, left,
                       MSG_NOSIGNAL)
                : 0;
    if (size < 0)
        return errno == EAGAIN || errno == EINTR;
    w->buffer[from].begin += (size_t)size;
    w->carried += from == 0 ? (uint64_t)size : 0;
    return true;
}

static void unplug_cut(void)
{
    for (int i = 0; i < WIRES_MAX && wire[i]; i++)
        if (wire[i]->way && (wire[i]->way->cut || wire[i]->snapped))
            unplug(wire[i]);
}

/* watched lists the descriptors to poll, in the order in which `serve` visits them. */
static nfds_t watched(struct pollfd *p)
{
    nfds_t count = 0;
    p[count++] = (struct pollfd){.fd = bell, .events = POLLIN};
    for (uint32_t i = 0; i < ways; i++)
        for (int k = 0; k < KINDS; k++)
            p[count++] = (struct pollfd){.fd = way[i].listener[k], .events = POLLIN};
    for (int i = 0; i < WIRES_MAX && wire[i]; i++)
        for (int e = 0; e < 2; e++) {
            bool mine = wire[i]->buffer[e].begin < wire[i]->buffer[e].end;
            bool other = wire[i]->buffer[1 - e].begin < wire[i]->buffer[1 - e].end;
            short events = (short)((mine ? 0 : POLLIN) | (other ? POLLOUT : 0));
            p[count++] =
                (struct pollfd){.fd = wire[i]->way ? wire[i]->end[e] : -1, .events = events};
        }
    return count;
}

static void serve(const struct pollfd *p)
{
    uint64_t rings = 0;
    if (p->revents && read(bell, &rings, sizeof rings) != sizeof rings)
        abort();
    p++;
    const struct pollfd *listening = p;
    p += (size_t)ways * KINDS;
    for (int i = 0; i < WIRES_MAX && wire[i]; i++, p += 2) {
        bool any = p[0].revents || p[1].revents;
        if (wire[i]->way && any && !(move(wire[i], 0) && move(wire[i], 1)))
            unplug(wire[i]);
    }
    for (uint32_t i = 0; i < ways * KINDS; i++) /* last, because they make new wires */
        if (listening[i].revents)
            take_connection(&way[i / KINDS], (int)i % KINDS);
}

static void *run(void *nothing)
{
    static struct pollfd p[1 + WAYS_MAX * KINDS + 2 * WIRES_MAX];
    (void)nothing;
    pthread_mutex_lock(&lock);
    while (!ending) {
        unplug_cut();
        nfds_t count = watched(p);
        pthread_mutex_unlock(&lock);
        int ready = poll(p, count, -1);
        pthread_mutex_lock(&lock);
        if (ready > 0)
            serve(p);
        pthread_cond_broadcast(&news);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---- for tests ---- */

static void ring(void)
{
    uint64_t one = 1;
    assert_int_equal(write(bell, &one, sizeof one), sizeof one);
}

static bool is_cabled(uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < ways; i++)
        if (way[i].from == from && way[i].to == to)
            return true;
    return false;
}

static void lay(uint32_t from, uint32_t to)
{
    struct way *y = &way[ways++];
    assert_true(ways <= WAYS_MAX);
    *y = (struct way){.from = from, .to = to};
    for (int k = 0; k < KINDS; k++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        snprintf(address.sun_path, sizeof address.sun_path, "%s/r%u.%u%s", folder, from, to,
                 k ? ".bulk" : "");
        y->listener[k] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_int_equal(bind(y->listener[k], (struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(listen(y->listener[k], 16), 0);
    }
}

void cables_lay(void)
{
    char shape[32];
    size_t position = 0;
    const char *why = NULL;
    snprintf(shape, sizeof shape, "%ux%u", nodes / columns, columns);
    assert_int_equal(td_topology_parse(&topology, shape, &position, &why), 0);
    for (uint32_t n = 0; n < nodes; n++)
        for (uint32_t d = 0; d < topology.dimensions; d++) {
            uint32_t next = td_topology_neighbour(&topology, n, d, 1);
            if (next == n ||
                is_cabled(n, next)) /* both directions round a ring may lead to the same node */
                continue;
            lay(n, next);
            lay(next, n);
        }
    cabled = is_cabled;
    bell = eventfd(0, EFD_CLOEXEC);
    ending = false;
    running = pthread_create(&thread, NULL, run, NULL) == 0;
    assert_true(running);
}

uint32_t cables_count(void)
{
    return ways;
}

void cables_way(uint32_t i, uint32_t *from, uint32_t *to)
{
    *from = way[i].from;
    *to = way[i].to;
}

uint64_t cables_carried(uint32_t which)
{
    uint64_t sum = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < WIRES_MAX && wire[i]; i++)
        if (wire[i]->way == &way[which])
            sum += wire[i]->carried;
    pthread_mutex_unlock(&lock);
    return sum;
}

void cables_block(uint32_t i)
{
    pthread_mutex_lock(&lock);
    way[i].cut = true;
    pthread_mutex_unlock(&lock);
}

static struct wire *express_of(const struct way *y)
{
    for (int i = 0; i < WIRES_MAX && wire[i]; i++)
        if (wire[i]->way == y && wire[i]->express)
            return wire[i];
    return NULL;
}

bool cables_snap(uint32_t i)
{
    pthread_mutex_lock(&lock);
    struct wire *w = express_of(&way[i]);
    if (w) {
        w->snapped = true;
        ring();
    }
    while (w && w->way == &way[i] && w->snapped)
        pthread_cond_wait(&news, &lock);
    pthread_mutex_unlock(&lock);
    return w != NULL;
}

void cables_cut(uint32_t i)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    int error = 0;
    pthread_mutex_lock(&lock);
    way[i].cut = true;
    way[i].turned_away = 0;
    ring();
    while (way[i].turned_away == 0 && error == 0)
        error = pthread_cond_timedwait(&news, &lock, &until);
    pthread_mutex_unlock(&lock);
    if (error)
        fail_msg("node %u has not noticed that its way to node %u is cut", way[i].from, way[i].to);
}

void cables_mend(uint32_t i)
{
    pthread_mutex_lock(&lock);
    way[i].cut = false;
    pthread_mutex_unlock(&lock);
}

void cables_remove(void)
{
    if (running) {
        pthread_mutex_lock(&lock);
        ending = true;
        pthread_mutex_unlock(&lock);
        ring();
        pthread_join(thread, NULL);
        close(bell);
    }
    running = false;
    cabled = NULL;
    for (int i = 0; i < WIRES_MAX && wire[i]; i++) {
        if (wire[i]->way)
            unplug(wire[i]);
        free(wire[i]);
        wire[i] = NULL;
    }
    for (uint32_t i = 0; i < ways; i++)
        for (int k = 0; k < KINDS; k++)
            close(way[i].listener[k]);
    ways = 0;
}
