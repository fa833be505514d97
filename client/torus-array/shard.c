/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 65536 };

struct shard shard_of(const struct td_layout *layout, uint32_t rank)
{
    uint32_t owner = td_layout_owner(layout, rank);
    struct shard s = {.dimensions = layout->dimensions, .there = owner != UINT32_MAX};
    if (!s.there)
        return s;
    s.elements = td_layout_local(layout, owner, s.count);
    td_layout_strides(layout, owner, s.stride);
    for (uint32_t d = 0; d < s.dimensions; d++)
        s.owned[d] = td_layout_owned(layout, d, td_layout_coordinate(layout, owner, d));
    return s;
}

struct shard shard_alone(const struct shard *shard)
{
    struct shard s = *shard;
    for (uint32_t d = 0; d < s.dimensions; d++)
        s.owned[d] =
            (struct td_owned){.end = s.count[d], .block = s.count[d] ? s.count[d] : 1, .parts = 1};
    return s;
}

/* struct walk: a traversal of a part in the order of the file. Runs are short if the layout is
 * fine-grained. Therefore reads go through a window of the file, and contiguous writes are gathered
 * before they are written. */
struct walk {
    const struct shard *shard;
    struct npy *npy;
    int fd;
    bool writes;
    const struct npy_form *form; /* NULL: elements as in the file */
    uint64_t step;               /* bytes of an element in memory */
    uint8_t *memory;             /* read only if `writes` */
    uint8_t *window;
    uint64_t begin, bytes; /* of the window: read from the file, or not yet written */
    uint64_t size;         /* capacity of the window */
};

/* ---- bytes ---- */

static bool transfer(struct walk *w, uint64_t at, uint8_t *memory, uint64_t bytes)
{
    while (bytes) {
        ssize_t now = w->writes ? pwrite(w->fd, memory, bytes, (off_t)at)
                                : pread(w->fd, memory, bytes, (off_t)at);
        if (now <= 0) {
            snprintf(w->npy->text, sizeof w->npy->text, "%s: %s", w->writes ? "writing" : "reading",
                     now < 0     ? strerror(errno)
                     : w->writes ? "the disk is full"
                                 : "the file is truncated");
            return false;
        }
        at += (uint64_t)now;
        memory += now;
        bytes -= (uint64_t)now;
    }
    return true;
}

static bool flush(struct walk *w)
{
    uint64_t bytes = w->bytes;
    w->bytes = 0;
    return !w->writes || transfer(w, w->begin, w->window, bytes);
}

/* reach returns the address in the window of `bytes` bytes of the file; NULL: a read failed. */
static uint8_t *reach(struct walk *w, uint64_t at, uint64_t bytes)
{
    if (w->writes) {
        if ((at != w->begin + w->bytes || w->bytes + bytes > w->size) && !flush(w))
            return NULL;
        if (w->bytes == 0)
            w->begin = at;
        w->bytes += bytes;
        return w->window + (at - w->begin);
    }
    if (at < w->begin || at + bytes > w->begin + w->bytes) {
        uint64_t left = w->npy->data + w->npy->count * w->npy->item - at;
        w->begin = at;
        w->bytes = left < w->size ? left : w->size;
        if (!transfer(w, at, w->window, w->bytes)) {
            w->bytes = 0;
            return NULL;
        }
    }
    return w->window + (at - w->begin);
}

/* exchange moves contiguous elements between memory and the window. */
static void exchange(const struct walk *w, uint8_t *memory, uint8_t *window, uint64_t count)
{
    if (!w->form)
        memcpy(w->writes ? window : memory, w->writes ? memory : window, count * w->step);
    else if (w->writes)
        npy_encode(w->npy, memory, count, *w->form, window);
    else
        npy_decode(w->npy, window, count, *w->form, memory);
}

/* move_run moves `count` elements that are contiguous in the file. */
static bool move_run(struct walk *w, uint64_t at, uint64_t place, uint64_t stride, uint64_t count)
{
    uint64_t item = w->npy->item;
    uint8_t *memory = w->memory + place * w->step;
    if (!w->form && stride == 1 && count * item >= w->size)
        return flush(w) && transfer(w, at, memory, count * item);
    for (uint64_t most = w->size / item; count;) {
        uint64_t now = count < most ? count : most;
        uint8_t *window = reach(w, at, now * item);
        if (!window)
            return false;
        uint64_t pieces = stride == 1 ? 1 : now, together = now / pieces;
        for (uint64_t i = 0; i < pieces; i++)
            exchange(w, memory + i * stride * w->step, window + i * together * item, together);
        at += now * item;
        memory += now * stride * w->step;
        count -= now;
    }
    return true;
}

/* ---- indices ---- */

/* move_line moves the owned elements of a line along the axis that is contiguous in the file. */
static bool move_line(struct walk *w, uint32_t axis, uint64_t at, uint64_t place)
{
    const struct td_owned *o = &w->shard->owned[axis];
    uint64_t stride = w->shard->stride[axis], count = 0;
    for (uint64_t i = 0; (i = td_owned_next(o, i, &count)) < o->end; i += count) {
        if (!move_run(w, at + i * w->npy->item, place, stride, count))
            return false;
        place += count * stride;
    }
    return true;
}

/* move moves all lines in the order of the file. */
static bool move(struct walk *w)
{
    const struct shard *s = w->shard;
    uint32_t n = s->dimensions, axis[TD_DIMENSIONS_MAX] = {0};
    uint64_t jump[TD_DIMENSIONS_MAX], index[TD_DIMENSIONS_MAX] = {0};
    for (uint32_t i = 0; i < n; i++)
        axis[i] = w->npy->fortran ? n - 1 - i : i; /* outermost first */
    jump[axis[n - 1]] = w->npy->item;
    for (uint32_t i = n - 1; i > 0; i--)
        jump[axis[i - 1]] = jump[axis[i]] * w->npy->shape[axis[i]];
    for (bool more = s->elements > 0; more;) {
        uint64_t at = w->npy->data, place = 0;
        for (uint32_t i = 0; i + 1 < n; i++) {
            uint32_t d = axis[i];
            at += td_owned_at(&s->owned[d], index[d]) * jump[d];
            place += index[d] * s->stride[d];
        }
        if (!move_line(w, axis[n - 1], at, place))
            return false;
        more = false;
        for (uint32_t i = n - 1; i > 0 && !more; i--) {
            more = ++index[axis[i - 1]] < s->count[axis[i - 1]];
            if (!more)
                index[axis[i - 1]] = 0;
        }
    }
    return flush(w);
}

static bool walk(struct walk w)
{
    struct npy *npy = w.npy;
    w.step = w.form ? npy_form_bytes(*w.form) : npy->item;
    w.size = npy->item > PIECE ? npy->item : PIECE;
    w.window = malloc(w.size);
    bool good = w.window && move(&w);
    if (!w.window)
        snprintf(npy->text, sizeof npy->text, "no memory for a window of the file");
    free(w.window);
    return good;
}

bool shard_read(const struct shard *shard, int fd, struct npy *npy, const struct npy_form *form,
                void *memory)
{
    return walk(
        (struct walk){.shard = shard, .npy = npy, .fd = fd, .form = form, .memory = memory});
}

bool shard_write(const struct shard *shard, int fd, struct npy *npy, const struct npy_form *form,
                 const void *memory)
{
    return walk((struct walk){.shard = shard,
                              .npy = npy,
                              .fd = fd,
                              .writes = true,
                              .form = form,
                              .memory = (uint8_t *)(uintptr_t)memory});
}
