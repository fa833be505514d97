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

static int64_t unit_stretch(struct td_walk *w, int64_t most, int64_t *bytes, uint32_t *rank)
{
    const struct td_part *part = pair(w, rank);
    int64_t left = unit_left(w), offset = (int64_t)part->at + w->used;
    *bytes = left < most ? left : most;
    w->used += *bytes;
    w->left -= *bytes;
    next_pair(w);
    return offset;
}

/* ---- overlaps ---- */

static int64_t overlap_stretch(struct td_walk *w, int64_t most, int64_t *bytes, uint32_t *rank)
{
    uint64_t size = 0, offset = td_overlap_piece(&w->cursor, (uint64_t)most, &size);
    *bytes = (int64_t)size;
    *rank = w->slice->rank;
    w->over = td_overlap_left(&w->cursor) == 0;
    return w->slice->base + (int64_t)offset;
}

/* ---- all slices ---- */

void td_walk_start(struct td_walk *w, const struct td_slice *slice, const struct td_bases *bases,
                   const struct td_lanes *lanes, uint32_t lane, uint64_t skip)
{
    memset(w, 0, offsetof(struct td_walk, form));
    w->slice = slice;
    w->bases = bases;
    if (bases && slice->space != TD_SPACE_SCRATCH)
        w->memory =
            slice->space == TD_SPACE_SOURCE ? bases->source_memory : bases->destination_memory;
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

static inline uint32_t loop_rank(const struct td_walk *w)
{
    const struct td_slice *s = w->slice;
    int64_t rank = (int64_t)s->rank + w->rank;
    for (int l = 0; l < s->levels; l++)
        rank += w->at[l] * s->level[l].rank_stride;
    return (uint32_t)rank;
}

uint32_t td_walk_rank(const struct td_walk *w)
{
    uint32_t local = 0;
    if (!w->slice->counts)
        return loop_rank(w);
    (void)pair(w, &local);
    return local;
}

/* loop_stretch is next_stretch for slices with levels. */
static inline int64_t loop_stretch(struct td_walk *w, int64_t most, int64_t *bytes, uint32_t *rank)
{
    const struct td_slice *s = w->slice;
    int64_t offset = s->offset + w->offset + w->used, left = s->run - w->used;
    for (int l = 0; l < s->levels; l++)
        offset += w->at[l] * s->level[l].stride;
    *rank = s->space == TD_SPACE_SCRATCH ? 0 : loop_rank(w);
    *bytes = left < most ? left : most;
    w->used += *bytes;
    if (w->used < s->run)
        return offset;
    w->used = 0;
    for (int l = s->levels; l-- > 0;) {
        if (++w->at[l] < s->level[l].count)
            return offset;
        w->at[l] = 0;
    }
    w->over = true;
    return offset;
}

/* next_stretch returns the offset of the next bytes in the packed data of a buffer, their number,
 * at most `most`, and the buffer's local rank. */
static inline int64_t next_stretch(struct td_walk *w, int64_t most, int64_t *bytes, uint32_t *rank)
{
    if (w->slice->counts)
        return unit_stretch(w, most, bytes, rank);
    if (w->slice->overlap)
        return overlap_stretch(w, most, bytes, rank);
    return loop_stretch(w, most, bytes, rank);
}

static inline uint8_t *buffer(const struct td_walk *w, uint32_t rank)
{
    if (w->slice->space == TD_SPACE_SCRATCH)
        return w->bases->scratch;
    bool source = w->slice->space == TD_SPACE_SOURCE;
    uint8_t *base = (source ? w->bases->source : w->bases->destination)[rank];
    assert(base); /* the core has checked that each rank of the slice has a buffer */
    return base;
}

/* settle finds the next run. It returns false at the end. */
static bool settle(struct td_walk *w)
{
    if (w->stretch == 0) {
        if (w->over)
            return false;
        uint32_t rank = 0;
        int64_t offset = next_stretch(w, INT64_MAX, &w->stretch, &rank);
        const struct td_form *before = w->formed ? w->form.form : NULL;
        const struct td_form *form = w->memory ? w->memory[rank].form : NULL;
        w->place = buffer(w, rank);
        w->formed = form != NULL;
        if (!form)
            w->place += offset;
        else if (form != before || w->form.byte != (uint64_t)offset)
            td_form_seek(&w->form, form, (uint64_t)offset);
    }
    if (w->formed)
        td_form_settle(&w->form);
    return true;
}

/* run_left returns the contiguous bytes from the place of a settled walk. */
static int64_t run_left(const struct td_walk *w)
{
    return w->formed && (int64_t)w->form.left < w->stretch ? (int64_t)w->form.left : w->stretch;
}

/* overlap_runs is td_walk_runs for an overlap in buffers without gaps. */
static bool overlap_runs(const struct td_walk *w, struct td_runs *runs)
{
    const struct td_overlap_runs r = td_overlap_runs(&w->cursor);
    if (r.count == 0)
        return false;
    *runs = (struct td_runs){buffer(w, w->slice->rank) + w->slice->base + r.offset,
                             (int64_t)r.bytes, (int64_t)r.stride, r.count};
    return true;
}

/* loop_runs is td_walk_runs for loops: the rest of the innermost one, if that stays in a buffer. */
static void loop_runs(const struct td_walk *w, struct td_runs *runs)
{
    const struct td_slice *s = w->slice;
    bool in_scratch = s->space == TD_SPACE_SCRATCH;
    int64_t offset = s->offset + w->offset + w->used;
    for (int l = 0; l < s->levels; l++)
        offset += w->at[l] * s->level[l].stride;
    *runs =
        (struct td_runs){buffer(w, in_scratch ? 0 : loop_rank(w)) + offset, s->run - w->used, 0, 1};
    if (s->levels == 0 || w->used > 0)
        return;
    int last = s->levels - 1;
    if (in_scratch || s->level[last].rank_stride == 0) {
        runs->stride = s->level[last].stride;
        runs->count = (uint64_t)(s->level[last].count - w->at[last]);
    }
}

static void loop_skip(struct td_walk *w, int64_t bytes, uint64_t runs)
{
    const struct td_slice *s = w->slice;
    w->used += bytes;
    if (runs == 1 && w->used < s->run)
        return;
    w->used = 0;
    for (int l = s->levels; l-- > 0; runs = 1) {
        w->at[l] += (int64_t)runs;
        if (w->at[l] < s->level[l].count)
            return;
        w->at[l] = 0;
    }
    w->over = true;
}

bool td_walk_runs(struct td_walk *w, struct td_runs *runs)
{
    if (w->by_loop) {
        if (!w->over)
            loop_runs(w, runs);
        return !w->over;
    }
    if (w->slice->overlap && !w->memory)
        return !w->over && overlap_runs(w, runs);
    if (!settle(w))
        return false;
    *runs = (struct td_runs){w->place, run_left(w), 0, 1};
    if (!w->formed)
        return true;
    runs->at += w->form.at;
    uint64_t whole = (uint64_t)(w->stretch / runs->bytes);
    runs->count = td_form_runs(&w->form, &runs->stride);
    runs->count = whole < runs->count ? whole : runs->count;
    return true;
}

void td_walk_skip(struct td_walk *w, int64_t bytes, uint64_t runs)
{
    if (w->by_loop) {
        loop_skip(w, bytes, runs);
        return;
    }
    if (w->slice->overlap && !w->memory) {
        td_overlap_skip(&w->cursor, (uint64_t)bytes, runs);
        w->over = w->cursor.left == 0;
        return;
    }
    w->stretch -= bytes;
    if (w->formed)
        td_form_skip(&w->form, (uint64_t)bytes, runs);
    else
        w->place += bytes;
}

int64_t td_walk_left(struct td_walk *w)
{
    if (w->memory)
        return settle(w) ? run_left(w) : 0;
    if (w->over)
        return 0;
    if (w->slice->overlap)
        return (int64_t)td_overlap_left(&w->cursor);
    return w->slice->counts ? unit_left(w) : w->slice->run - w->used;
}

static uint8_t *piece_with_gaps(struct td_walk *w, int64_t most, int64_t *bytes)
{
    if (!settle(w))
        return NULL;
    int64_t left = run_left(w);
    uint8_t *piece = w->place + (w->formed ? w->form.at : 0);
    *bytes = left < most ? left : most;
    td_walk_skip(w, *bytes, 1);
    return piece;
}

uint8_t *td_walk_piece(struct td_walk *w, int64_t most, int64_t *bytes)
{
    if (w->memory)
        return piece_with_gaps(w, most, bytes);
    if (w->over)
        return NULL;
    uint32_t rank = 0;
    int64_t offset = next_stretch(w, most, bytes, &rank);
    return buffer(w, rank) + offset;
}
