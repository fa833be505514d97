/* SPDX-License-Identifier: Apache-2.0 */
#include "layout_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

/* struct reader: the text, the position in it, and the parts read so far. */
struct reader {
    const char *text, *p;
    struct td_layout_wrong *wrong;
    bool failed;
    uint32_t axes;
    struct td_axis axis[TD_DIMENSIONS_MAX];
    bool distributed[TD_DIMENSIONS_MAX]; /* the axis is not * */
    const char *axis_text[TD_DIMENSIONS_MAX];
    uint32_t grid_axes, grid[TD_DIMENSIONS_MAX];
    const char *grid_text;
    uint8_t order[TD_DIMENSIONS_MAX];
    bool ordered;
    const char *boxes, *ranks; /* where these lists begin; NULL: absent */
    uint32_t box_count, rank_count;
};

__attribute__((format(printf, 3, 4))) static void fail(struct reader *r, const char *at,
                                                       const char *format, ...)
{
    if (r->failed)
        return;
    r->failed = true;
    r->wrong->at = (size_t)(at - r->text);
    va_list list;
    va_start(list, format);
    vsnprintf(r->wrong->text, sizeof r->wrong->text, format, list);
    va_end(list);
}

/* Character classes, independent of the locale. */
static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void skip_space(struct reader *r)
{
    while (is_space(*r->p))
        r->p++;
}

/* accept skips a word or sign if it is next. A word must end there. */
static bool accept(struct reader *r, const char *word)
{
    size_t length = strlen(word);
    skip_space(r);
    if (strncmp(r->p, word, length) != 0 ||
        (length > 1 && is_letter(*word) && (is_letter(r->p[length]) || is_digit(r->p[length]))))
        return false;
    r->p += length;
    return true;
}

static void expect(struct reader *r, const char *sign, const char *after)
{
    if (!r->failed && !accept(r, sign))
        fail(r, r->p, "expected %s %s", sign, after);
}

static uint64_t number(struct reader *r, uint64_t least, uint64_t most, const char *what)
{
    skip_space(r);
    const char *begin = r->p;
    uint64_t value = 0;
    bool overflow = false;
    while (is_digit(*r->p))
        overflow |= __builtin_mul_overflow(value, 10u, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*r->p++ - '0'), &value);
    if (r->p == begin)
        fail(r, begin, "expected a number: %s", what);
    else if (overflow || value < least || value > most)
        fail(r, begin, "%s must be from %llu to %llu", what, (unsigned long long)least,
             (unsigned long long)most);
    return r->failed ? least : value;
}

/* ---- axes ---- */

static const uint64_t INDICES_MAX = (uint64_t)INT64_MAX;

/* read_axis reads block, block(b), cyclic, cyclic(b) or *, and an offset. Block 0 stands for an
 * even distribution. */
static void read_axis(struct reader *r)
{
    skip_space(r);
    uint32_t d = r->axes;
    const char *begin = r->p;
    if (d == TD_DIMENSIONS_MAX) {
        fail(r, begin, "an array can have at most %d axes", TD_DIMENSIONS_MAX);
        return;
    }
    r->axis_text[d] = begin;
    r->axis[d].parts = 1;
    r->axes++;
    if (accept(r, "*"))
        return;
    bool cyclic = accept(r, "cyclic");
    if (!cyclic && !accept(r, "block")) {
        fail(r, begin, "expected block, cyclic, cyclic(n) or * for the axis");
        return;
    }
    r->distributed[d] = true;
    r->axis[d].block = cyclic;
    if (accept(r, "(")) {
        r->axis[d].block = number(r, 1, INDICES_MAX, "the block size");
        expect(r, ")", "after the block size");
    }
    if (accept(r, "+"))
        r->axis[d].offset = number(r, 0, INDICES_MAX, "an offset");
}

static void read_axes(struct reader *r)
{
    if (!accept(r, "(")) {
        read_axis(r);
        return;
    }
    do
        read_axis(r);
    while (!r->failed && accept(r, ","));
    expect(r, ")", "after the axes");
}

/* ---- grid, order, ranks, boxes ---- */

static void read_grid(struct reader *r)
{
    skip_space(r);
    r->grid_text = r->p;
    do {
        if (r->grid_axes == TD_DIMENSIONS_MAX) {
            fail(r, r->p, "a grid can have at most %d sizes", TD_DIMENSIONS_MAX);
            return;
        }
        r->grid[r->grid_axes++] = (uint32_t)number(r, 1, TD_JOB_RANKS_MAX, "a grid's size");
    } while (!r->failed && accept(r, "x"));
}

static void read_order(struct reader *r)
{
    uint32_t seen = 0;
    skip_space(r);
    const char *begin = r->p;
    for (uint32_t i = 0; i < r->axes && !r->failed; i++) {
        if (i > 0)
            expect(r, ",", "between axes");
        r->order[i] = (uint8_t)number(r, 0, r->axes - 1, "an axis");
        seen |= 1u << r->order[i];
    }
    r->ordered = true;
    if (!r->failed && seen != (1u << r->axes) - 1)
        fail(r, begin, "an order must name every axis once");
}

/* read_ranks reads 0-11,13,20-30:2 and returns the number of ranks. If `to` is NULL it only counts.
 */
static uint32_t read_ranks(struct reader *r, uint32_t *to)
{
    uint32_t count = 0;
    do {
        skip_space(r);
        const char *begin = r->p;
        uint64_t first = number(r, 0, TD_JOB_RANKS_MAX - 1, "a rank"), last = first, step = 1;
        if (accept(r, "-"))
            last = number(r, 0, TD_JOB_RANKS_MAX - 1, "a rank");
        if (accept(r, ":"))
            step = number(r, 1, TD_JOB_RANKS_MAX, "a step");
        if (last < first)
            fail(r, begin, "a range of ranks must ascend: %llu-%llu", (unsigned long long)last,
                 (unsigned long long)first);
        for (uint64_t rank = first; rank <= last && !r->failed; rank += step) {
            if (to)
                to[count] = (uint32_t)rank;
            if (++count > TD_JOB_RANKS_MAX)
                fail(r, begin, "more ranks than a job can have (16384)");
        }
    } while (!r->failed && accept(r, ","));
    return count;
}

/* read_box reads 0:10,0:5, or - for an empty box. */
static void read_box(struct reader *r, uint32_t dimensions, struct td_box *box)
{
    box->dimensions = dimensions;
    if (accept(r, "-"))
        return;
    for (uint32_t d = 0; d < dimensions && !r->failed; d++) {
        if (d > 0)
            expect(r, ",", "between the axes of a box");
        skip_space(r);
        const char *begin = r->p;
        uint64_t from = number(r, 0, INDICES_MAX, "an index");
        expect(r, ":", "between the begin and the end of a box");
        uint64_t to = number(r, 0, INDICES_MAX, "an index");
        if (to < from)
            fail(r, begin, "a box ends before it begins");
        box->begin[d] = from;
        box->count[d] = to - from;
    }
}

static uint32_t read_boxes(struct reader *r, uint32_t dimensions, struct td_box *to)
{
    uint32_t count = 0;
    struct td_box one = {0};
    for (skip_space(r); !r->failed && (is_digit(*r->p) || *r->p == '-'); skip_space(r))
        read_box(r, dimensions, to ? &to[count++] : (count++, &one));
    if (!r->failed && count == 0)
        fail(r, r->p, "expected boxes such as 0:10,0:5");
    return count;
}

static void read_rest(struct reader *r)
{
    for (skip_space(r); !r->failed && *r->p; skip_space(r)) {
        if (!r->grid_axes && !r->boxes && accept(r, "on")) {
            read_grid(r);
        } else if (!r->ordered && accept(r, "order")) {
            read_order(r);
        } else if (!r->ranks && accept(r, "@")) {
            r->ranks = r->p;
            r->rank_count = read_ranks(r, NULL);
        } else {
            fail(r, r->p, "expected the end of the layout, or one of: on 3x4, order 1,0, @0-11");
        }
    }
}

static void read_text(struct reader *r, uint32_t dimensions)
{
    if (accept(r, "boxes")) {
        skip_space(r);
        r->axes = dimensions;
        r->boxes = r->p;
        if (dimensions == 0)
            fail(r, r->text, "boxes need the number of axes of the array");
        else
            r->box_count = read_boxes(r, dimensions, NULL);
    } else {
        read_axes(r);
    }
    read_rest(r);
    if (!r->failed && dimensions && r->axes != dimensions)
        fail(r, r->text, "the layout has %u axes, the array %u", r->axes, dimensions);
}

/* ---- construction ---- */

/* place_grid sets the parts of each distributed axis and returns the number of owners. */
static uint32_t place_grid(struct reader *r, uint32_t group_ranks)
{
    uint32_t distributed = 0, next = 0, ranks = r->ranks ? r->rank_count : group_ranks;
    uint64_t places = 1;
    for (uint32_t d = 0; d < r->axes; d++)
        distributed += r->distributed[d];
    if (r->grid_axes ? r->grid_axes != distributed : distributed > 1) {
        fail(r, r->grid_axes ? r->grid_text : r->text,
             "%u axes are distributed: name the grid, e.g. on %s", distributed,
             distributed == 1   ? "4"
             : distributed == 2 ? "3x4"
                                : "2x3x4");
        return 0;
    }
    for (uint32_t d = 0; d < r->axes; d++) {
        if (r->distributed[d])
            r->axis[d].parts = r->grid_axes ? r->grid[next++] : ranks;
        places *= r->axis[d].parts;
    }
    if (places > TD_JOB_RANKS_MAX || (r->ranks && places != r->rank_count))
        fail(r, r->ranks ? r->ranks : r->grid_text, "places of the grid: %llu, but ranks: %u",
             (unsigned long long)places, ranks);
    return (uint32_t)places;
}

static void fill(struct reader *r, struct td_layout *l)
{
    for (uint32_t d = 0; d < r->axes; d++) {
        if (r->boxes)
            break;
        td_layout_distribute(l, d, r->axis[d].block, r->axis[d].parts);
        const struct td_axis *a = &l->axis[d];
        bool rounds = a->block <= INDICES_MAX / a->parts; /* else td_layout_check refuses it */
        l->axis[d].offset = r->axis[d].offset % (rounds ? a->block * a->parts : INDICES_MAX);
    }
    if (r->ordered)
        memcpy(l->order, r->order, sizeof l->order);
    if (r->boxes) {
        r->p = r->boxes;
        read_boxes(r, r->axes, l->box);
    }
    if (r->ranks) {
        r->p = r->ranks;
        read_ranks(r, l->rank);
    }
}

bool td_layout_parse(struct td_layout *layout, struct td_arena *arena, const char *text,
                     uint32_t dimensions, const uint64_t *size, uint32_t group_ranks,
                     struct td_layout_wrong *wrong)
{
    struct reader r = {.text = text, .p = text, .wrong = wrong};
    *layout = (struct td_layout){0};
    *wrong = (struct td_layout_wrong){0};
    read_text(&r, dimensions);
    uint32_t owners = r.failed ? 0 : r.boxes ? r.box_count : place_grid(&r, group_ranks);
    if (!r.failed && r.boxes && r.ranks && r.rank_count != owners)
        fail(&r, r.ranks, "boxes: %u, but ranks: %u", owners, r.rank_count);
    if (!r.failed && !td_layout_init(layout, arena, r.axes, size, owners, r.boxes != NULL)) {
        fail(&r, text, "no memory for %u ranks", owners);
        wrong->no_memory = true;
    }
    if (!r.failed)
        fill(&r, layout);
    return !r.failed;
}

/* ---- printing ---- */

struct writer {
    char *text;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(w->length < w->size ? w->text + w->length : NULL,
                           w->length < w->size ? w->size - w->length : 0, format, list);
    va_end(list);
    w->length += length > 0 ? (size_t)length : 0;
}

static void put_axes(struct writer *w, const struct td_layout *l)
{
    bool distributed = false;
    for (uint32_t d = 0; d < l->dimensions; d++) {
        const struct td_axis *a = &l->axis[d];
        uint64_t even = l->size[d] / a->parts + (l->size[d] % a->parts != 0);
        put(w, d ? ", " : "(");
        if (a->parts == 1)
            put(w, "*");
        else if (a->block == (even ? even : 1) && a->block > 1)
            put(w, "block");
        else if (a->block > 1)
            put(w, "cyclic(%llu)", (unsigned long long)a->block);
        else
            put(w, "cyclic");
        if (a->parts > 1 && a->offset)
            put(w, "+%llu", (unsigned long long)a->offset);
    }
    put(w, ")");
    for (uint32_t d = 0; d < l->dimensions; d++) {
        if (l->axis[d].parts == 1)
            continue;
        put(w, distributed ? "x%u" : " on %u", l->axis[d].parts);
        distributed = true;
    }
}

static void put_boxes(struct writer *w, const struct td_layout *l)
{
    put(w, "boxes");
    for (uint32_t i = 0; i < l->owners; i++)
        for (uint32_t d = 0; d < l->dimensions; d++)
            put(w, "%c%llu:%llu", d ? ',' : ' ', (unsigned long long)l->box[i].begin[d],
                (unsigned long long)(l->box[i].begin[d] + l->box[i].count[d]));
}

static void put_ranks(struct writer *w, const struct td_layout *l)
{
    for (uint32_t i = 0, end = 0; i < l->owners; i = end) {
        for (end = i + 1; end < l->owners && l->rank[end] == l->rank[end - 1] + 1;)
            end++;
        put(w, i ? ",%u" : " @%u", l->rank[i]);
        if (end - i > 1)
            put(w, "-%u", l->rank[end - 1]);
    }
}

int td_layout_print(const struct td_layout *l, char *text, size_t size)
{
    struct writer w = {text, size, 0};
    bool ordered = false;
    if (size)
        *text = '\0';
    if (l->box)
        put_boxes(&w, l);
    else
        put_axes(&w, l);
    for (uint32_t d = 0; d < l->dimensions; d++)
        ordered |= l->order[d] != d;
    for (uint32_t d = 0; ordered && d < l->dimensions; d++)
        put(&w, d ? ",%u" : " order %u", l->order[d]);
    put_ranks(&w, l);
    return (int)w.length;
}
