/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <stdlib.h>

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

void tl_parts_drop_unused(struct tl_work *w)
{
    struct tl_collective *what = &w->what;
    const struct tl_counts none = {0};
    if (td_call_rooted(what->kind) && !tl_at_root(w))
        what->from = what->to = none;
    if (what->kind == TD_KIND_ALLTOALLV && what->source == TORUS_IN_PLACE)
        what->from = what->to;
}

uint32_t tl_parts_count(const struct tl_collective *what, int which)
{
    bool neighbours = what->kind == TD_KIND_NEIGHBOUR_ALLTOALLV;
    return neighbours ? tl_neighbours_blocks(&what->neighbours, which) : what->group->size;
}

static const char *rooted_parts(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    int outer =
        what->kind == TD_KIND_GATHERV; /* the buffer with the parts of all ranks, at the root */
    const struct tl_counts *all = outer ? &what->to : &what->from;
    bool in_place = (outer ? what->source : what->destination) == TORUS_IN_PLACE;
    const char *wrong = NULL;
    if (in_place && !tl_at_root(w))
        return TL_ROOT_ALONE;
    if (tl_at_root(w) && (wrong = tl_pieces_add_each(w, outer, all)))
        return wrong;
    if (in_place)
        find_inner(w, outer);
    return tl_pieces_add_one(w, 1 - outer, what->root,
                             in_place ? all->count[what->root] : what->count);
}

static const char *reduce_scatter_parts(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    const torus_group *g = what->group;
    const struct tl_counts packed = {.count = what->to.count};
    const char *wrong = tl_pieces_add_each(w, 0, &packed);
    if (wrong)
        return wrong;
    size_t own = what->to.count[g->rank];
    if (what->source == TORUS_IN_PLACE) {
        w->buffer[0].pointer = what->destination;
        w->buffer[1].must_stage = true;
    }
    if (!w->op) {
        w->whole_buffer = 1;
        return tl_pieces_add_one(w, 1, 0, own);
    }
    if ((wrong = tl_pieces_reserve(&w->buffer[1], g->size)))
        return wrong;
    if (own > SIZE_MAX / g->size)
        return TL_OVERFLOWS;
    for (uint32_t i = 0; !wrong && i < g->size; i++)
        wrong = tl_pieces_add(w, 1, i, (ptrdiff_t)(i * own), own);
    return wrong;
}

static const char *all_parts(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    bool in_place = what->source == TORUS_IN_PLACE;
    const char *wrong = tl_pieces_add_each(w, 1, &what->to);
    if (wrong)
        return wrong;
    if (what->kind == TD_KIND_ALLTOALLV) {
        if (in_place) {
            w->buffer[0].pointer = what->destination;
            w->buffer[0].must_stage = true;
        }
        if (what->digest_kind)
            w->call.digest = td_call_digest(what->digest_kind, 0);
        return tl_pieces_add_each(w, 0, &what->from);
    }
    w->whole_buffer = 0;
    if (in_place)
        find_inner(w, 1);
    return tl_pieces_add_one(w, 0, 0, in_place ? what->to.count[what->group->rank] : what->count);
}

/* ---- neighbours ---- */

/* struct block: a piece, and its turn among the pieces of its rank. */
struct block {
    struct tl_piece piece;
    uint32_t turn;
};

static int by_rank(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    int order = (x->piece.rank > y->piece.rank) - (x->piece.rank < y->piece.rank);
    return order ? order : (x->turn > y->turn) - (x->turn < y->turn);
}

/* sort_pieces sorts the pieces by rank. Two pieces of one rank, which are contiguous in a staging
 * copy only, set *repeats. */
static void sort_pieces(struct tl_buffer *s, struct block *block, bool *repeats)
{
    *repeats = false;
    qsort(block, s->pieces, sizeof *block, by_rank);
    for (uint32_t i = 0; i < s->pieces; i++) {
        s->piece[i] = block[i].piece;
        *repeats = *repeats || (i > 0 && s->piece[i].rank == s->piece[i - 1].rank);
    }
    s->must_stage = s->must_stage || *repeats;
}

/* is_listed returns false if `count` is the length of every block of a buffer. */
static bool is_listed(const struct tl_collective *what, int which)
{
    return !what->uniform && !(what->shared && which == 0);
}

/* add_blocks appends the pieces of a buffer to the buffer and to `block`. */
static const char *add_blocks(struct tl_work *w, int which, struct block *block)
{
    const struct tl_collective *what = &w->what;
    struct tl_buffer *s = &w->buffer[which];
    uint32_t blocks = tl_parts_count(what, which), rank = 0;
    const char *wrong = NULL;
    size_t next = 0, count = what->count, bytes = 0;
    if (which == 1 && what->uniform && !__builtin_mul_overflow(count, w->element[0], &bytes) &&
        (wrong = tl_pieces_whole(w, 1, bytes, &count)))
        return wrong;
    size_t step = what->shared && which == 0 ? 0 : count;
    if (blocks && count > SIZE_MAX / blocks)
        return TL_OVERFLOWS;
    for (uint32_t b = 0; !wrong && b < blocks; b++) {
        uint32_t before = s->pieces;
        if (!tl_neighbours_rank(what->group, &what->neighbours, which, b, &rank))
            continue;
        if (is_listed(what, which))
            wrong = tl_pieces_add_part(w, which, rank, b, which ? &what->to : &what->from, &next);
        else
            wrong = tl_pieces_add(w, which, rank, (ptrdiff_t)(b * step), count);
        if (s->pieces > before)
            block[before] =
                (struct block){s->piece[before], tl_neighbours_turn(&what->neighbours, which, b)};
    }
    return wrong;
}

static const char *block_pieces(struct tl_work *w, int which, bool *repeats)
{
    const struct tl_collective *what = &w->what;
    uint32_t blocks = tl_parts_count(what, which);
    const char *wrong = NULL;
    if (is_listed(what, which) && blocks)
        wrong = tl_pieces_check_lists(w, which ? &what->to : &what->from);
    if (!wrong)
        wrong = tl_pieces_reserve(&w->buffer[which], blocks);
    if (wrong)
        return wrong;
    struct block *block = calloc(blocks ? blocks : 1, sizeof *block);
    wrong = block ? add_blocks(w, which, block) : "no memory for the counts";
    if (!wrong)
        sort_pieces(&w->buffer[which], block, repeats);
    free(block);
    return wrong;
}

/* share_source makes the source one piece for all neighbours. */
static const char *share_source(struct tl_work *w)
{
    struct tl_buffer *s = &w->buffer[0];
    if (s->pieces == 0)
        return NULL;
    if (!(w->user = calloc(s->pieces, sizeof *w->user)))
        return "no memory for the counts";
    for (uint32_t i = 0; i < s->pieces; i++)
        w->user[i] = s->piece[i].rank;
    w->users = s->pieces;
    w->whole_buffer = 0;
    s->pieces = 1;
    s->bytes = s->piece[0].bytes;
    return NULL;
}

static const char *neighbour_parts(struct tl_work *w)
{
    const struct tl_collective *what = &w->what;
    bool repeats = false, ignored = false;
    const char *wrong = tl_neighbours_check(what->group, &what->neighbours);
    if (!wrong && what->source == TORUS_IN_PLACE)
        wrong = "neighbour exchanges do not support TORUS_IN_PLACE";
    if (!wrong)
        wrong = block_pieces(w, 0, &repeats);
    if (!wrong && what->shared && !repeats)
        wrong = share_source(w);
    if (!wrong)
        wrong = block_pieces(w, 1, &ignored);
    if (wrong)
        return wrong;
    w->call.digest = td_call_digest_exchange(what->digest_kind ? what->digest_kind : what->kind,
                                             tl_neighbours_hash(&what->neighbours), w->call.digest);
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
        return neighbour_parts(w);
    default:
        return all_parts(w);
    }
}

const char *tl_parts_make(struct tl_work *w)
{
    const char *wrong = make_parts(w);
    bool empty = w->buffer[0].bytes == 0 && w->buffer[1].bytes == 0;
    if (!wrong && empty && !w->what.typed && !td_call_reduces(w->what.kind)) {
        w->call.type = TD_TYPE_NONE; /* a rank without data agrees with any type */
        w->call.digest = td_call_digest_without_types(w->call.digest);
    }
    return wrong;
}
