/* SPDX-License-Identifier: Apache-2.0 */
/* walk: a cursor over the contiguous pieces of a slice in its loop order.
 *
 * A slice names bytes of packed data. In a buffer with gaps, the cursor translates each stretch of
 * them to the runs of the buffer's form.
 * Borrows: the slice and the bases. Invariant: the pieces together are the slice's bytes, in order.
 */
#ifndef TD_COMPUTE_WALK_H
#define TD_COMPUTE_WALK_H

#include "bases.h"
#include "model/overlap.h"

struct td_walk {
    const struct td_slice *slice;
    const struct td_bases *bases;
    int64_t at[TD_LEVELS_MAX]; /* iteration of each loop */
    int64_t used;              /* bytes consumed of the run, or of the pair's part */
    uint64_t pair;             /* pair of a unit (model/counts.h) */
    int64_t left;              /* bytes left of a unit's slice */
    int64_t offset;            /* the lane's offset */
    int64_t rank;
    bool over;
    bool by_loop; /* see td_walk_by_loop */
    /* the stretch of packed data under way; only if `memory` is set, or after td_walk_runs */
    const struct td_memory *memory; /* of the space: a buffer has gaps; else NULL */
    int64_t stretch;                /* bytes left of it */
    uint8_t *place;                 /* of its next byte, or the buffer if `formed` */
    bool formed;
    struct td_form_cursor form;      /* only if `formed` */
    struct td_overlap_cursor cursor; /* only for an overlap */
};

/* td_walk_start begins at byte `skip` of one lane of the slice. */
void td_walk_start(struct td_walk *w, const struct td_slice *slice, const struct td_bases *bases,
                   const struct td_lanes *lanes, uint32_t lane, uint64_t skip);
/* td_walk_piece returns the next piece and its size, at most `most` bytes; NULL at the end. */
uint8_t *td_walk_piece(struct td_walk *w, int64_t most, int64_t *bytes);
/* td_walk_left returns the bytes left of the current piece. */
int64_t td_walk_left(struct td_walk *w);
/* td_walk_rank returns the local rank whose buffer holds the next piece of a walk that has just
 * started, or 0 in scratch. */
uint32_t td_walk_rank(const struct td_walk *w);

/* struct td_runs: `count` pieces of `bytes` bytes, `stride` apart. */
struct td_runs {
    uint8_t *at;
    int64_t bytes, stride;
    uint64_t count;
};

/* td_walk_has_runs returns true if the pieces may be runs between gaps, or short pieces of an
 * overlap. Then td_walk_runs and td_walk_skip are faster than td_walk_piece. */
static inline bool td_walk_has_runs(const struct td_walk *w)
{
    return w->memory || w->slice->overlap;
}
/* td_walk_by_loop makes td_walk_runs return the iterations of the innermost loop of a slice at
 * once. It returns false, and does nothing, if the slice has no loops or a buffer has gaps. */
static inline bool td_walk_by_loop(struct td_walk *w)
{
    w->by_loop = !w->memory && !w->slice->overlap && !w->slice->counts;
    return w->by_loop;
}
/* td_walk_runs writes the next pieces, as many as are equal, and returns false at the end.
 * td_walk_skip moves on by a part of the first piece, or by the first `runs` pieces. A walk that
 * uses them must not use td_walk_piece. */
bool td_walk_runs(struct td_walk *w, struct td_runs *runs);
void td_walk_skip(struct td_walk *w, int64_t bytes, uint64_t runs);

#endif
