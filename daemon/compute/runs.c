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

/* ---- one side is contiguous ---- */

/* Short runs are copied turn by turn of a loop around them, if they are few in a row: for each run
 * of a turn, that run of all turns at once. */
enum {
    SHORT_BYTES = 256, /* of a run */
    MANY = 8,          /* runs, or turns, in a row */
    TURNS_BYTES = 8192 /* of data of all turns: they stay in the first-level cache */
};

static bool is_short(const struct td_runs *r)
{
    return r->bytes <= SHORT_BYTES && r->count < MANY;
}

/* move_turns copies between turns of a loop and contiguous bytes. */
static void move_turns(struct td_walk *w, const struct td_form_turns *t, uint8_t *packed,
                       bool unpack)
{
    struct td_form_cursor *c = &w->form;
    uint64_t begin = c->byte, all = t->count * t->bytes;
    int64_t step = (int64_t)t->bytes;
    while (c->byte - begin < t->bytes) {
        td_form_settle(c);
        uint8_t *at = packed + (c->byte - begin);
        if (unpack)
            move(w->place + c->at, t->stride, at, step, (int64_t)c->left, t->count);
        else
            move(at, step, w->place + c->at, t->stride, (int64_t)c->left, t->count);
        td_form_skip(c, c->left, 1);
    }
    td_form_seek(c, c->form, begin + all);
    w->stretch -= (int64_t)all;
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

/* move_packed copies the next `bytes` bytes of a walk to, or from, contiguous bytes. */
static void move_packed(struct td_walk *w, uint8_t *packed, int64_t bytes, bool unpack)
{
    struct td_runs r;
    while (bytes > 0 && td_walk_runs(w, &r)) {
        int64_t most = bytes < w->stretch ? bytes : w->stretch;
        most = most < TURNS_BYTES ? most : TURNS_BYTES;
        struct td_form_turns t = {0, 0, 0};
        if (w->formed && is_short(&r))
            t = td_form_turns(&w->form, (uint64_t)most, MANY);
        int64_t all = (int64_t)(t.count * t.bytes);
        if (t.count > r.count) {
            move_turns(w, &t, packed, unpack);
        } else {
            limit(&r, bytes);
            all = (int64_t)r.count * r.bytes;
            if (unpack)
                move(r.at, r.stride, packed, r.bytes, r.bytes, r.count);
            else
                move(packed, r.bytes, r.at, r.stride, r.bytes, r.count);
            td_walk_skip(w, all, r.count);
        }
        packed += all;
        bytes -= all;
    }
}

void td_runs_pack(struct td_walk *from, uint8_t *out, int64_t bytes)
{
    move_packed(from, out, bytes, false);
}

void td_runs_unpack(struct td_walk *to, const uint8_t *in, int64_t bytes)
{
    move_packed(to, (uint8_t *)(uintptr_t)in, bytes, true); /* which it only reads */
}

/* ---- copies ---- */

/* cut makes runs of at most `bytes` bytes of *r: a single piece becomes several runs without gaps
 * between them. It cuts pieces at equal distances only if the first one is long enough. */
static void cut(struct td_runs *r, int64_t bytes)
{
    if (r->bytes <= bytes)
        return;
    r->count = (uint64_t)(r->bytes / bytes);
    r->stride = r->bytes = bytes;
}

/* copy_runs copies the runs that both sides have in equal lengths, and returns their bytes. */
static int64_t copy_runs(struct td_walk *to, struct td_walk *from, struct td_runs a,
                         struct td_runs b)
{
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
    return all;
}

void td_runs_copy(struct td_walk *to, struct td_walk *from, int64_t left)
{
    uint8_t packed[TURNS_BYTES];
    struct td_runs a, b;
    for (int64_t bytes = 0; left > 0 && td_walk_runs(to, &a) && td_walk_runs(from, &b);
         left -= bytes) {
        bytes = to->stretch < from->stretch ? to->stretch : from->stretch;
        bytes = bytes < left ? bytes : left;
        bool one = to->formed != from->formed;
        if (one && from->formed) {
            td_runs_pack(from, a.at, bytes);
            td_walk_skip(to, bytes, 1);
        } else if (one) {
            td_runs_unpack(to, b.at, bytes);
            td_walk_skip(from, bytes, 1);
        } else if (to->formed && (is_short(&a) || is_short(&b))) {
            bytes = bytes < TURNS_BYTES ? bytes : TURNS_BYTES;
            td_runs_pack(from, packed, bytes);
            td_runs_unpack(to, packed, bytes);
        } else {
            limit(&a, left);
            limit(&b, left);
            bytes = copy_runs(to, from, a, b);
        }
    }
}
