/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <assert.h>

void td_walk_start(struct td_walk *w, const struct td_slice *slice, const struct td_bases *bases,
                   const struct td_lanes *lanes, uint32_t lane, uint64_t skip)
{
    *w = (struct td_walk){.slice = slice, .bases = bases};
    if (lanes) {
        w->offset = lanes->stride * lane;
        w->rank = (int64_t)lanes->rank_stride * lane;
    }
    uint64_t bytes = (uint64_t)td_slice_bytes(slice);
    w->over = skip >= bytes;
    if (w->over)
        return;
    w->used = (int64_t)(skip % (uint64_t)slice->run);
    uint64_t turn = skip / (uint64_t)slice->run;
    for (int l = slice->levels; l-- > 0;) {
        w->at[l] = (int64_t)(turn % (uint64_t)slice->level[l].count);
        turn /= (uint64_t)slice->level[l].count;
    }
}

int64_t td_walk_left(const struct td_walk *w)
{
    return w->over ? 0 : w->slice->run - w->used;
}

static uint8_t *address(const struct td_walk *w)
{
    const struct td_slice *s = w->slice;
    int64_t offset = s->offset + w->offset + w->used, rank = (int64_t)s->rank + w->rank;
    for (int l = 0; l < s->levels; l++) {
        offset += w->at[l] * s->level[l].stride;
        rank += w->at[l] * s->level[l].rank_stride;
    }
    if (s->space == TD_SPACE_SCRATCH)
        return w->bases->scratch + offset;
    uint8_t *base = (s->space == TD_SPACE_SOURCE ? w->bases->source : w->bases->destination)[rank];
    assert(base); /* the core has checked that every rank named has a buffer */
    return base + offset;
}

uint8_t *td_walk_piece(struct td_walk *w, int64_t most, int64_t *bytes)
{
    if (w->over)
        return NULL;
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
