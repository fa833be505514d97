/* SPDX-License-Identifier: Apache-2.0 */
#include "buffers.h"

#include <stdlib.h>

#include "form.h"
#include "overlap.h"
#include "parts.h"

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

/* find_types finds the type of the call, and those of both buffers. */
static const char *find_types(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    struct tl_type *t =
        what->derived ? what->derived : tl_type_find(what->group->context, what->type, NULL);
    if (!t)
        return "the type is unknown, was freed, or belongs to another context";
    if (t->pair[0] && (td_call_reduces(what->kind) || what->kind == TD_KIND_BROADCAST))
        return TL_PAIR;
    w->given = t;
    for (int i = 0; i < 2; i++) {
        w->type[i] = t->pair[i] ? t->pair[i] : t;
        w->gaps[i] = !tl_type_dense(w->type[i]);
        w->element[i] = w->type[i]->bytes;
    }
    return NULL;
}

/* make_derived sets the type of the call to the basic type of the elements; elements of several
 * types are bytes with a digest. *per: basic elements, or bytes, of one element of the source. */
static const char *make_derived(struct tl_work *w, size_t *per)
{
    const struct tl_collective *what = &w->what;
    const char *wrong = find_types(w);
    if (wrong)
        return wrong;
    const struct tl_signature *s = &w->type[w->element[0] == 0]->signature;
    bool reduces = td_call_reduces(what->kind);
    w->call.type = s->basic ? s->basic : TD_TYPE_BYTE;
    *per = w->element[0] / td_type_bytes(w->call.type);
    if (s->words > 0)
        w->call.digest = tl_signature_digest(s);
    return reduces && s->basic == TD_TYPE_NONE && !tl_op_find(what->group->context, what->op)
               ? tl_op_explain(what->op, what->type,
                               "predefined operators need a type with a single basic type")
               : NULL;
}

/* make_folded makes the call that moves the operands of a user-defined operator, as bytes. */
static const char *make_folded(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    uint64_t types = w->call.digest;
    bool empty = w->given && w->element[0] == 0;
    const char *wrong = empty ? NULL : tl_op_element(w->op, what->type, &w->element[0]);
    w->element[1] = w->element[0];
    if (wrong)
        return wrong;
    if (__builtin_mul_overflow(w->call.count, w->element[0], &w->call.count))
        return TL_OVERFLOWS;
    w->call.kind = (uint8_t)transport_kind(what->kind);
    w->call.type = TD_TYPE_BYTE;
    w->call.op = w->call.mode = 0;
    w->call.digest = tl_op_digest(w->op, what->kind, types);
    return NULL;
}

/* explain returns a better sentence, where it is known, for a call that td_call_check refuses. */
static const char *explain(const struct tl_collective *what, const char *wrong)
{
    return td_call_reduces(what->kind) ? tl_op_explain(what->op, what->type, wrong) : wrong;
}

static const char *make_call(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    const torus_group *g = what->group;
    bool has_counts = td_call_has_counts(what->kind);
    size_t per = 1;
    w->call = (struct td_call){.kind = (uint8_t)what->kind,
                               .type = what->typed ? TD_TYPE_BYTE : tl_narrow(what->type),
                               .root = what->root,
                               .count = has_counts ? 0 : what->count};
    w->element[0] = w->element[1] = td_type_bytes(w->call.type);
    const char *wrong = what->type >= TL_TYPE_FIRST ? make_derived(w, &per) : NULL;
    if (!wrong && td_call_reduces(what->kind)) {
        w->call.op = tl_narrow(what->op);
        w->call.mode = g->mode;
        w->op = tl_op_find(g->context, what->op);
    }
    if (!wrong && w->op)
        wrong = make_folded(w);
    else if (!wrong && __builtin_mul_overflow(w->call.count, per, &w->call.count))
        wrong = TL_OVERFLOWS;
    if (wrong)
        return wrong;
    if (what->root >= g->size) /* 0 for calls without a root */
        return tl_sentence("root %u is not a rank: they are 0 to %u", what->root, g->size - 1);
    wrong = td_call_check(&w->call, g->size);
    return wrong && !w->op ? explain(what, wrong) : wrong;
}

/* ---- equal counts on all ranks ---- */

/* own_block returns the offset of this rank's block in a buffer of the caller that has the blocks
 * of all ranks; `bytes`: of data in a block. It does not overflow: cover_blocks. */
static ptrdiff_t own_block(const struct tl_work *w, int which, size_t bytes)
{
    size_t count = w->element[which] ? bytes / w->element[which] : 0;
    return (ptrdiff_t)(w->what.group->rank * count * tl_pieces_step(w, which));
}

/* inner_block applies TORUS_IN_PLACE: this rank's block of buffer `outer` is the whole other
 * buffer.
 */
static void inner_block(struct tl_work *w, int outer)
{
    size_t bytes = w->call.count * td_type_bytes(w->call.type);
    w->inner_buffer = 1 - outer;
    w->inner = (struct tl_piece){.at = own_block(w, outer, bytes), .bytes = bytes};
    w->inner_in_copy = w->what.group->rank * bytes;
}

/* in_place applies TORUS_IN_PLACE given as the source. */
static const char *in_place(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    struct tl_buffer *from = &w->buffer[0], *to = &w->buffer[1];
    if ((what->kind == TD_KIND_REDUCE || what->kind == TD_KIND_GATHER) && !tl_at_root(w))
        return TL_ROOT_ALONE;
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
        from->pointer = (uint8_t *)what->destination + own_block(w, 1, from->bytes);
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
static const char *cover_blocks(struct tl_work *w, int which)
{
    struct tl_buffer *s = &w->buffer[which];
    size_t count = 0;
    s->end = (ptrdiff_t)s->bytes;
    const char *wrong =
        s->bytes ? tl_pieces_whole(w, which, w->call.count * td_type_bytes(w->call.type), &count)
                 : NULL;
    if (wrong || !w->gaps[which] || !s->bytes)
        return wrong;
    s->end = 0;
    return tl_pieces_cover(w, which, 0, s->bytes / w->element[which]);
}

static const char *make_blocks(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    uint64_t bytes[2];
    td_call_bytes(&w->call, what->group->size, what->group->rank, &bytes[0], &bytes[1]);
    for (int i = 0; i < 2; i++) {
        w->buffer[i].bytes = bytes[i];
        const char *wrong = cover_blocks(w, i);
        if (wrong)
            return wrong;
    }
    if (what->kind == TD_KIND_BROADCAST) {
        w->same = true;
        return NULL;
    }
    if (what->destination == TORUS_IN_PLACE && what->kind == TD_KIND_SCATTER) {
        inner_block(w, 0);
        return tl_at_root(w) ? NULL : TL_ROOT_ALONE;
    }
    return what->source == TORUS_IN_PLACE ? in_place(w) : NULL;
}

/* ---- aliasing ---- */

/* equal_is_in_place makes a reduction whose source is its destination one in place. */
static void equal_is_in_place(struct tl_work *w)
{
    struct tl_collective *what = &w->what;
    bool alike = td_call_reduces(what->kind) && what->kind != TD_KIND_PREFIX &&
                 (what->kind != TD_KIND_REDUCE || tl_at_root(w));
    if (alike && what->source == what->destination)
        what->source = TORUS_IN_PLACE;
}

/* check_overlap refuses other overlaps, whether or not this call would survive them. */
static const char *check_overlap(const struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    struct tl_buffer to = w->buffer[1];
    if (w->same || w->gaps[0] || w->gaps[1] || w->gaps_in_parts || what->source == TORUS_IN_PLACE ||
        what->destination == TORUS_IN_PLACE)
        return NULL;
    if (to.scratch) { /* the fold writes the destination */
        bool writes = what->kind != TD_KIND_REDUCE || tl_at_root(w);
        to = (struct tl_buffer){.pointer = what->destination,
                                .bytes = writes ? w->fold.block : 0,
                                .end = (ptrdiff_t)w->fold.block};
    }
    return tl_overlap_check(what->group->context, &w->buffer[0], &to);
}

/* pack_interleaved packs the source if its elements lie between those of the destination: the
 * daemon writes the destination before it has read all of the source, and some bytes may be in
 * both. */
static void pack_interleaved(struct tl_work *w)
{
    struct tl_buffer *from = &w->buffer[0];
    const struct tl_buffer *to = &w->buffer[1];
    if ((!from->form && !to->form) || w->same || w->inner_buffer >= 0 || !from->bytes || !to->bytes)
        return;
    uintptr_t p = (uintptr_t)from->pointer, q = (uintptr_t)to->pointer;
    if (p + (uintptr_t)from->begin < q + (uintptr_t)to->end &&
        q + (uintptr_t)to->begin < p + (uintptr_t)from->end)
        from->must_stage = true;
}

/* ---- folding ---- */

static const char *make_fold(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    const torus_group *g = what->group;
    struct tl_fold *f = &w->fold;
    size_t block = what->kind == TD_KIND_REDUCE_SCATTERV ? what->to.count[g->rank] * w->element[1]
                                                         : w->call.count;
    *f = (struct tl_fold){.block = block,
                          .element = w->element[1],
                          .type = w->gaps[1] ? w->type[1] : NULL,
                          .first = w->type[1] && !w->gaps[1] ? w->type[1]->first : 0,
                          .blocks = g->size,
                          .out = what->destination};
    if (what->kind == TD_KIND_SCAN)
        f->blocks = g->rank + 1;
    else if (what->kind == TD_KIND_EXSCAN)
        f->blocks = g->rank;
    else if (what->kind == TD_KIND_REDUCE && !tl_at_root(w))
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

/* skip_to_data moves a buffer of a type without gaps to its first byte. */
static void skip_to_data(struct tl_work *w)
{
    struct tl_collective *what = &w->what;
    const struct tl_type *from = w->gaps[0] ? NULL : w->type[0],
                         *to = w->gaps[1] ? NULL : w->type[1];
    if (from && what->source && what->source != TORUS_IN_PLACE)
        what->source = (const uint8_t *)what->source + from->first;
    if (to && what->destination && what->destination != TORUS_IN_PLACE)
        what->destination = (uint8_t *)what->destination + to->first;
}

/* use_one_type gives a buffer that is in place the type of the other one. */
static void use_one_type(struct tl_work *w)
{
    int in_place = w->what.destination == TORUS_IN_PLACE;
    if (!in_place && w->what.source != TORUS_IN_PLACE)
        return;
    w->type[in_place] = w->type[1 - in_place];
    w->gaps[in_place] = w->gaps[1 - in_place];
    w->element[in_place] = w->element[1 - in_place];
}

/* Ranks of a call with counts that may have forms: the lists and two forms fit one request. */
enum { FORM_RANKS_MAX = 1024, NUMBER_BYTES = 10, LOOP_BYTES = 5 * (NUMBER_BYTES + 1) + 2 };
_Static_assert(4 * FORM_RANKS_MAX * NUMBER_BYTES + 2 * TD_FORM_LOOPS_MAX * LOOP_BYTES + 1024 <=
                   TD_DATAGRAM_MAX,
               "the lists of counts and two forms fit one request");

/* usable_form returns the form of elements with gaps if the daemon can use it; NULL: no gaps, or
 * the library packs them. A user-defined operator gets packed elements. */
static const struct td_form *usable_form(const struct tl_work *w, int which)
{
    const torus_group *g = w->what.group;
    if (!w->gaps[which] || w->op || (td_call_has_counts(w->call.kind) && g->size > FORM_RANKS_MAX))
        return NULL;
    const struct td_form *form = tl_form_of(w->type[which]);
    return form && form->loops <= g->context->form_loops_max ? form : NULL;
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
        wrong = what->kind == TD_KIND_BROADCAST
                    ? "there is one buffer, so TORUS_IN_PLACE has no meaning"
                    : "pass TORUS_IN_PLACE as the source, not as the destination";
    if (wrong)
        return wrong;
    equal_is_in_place(w);
    use_one_type(w);
    skip_to_data(w);
    /* rank 0 has no predecessor: its destination stays unchanged */
    bool rank0 = what->kind == TD_KIND_EXSCAN && what->group->rank == 0;
    const struct td_form *form[2] = {usable_form(w, 0), usable_form(w, 1)};
    w->buffer[0] = (struct tl_buffer){.pointer = writable(what->source),
                                      .type = w->gaps[0] ? w->type[0] : NULL,
                                      .form = form[0],
                                      .copy_in = true,
                                      .must_stage = w->gaps[0] && !form[0]};
    w->buffer[1] = (struct tl_buffer){.pointer = what->destination,
                                      .type = w->gaps[1] ? w->type[1] : NULL,
                                      .form = form[1],
                                      .copy_out = !rank0,
                                      .must_stage = (w->gaps[1] && !form[1]) || rank0};
    tl_parts_drop_unused(w);
    wrong = td_call_has_counts(what->kind) ? tl_parts_make(w) : make_blocks(w);
    w->buffer[1].copy_in = w->same && (what->kind != TD_KIND_BROADCAST || tl_at_root(w));
    if (what->kind == TD_KIND_BROADCAST)
        w->buffer[1].copy_out = !tl_at_root(w);
    if (!wrong && w->op)
        wrong = make_fold(w);
    if (!wrong)
        pack_interleaved(w);
    return wrong ? wrong : check_overlap(w);
}

void tl_buffers_free(struct tl_work *w)
{
    for (int i = 0; i < 2; i++) {
        free(w->buffer[i].piece);
        w->buffer[i].piece = NULL;
    }
    free(w->user);
    w->user = NULL;
}
