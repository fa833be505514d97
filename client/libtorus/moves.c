/* SPDX-License-Identifier: Apache-2.0 */
#include "moves.h"

#include <stdlib.h>

#include "base/arena.h"
#include "compute/compute.h"

enum { SLACK_BYTES = 1024 }; /* an arena may give an allocation a few bytes more */

struct tl_move {
    struct td_arena *arena;
    struct td_layout layout[2];
    struct td_overlap overlap; /* if this rank has a part of the result */
    uint64_t element;          /* bytes */
    uint32_t owner;            /* of the result; UINT32_MAX: this rank has no part */
};

/* is_own returns true for this rank's part of the result. */
static bool is_own(const void *me, enum td_overlap_side side, uint32_t owner)
{
    return side == TD_OVERLAP_TO && owner == ((const struct tl_move *)me)->owner;
}

/* fill makes the layouts and the table in an arena. */
static bool fill(struct tl_move *m, struct td_arena *arena, const struct td_plan *plan)
{
    return td_layout_copy(&m->layout[0], arena, &plan->from) &&
           td_layout_copy(&m->layout[1], arena, &plan->to) &&
           (m->owner == UINT32_MAX || td_overlap_init(&m->overlap, arena, &m->layout[0],
                                                      &m->layout[1], m->element, NULL, is_own, m));
}

static void empty(struct tl_move *m, struct td_arena *arena)
{
    td_overlap_free(&m->overlap, arena);
    td_layout_free(&m->layout[0], arena);
    td_layout_free(&m->layout[1], arena);
    m->overlap = (struct td_overlap){0};
    m->layout[0] = m->layout[1] = (struct td_layout){0};
}

struct tl_move *tl_move_new(const struct td_plan *plan, struct td_arena *arena, uint32_t rank)
{
    struct tl_move *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->element = plan->element[0];
    m->owner = td_layout_owner(&plan->to, rank);
    size_t before = td_arena_used(arena);
    bool good = fill(m, arena, plan); /* it shows how much memory the move needs */
    size_t bytes = td_arena_used(arena) - before + SLACK_BYTES;
    empty(m, arena);
    m->arena = good ? td_arena_create(bytes) : NULL;
    if (m->arena && fill(m, m->arena, plan))
        return m;
    tl_move_free(m);
    return NULL;
}

void tl_move_free(struct tl_move *m)
{
    if (m)
        td_arena_destroy(m->arena);
    free(m);
}

bool tl_move_reads(const struct tl_move *m, uint32_t rank)
{
    uint32_t from = td_layout_owner(&m->layout[0], rank);
    return m->owner != UINT32_MAX && from != UINT32_MAX &&
           td_overlap_elements(&m->overlap, from, m->owner) > 0;
}

uint64_t tl_move_bytes(const struct tl_move *m, uint32_t rank)
{
    uint64_t count[TD_DIMENSIONS_MAX];
    uint32_t from = td_layout_owner(&m->layout[0], rank);
    return from == UINT32_MAX ? 0 : td_layout_local(&m->layout[0], from, count) * m->element;
}

/* slice_of names the elements of a pair of owners in the buffer of one of them. */
static struct td_slice slice_of(const struct tl_move *m, enum td_overlap_side side, uint32_t from)
{
    uint64_t elements = td_overlap_elements(&m->overlap, from, m->owner);
    struct td_slice s =
        td_slice_at(side == TD_OVERLAP_FROM ? TD_SPACE_SOURCE : TD_SPACE_DESTINATION, 0, 0,
                    (int64_t)(elements * m->element));
    s.overlap = &m->overlap;
    s.range.axis = TD_DIMENSIONS_MAX;
    s.pair[0] = from;
    s.pair[1] = m->owner;
    s.side = (uint8_t)side;
    return s;
}

void tl_move_copy(const struct tl_move *m, uint8_t *to, const uint8_t *const *from)
{
    uint32_t owners = m->layout[0].owners;
    for (uint32_t i = 1; m->owner != UINT32_MAX && i <= owners; i++) {
        uint32_t owner = (m->owner + i) % owners; /* not all ranks read the same memory */
        if (td_overlap_elements(&m->overlap, owner, m->owner) == 0)
            continue;
        uint8_t *source = (uint8_t *)(uintptr_t)from[m->layout[0].rank[owner]]; /* only read */
        const struct td_bases bases = {.source = &source, .destination = &to};
        struct td_step step = {.kind = TD_COPY, .to_lanes = {1, 0, 0}};
        step.from = slice_of(m, TD_OVERLAP_FROM, owner);
        step.to = slice_of(m, TD_OVERLAP_TO, owner);
        td_compute_copy(&step, &bases, 0, (uint64_t)step.to.run);
    }
}
