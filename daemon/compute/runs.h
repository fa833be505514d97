/* SPDX-License-Identifier: Apache-2.0 */
/* runs: copies between walks in which buffers have gaps, many equal runs at a time.
 * Borrows: the memory of the walks. */
#ifndef TD_COMPUTE_RUNS_H
#define TD_COMPUTE_RUNS_H

#include "walk.h"

/* td_runs_copy copies the next `bytes` bytes of `from` to `to`; each has as many left. The bytes of
 * both are the same ones, or do not overlap. */
void td_runs_copy(struct td_walk *to, struct td_walk *from, int64_t bytes);
/* td_runs_pack copies the next `bytes` bytes of a walk to `out`. */
void td_runs_pack(struct td_walk *from, uint8_t *out, int64_t bytes);
/* td_runs_unpack copies `in` to the next `bytes` bytes of a walk. */
void td_runs_unpack(struct td_walk *to, const uint8_t *in, int64_t bytes);

#endif
