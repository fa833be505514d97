/* SPDX-License-Identifier: Apache-2.0 */
#include "express.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "channel_internal.h"
#include "channel_output.h"

enum {
    LENGTH = 4,
    ROOM_FIRST = 4096,
    FULL_BYTES = 1 << 20,   /* messages of others are dropped */
    PENDING_MAX = 64 << 20, /* more than the core keeps unacknowledged for a node */
};

static size_t head_bytes(const struct td_channel *c)
{
    return LENGTH + (c->sealed ? (size_t)TD_SEAL_TAG : 0);
}

/* ---- output ---- */

/* reserve makes room for more bytes. */
static bool reserve(struct td_pending *p, size_t bytes)
{
    size_t room = p->room ? p->room : ROOM_FIRST;
    while (room < p->used + bytes)
        room *= 2;
    if (room == p->room)
        return true;
    uint8_t *grown = room <= PENDING_MAX ? realloc(p->bytes, room) : NULL;
    if (!grown)
        return false;
    p->bytes = grown;
    p->room = room;
    return true;
}

bool td_express_send(struct td_channel *c, const uint8_t *bytes, size_t size)
{
    struct td_pending *p = &c->pending;
    size_t head = head_bytes(c);
    if (c->closed || !reserve(p, head + size))
        return false;
    uint8_t *at = p->bytes + p->used;
    td_channel_put(at, size, LENGTH);
    memcpy(at + head, bytes, size);
    if (c->sealed)
        td_seal_message(&c->out, at + head, size, at + LENGTH);
    p->used += head + size;
    if (!c->is_pending) {
        c->is_pending = true;
        c->next_pending = c->channels->pending;
        c->channels->pending = c;
    }
    return true;
}

bool td_express_is_full(const struct td_channel *c)
{
    return c->pending.used + uv_stream_get_write_queue_size(&c->socket.stream) > FULL_BYTES;
}

/* write_pending writes the messages of a channel, unless an earlier write waits for the socket. */
static void write_pending(struct td_channel *c)
{
    struct td_pending *p = &c->pending;
    size_t size = p->used;
    if (c->closed || size == 0 || c->waiting)
        return;
    uv_buf_t buffer = uv_buf_init((char *)p->bytes, (unsigned)size);
    int done = uv_try_write(&c->socket.stream, &buffer, 1);
    if (done == UV_EAGAIN)
        done = 0;
    p->used = 0;
    if (done < 0)
        td_channel_fail(c, done);
    else if ((size_t)done < size && !td_channel_write_later(c, p->bytes, size, NULL, (size_t)done))
        td_channel_fail(c, UV_ENOMEM);
}

void td_express_flush(struct td_channels *channels)
{
    struct td_channel *c = NULL;
    while (!channels->more && (c = channels->pending)) {
        channels->pending = c->next_pending;
        c->is_pending = false;
        write_pending(c);
    }
}

void td_express_written(struct td_channel *c)
{
    write_pending(c);
}

void td_express_free(struct td_channel *c)
{
    struct td_channel **link = &c->channels->pending;
    while (c->is_pending && *link != c)
        link = &(*link)->next_pending;
    if (c->is_pending)
        *link = c->next_pending;
    c->is_pending = false;
    free(c->pending.bytes);
    c->pending = (struct td_pending){0};
}

/* ---- input ---- */

bool td_express_read(struct td_channel *c, size_t *at)
{
    uint8_t *frame = c->staging + *at;
    size_t left = c->staged - *at, head = head_bytes(c);
    if (left < head)
        return false;
    size_t size = td_channel_get(frame, LENGTH);
    if (!c->calls->message || size == 0 || size > TD_TREE_MESSAGE_MAX) {
        td_channel_end(c, true,
                       c->calls->message
                           ? "malformed input: the length of a tree message"
                           : "protocol violation: tree messages in the wrong direction");
        return false;
    }
    if (left < head + size)
        return false;
    if (c->sealed && !td_seal_open_message(&c->in, frame + head, size, frame + LENGTH)) {
        td_channel_end(c, true,
                       "a tree message was changed on the way: its tag or checksum is wrong");
        return false;
    }
    *at += head + size;
    c->channels->more = *at < c->staged;
    c->calls->message(c->user, c, frame + head, size);
    return true;
}
