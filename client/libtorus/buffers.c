/* SPDX-License-Identifier: Apache-2.0 */
#include "buffers.h"

#include <stdlib.h>

#include "base/hash.h"
#include "overlap.h"

static const char *const ROOT_ALONE = "only the root may pass TORUS_IN_PLACE";
static const char *const OVERFLOWS = "the counts overflow: together more than 2^63 - 1 bytes";

static bool at_root(const struct tl_work *w)
{
    return w->what.group->rank == w->what.root;
}

static uint8_t *writable(const void *pointer)
{
    return (uint8_t *)(uintptr_t)pointer;
}

/* ---- the call ---- */

/* transport_kind returns the collective that moves the operands of a reduction by a user's operator
 * to the ranks that fold them. */
static enum td_kind transport_kind(enum td_kind kind)
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

/* make_derived sets the type of the call to the basic type of the elements; elements of several
 * types are bytes with a digest. *per: basic elements, or bytes, of one element. */
static const char *make_derived(struct tl_work *w, size_t *per)
{
    const struct tl_collective *what = &w->what;
    w->type = what->derived ? what->derived : tl_type_find(what->group->context, what->type, NULL);
    if (!w->type)
        return "the type is unknown, was freed, or belongs to another context";
    const struct tl_signature *s = &w->type->signature;
    bool reduces = td_call_reduces(what->kind);
    w->gaps = !tl_type_dense(w->type);
    w->element = w->type->bytes;
    w->call.type = s->basic ? s->basic : TD_TYPE_BYTE;
    *per = w->element / td_type_bytes(w->call.type);
    if (s->words > 0)
        w->call.digest = tl_signature_digest(s);
    return reduces && s->basic == TD_TYPE_NONE && !tl_op_find(what->group->context, what->op)
               ? "predefined operators need a type with a single basic type"
               : NULL;
}

/* make_folded makes the call that moves the operands of a user-defined operator, as bytes. */
static const char *make_folded(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    uint64_t types = w->call.digest;
    bool empty = w->type && w->element == 0;
    const char *wrong = empty ? NULL : tl_op_element(w->op, what->type, &w->element);
    if (wrong)
        return wrong;
    if (__builtin_mul_overflow(w->call.count, w->element, &w->call.count))
        return OVERFLOWS;
    w->call.kind = (uint8_t)transport_kind(what->kind);
    w->call.type = TD_TYPE_BYTE;
    w->call.op = w->call.mode = 0;
    w->call.digest = tl_op_digest(w->op, what->kind, types);
    return NULL;
}

static const char *make_call(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    const torus_group *g = what->group;
    bool has_counts = td_call_has_counts(what->kind);
    size_t per = 1;
    w->call = (struct td_call){.kind = (uint8_t)what->kind,
                               .type = tl_narrow(what->type),
                               .root = what->root,
                               .count = has_counts ? 0 : what->count};
    w->element = td_type_bytes(w->call.type);
    const char *wrong = what->type >= TL_TYPE_FIRST ? make_derived(w, &per) : NULL;
    if (!wrong && td_call_reduces(what->kind)) {
        w->call.op = tl_narrow(what->op);
        w->call.mode = g->mode;
        w->op = tl_op_find(g->context, what->op);
    }
    if (!wrong && w->op)
        wrong = make_folded(w);
    else if (!wrong && __builtin_mul_overflow(w->call.count, per, &w->call.count))
        wrong = OVERFLOWS;
    if (wrong)
        return wrong;
    if (w->op && what->kind == TD_KIND_REDUCE && what->root >= g->size)
        return "the root is not a rank of the group";
    return td_call_check(&w->call, g->size);
}

/* ---- pieces ---- */

static const char *reserve(struct tl_buffer *s, uint32_t pieces)
{
    s->piece = calloc(pieces ? pieces : 1, sizeof *s->piece);
    return s->piece ? NULL : "no memory for the counts";
}

/* cover extends the bytes that a buffer covers by `count` > 0 elements at `at`. */
static const char *cover(struct tl_work *w, struct tl_buffer *s, ptrdiff_t at, size_t count)
{
    ptrdiff_t begin = 0, end = 0;
    if (w->gaps &&
        (!tl_type_span(w->type, count, &begin, &end) || __builtin_add_overflow(at, begin, &begin)))
        return OVERFLOWS;
    if (!w->gaps && __builtin_mul_overflow(count, w->element, &end))
        return OVERFLOWS;
    if (__builtin_add_overflow(at, end, &end))
        return OVERFLOWS;
    bool first = w->gaps && s->begin == s->end;
    s->begin = first || begin < s->begin ? begin : s->begin;
    s->end = first || end > s->end ? end : s->end;
    return NULL;
}

/* step_of returns the distance of two elements in a buffer of the caller, in bytes. */
static size_t step_of(const struct tl_work *w)
{
    return w->gaps ? (size_t)tl_type_extent(w->type) : w->element;
}

/* add_piece appends a piece of `count` elements at element `at`. */
static const char *add_piece(struct tl_work *w, int which, uint32_t rank, size_t at, size_t count)
{
    struct tl_buffer *s = &w->buffer[which];
    size_t bytes = 0;
    ptrdiff_t begin = 0;
    if (__builtin_mul_overflow(count, w->element, &bytes) ||
        __builtin_mul_overflow(at, step_of(w), &begin) ||
        __builtin_add_overflow(s->bytes, bytes, &s->bytes) || s->bytes > INT64_MAX)
        return OVERFLOWS;
    if (bytes == 0)
        return NULL;
    s->piece[s->pieces++] = (struct tl_piece){rank, begin, bytes};
    return cover(w, s, begin, count);
}

/* add_each appends one piece for each rank, from its count and place. */
static const char *add_each(struct tl_work *w, int which, const struct tl_counts *c)
{
    uint32_t size = w->what.group->size;
    const char *wrong = c->count ? reserve(&w->buffer[which], size) : "the counts are NULL";
    size_t next = 0;
    for (uint32_t i = 0; !wrong && i < size; i++) {
        size_t at = c->at ? c->at[i] : next;
        next = at + c->count[i]; /* add_piece checks overflow */
        wrong = add_piece(w, which, i, at, c->count[i]);
    }
    return wrong;
}

static const char *add_one(struct tl_work *w, int which, uint32_t rank, size_t count)
{
    const char *wrong = reserve(&w->buffer[which], 1);
    return wrong ? wrong : add_piece(w, which, rank, 0, count);
}

/* find_inner applies TORUS_IN_PLACE: this rank's piece of buffer `outer` is the whole other buffer.
 */
static void find_inner(struct tl_work *w, int outer)
{
    const struct tl_buffer *s = &w->buffer[outer];
    w->inner_buffer = 1 - outer;
    for (uint32_t i = 0; i < s->pieces; i++) {
        if (s->piece[i].rank == w->what.group->rank) {
            w->inner = s->piece[i];
            return;
        }
        w->inner_in_copy += s->piece[i].bytes;
    }
}

/* ---- counts by rank ---- */

/* drop_unused_counts clears the counts that this rank does not use. */
static void drop_unused_counts(struct tl_work *w)
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
    int outer =
        what->kind == TD_KIND_GATHERV; /* the buffer with the parts of all ranks, at the root */
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

static const char *reduce_scatter_parts(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    const torus_group *g = what->group;
    const struct tl_counts packed = {.count = what->to.count};
    const char *wrong = add_each(w, 0, &packed);
    if (wrong)
        return wrong;
    size_t own = what->to.count[g->rank];
    if (what->source == TORUS_IN_PLACE) {
        w->buffer[0].pointer = what->destination;
        w->buffer[1].must_stage = true;
    }
    if (!w->op) {
        w->whole_buffer = 1;
        return add_one(w, 1, 0, own);
    }
    if ((wrong = reserve(&w->buffer[1], g->size)))
        return wrong;
    if (own > SIZE_MAX / g->size)
        return OVERFLOWS;
    for (uint32_t i = 0; !wrong && i < g->size; i++)
        wrong = add_piece(w, 1, i, i * own, own);
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
            w->buffer[0].pointer = what->destination;
            w->buffer[0].must_stage = true;
        }
        return add_each(w, 0, &what->from);
    }
    w->whole_buffer = 0;
    if (in_place)
        find_inner(w, 1);
    return add_one(w, 0, 0, in_place ? what->to.count[what->group->rank] : what->count);
}

/* ---- grids ---- */

static const char *check_grid(const struct torus_grid *grid, uint32_t size)
{
    uint64_t ranks = 1;
    if (!grid || grid->size != sizeof *grid)
        return "torus_grid.size must be sizeof(struct torus_grid)";
    if (grid->dimensions == 0 || grid->dimensions > TORUS_DIMENSIONS_MAX)
        return "torus_grid.dimensions must be 1 to 6";
    for (uint32_t d = 0; d < grid->dimensions; d++) {
        if (grid->extent[d] == 0 || grid->extent[d] > size)
            return "the product of the grid's extents must be the size of the group";
        ranks *= grid->extent[d]; /* no overflow: below 2^28, as both factors are at most 2^14 */
        if (ranks > size)
            break;
    }
    return ranks == size ? NULL : "the product of the grid's extents must be the size of the group";
}

/* neighbour finds the neighbour in direction `b` (2 x dimension, + 1 for up). It returns false if
 * the grid ends there. */
static bool neighbour(const struct torus_grid *grid, uint32_t rank, uint32_t b, uint32_t *found)
{
    uint32_t stride = 1, d = b / 2, extent = grid->extent[d];
    for (uint32_t i = d + 1; i < grid->dimensions; i++)
        stride *= grid->extent[i];
    uint32_t own = rank / stride % extent;
    if (!grid->periodic[d] && own == (b % 2 ? extent - 1 : 0))
        return false;
    uint32_t other = (own + (b % 2 ? 1 : extent - 1)) % extent;
    *found = rank - own * stride + other * stride;
    return true;
}

/* sort_last moves the last piece to its place in the order of ranks, after the pieces of the same
 * rank. It sets *shared if there is one. */
static void sort_last(struct tl_buffer *s, bool *shared)
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

/* grid_pieces appends the pieces of a buffer. If both neighbours of a dimension are the same rank,
 * that rank has two pieces. The piece sent down is first, and so is the piece received from above.
 */
static const char *grid_pieces(struct tl_work *w, int which, const struct tl_counts *c)
{
    const struct tl_collective *what = &w->what;
    const struct torus_grid *grid = what->grid;
    const bool uniform = what->uniform;
    const size_t *counts = c->count;
    uint32_t directions = 2 * grid->dimensions, rank = 0;
    size_t at[2 * TORUS_DIMENSIONS_MAX] = {0}, next = 0;
    const char *wrong =
        counts || uniform ? reserve(&w->buffer[which], directions) : "the counts are NULL";
    for (uint32_t b = 0; !wrong && b < directions; b++) {
        at[b] = uniform ? b * what->count : c->at ? c->at[b] : next;
        if (uniform && what->count > SIZE_MAX / directions)
            return OVERFLOWS;
        if (!uniform && neighbour(grid, what->group->rank, b, &rank))
            next = at[b] + counts[b];
    }
    for (uint32_t i = 0; !wrong && i < directions; i++) {
        uint32_t b = which == 0 ? i : i ^ 1, before = w->buffer[which].pieces;
        if (!neighbour(grid, what->group->rank, b, &rank))
            continue;
        wrong = add_piece(w, which, rank, at[b], uniform ? what->count : counts[b]);
        if (w->buffer[which].pieces > before)
            sort_last(&w->buffer[which], &w->buffer[which].must_stage);
    }
    return wrong;
}

static const char *grid_parts(struct tl_work *w)
{
    const struct torus_grid *grid = w->what.grid;
    const char *wrong = check_grid(grid, w->what.group->size);
    if (!wrong && w->what.source == TORUS_IN_PLACE)
        wrong = "neighbour exchanges do not support TORUS_IN_PLACE";
    if (!wrong)
        wrong = grid_pieces(w, 0, &w->what.from);
    if (!wrong)
        wrong = grid_pieces(w, 1, &w->what.to);
    if (wrong)
        return wrong;
    uint64_t h = td_hash_add(TD_HASH_START, grid->dimensions);
    for (uint32_t d = 0; d < grid->dimensions; d++)
        h = td_hash_add(td_hash_add(h, grid->extent[d]), grid->periodic[d] != 0);
    if (w->call.digest)
        h = td_hash_add(h, w->call.digest); /* of the types */
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
        return reduce_scatter_parts(w);
    case TD_KIND_NEIGHBOUR_ALLTOALLV:
        return grid_parts(w);
    default:
        return all_parts(w);
    }
}

/* ---- equal counts on all ranks ---- */

/* own_block returns the offset of this rank's block in a buffer of the caller that has the blocks
 * of all ranks; `bytes`: of data in a block. It does not overflow: cover_blocks. */
static ptrdiff_t own_block(const struct tl_work *w, size_t bytes)
{
    size_t block = w->gaps ? w->what.count * step_of(w) : bytes;
    return (ptrdiff_t)(w->what.group->rank * block);
}

/* inner_block applies TORUS_IN_PLACE: this rank's block of buffer `outer` is the whole other
 * buffer.
 */
static void inner_block(struct tl_work *w, int outer)
{
    size_t bytes = w->call.count * td_type_bytes(w->call.type);
    w->inner_buffer = 1 - outer;
    w->inner = (struct tl_piece){0, own_block(w, bytes), bytes};
    w->inner_in_copy = w->what.group->rank * bytes;
}

/* in_place applies TORUS_IN_PLACE given as the source. */
static const char *in_place(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    struct tl_buffer *from = &w->buffer[0], *to = &w->buffer[1];
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
        to->must_stage = true;
        return NULL;
    case TD_KIND_ALLTOALL:
        from->pointer = what->destination;
        from->must_stage = true;
        return NULL;
    case TD_KIND_PREFIX:
        if (w->op) {
            inner_block(w, 1);
            return NULL;
        }
        from->pointer = (uint8_t *)what->destination + own_block(w, from->bytes);
        from->must_stage = true; /* the block may be overwritten before every rank has read it */
        return NULL;
    case TD_KIND_GATHER:
    case TD_KIND_ALLGATHER:
        inner_block(w, 1);
        return NULL;
    default:
        return "this call does not accept TORUS_IN_PLACE as the source";
    }
}

/* cover_blocks sets the bytes that a buffer of blocks covers. */
static const char *cover_blocks(struct tl_work *w, struct tl_buffer *s)
{
    s->end = (ptrdiff_t)s->bytes;
    if (!w->gaps || !s->bytes)
        return NULL;
    s->end = 0;
    return cover(w, s, 0, s->bytes / w->element);
}

static const char *make_blocks(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    uint64_t bytes[2];
    td_call_bytes(&w->call, what->group->size, what->group->rank, &bytes[0], &bytes[1]);
    for (int i = 0; i < 2; i++) {
        w->buffer[i].bytes = bytes[i];
        const char *wrong = cover_blocks(w, &w->buffer[i]);
        if (wrong)
            return wrong;
    }
    if (what->kind == TD_KIND_BROADCAST) {
        w->same = true;
        return NULL;
    }
    if (what->destination == TORUS_IN_PLACE && what->kind == TD_KIND_SCATTER) {
        inner_block(w, 0);
        return at_root(w) ? NULL : ROOT_ALONE;
    }
    return what->source == TORUS_IN_PLACE ? in_place(w) : NULL;
}

/* ---- aliasing ---- */

/* equal_is_in_place makes a reduction whose source is its destination one in place. */
static void equal_is_in_place(struct tl_work *w)
{
    struct tl_collective *what = &w->what;
    bool alike = td_call_reduces(what->kind) && what->kind != TD_KIND_PREFIX &&
                 (what->kind != TD_KIND_REDUCE || at_root(w));
    if (alike && what->source == what->destination)
        what->source = TORUS_IN_PLACE;
}

/* check_overlap refuses other overlaps, whether or not this call would survive them. */
static const char *check_overlap(const struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    struct tl_buffer to = w->buffer[1];
    if (w->same || w->gaps || what->source == TORUS_IN_PLACE || what->destination == TORUS_IN_PLACE)
        return NULL;
    if (to.scratch) { /* the fold writes the destination */
        bool writes = what->kind != TD_KIND_REDUCE || at_root(w);
        to = (struct tl_buffer){.pointer = what->destination,
                                .bytes = writes ? w->fold.block : 0,
                                .end = (ptrdiff_t)w->fold.block};
    }
    return tl_overlap_check(&w->buffer[0], &to);
}

/* ---- folding ---- */

static const char *make_fold(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    const torus_group *g = what->group;
    struct tl_fold *f = &w->fold;
    size_t block = what->kind == TD_KIND_REDUCE_SCATTERV ? what->to.count[g->rank] * w->element
                                                         : w->call.count;
    *f = (struct tl_fold){.block = block,
                          .element = w->element,
                          .type = w->gaps ? w->type : NULL,
                          .first = w->type && !w->gaps ? w->type->first : 0,
                          .blocks = g->size,
                          .out = what->destination};
    if (what->kind == TD_KIND_SCAN)
        f->blocks = g->rank + 1;
    else if (what->kind == TD_KIND_EXSCAN)
        f->blocks = g->rank;
    else if (what->kind == TD_KIND_REDUCE && !at_root(w))
        f->blocks = 0;
    if (what->kind == TD_KIND_PREFIX) {
        f->out = NULL;
    } else {
        w->buffer[1].pointer = NULL;
        w->buffer[1].scratch = true;
    }
    if (block == 0 || f->blocks == 0)
        return NULL;
    f->op = w->op;
    return f->out || what->kind == TD_KIND_PREFIX ? NULL : "the destination is NULL";
}

/* skip_to_data moves the buffers of a type without gaps to its first byte. */
static void skip_to_data(struct tl_work *w)
{
    struct tl_collective *what = &w->what;
    if (!w->type || w->gaps)
        return;
    if (what->source && what->source != TORUS_IN_PLACE)
        what->source = (const uint8_t *)what->source + w->type->first;
    if (what->destination && what->destination != TORUS_IN_PLACE)
        what->destination = (uint8_t *)what->destination + w->type->first;
}

const char *tl_buffers_make(struct tl_work *w)
{
    struct tl_collective *what = &w->what;
    w->inner_buffer = w->whole_buffer = -1;
    bool scatters = what->kind == TD_KIND_SCATTER || what->kind == TD_KIND_SCATTERV;
    const char *wrong = make_call(w);
    if (!wrong && what->source == TORUS_IN_PLACE && scatters)
        wrong = "the root may pass TORUS_IN_PLACE as the destination, not as the source";
    if (!wrong && what->destination == TORUS_IN_PLACE && !scatters)
        wrong = "pass TORUS_IN_PLACE as the source, not as the destination";
    if (wrong)
        return wrong;
    equal_is_in_place(w);
    skip_to_data(w);
    /* rank 0 has no predecessor: its destination stays unchanged */
    bool rank0 = what->kind == TD_KIND_EXSCAN && what->group->rank == 0;
    struct tl_type *type = w->gaps ? w->type : NULL;
    w->buffer[0] = (struct tl_buffer){
        .pointer = writable(what->source), .type = type, .copy_in = true, .must_stage = w->gaps};
    w->buffer[1] = (struct tl_buffer){.pointer = what->destination,
                                      .type = type,
                                      .copy_out = !rank0,
                                      .must_stage = w->gaps || rank0};
    drop_unused_counts(w);
    wrong = td_call_has_counts(what->kind) ? make_parts(w) : make_blocks(w);
    w->buffer[1].copy_in = w->same && (what->kind != TD_KIND_BROADCAST || at_root(w));
    if (what->kind == TD_KIND_BROADCAST)
        w->buffer[1].copy_out = !at_root(w);
    if (!wrong && w->op)
        wrong = make_fold(w);
    return wrong ? wrong : check_overlap(w);
}

void tl_buffers_free(struct tl_work *w)
{
    for (int i = 0; i < 2; i++) {
        free(w->buffer[i].piece);
        w->buffer[i].piece = NULL;
    }
}
