/* SPDX-License-Identifier: Apache-2.0 */
#include "overlap.h"

#include <stdlib.h>

#include "base/quantity.h"

/* struct range: addresses of one piece. */
struct range {
    uintptr_t begin, end;
    int which; /* 0: source, 1: destination */
};

static int by_address(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static uint32_t add_ranges(const struct tl_buffer *s, int which, struct range *range)
{
    uintptr_t start = (uintptr_t)s->pointer;
    if (!s->piece)
        *range = (struct range){start, start + s->bytes, which};
    for (uint32_t i = 0; s->piece && i < s->pieces; i++) {
        uintptr_t begin = start + (uintptr_t)s->piece[i].at;
        range[i] = (struct range){begin, begin + s->piece[i].bytes, which};
    }
    return s->piece ? s->pieces : 1;
}

/* crosses sorts the ranges and returns true if ranges of both buffers share a byte. */
static bool crosses(struct range *range, size_t count)
{
    uintptr_t end[2] = {0, 0}; /* of the ranges before, by buffer */
    qsort(range, count, sizeof *range, by_address);
    for (size_t i = 0; i < count; i++) {
        const struct range *r = &range[i];
        if (r->begin < end[1 - r->which])
            return true;
        end[r->which] = r->end > end[r->which] ? r->end : end[r->which];
    }
    return false;
}

static const char *memory_of(torus_context *c, const char *name, const struct tl_buffer *b)
{
    return tl_memory_check(c, name, b->pointer + b->begin, (size_t)(b->end - b->begin));
}

/* explain returns the sentence for buffers that overlap. A wrong count is a frequent reason. */
static const char *explain(torus_context *c, const struct tl_buffer *from,
                           const struct tl_buffer *to)
{
    char sizes[2][32];
    const char *wrong = memory_of(c, "source", from);
    if (!wrong)
        wrong = memory_of(c, "destination", to);
    return wrong
               ? wrong
               : tl_sentence("source and destination overlap (%s at %p, %s at %p): separate them, "
                             "correct the count, or pass TORUS_IN_PLACE",
                             td_quantity_print(from->bytes, sizes[0], sizeof sizes[0]),
                             (void *)from->pointer,
                             td_quantity_print(to->bytes, sizes[1], sizeof sizes[1]),
                             (void *)to->pointer);
}

const char *tl_overlap_check(torus_context *c, const struct tl_buffer *from,
                             const struct tl_buffer *to)
{
    uintptr_t p = (uintptr_t)from->pointer, q = (uintptr_t)to->pointer;
    if (!from->bytes || !to->bytes || p + (uintptr_t)from->begin >= q + (uintptr_t)to->end ||
        q + (uintptr_t)to->begin >= p + (uintptr_t)from->end)
        return NULL;
    if (!from->piece && !to->piece)
        return explain(c, from, to);
    struct range *range = calloc((size_t)from->pieces + to->pieces + 2, sizeof *range);
    if (!range)
        return "no memory for the counts";
    uint32_t count = add_ranges(from, 0, range);
    count += add_ranges(to, 1, range + count);
    bool cross = crosses(range, count);
    free(range);
    return cross ? explain(c, from, to) : NULL;
}
