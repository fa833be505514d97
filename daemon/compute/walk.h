/* SPDX-License-Identifier: Apache-2.0 */
/* walk: goes through the contiguous pieces of a slice in its loop order.
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
    int64_t at[TD_LEVELS_MAX]; /* turn of each loop */
    int64_t used;              /* of the run, or of the pair's part */
    uint64_t pair;             /* of a unit (core/parts.h) */
    int64_t left;              /* of the slice, of a unit */
    int64_t offset;            /* of the lane */
    int64_t rank;
    bool over;
    struct td_overlap_cursor cursor; /* of an overlap; else not set */
};

/* td_walk_start begins at byte `skip` of one lane of the slice. */
void td_walk_start(struct td_walk *w, const struct td_slice *slice, const struct td_bases *bases,
                   const struct td_lanes *lanes, uint32_t lane, uint64_t skip);
/* td_walk_piece returns the next piece and its size, at most `most`; NULL at the end. */
uint8_t *td_walk_piece(struct td_walk *w, int64_t most, int64_t *bytes);
/* td_walk_left returns what is left of the current piece. */
int64_t td_walk_left(const struct td_walk *w);
/* td_walk_rank returns the local rank whose buffer the next piece is in; 0 in scratch. */
uint32_t td_walk_rank(const struct td_walk *w);

#endif
