/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/bulk/endpoint.h"

struct td_probe {
    uv_getaddrinfo_t name;
    union td_stream stream;
    uv_connect_t request;
    bool only_name;      /* it makes no connection */
    bool connects;       /* the address is known: `stream` is open */
    td_probe_done *done; /* NULL: cancelled, or told */
    void *user;
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* drop frees a probe of which `done` has been told, or is not to be. */
static void drop(struct td_probe *probe)
{
    if (probe->connects)
        uv_close(&probe->stream.handle, on_closed);
    else
        free(probe);
}

/* finish tells the outcome and frees the probe, which `done` may not find any more. */
static void finish(struct td_probe *probe, int error)
{
    td_probe_done *done = probe->done;
    void *user = probe->user;
    probe->done = NULL;
    drop(probe);
    done(user, error);
}

static void on_connected(uv_connect_t *request, int error)
{
    struct td_probe *probe = request->data;
    if (probe->done)
        finish(probe, error);
}

/* start connects to an address, for which `stream` has been initialized. */
static int start(struct td_probe *probe, const struct sockaddr *address)
{
    probe->connects = true;
    probe->request.data = probe->stream.handle.data = probe;
    return uv_tcp_connect(&probe->request, &probe->stream.tcp, address, on_connected);
}

static void on_named(uv_getaddrinfo_t *name, int error, struct addrinfo *found)
{
    struct td_probe *probe = name->data;
    if (!probe->done) {
        uv_freeaddrinfo(found);
        free(probe);
        return;
    }
    if (!error && probe->only_name) {
        uv_freeaddrinfo(found);
        finish(probe, 0);
        return;
    }
    if (!error)
        error = uv_tcp_init_ex(name->loop, &probe->stream.tcp, (unsigned)found->ai_family);
    if (!error)
        error = start(probe, found->ai_addr);
    uv_freeaddrinfo(found);
    if (error)
        finish(probe, error);
}

/* find looks up the name in tcp://NAME:PORT. */
static int find(uv_loop_t *uv, struct td_probe *probe, const char *endpoint)
{
    static const struct addrinfo stream = {.ai_socktype = SOCK_STREAM};
    char name[256];
    const char *from = endpoint + strlen("tcp://"), *colon = strrchr(endpoint, ':');
    if (strncmp(endpoint, "tcp://", strlen("tcp://")) != 0 || colon <= from ||
        (size_t)(colon - from) >= sizeof name)
        return UV_EINVAL;
    snprintf(name, sizeof name, "%.*s", (int)(colon - from), from);
    probe->name.data = probe;
    return uv_getaddrinfo(uv, &probe->name, on_named, name, colon + 1, &stream);
}

struct td_probe *td_probe_start(uv_loop_t *uv, const char *endpoint, td_probe_done *done,
                                void *user, int *error)
{
    struct sockaddr_storage address;
    struct td_probe *probe = calloc(1, sizeof *probe);
    *error = !probe ? UV_ENOMEM : td_endpoint_path(endpoint) ? UV_EINVAL : 0;
    if (*error) {
        free(probe);
        return NULL;
    }
    probe->done = done;
    probe->user = user;
    *error = td_endpoint_open(uv, endpoint, &probe->stream, &address);
    if (*error == 0)
        *error = start(probe, (struct sockaddr *)&address);
    else if (*error == UV_EINVAL)
        *error = find(uv, probe, endpoint);
    if (*error == 0)
        return probe;
    drop(probe);
    return NULL;
}

struct td_probe *td_probe_name(uv_loop_t *uv, const char *endpoint, td_probe_done *done, void *user)
{
    struct td_probe *probe = td_endpoint_has_name(endpoint) ? calloc(1, sizeof *probe) : NULL;
    if (!probe)
        return NULL;
    probe->done = done;
    probe->user = user;
    probe->only_name = true;
    if (find(uv, probe, endpoint) == 0)
        return probe;
    free(probe);
    return NULL;
}

void td_probe_cancel(struct td_probe *probe)
{
    if (!probe)
        return;
    probe->done = NULL;
    if (probe->connects)
        drop(probe);
    else
        uv_cancel((uv_req_t *)&probe->name); /* on_named frees the probe */
}
