/* SPDX-License-Identifier: Apache-2.0 */
/* walk: a cursor over the contiguous pieces of a slice in its loop order.
 * Borrows: the slice and the bases. Invariant: the pieces together are the slice's bytes, in order.
 */
#ifndef TD_COMPUTE_WALK_H
#define TD_COMPUTE_WALK_H

#include "bases.h"
#include "model/overlap.h"
#include "model/program.h"

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
    struct td_overlap_cursor cursor; /* only for an overlap */
};

/* td_walk_start begins at byte `skip` of one lane of the slice. */
void td_walk_start(struct td_walk *w, const struct td_slice *slice, const struct td_bases *bases,
                   const struct td_lanes *lanes, uint32_t lane, uint64_t skip);
/* td_walk_piece returns the next piece and its size, at most `most` bytes; NULL at the end. */
uint8_t *td_walk_piece(struct td_walk *w, int64_t most, int64_t *bytes);
/* td_walk_left returns the bytes left of the current piece. */
int64_t td_walk_left(const struct td_walk *w);
/* td_walk_rank returns the local rank whose buffer holds the next piece, or 0 in scratch. */
uint32_t td_walk_rank(const struct td_walk *w);

#endif
