/* SPDX-License-Identifier: Apache-2.0 */
#include "overlap.h"

#include "base/arena.h"
#include "base/number.h"

/* ---- along one axis ---- */

/* cycle returns the period of ownership in indices, or 1 if one part owns all. */
static uint64_t cycle(const struct td_owned *o)
{
    return o->parts == 1 ? 1 : o->block * o->parts;
}

/* common_period returns the period of the pair in indices, or UINT64_MAX if it exceeds 64 bits. */
static uint64_t common_period(const struct td_owned *a, const struct td_owned *b)
{
    uint64_t period = 0, x = cycle(a), y = cycle(b);
    return __builtin_mul_overflow(x / td_gcd(x, y), y, &period) ? UINT64_MAX : period;
}

/* next_span finds the first span of shared indices from `index` on. It returns false if there is
 * none before `end`. */
static bool next_span(const struct td_owned *a, const struct td_owned *b, uint64_t end,
                      uint64_t *index, uint64_t *count)
{
    uint64_t at = *index, of_a = 0, of_b = 0;
    for (;;) {
        uint64_t first = td_owned_next(a, at, &of_a);
        if (first >= end || of_a == 0)
            return false;
        at = td_owned_next(b, first, &of_b);
        if (at >= end || of_b == 0)
            return false;
        if (at < first + of_a) {
            *count = first + of_a - at;
            *count = of_b < *count ? of_b : *count;
            *count = end - at < *count ? end - at : *count;
            *index = at;
            return true;
        }
    }
}

/* contiguous returns the owned indices as one plain interval if they are consecutive, else
 * unchanged: an interval has no period. */
static struct td_owned contiguous(const struct td_owned *o)
{
    uint64_t count = 0, more = 0, first = td_owned_next(o, o->begin, &count);
    if (o->parts == 1 || count == 0)
        return *o;
    (void)td_owned_next(o, first + count, &more);
    return more ? *o : (struct td_owned){first, first + count, 1, 0, 1, 0};
}

/* intersect computes the spans of two owners. If span is NULL it only counts. */
static void intersect(const struct td_owned *of_a, const struct td_owned *of_b, struct td_spans *s,
                      struct td_interval *span)
{
    const struct td_owned one = contiguous(of_a), other = contiguous(of_b), *a = &one, *b = &other;
    uint64_t begin = a->begin > b->begin ? a->begin : b->begin;
    uint64_t end = a->end < b->end ? a->end : b->end;
    *s = (struct td_spans){0};
    if (begin >= end)
        return;
    uint64_t period = common_period(a, b), all = end - begin;
    period = period < all ? period : all;
    uint64_t rest = all % period, of_rest = 0, count = 0;
    for (uint64_t i = begin; next_span(a, b, begin + period, &i, &count); i += count) {
        struct td_interval here = {
            {td_owned_before(a, i), td_owned_before(b, i)}, count, s->period};
        if (s->count == 0)
            s->first = here;
        if (span)
            span[s->count] = here;
        s->count++;
        s->period += count;
        if (i < begin + rest)
            of_rest += i + count < begin + rest ? count : begin + rest - i;
    }
    s->total = all / period * s->period + of_rest;
    s->stride[0] = td_owned_before(a, begin + period) - td_owned_before(a, begin);
    s->stride[1] = td_owned_before(b, begin + period) - td_owned_before(b, begin);
    s->span = span;
    if (s->count == 1 && s->stride[0] == s->period && s->stride[1] == s->period) {
        s->first.count = s->period = s->total; /* each span begins where the last one ended */
        s->stride[0] = s->stride[1] = s->total;
    }
}

static const struct td_interval *span_at(const struct td_spans *s, uint32_t i)
{
    return s->count == 1 ? &s->first : &s->span[i];
}

/* ---- tables ---- */

static void pair_of(const struct td_overlap *o, unsigned side, uint32_t axis, uint32_t own,
                    uint32_t other, struct td_owned *from, struct td_owned *to)
{
    struct td_owned mine = td_layout_owned(o->layout[side], axis, own);
    struct td_owned theirs = td_layout_owned(o->layout[!side], axis, other);
    *from = side == TD_OVERLAP_FROM ? mine : theirs;
    *to = side == TD_OVERLAP_FROM ? theirs : mine;
}

/* make_row makes the spans of one coordinate of a side with all coordinates of the other. It runs
 * twice, because the spans of a row are one allocation, behind the row. */
static struct td_spans *make_row(const struct td_overlap *o, struct td_arena *arena, unsigned side,
                                 uint32_t axis, uint32_t own)
{
    uint32_t others = td_layout_parts(o->layout[!side], axis);
    struct td_owned from, to;
    struct td_spans s;
    size_t spans = 1; /* intersect also writes a span there that later proves to be the only one */
    for (uint32_t other = 0; other < others; other++) {
        pair_of(o, side, axis, own, other, &from, &to);
        intersect(&from, &to, &s, NULL);
        spans += s.count > 1 ? s.count : 0;
    }
    struct td_spans *row =
        td_arena_alloc(arena, others * sizeof *row + spans * sizeof(struct td_interval));
    struct td_interval *span = row ? (struct td_interval *)(row + others) : NULL;
    for (uint32_t other = 0; row && other < others; other++) {
        pair_of(o, side, axis, own, other, &from, &to);
        intersect(&from, &to, &row[other], span);
        if (row[other].count > 1)
            span += row[other].count;
        else
            row[other].span = NULL;
    }
    return row;
}

static bool make_side(struct td_overlap *o, struct td_arena *arena, unsigned side,
                      td_overlap_here_fn *here, const void *me)
{
    const struct td_layout *l = o->layout[side];
    for (uint32_t d = 0; d < l->dimensions; d++) {
        uint32_t parts = td_layout_parts(l, d);
        if (!(o->row[side][d] = td_arena_alloc(arena, parts * sizeof *o->row[side][d])))
            return false;
        for (uint32_t owner = 0; owner < l->owners; owner++) {
            uint32_t own = td_layout_coordinate(l, owner, d);
            if (here(me, side, owner) && !o->row[side][d][own] &&
                !(o->row[side][d][own] = make_row(o, arena, side, d, own)))
                return false;
        }
    }
    return true;
}

bool td_overlap_init(struct td_overlap *o, struct td_arena *arena, const struct td_layout *from,
                     const struct td_layout *to, uint64_t element, const uint8_t *walk,
                     td_overlap_here_fn *here, const void *me)
{
    *o = (struct td_overlap){.layout = {from, to}, .element = element};
    for (uint32_t d = 0; d < from->dimensions; d++)
        o->walk[d] = walk ? walk[d] : to->order[d];
    if (make_side(o, arena, TD_OVERLAP_FROM, here, me) &&
        make_side(o, arena, TD_OVERLAP_TO, here, me))
        return true;
    td_overlap_free(o, arena);
    return false;
}

void td_overlap_free(struct td_overlap *o, struct td_arena *arena)
{
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t d = 0; o->layout[side] && d < o->layout[side]->dimensions; d++) {
            struct td_spans **row = o->row[side][d];
            for (uint32_t i = 0; row && i < td_layout_parts(o->layout[side], d); i++)
                td_arena_free(arena, row[i]);
            td_arena_free(arena, row);
            o->row[side][d] = NULL;
        }
}

static const struct td_spans *spans_of(const struct td_overlap *o, uint32_t axis, uint32_t from,
                                       uint32_t to)
{
    uint32_t p = td_layout_coordinate(o->layout[0], from, axis);
    uint32_t q = td_layout_coordinate(o->layout[1], to, axis);
    const struct td_spans *row = o->row[TD_OVERLAP_FROM][axis][p];
    return row ? &row[q] : &o->row[TD_OVERLAP_TO][axis][q][p];
}

uint64_t td_overlap_elements(const struct td_overlap *o, uint32_t from, uint32_t to)
{
    uint64_t elements = 1;
    for (uint32_t d = 0; d < o->layout[0]->dimensions && elements; d++)
        elements *= spans_of(o, d, from, to)->total;
    return elements;
}

/* visits returns the number of blocks that intersect visits in one period of two owners. */
static uint64_t visits(const struct td_owned *of_a, const struct td_owned *of_b)
{
    struct td_owned a = contiguous(of_a), b = contiguous(of_b);
    uint64_t all = a.end - a.begin < b.end - b.begin ? a.end - a.begin : b.end - b.begin;
    uint64_t period = common_period(&a, &b), x = cycle(&a), y = cycle(&b);
    period = period < all ? period : all;
    uint64_t blocks_a = x == 1 ? 1 : period / x + 1, blocks_b = y == 1 ? 1 : period / y + 1;
    return blocks_a + blocks_b; /* each block of either owner is visited once */
}

/* Parts of one node in the estimate. A node with four times as many ranks, the limit, takes four
 * times as long. The number decides which plans are refused, so all nodes use the same. */
enum { NODE_PARTS = 256 };

uint64_t td_overlap_work(const struct td_layout *from, const struct td_layout *to)
{
    uint64_t work = 0;
    for (uint32_t d = 0; d < from->dimensions; d++) {
        uint64_t p = td_layout_parts(from, d), q = td_layout_parts(to, d);
        struct td_owned a = td_layout_owned(from, d, 0), b = td_layout_owned(to, d, 0);
        uint64_t pairs =
            p * (q < NODE_PARTS ? q : NODE_PARTS) + q * (p < NODE_PARTS ? p : NODE_PARTS);
        uint64_t each = visits(&a, &b), more = 0;
        if (__builtin_mul_overflow(each, pairs, &more) || __builtin_add_overflow(work, more, &work))
            return UINT64_MAX;
    }
    return work;
}

uint64_t td_overlap_along(const struct td_layout *from, const struct td_layout *to, uint32_t axis,
                          uint32_t p, uint32_t q)
{
    struct td_owned a = td_layout_owned(from, axis, p), b = td_layout_owned(to, axis, q);
    struct td_spans s;
    intersect(&a, &b, &s, NULL);
    return s.total;
}

uint64_t td_overlap_count(const struct td_layout *from, const struct td_layout *to, uint32_t p,
                          uint32_t q)
{
    uint64_t elements = 1;
    for (uint32_t d = 0; d < from->dimensions && elements; d++)
        elements *= td_overlap_along(from, to, d, td_layout_coordinate(from, p, d),
                                     td_layout_coordinate(to, q, d));
    return elements;
}

/* spans_before returns the number of shared indices before `index` in the array of one owner. */
static uint64_t spans_before(const struct td_spans *s, enum td_overlap_side side, uint64_t index)
{
    if (s->total == 0 || index <= span_at(s, 0)->at[side])
        return 0;
    uint64_t turns = (index - span_at(s, 0)->at[side]) / s->stride[side];
    uint64_t place = index - turns * s->stride[side];
    uint32_t low = 0, high = s->count; /* search the last span that begins before it */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (span_at(s, middle)->at[side] < place)
            low = middle;
        else
            high = middle;
    }
    const struct td_interval *span = span_at(s, low);
    uint64_t of_span = place > span->at[side] ? place - span->at[side] : 0;
    uint64_t all =
        turns * s->period + span->before + (of_span < span->count ? of_span : span->count);
    return all < s->total ? all : s->total;
}

struct td_overlap_range td_overlap_lines(const struct td_overlap *o, uint32_t from, uint32_t to,
                                         enum td_overlap_side side, uint32_t axis, uint64_t first,
                                         uint64_t count)
{
    const struct td_spans *s = spans_of(o, axis, from, to);
    uint64_t begin = spans_before(s, side, first);
    return (struct td_overlap_range){(uint8_t)axis, begin,
                                     spans_before(s, side, first + count) - begin};
}

uint64_t td_overlap_elements_in(const struct td_overlap *o, uint32_t from, uint32_t to,
                                const struct td_overlap_range *range)
{
    uint64_t elements = 1;
    for (uint32_t d = 0; d < o->layout[0]->dimensions && elements; d++)
        elements *= d == range->axis ? range->count : spans_of(o, d, from, to)->total;
    return elements;
}

/* ---- cursors ---- */

/* seek moves to shared index number `index` of an axis. */
static void seek(struct td_overlap_place *a, uint64_t index)
{
    const struct td_spans *s = a->spans;
    uint64_t rest = index % s->period;
    uint32_t low = 0, high = s->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (span_at(s, middle)->before <= rest)
            low = middle;
        else
            high = middle;
    }
    a->index = index;
    a->period = index / s->period;
    a->span = low;
    a->within = rest - span_at(s, low)->before;
}

/* is_whole returns true if the cursor covers all of the owner's indices along the axis, without
 * gaps. */
static bool is_whole(const struct td_overlap_place *a, uint64_t count)
{
    return a->spans->count == 1 && a->spans->total == a->spans->period && a->begin == 0 &&
           a->end == count;
}

void td_overlap_start(struct td_overlap_cursor *c, const struct td_overlap *o, uint32_t from,
                      uint32_t to, enum td_overlap_side side, const struct td_overlap_range *range,
                      uint64_t skip, uint64_t bytes)
{
    uint32_t dimensions = o->layout[0]->dimensions, owner = side == TD_OVERLAP_FROM ? from : to;
    uint64_t count[TD_DIMENSIONS_MAX], stride[TD_DIMENSIONS_MAX];
    td_layout_local(o->layout[side], owner, count);
    td_layout_strides(o->layout[side], owner, stride);
    *c = (struct td_overlap_cursor){.axes = dimensions, .unit = o->element, .side = side};
    for (uint32_t i = 0; i < dimensions; i++) {
        struct td_overlap_place *a = &c->axis[i];
        bool within = o->walk[i] == range->axis;
        a->spans = spans_of(o, o->walk[i], from, to);
        a->stride = stride[o->walk[i]] * o->element;
        a->begin = within ? range->begin : 0;
        a->end = within ? range->begin + range->count : a->spans->total;
        if (a->begin == a->end)
            return;
    }
    while (c->axes > 0 && c->axis[c->axes - 1].stride == c->unit &&
           is_whole(&c->axis[c->axes - 1], count[o->walk[c->axes - 1]]))
        c->unit *= count[o->walk[--c->axes]];
    c->runs = c->axes > 0 && c->axis[c->axes - 1].stride == c->unit;
    c->left = bytes;
    c->used = skip % c->unit;
    uint64_t index = skip / c->unit;
    for (uint32_t i = c->axes; i-- > 0;) {
        uint64_t all = c->axis[i].end - c->axis[i].begin;
        seek(&c->axis[i], c->axis[i].begin + index % all);
        index /= all;
    }
}

/* run returns the number of consecutive indices of the innermost axis from here on. */
static uint64_t run(const struct td_overlap_cursor *c)
{
    if (!c->runs)
        return 1;
    const struct td_overlap_place *a = &c->axis[c->axes - 1];
    uint64_t of_span = span_at(a->spans, a->span)->count - a->within;
    uint64_t of_all = a->end - a->index;
    return of_span < of_all ? of_span : of_all;
}

uint64_t td_overlap_left(const struct td_overlap_cursor *c)
{
    uint64_t bytes = run(c) * c->unit - c->used;
    return bytes < c->left ? bytes : c->left;
}

/* advance moves on by `count` indices of the innermost axis, at most to the end of its span. */
static void advance(struct td_overlap_cursor *c, uint64_t count)
{
    for (uint32_t i = c->axes; i-- > 0; count = 1) {
        struct td_overlap_place *a = &c->axis[i];
        a->index += count;
        a->within += count;
        if (a->within == span_at(a->spans, a->span)->count) {
            a->within = 0;
            if (++a->span == a->spans->count) {
                a->span = 0;
                a->period++;
            }
        }
        if (a->index < a->end)
            return;
        seek(a, a->begin);
    }
}

/* offset_of returns the offset of the cursor's place in the owner's array. */
static uint64_t offset_of(const struct td_overlap_cursor *c)
{
    uint64_t offset = c->used;
    for (uint32_t i = 0; i < c->axes; i++) {
        const struct td_overlap_place *a = &c->axis[i];
        offset += (a->period * a->spans->stride[c->side] + span_at(a->spans, a->span)->at[c->side] +
                   a->within) *
                  a->stride;
    }
    return offset;
}

uint64_t td_overlap_piece(struct td_overlap_cursor *c, uint64_t most, uint64_t *bytes)
{
    uint64_t piece = td_overlap_left(c);
    *bytes = piece < most ? piece : most;
    if (*bytes == 0)
        return 0;
    uint64_t offset = offset_of(c);
    td_overlap_skip(c, *bytes, 1);
    return offset;
}

/* ---- equal pieces ---- */

/* equal_steps returns how many indices of an axis follow each other at one distance from here on:
 * *stride bytes. */
static uint64_t equal_steps(const struct td_overlap_place *a, unsigned side, uint64_t *stride)
{
    uint64_t of_span = span_at(a->spans, a->span)->count, of_all = a->end - a->index;
    *stride = a->stride;
    if (a->spans->count == 1 && of_span == 1) {
        *stride *= a->spans->stride[side];
        return of_all;
    }
    return of_span - a->within < of_all ? of_span - a->within : of_all;
}

/* equal_runs returns how many pieces of `run` indices of the innermost axis follow each other at
 * one distance: the spans of its periods, or the whole axis along the next one. */
static uint64_t equal_runs(const struct td_overlap_cursor *c, uint64_t run, uint64_t *stride)
{
    const struct td_overlap_place *a = &c->axis[c->axes - 1];
    uint64_t of_all = a->end - a->index;
    *stride = 0;
    if (a->index == a->begin && run == of_all)
        return c->axes > 1 ? equal_steps(a - 1, c->side, stride) : 1;
    if (a->spans->count > 1 || a->within > 0)
        return 1;
    *stride = a->spans->stride[c->side] * a->stride;
    return of_all / run;
}

struct td_overlap_runs td_overlap_runs(const struct td_overlap_cursor *c)
{
    struct td_overlap_runs r = {.count = 1};
    if (c->left == 0)
        return (struct td_overlap_runs){0};
    r.offset = offset_of(c);
    r.bytes = td_overlap_left(c);
    uint64_t units = run(c);
    if (c->used > 0 || c->axes == 0 || r.bytes < units * c->unit)
        return r;
    r.count = c->runs ? equal_runs(c, units, &r.stride)
                      : equal_steps(&c->axis[c->axes - 1], c->side, &r.stride);
    r.count = r.count * r.bytes <= c->left ? r.count : c->left / r.bytes;
    return r;
}

/* carry moves on by any number of indices of the innermost axis. */
static void carry(struct td_overlap_cursor *c, uint64_t count)
{
    for (uint32_t i = c->axes; i-- > 0 && count > 0;) {
        struct td_overlap_place *a = &c->axis[i];
        uint64_t all = a->end - a->begin, at = a->index - a->begin + count;
        seek(a, a->begin + at % all);
        count = at / all;
    }
}

void td_overlap_skip(struct td_overlap_cursor *c, uint64_t bytes, uint64_t count)
{
    c->left -= bytes;
    c->used += bytes;
    uint64_t units = c->used / c->unit;
    if (units == 0)
        return;
    c->used %= c->unit;
    if (count > 1)
        carry(c, units);
    else
        advance(c, units);
}
