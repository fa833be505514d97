/* SPDX-License-Identifier: Apache-2.0 */
#include "runs.h"

#include <string.h>

/* MOVE moves runs of a constant size, which the compiler turns into single loads and stores. */
#define MOVE(size)                                                                                 \
    case size:                                                                                     \
        for (uint64_t i = 0; i < count; i++, to += to_stride, from += from_stride)                 \
            memmove(to, from, size);                                                               \
        break

/* move copies `count` runs of `bytes` bytes. */
static void move(uint8_t *to, int64_t to_stride, const uint8_t *from, int64_t from_stride,
                 int64_t bytes, uint64_t count)
{
    switch (bytes) {
        MOVE(1);
        MOVE(2);
        MOVE(4);
        MOVE(8);
        MOVE(12);
        MOVE(16);
        MOVE(24);
        MOVE(32);
    default:
        for (uint64_t i = 0; i < count; i++, to += to_stride, from += from_stride)
            memmove(to, from, (size_t)bytes);
    }
}

/* cut makes runs of at most `bytes` bytes of *r: a single piece becomes several runs without gaps
 * between them. It cuts pieces at equal distances only if the first one is long enough. */
static void cut(struct td_runs *r, int64_t bytes)
{
    if (r->bytes <= bytes)
        return;
    r->count = (uint64_t)(r->bytes / bytes);
    r->stride = r->bytes = bytes;
}

void td_runs_copy(struct td_walk *to, struct td_walk *from)
{
    struct td_runs a, b;
    while (td_walk_runs(to, &a) && td_walk_runs(from, &b)) {
        int64_t bytes = a.bytes < b.bytes ? a.bytes : b.bytes;
        bool whole_a = a.bytes == bytes, whole_b = b.bytes == bytes;
        cut(&a, bytes);
        cut(&b, bytes);
        uint64_t count = a.count < b.count ? a.count : b.count;
        int64_t all = (int64_t)count * bytes;
        if (a.at != b.at || (count > 1 && a.stride != b.stride))
            move(a.at, a.stride, b.at, b.stride, bytes, count);
        td_walk_skip(to, all, whole_a ? count : 1);
        td_walk_skip(from, all, whole_b ? count : 1);
    }
}

/* limit reduces the runs to at most `bytes` bytes. */
static void limit(struct td_runs *r, int64_t bytes)
{
    uint64_t whole = (uint64_t)(bytes / r->bytes);
    r->count = whole < r->count ? whole : r->count;
    if (r->count == 0) {
        r->bytes = bytes;
        r->count = 1;
    }
}

void td_runs_pack(struct td_walk *from, uint8_t *out, int64_t bytes)
{
    struct td_runs r;
    while (bytes > 0 && td_walk_runs(from, &r)) {
        limit(&r, bytes);
        int64_t all = (int64_t)r.count * r.bytes;
        move(out, r.bytes, r.at, r.stride, r.bytes, r.count);
        td_walk_skip(from, all, r.count);
        out += all;
        bytes -= all;
    }
}

void td_runs_unpack(struct td_walk *to, const uint8_t *in, int64_t bytes)
{
    struct td_runs r;
    while (bytes > 0 && td_walk_runs(to, &r)) {
        limit(&r, bytes);
        int64_t all = (int64_t)r.count * r.bytes;
        move(r.at, r.stride, in, r.bytes, r.bytes, r.count);
        td_walk_skip(to, all, r.count);
        in += all;
        bytes -= all;
    }
}
