/* SPDX-License-Identifier: Apache-2.0 */
#include "zsocket.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 };

struct td_zsocket {
    struct td_zsocket *next;
    struct td_zloop *loop;
    void *socket; /* NULL: closed */
    uv_poll_t poll;
    td_zreceive *receive;
    void *user;
    bool stirred;
};

static void on_idle(uv_idle_t *idle)
{
    (void)idle; /* an active idle handle keeps the loop from waiting */
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct td_zloop *z = prepare->data;
    if (z->stirred > 0)
        uv_idle_start(&z->idle, on_idle);
    else
        uv_idle_stop(&z->idle);
}

static void settle(struct td_zsocket *s)
{
    s->loop->stirred -= s->stirred;
    s->stirred = false;
}

static void on_check(uv_check_t *check)
{
    struct td_zloop *z = check->data;
    struct td_zsocket *next = NULL;
    for (struct td_zsocket *s = z->stirred > 0 ? z->sockets : NULL; s; s = next) {
        int taken = 0;
        if (s->stirred) {
            settle(s);
            while (taken < BATCH && s->socket && s->receive(s->user, s->socket))
                taken++;
            if (taken == BATCH && s->socket)
                td_zsocket_stir(s);
        }
        next = s->next; /* receive may have closed s; its memory is valid until the next turn of the
                           loop */
    }
}

void td_zloop_init(struct td_zloop *z, uv_loop_t *uv)
{
    *z = (struct td_zloop){.uv = uv};
    uv_prepare_init(uv, &z->prepare);
    uv_check_init(uv, &z->check);
    uv_idle_init(uv, &z->idle);
    z->prepare.data = z->check.data = z;
    uv_prepare_start(&z->prepare, on_prepare);
    uv_check_start(&z->check, on_check);
}

static void on_poll(uv_poll_t *poll, int error, int events)
{
    (void)error;
    (void)events;
    td_zsocket_stir(poll->data);
}

struct td_zsocket *td_zsocket_create(struct td_zloop *z, void *socket, td_zreceive *receive,
                                     void *user)
{
    struct td_zsocket *s = socket ? calloc(1, sizeof *s) : NULL;
    int fd = -1;
    size_t size = sizeof fd;
    if (!s || zmq_getsockopt(socket, ZMQ_FD, &fd, &size) != 0 ||
        uv_poll_init(z->uv, &s->poll, fd) != 0) {
        free(s);
        if (socket)
            zmq_close(socket);
        return NULL;
    }
    s->loop = z;
    s->socket = socket;
    s->receive = receive;
    s->user = user;
    s->poll.data = s;
    s->next = z->sockets;
    z->sockets = s;
    td_zsocket_stir(s);
    uv_poll_start(&s->poll, UV_READABLE, on_poll);
    return s;
}

void *td_zsocket_raw(const struct td_zsocket *s)
{
    return s->socket;
}

void td_zsocket_stir(struct td_zsocket *s)
{
    s->loop->stirred += !s->stirred;
    s->stirred = true;
}

int td_zsocket_parts(void *socket, zmq_msg_t *part, int most)
{
    int parts = 0;
    bool more = true;
    for (int i = 0; i < most; i++)
        zmq_msg_init(&part[i]);
    while (more) {
        zmq_msg_t *m = &part[parts < most ? parts : most - 1];
        if (zmq_msg_recv(m, socket, ZMQ_DONTWAIT) < 0)
            break;
        more = zmq_msg_more(m);
        parts++;
    }
    return parts;
}

void *td_zsocket_monitor(void *context, void *socket, const char *endpoint, int events)
{
    int none = 0;
    void *monitor =
        zmq_socket_monitor(socket, endpoint, events) == 0 ? zmq_socket(context, ZMQ_PAIR) : NULL;
    if (!monitor)
        return NULL;
    zmq_setsockopt(monitor, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(monitor, ZMQ_RCVHWM, &none, sizeof none); /* ZeroMQ's thread never waits */
    if (zmq_connect(monitor, endpoint) == 0)
        return monitor;
    zmq_close(monitor);
    return NULL;
}

bool td_zsocket_event(void *monitor, uint16_t *event, uint32_t *value)
{
    zmq_msg_t part[2]; /* number and value, address */
    int parts = td_zsocket_parts(monitor, part, 2);
    const uint8_t *bytes = zmq_msg_data(&part[0]);
    if (parts > 0) {
        memcpy(event, bytes, sizeof *event);
        memcpy(value, bytes + sizeof *event, sizeof *value);
    }
    zmq_msg_close(&part[0]);
    zmq_msg_close(&part[1]);
    return parts > 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct td_zsocket *s = handle->data;
    struct td_zsocket **link = &s->loop->sockets;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    free(s);
}

void td_zsocket_close(struct td_zsocket *s)
{
    if (!s || !s->socket)
        return;
    uv_poll_stop(&s->poll);
    uv_close((uv_handle_t *)&s->poll, on_closed);
    zmq_close(s->socket);
    s->socket = NULL;
    settle(s);
}
