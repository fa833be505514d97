/* SPDX-License-Identifier: Apache-2.0 */
/* What a collective reads and writes: from the caller's words (in place, counts by rank, a grid, an
 * operator of its own) to the two sides that the daemon knows, each a buffer of pieces. */
#include <stdlib.h>

#include "internal.h"

static const char *const ROOT_ALONE = "TORUS_IN_PLACE is for the root alone";
static const char *const OVERFLOWS = "the counts overflow 63 bits of bytes";

static bool at_root(const struct tl_work *w)
{
    return w->what.group->rank == w->what.root;
}

static uint8_t *writable(const void *pointer)
{
    return (uint8_t *)(uintptr_t)pointer;
}

/* ---- the call ---- */

static uint8_t narrow(int value)
{
    return value < 0 || value > UINT8_MAX ? UINT8_MAX : (uint8_t)value; /* refused later */
}

/* moved_as returns which call brings the values of a reduction to where the library folds them. */
static enum td_kind moved_as(enum td_kind kind)
{
    switch ((int)kind) {
    case TD_KIND_REDUCE:
        return TD_KIND_GATHER;
    case TD_KIND_REDUCE_SCATTER:
        return TD_KIND_ALLTOALL;
    case TD_KIND_REDUCE_SCATTERV:
        return TD_KIND_ALLTOALLV;
    default:
        return TD_KIND_ALLGATHER;
    }
}

static const char *make_call(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    const torus_group *g = what->group;
    bool parts = td_call_has_parts(what->kind);
    w->call = (struct td_call){.kind = (uint8_t)what->kind,
                               .type = narrow(what->type),
                               .root = what->root,
                               .count = parts ? 0 : what->count};
    if (td_call_reduces(what->kind)) {
        w->call.op = narrow(what->op);
        w->call.mode = g->mode;
        w->op = tl_op_find(g->context, what->op);
    }
    w->element = td_type_bytes(w->call.type);
    if (w->op) {
        if (what->type != TORUS_OPAQUE && w->element != w->op->bytes)
            return "elements of this type are not of the size that the operator has";
        w->element = w->op->bytes;
        if (__builtin_mul_overflow(w->call.count, w->element, &w->call.count))
            return OVERFLOWS;
        w->call.kind = (uint8_t)moved_as(what->kind);
        w->call.type = TD_TYPE_BYTE;
        w->call.op = w->call.mode = 0;
        w->call.digest = tl_op_digest(w->op, what->kind);
    }
    if (w->op && what->kind == TD_KIND_REDUCE && what->root >= g->size)
        return "the root is not a rank of the group";
    return td_call_check(&w->call, g->size);
}

/* ---- pieces ---- */

static const char *reserve(struct tl_side *s, uint32_t pieces)
{
    s->piece = calloc(pieces ? pieces : 1, sizeof *s->piece);
    return s->piece ? NULL : "there is no memory for the counts";
}

/* add appends a piece of `count` elements at `at`. */
static const char *add(struct tl_work *w, int which, uint32_t rank, size_t at, size_t count)
{
    struct tl_side *s = &w->side[which];
    size_t bytes = 0, begin = 0, end = 0;
    if (__builtin_mul_overflow(count, w->element, &bytes) ||
        __builtin_mul_overflow(at, w->element, &begin) ||
        __builtin_add_overflow(begin, bytes, &end) ||
        __builtin_add_overflow(s->bytes, bytes, &s->bytes) || end > INT64_MAX ||
        s->bytes > INT64_MAX)
        return OVERFLOWS;
    if (count == 0)
        return NULL;
    s->piece[s->pieces++] = (struct tl_piece){rank, begin, bytes};
    s->extent = end > s->extent ? end : s->extent;
    return NULL;
}

/* add_each makes the pieces of counts by rank. */
static const char *add_each(struct tl_work *w, int which, const struct tl_counts *c)
{
    uint32_t size = w->what.group->size;
    const char *wrong = c->count ? reserve(&w->side[which], size) : "the counts are NULL";
    size_t next = 0;
    for (uint32_t i = 0; !wrong && i < size; i++) {
        size_t at = c->at ? c->at[i] : next;
        next = at + c->count[i]; /* add looks at overflows */
        wrong = add(w, which, i, at, c->count[i]);
    }
    return wrong;
}

static const char *add_one(struct tl_work *w, int which, uint32_t rank, size_t count)
{
    const char *wrong = reserve(&w->side[which], 1);
    return wrong ? wrong : add(w, which, rank, 0, count);
}

/* find_inner: in place, this rank's piece of side `outer` is all of the other side. */
static void find_inner(struct tl_work *w, int outer)
{
    const struct tl_side *s = &w->side[outer];
    w->within = 1 - outer;
    for (uint32_t i = 0; i < s->pieces; i++) {
        if (s->piece[i].rank == w->what.group->rank) {
            w->inner = s->piece[i];
            return;
        }
        w->inner_staged += s->piece[i].bytes;
    }
}

/* ---- counts by rank ---- */

/* significant drops the counts that mean nothing at this rank. */
static void significant(struct tl_work *w)
{
    struct tl_collective *what = &w->what;
    const struct tl_counts none = {0};
    if (td_call_rooted(what->kind) && !at_root(w))
        what->from = what->to = none;
    if (what->kind == TD_KIND_ALLTOALLV && what->source == TORUS_IN_PLACE)
        what->from = what->to;
}

static const char *rooted_parts(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    int outer = what->kind == TD_KIND_GATHERV; /* the side that has all ranks' parts, at the root */
    const struct tl_counts *all = outer ? &what->to : &what->from;
    bool in_place = (outer ? what->source : what->destination) == TORUS_IN_PLACE;
    const char *wrong = NULL;
    if (in_place && !at_root(w))
        return ROOT_ALONE;
    if (at_root(w) && (wrong = add_each(w, outer, all)))
        return wrong;
    if (in_place)
        find_inner(w, outer);
    return add_one(w, 1 - outer, what->root, in_place ? all->count[what->root] : what->count);
}

static const char *reduce_parts(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    const torus_group *g = what->group;
    const struct tl_counts packed = {.count = what->to.count};
    const char *wrong = add_each(w, 0, &packed);
    if (wrong)
        return wrong;
    size_t own = what->to.count[g->rank];
    if (what->source == TORUS_IN_PLACE) {
        w->side[0].pointer = what->destination;
        w->side[1].stage = true;
    }
    if (!w->op) {
        w->whole = 1;
        return add_one(w, 1, 0, own);
    }
    if ((wrong = reserve(&w->side[1], g->size)))
        return wrong;
    if (own > SIZE_MAX / g->size)
        return OVERFLOWS;
    for (uint32_t i = 0; !wrong && i < g->size; i++)
        wrong = add(w, 1, i, i * own, own);
    return wrong;
}

static const char *all_parts(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    bool in_place = what->source == TORUS_IN_PLACE;
    const char *wrong = add_each(w, 1, &what->to);
    if (wrong)
        return wrong;
    if (what->kind == TD_KIND_ALLTOALLV) {
        if (in_place) {
            w->side[0].pointer = what->destination;
            w->side[0].stage = true;
        }
        return add_each(w, 0, &what->from);
    }
    w->whole = 0;
    if (in_place)
        find_inner(w, 1);
    return add_one(w, 0, 0, in_place ? what->to.count[what->group->rank] : what->count);
}

/* ---- grids ---- */

static const char *check_grid(const struct torus_grid *grid, uint32_t size)
{
    uint64_t ranks = 1;
    if (!grid || grid->size != sizeof *grid)
        return "torus_grid.size must be sizeof the structure";
    if (grid->dimensions == 0 || grid->dimensions > TORUS_DIMENSIONS_MAX)
        return "a grid has 1 to 6 dimensions";
    for (uint32_t d = 0; d < grid->dimensions; d++) {
        if (grid->extent[d] == 0 || grid->extent[d] > size)
            return "the grid has another number of ranks than the group";
        ranks *= grid->extent[d]; /* at most size ^ 6, and size is at most 2 ^ 14 */
        if (ranks > size)
            break;
    }
    return ranks == size ? NULL : "the grid has another number of ranks than the group";
}

/* neighbour finds who is on side `b` (2 x dimension, + 1 for up); false: nobody. */
static bool neighbour(const struct torus_grid *grid, uint32_t rank, uint32_t b, uint32_t *who)
{
    uint32_t stride = 1, d = b / 2, extent = grid->extent[d];
    for (uint32_t i = d + 1; i < grid->dimensions; i++)
        stride *= grid->extent[i];
    uint32_t own = rank / stride % extent;
    if (!grid->periodic[d] && own == (b % 2 ? extent - 1 : 0))
        return false;
    uint32_t other = (own + (b % 2 ? 1 : extent - 1)) % extent;
    *who = rank - own * stride + other * stride;
    return true;
}

/* by_rank sorts the last piece in; after those of the same rank. *shared when there are some. */
static void by_rank(struct tl_side *s, bool *shared)
{
    for (uint32_t i = s->pieces - 1; i > 0 && s->piece[i - 1].rank >= s->piece[i].rank; i--) {
        if (s->piece[i - 1].rank == s->piece[i].rank) {
            *shared = true;
            break;
        }
        struct tl_piece swapped = s->piece[i];
        s->piece[i] = s->piece[i - 1];
        s->piece[i - 1] = swapped;
    }
}

/* grid_side makes the pieces of a side. When both neighbours of a dimension are the same rank there
 * are two pieces for it: what goes down first, which is what comes from above. */
static const char *grid_side(struct tl_work *w, int which, const struct tl_counts *c)
{
    const struct tl_collective *what = &w->what;
    const struct torus_grid *grid = what->grid;
    uint32_t sides = 2 * grid->dimensions, who = 0;
    size_t at[2 * TORUS_DIMENSIONS_MAX], next = 0;
    const char *wrong =
        c->count || what->uniform ? reserve(&w->side[which], sides) : "the counts are NULL";
    for (uint32_t b = 0; !wrong && b < sides; b++) {
        at[b] = what->uniform ? b * what->count : c->at ? c->at[b] : next;
        if (what->uniform && what->count > SIZE_MAX / sides)
            return OVERFLOWS;
        if (!what->uniform && neighbour(grid, what->group->rank, b, &who))
            next = at[b] + c->count[b];
    }
    for (uint32_t i = 0; !wrong && i < sides; i++) {
        uint32_t b = which == 0 ? i : i ^ 1, before = w->side[which].pieces;
        if (!neighbour(grid, what->group->rank, b, &who))
            continue;
        wrong = add(w, which, who, at[b], what->uniform ? what->count : c->count[b]);
        if (w->side[which].pieces > before)
            by_rank(&w->side[which], &w->side[which].stage);
    }
    return wrong;
}

static const char *grid_parts(struct tl_work *w)
{
    const struct torus_grid *grid = w->what.grid;
    const char *wrong = check_grid(grid, w->what.group->size);
    if (!wrong && w->what.source == TORUS_IN_PLACE)
        wrong = "there is no exchange with neighbours in place";
    if (!wrong)
        wrong = grid_side(w, 0, &w->what.from);
    if (!wrong)
        wrong = grid_side(w, 1, &w->what.to);
    if (wrong)
        return wrong;
    uint64_t h = tl_hash(TL_HASH_START, grid->dimensions);
    for (uint32_t d = 0; d < grid->dimensions; d++)
        h = tl_hash(tl_hash(h, grid->extent[d]), grid->periodic[d] != 0);
    w->call.digest = td_call_digest(TD_KIND_NEIGHBOUR_ALLTOALLV, h);
    return NULL;
}

static const char *make_parts(struct tl_work *w)
{
    switch ((int)w->what.kind) {
    case TD_KIND_GATHERV:
    case TD_KIND_SCATTERV:
        return rooted_parts(w);
    case TD_KIND_REDUCE_SCATTERV:
        return reduce_parts(w);
    case TD_KIND_NEIGHBOUR_ALLTOALLV:
        return grid_parts(w);
    default:
        return all_parts(w);
    }
}

/* ---- the same count everywhere ---- */

/* inner_block: in place, this rank's block of side `outer` is all of the other side. */
static void inner_block(struct tl_work *w, int outer)
{
    size_t bytes = w->call.count * td_type_bytes(w->call.type);
    w->within = 1 - outer;
    w->inner = (struct tl_piece){0, w->what.group->rank * bytes, bytes};
    w->inner_staged = w->inner.at;
}

/* in_place applies TORUS_IN_PLACE as the source. */
static const char *in_place(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    struct tl_side *from = &w->side[0], *to = &w->side[1];
    if ((what->kind == TD_KIND_REDUCE || what->kind == TD_KIND_GATHER) && !at_root(w))
        return ROOT_ALONE;
    switch ((int)what->kind) {
    case TD_KIND_REDUCE:
    case TD_KIND_ALLREDUCE:
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
        from->pointer = what->destination;
        w->same = !w->op;
        return NULL;
    case TD_KIND_REDUCE_SCATTER:
        from->pointer = what->destination;
        to->stage = true;
        return NULL;
    case TD_KIND_ALLTOALL:
        from->pointer = what->destination;
        from->stage = true;
        return NULL;
    case TD_KIND_PREFIX:
        if (w->op) {
            inner_block(w, 1);
            return NULL;
        }
        from->pointer = (uint8_t *)what->destination + what->group->rank * from->bytes;
        from->stage = true; /* the block may be written before all have read it */
        return NULL;
    case TD_KIND_GATHER:
    case TD_KIND_ALLGATHER:
        inner_block(w, 1);
        return NULL;
    default:
        return "the source cannot be in place";
    }
}

static bool overlap(const struct tl_side *a, const struct tl_side *b)
{
    uintptr_t p = (uintptr_t)a->pointer, q = (uintptr_t)b->pointer;
    return a->bytes && b->bytes && p < q + b->bytes && q < p + a->bytes;
}

static const char *make_blocks(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    uint64_t bytes[2];
    td_call_bytes(&w->call, what->group->size, what->group->rank, &bytes[0], &bytes[1]);
    for (int i = 0; i < 2; i++)
        w->side[i].bytes = w->side[i].extent = bytes[i];
    if (what->kind == TD_KIND_BROADCAST) {
        w->same = true;
        return NULL;
    }
    if (what->destination == TORUS_IN_PLACE && what->kind == TD_KIND_SCATTER) {
        inner_block(w, 0);
        return at_root(w) ? NULL : ROOT_ALONE;
    }
    if (what->source == TORUS_IN_PLACE)
        return in_place(w);
    bool alike = what->kind == TD_KIND_ALLREDUCE || what->kind == TD_KIND_REDUCE ||
                 what->kind == TD_KIND_SCAN || what->kind == TD_KIND_EXSCAN;
    if (w->op && what->kind != TD_KIND_PREFIX)
        return NULL; /* the results are copied out when nothing is read any more */
    if (alike && what->source == what->destination && bytes[1])
        w->same = true;
    else if (overlap(&w->side[0], &w->side[1]))
        return "source and destination overlap: TORUS_IN_PLACE says that they are the same";
    return NULL;
}

/* ---- folding ---- */

static const char *make_fold(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    const torus_group *g = what->group;
    struct tl_fold *f = &w->fold;
    size_t block = what->kind == TD_KIND_REDUCE_SCATTERV ? what->to.count[g->rank] * w->element
                                                         : w->call.count;
    *f = (struct tl_fold){.block = block, .blocks = g->size, .out = what->destination};
    if (what->kind == TD_KIND_SCAN)
        f->blocks = g->rank + 1;
    else if (what->kind == TD_KIND_EXSCAN)
        f->blocks = g->rank;
    else if (what->kind == TD_KIND_REDUCE && !at_root(w))
        f->blocks = 0;
    if (what->kind == TD_KIND_PREFIX) {
        f->out = NULL;
    } else {
        w->side[1].pointer = NULL;
        w->side[1].scratch = true;
    }
    if (block == 0 || f->blocks == 0)
        return NULL;
    f->op = w->op;
    return f->out || what->kind == TD_KIND_PREFIX ? NULL : "the destination is NULL";
}

const char *tl_sides(struct tl_work *w)
{
    struct tl_collective *what = &w->what;
    w->within = w->whole = -1;
    bool scatters = what->kind == TD_KIND_SCATTER || what->kind == TD_KIND_SCATTERV;
    const char *wrong = make_call(w);
    if (!wrong && what->source == TORUS_IN_PLACE && scatters)
        wrong = "the root's source cannot be in place; its destination can";
    if (!wrong && what->destination == TORUS_IN_PLACE && !scatters)
        wrong = "the destination cannot be TORUS_IN_PLACE; the source can";
    if (wrong)
        return wrong;
    /* nothing comes before rank 0: its destination is to stay as it is */
    bool rank0 = what->kind == TD_KIND_EXSCAN && what->group->rank == 0;
    w->side[0] = (struct tl_side){.pointer = writable(what->source), .in = true};
    w->side[1] = (struct tl_side){.pointer = what->destination, .out = !rank0, .stage = rank0};
    significant(w);
    wrong = td_call_has_parts(what->kind) ? make_parts(w) : make_blocks(w);
    w->side[1].in = w->same && (what->kind != TD_KIND_BROADCAST || at_root(w));
    if (what->kind == TD_KIND_BROADCAST)
        w->side[1].out = !at_root(w);
    return wrong || !w->op ? wrong : make_fold(w);
}

void tl_sides_free(struct tl_work *w)
{
    for (int i = 0; i < 2; i++) {
        free(w->side[i].piece);
        w->side[i].piece = NULL;
    }
}
