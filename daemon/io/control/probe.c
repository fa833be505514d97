/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <stdlib.h>

#include "io/bulk/endpoint.h"

struct td_probe {
    union td_stream stream;
    uv_connect_t request;
    td_probe_done *done; /* NULL: cancelled, or told */
    void *user;
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* finish tells the outcome and frees the probe, which `done` may not find any more. */
static void finish(struct td_probe *probe, int error)
{
    td_probe_done *done = probe->done;
    probe->done = NULL;
    uv_close(&probe->stream.handle, on_closed);
    done(probe->user, error);
}

static void on_connected(uv_connect_t *request, int error)
{
    struct td_probe *probe = request->data;
    if (probe->done)
        finish(probe, error);
}

struct td_probe *td_probe_start(uv_loop_t *uv, const char *endpoint, td_probe_done *done,
                                void *user, int *error)
{
    struct sockaddr_storage address;
    struct td_probe *probe = calloc(1, sizeof *probe);
    *error = !probe ? UV_ENOMEM : td_endpoint_path(endpoint) ? UV_EINVAL : 0;
    if (!*error)
        *error = td_endpoint_open(uv, endpoint, &probe->stream, &address);
    if (*error) {
        free(probe);
        return NULL;
    }
    probe->done = done;
    probe->user = user;
    probe->request.data = probe->stream.handle.data = probe;
    *error = uv_tcp_connect(&probe->request, &probe->stream.tcp, (struct sockaddr *)&address,
                            on_connected);
    if (*error) {
        td_probe_cancel(probe);
        return NULL;
    }
    return probe;
}

void td_probe_cancel(struct td_probe *probe)
{
    if (!probe)
        return;
    probe->done = NULL;
    uv_close(&probe->stream.handle, on_closed);
}
