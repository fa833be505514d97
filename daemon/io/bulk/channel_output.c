/* SPDX-License-Identifier: Apache-2.0 */
#include "channel_output.h"

#include <stdlib.h>
#include <string.h>

#include "channel_internal.h"
#include "express.h"

/* struct outgoing: bytes that the socket did not accept at once. */
struct outgoing {
    uv_write_t write;
    struct td_channel *channel;
    struct td_payload *payload;
    uint8_t bytes[];
};

void td_channel_end(struct td_channel *c, bool violation, const char *why)
{
    if (c->closed)
        return;
    c->calls->ended(c->user, c, violation, why);
    td_channel_close(c);
}

/* Whether the far end's close is seen as end of
 * file, EPIPE or ECONNRESET is chance, so all three get the same text and are logged once. */
void td_channel_fail(struct td_channel *c, int error)
{
    bool closed = error == UV_EOF || error == UV_EPIPE || error == UV_ECONNRESET;
    td_channel_end(c, false,
                   closed                ? "the connection was closed"
                   : error == UV_ENOBUFS ? "no memory here for its packets"
                                         : uv_strerror(error));
}

static void on_written(uv_write_t *write, int status)
{
    struct outgoing *o = write->data;
    struct td_channel *c = o->channel;
    c->waiting--;
    c->channels->faulted |= status == UV_EFAULT;
    td_payload_drop(o->payload);
    free(o);
    if (status < 0)
        td_channel_fail(c, status);
    else if (c->waiting == 0)
        td_express_written(c);
}

/* add_parts adds the memory of a payload, from byte `at` on, and returns the number of parts. */
static unsigned add_parts(const struct td_payload *payload, size_t at,
                          uv_buf_t part[TD_PAYLOAD_PIECES])
{
    struct iovec piece[TD_PAYLOAD_PIECES];
    unsigned pieces = td_payload_parts(payload, (uint32_t)at, piece);
    for (unsigned i = 0; i < pieces; i++)
        part[i] = uv_buf_init(piece[i].iov_base, (unsigned)piece[i].iov_len);
    return pieces;
}

bool td_channel_write_later(struct td_channel *c, const uint8_t *head, size_t size,
                            struct td_payload *payload, size_t done)
{
    size_t left = done < size ? size - done : 0, skip = done > size ? done - size : 0;
    struct outgoing *o = malloc(sizeof *o + left);
    if (!o) {
        td_payload_drop(payload);
        return false;
    }
    o->write.data = o;
    o->channel = c;
    o->payload = payload;
    if (left)
        memcpy(o->bytes, head + done, left);
    uv_buf_t part[1 + TD_PAYLOAD_PIECES];
    unsigned parts = 0;
    if (left)
        part[parts++] = uv_buf_init((char *)o->bytes, (unsigned)left);
    if (payload)
        parts += add_parts(payload, skip, part + parts);
    if (uv_write(&o->write, &c->socket.stream, part, parts, on_written) == 0) {
        c->waiting++;
        return true;
    }
    td_payload_drop(payload);
    free(o);
    return false;
}

bool td_channel_write_now(struct td_channel *c, uint8_t *head, size_t head_size,
                          struct td_payload *payload)
{
    uv_buf_t part[1 + TD_PAYLOAD_PIECES];
    unsigned parts = 1;
    part[0] = uv_buf_init((char *)head, (unsigned)head_size);
    size_t size = head_size + (payload ? payload->bytes : 0);
    if (payload)
        parts += add_parts(payload, 0, part + parts);
    int done = c->waiting ? UV_EAGAIN : uv_try_write(&c->socket.stream, part, parts);
    if (done == UV_EAGAIN)
        done = 0;
    if (done < 0 || (size_t)done == size) {
        c->channels->faulted |= done == UV_EFAULT;
        td_payload_drop(payload);
        return done >= 0;
    }
    return td_channel_write_later(c, head, head_size, payload, (size_t)done);
}
