/* SPDX-License-Identifier: Apache-2.0 */
/* fft_long: one long axis over several nodes, as the transforms of a matrix. Pure: no I/O, clock,
 * or globals. */
#ifndef TD_COLLECTIVES_FFT_FFT_LONG_H
#define TD_COLLECTIVES_FFT_FFT_LONG_H

#include "collectives/redist/transform_plan.h"

/* td_fft_long_splits returns false if the plan has more than one axis, or the axis has no two
 * factors for such a matrix. */
bool td_fft_long_splits(const struct td_plan_input *in);
/* td_fft_long_make fills in the transform plan. It returns false if the arena is full. */
bool td_fft_long_make(const struct td_plan_input *in, struct td_arena *arena,
                      struct td_transform_plan *out);

#endif
