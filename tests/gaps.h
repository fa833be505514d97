/* SPDX-License-Identifier: Apache-2.0 */
/* gaps: random forms, with the position of each byte of data as a second description: it is drawn
 * together with the loops, and not computed from them. */
#ifndef TD_TESTS_GAPS_H
#define TD_TESTS_GAPS_H

#include <stdlib.h>
#include <string.h>

#include "model/form.h"
#include "random.h"

enum { GAPS_BYTES_MAX = 2048 };

struct gaps {
    struct td_form *form;       /* in the same allocation */
    int64_t at[GAPS_BYTES_MAX]; /* of each byte of an element's data */
    int64_t unit;               /* bytes of which all runs and gaps are multiples */
    uint64_t *random;
};

static inline int64_t gaps_gap(struct gaps *g)
{
    return random_below(g->random, 3) ? (int64_t)random_below(g->random, 4) * g->unit : 0;
}

/* Loops nest at most TD_FORM_LEVELS_MAX deep. NOLINTBEGIN(misc-no-recursion) */

/* gaps_shift moves a list of loops, and their bytes. */
static inline void gaps_shift(struct gaps *g, uint32_t first, uint32_t end, int64_t *at, int64_t n,
                              int64_t by)
{
    for (uint32_t i = first; i < end; i += 1 + g->form->loop[i].inner)
        g->form->loop[i].at += by;
    for (int64_t i = 0; i < n * g->unit; i++)
        at[i] += by;
}

static inline int64_t gaps_list(struct gaps *g, int64_t n, uint32_t level, int64_t *at);

/* gaps_repeat adds a loop of `count` turns with n / count units each, in rising or falling order.
 */
static inline int64_t gaps_repeat(struct gaps *g, int64_t n, int64_t count, uint32_t level,
                                  int64_t *at)
{
    struct td_form_loop *loop = g->form->loop;
    uint32_t outer = g->form->loops++;
    int64_t bytes = n / count * g->unit, size = gaps_list(g, n / count, level + 1, at);
    int64_t stride = size + gaps_gap(g), last = (count - 1) * stride, first = 0;
    if (random_below(g->random, 4) == 0) {
        first = last;
        stride = -stride;
    }
    loop[outer] = (struct td_form_loop){.at = first,
                                        .stride = stride,
                                        .count = (uint64_t)count,
                                        .bytes = (uint64_t)bytes,
                                        .inner = g->form->loops - outer - 1};
    const struct td_form_loop *in = &loop[outer + 1];
    if (loop[outer].inner == 1 && in->inner == 0 && in->count == 1 && in->at == 0) {
        loop[outer].inner = 0; /* a loop over runs */
        g->form->loops--;
    }
    for (int64_t i = count; i-- > 0;)
        for (int64_t k = 0; k < bytes; k++)
            at[i * bytes + k] = at[k] + first + i * stride;
    return size + last;
}

/* gaps_list adds loops with n units of data, and returns the bytes that they span, from 0. */
static inline int64_t gaps_list(struct gaps *g, int64_t n, uint32_t level, int64_t *at)
{
    struct td_form *f = g->form;
    int64_t count = 2 + (int64_t)random_below(g->random, 5);
    bool room = f->loops + 16 < TD_FORM_LOOPS_MAX && level < TD_FORM_LEVELS_MAX;
    unsigned how = n > 1 && room ? (unsigned)random_below(g->random, 5) : 0;
    if (how >= 3 && n % count == 0 && (level + 1 < TD_FORM_LEVELS_MAX))
        return gaps_repeat(g, n, count, level, at);
    if (how >= 1) { /* two lists, in any order */
        int64_t a = 1 + (int64_t)random_below(g->random, (uint64_t)n - 1);
        uint32_t first = f->loops;
        int64_t size = gaps_list(g, a, level, at);
        uint32_t second = f->loops;
        int64_t more = gaps_list(g, n - a, level, at + a * g->unit), gap = gaps_gap(g);
        if (random_below(g->random, 2))
            gaps_shift(g, second, f->loops, at + a * g->unit, n - a, size + gap);
        else
            gaps_shift(g, first, second, at, a, more + gap);
        return size + gap + more;
    }
    f->loop[f->loops++] = (struct td_form_loop){.count = 1, .bytes = (uint64_t)(n * g->unit)};
    for (int64_t i = 0; i < n * g->unit; i++)
        at[i] = i;
    return n * g->unit;
}

/* NOLINTEND(misc-no-recursion) */

/* gaps_draw returns a form with `units` units of data in an element; its bytes do not overlap. The
 * caller frees it. */
static inline struct gaps *gaps_draw(uint64_t *random, int64_t units, int64_t unit)
{
    struct gaps *g = calloc(1, sizeof *g + td_form_size(TD_FORM_LOOPS_MAX));
    if (!g || units * unit > GAPS_BYTES_MAX)
        abort();
    g->form = (void *)(g + 1);
    g->random = random;
    g->unit = unit;
    int64_t size = gaps_list(g, units, 0, g->at);
    g->form->bytes = (uint64_t)(units * unit);
    g->form->extent = (uint64_t)(size + gaps_gap(g));
    return g;
}

/* gaps_at returns the position of a byte of the packed data. */
static inline int64_t gaps_at(const struct gaps *g, uint64_t byte)
{
    return (int64_t)(byte / g->form->bytes * g->form->extent) + g->at[byte % g->form->bytes];
}

/* gaps_end returns the end of the elements that `bytes` bytes of packed data begin in. */
static inline int64_t gaps_end(const struct gaps *g, uint64_t bytes)
{
    int64_t end = 0;
    for (uint64_t i = 0; i < g->form->bytes; i++)
        end = g->at[i] >= end ? g->at[i] + 1 : end;
    return end + (int64_t)((bytes - 1) / g->form->bytes * g->form->extent);
}

#endif
