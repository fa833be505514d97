/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <assert.h>
#include <string.h>

#include "model/counts.h"

/* ---- units: the pieces are the parts of pairs of ranks ---- */

static const struct td_part *pair(const struct td_walk *w, uint32_t *local)
{
    const struct td_slice *s = w->slice;
    return td_counts_pair(s->counts, s->space == TD_SPACE_DESTINATION, s->slot, w->pair, local);
}

/* next_pair advances to a pair that has bytes left. */
static void next_pair(struct td_walk *w)
{
    uint32_t local = 0;
    while (w->left && (uint64_t)w->used == pair(w, &local)->bytes) {
        w->pair++;
        w->used = 0;
    }
    w->over = w->left == 0;
}

static void start_unit(struct td_walk *w, uint64_t skip, uint64_t bytes)
{
    uint32_t local = 0;
    w->left = (int64_t)bytes;
    while (skip >= pair(w, &local)->bytes) {
        skip -= pair(w, &local)->bytes;
        w->pair++;
    }
    w->used = (int64_t)skip;
}

static int64_t unit_left(const struct td_walk *w)
{
    uint32_t local = 0;
    int64_t left = (int64_t)pair(w, &local)->bytes - w->used;
    return left < w->left ? left : w->left;
}

static uint8_t *unit_piece(struct td_walk *w, int64_t most, int64_t *bytes)
{
    uint32_t local = 0;
    const struct td_part *part = pair(w, &local);
    int64_t left = unit_left(w);
    bool source = w->slice->space == TD_SPACE_SOURCE;
    uint8_t *base = (source ? w->bases->source : w->bases->destination)[local];
    assert(base); /* the core has checked that the buffer holds the rank's parts */
    uint8_t *piece = base + part->at + w->used;
    *bytes = left < most ? left : most;
    w->used += *bytes;
    w->left -= *bytes;
    next_pair(w);
    return piece;
}

/* ---- overlaps ---- */

static uint8_t *overlap_piece(struct td_walk *w, int64_t most, int64_t *bytes)
{
    const struct td_slice *s = w->slice;
    uint64_t size = 0, offset = td_overlap_piece(&w->cursor, (uint64_t)most, &size);
    *bytes = (int64_t)size;
    w->over = td_overlap_left(&w->cursor) == 0;
    if (s->space == TD_SPACE_SCRATCH)
        return w->bases->scratch + s->base + offset;
    uint8_t *base =
        (s->space == TD_SPACE_SOURCE ? w->bases->source : w->bases->destination)[s->rank];
    assert(base); /* the core has checked that the buffer holds the owner's array */
    return base + s->base + offset;
}

/* ---- all slices ---- */

void td_walk_start(struct td_walk *w, const struct td_slice *slice, const struct td_bases *bases,
                   const struct td_lanes *lanes, uint32_t lane, uint64_t skip)
{
    memset(w, 0, offsetof(struct td_walk, cursor));
    w->slice = slice;
    w->bases = bases;
    if (lanes) {
        w->offset = lanes->stride * lane;
        w->rank = (int64_t)lanes->rank_stride * lane;
    }
    uint64_t bytes = (uint64_t)td_slice_bytes(slice);
    w->over = skip >= bytes;
    if (w->over)
        return;
    if (slice->overlap) {
        td_overlap_start(&w->cursor, slice->overlap, slice->pair[0], slice->pair[1], slice->side,
                         &slice->range, (uint64_t)slice->offset + skip, bytes - skip);
        w->over = td_overlap_left(&w->cursor) == 0;
        return;
    }
    if (slice->counts) {
        start_unit(w, (uint64_t)slice->offset + skip, bytes - skip);
        return;
    }
    w->used = (int64_t)(skip % (uint64_t)slice->run);
    uint64_t turn = skip / (uint64_t)slice->run;
    for (int l = slice->levels; l-- > 0;) {
        w->at[l] = (int64_t)(turn % (uint64_t)slice->level[l].count);
        turn /= (uint64_t)slice->level[l].count;
    }
}

int64_t td_walk_left(const struct td_walk *w)
{
    if (w->over)
        return 0;
    if (w->slice->overlap)
        return (int64_t)td_overlap_left(&w->cursor);
    return w->slice->counts ? unit_left(w) : w->slice->run - w->used;
}

uint32_t td_walk_rank(const struct td_walk *w)
{
    const struct td_slice *s = w->slice;
    uint32_t local = 0;
    if (s->counts) {
        (void)pair(w, &local);
        return local;
    }
    int64_t rank = (int64_t)s->rank + w->rank;
    for (int l = 0; l < s->levels; l++)
        rank += w->at[l] * s->level[l].rank_stride;
    return (uint32_t)rank;
}

static uint8_t *address(const struct td_walk *w)
{
    const struct td_slice *s = w->slice;
    int64_t offset = s->offset + w->offset + w->used;
    for (int l = 0; l < s->levels; l++)
        offset += w->at[l] * s->level[l].stride;
    if (s->space == TD_SPACE_SCRATCH)
        return w->bases->scratch + offset;
    bool source = s->space == TD_SPACE_SOURCE;
    uint8_t *base = (source ? w->bases->source : w->bases->destination)[td_walk_rank(w)];
    assert(base); /* the core has checked that each rank of the slice has a buffer */
    return base + offset;
}

uint8_t *td_walk_piece(struct td_walk *w, int64_t most, int64_t *bytes)
{
    if (w->over)
        return NULL;
    if (w->slice->counts)
        return unit_piece(w, most, bytes);
    if (w->slice->overlap)
        return overlap_piece(w, most, bytes);
    uint8_t *piece = address(w);
    int64_t left = td_walk_left(w);
    *bytes = left < most ? left : most;
    w->used += *bytes;
    if (w->used < w->slice->run)
        return piece;
    w->used = 0;
    for (int l = w->slice->levels; l-- > 0;) {
        if (++w->at[l] < w->slice->level[l].count)
            return piece;
        w->at[l] = 0;
    }
    w->over = true;
    return piece;
}
