/* SPDX-License-Identifier: Apache-2.0 */
#include "pieces.h"

#include <stdlib.h>

const char *tl_pieces_reserve(struct tl_buffer *s, uint32_t pieces)
{
    s->piece = calloc(pieces ? pieces : 1, sizeof *s->piece);
    return s->piece ? NULL : "no memory for the counts";
}

const char *tl_pieces_cover(struct tl_work *w, int which, ptrdiff_t at, size_t count)
{
    struct tl_buffer *s = &w->buffer[which];
    ptrdiff_t begin = at, end = 0;
    if (w->gaps[which] && (!tl_type_span(w->type[which], count, &begin, &end) ||
                           __builtin_add_overflow(at, begin, &begin)))
        return TL_OVERFLOWS;
    if (!w->gaps[which] && __builtin_mul_overflow(count, w->element[which], &end))
        return TL_OVERFLOWS;
    if (__builtin_add_overflow(at, end, &end))
        return TL_OVERFLOWS;
    bool first = s->begin == s->end;
    s->begin = first || begin < s->begin ? begin : s->begin;
    s->end = first || end > s->end ? end : s->end;
    return NULL;
}

size_t tl_pieces_step(const struct tl_work *w, int which)
{
    return w->gaps[which] ? (size_t)tl_type_extent(w->type[which]) : w->element[which];
}

const char *tl_pieces_whole(const struct tl_work *w, int which, size_t bytes, size_t *count)
{
    size_t element = w->element[which];
    *count = element ? bytes / element : 0;
    return *count * element == bytes ? NULL : TL_NOT_WHOLE;
}

const char *tl_pieces_add(struct tl_work *w, int which, uint32_t rank, ptrdiff_t at, size_t count)
{
    struct tl_buffer *s = &w->buffer[which];
    size_t bytes = 0;
    ptrdiff_t begin = 0;
    if (__builtin_mul_overflow(count, w->element[which], &bytes) ||
        __builtin_mul_overflow(at, (ptrdiff_t)tl_pieces_step(w, which), &begin) ||
        __builtin_add_overflow(s->bytes, bytes, &s->bytes) || s->bytes > INT64_MAX)
        return TL_OVERFLOWS;
    if (bytes == 0)
        return NULL;
    s->piece[s->pieces++] = (struct tl_piece){.rank = rank, .at = begin, .bytes = bytes};
    return tl_pieces_cover(w, which, begin, count);
}

/* add_typed appends a piece of `count` elements of a type of its own, at byte `at`. */
static const char *add_typed(struct tl_work *w, int which, struct tl_piece piece, size_t count,
                             struct tl_type *type)
{
    struct tl_buffer *s = &w->buffer[which];
    ptrdiff_t begin = 0, end = 0, at = piece.at;
    if (count == 0 || type->bytes == 0)
        return NULL;
    if (__builtin_mul_overflow(count, type->bytes, &piece.bytes) || piece.bytes > INT64_MAX ||
        __builtin_add_overflow(s->bytes, piece.bytes, &s->bytes) || s->bytes > INT64_MAX ||
        !tl_type_span(type, count, &begin, &end) || __builtin_add_overflow(at, begin, &begin) ||
        __builtin_add_overflow(at, end, &end))
        return TL_OVERFLOWS;
    if (tl_type_dense(type))
        piece.at = begin;
    else
        piece.type = type;
    s->must_stage = s->must_stage || piece.type;
    w->gaps_in_parts = w->gaps_in_parts || piece.type;
    bool first = s->pieces == 0;
    s->begin = first || begin < s->begin ? begin : s->begin;
    s->end = first || end > s->end ? end : s->end;
    s->piece[s->pieces++] = piece;
    return NULL;
}

/* add_typed_part appends part i of a call with a type for each part. *next: its place if there are
 * no places; it becomes the next one. */
static const char *add_typed_part(struct tl_work *w, int which, uint32_t rank, uint32_t i,
                                  const struct tl_counts *c, size_t *next)
{
    struct tl_type basic, *type = c->derived ? c->derived[i] : NULL;
    ptrdiff_t at = c->byte_at ? c->byte_at[i] : (ptrdiff_t)*next, after = 0;
    if (!type)
        type = tl_type_find(w->what.group->context, c->type[i], &basic);
    if (!type)
        return "the type of a part is unknown, was freed, or belongs to another context";
    if (type->pair[0])
        return TL_PAIR;
    if (!c->byte_at && (__builtin_mul_overflow(c->count[i], tl_type_extent(type), &after) ||
                        __builtin_add_overflow(after, *next, next)))
        return TL_OVERFLOWS;
    return add_typed(w, which, (struct tl_piece){.rank = rank, .at = at}, c->count[i], type);
}

const char *tl_pieces_add_part(struct tl_work *w, int which, uint32_t rank, uint32_t i,
                               const struct tl_counts *c, size_t *next)
{
    if (w->what.typed)
        return add_typed_part(w, which, rank, i, c, next);
    ptrdiff_t at = c->at ? c->at[i] : (ptrdiff_t)*next;
    if (!c->at && (__builtin_add_overflow(*next, c->count[i], next) || *next > (size_t)PTRDIFF_MAX))
        return TL_OVERFLOWS;
    return tl_pieces_add(w, which, rank, at, c->count[i]);
}

const char *tl_pieces_check_lists(const struct tl_work *w, const struct tl_counts *c)
{
    if (!c->count)
        return "the counts are NULL";
    return w->what.typed && !c->type ? "the types are NULL" : NULL;
}

const char *tl_pieces_add_each(struct tl_work *w, int which, const struct tl_counts *c)
{
    uint32_t size = w->what.group->size;
    const char *wrong = tl_pieces_check_lists(w, c);
    if (!wrong)
        wrong = tl_pieces_reserve(&w->buffer[which], size);
    size_t next = 0;
    for (uint32_t i = 0; !wrong && i < size; i++)
        wrong = tl_pieces_add_part(w, which, i, i, c, &next);
    return wrong;
}

const char *tl_pieces_add_one(struct tl_work *w, int which, uint32_t rank, size_t count)
{
    const char *wrong = tl_pieces_reserve(&w->buffer[which], 1);
    return wrong ? wrong : tl_pieces_add(w, which, rank, 0, count);
}
