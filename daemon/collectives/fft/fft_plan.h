/* SPDX-License-Identifier: Apache-2.0 */
/* fft_plan: the arrays, passes and moves of a transform plan. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_FFT_FFT_PLAN_H
#define TD_COLLECTIVES_FFT_FFT_PLAN_H

#include "collectives/redist/transform_plan.h"

/* td_fft_plan makes the transform plan. It returns false if the arena is full. */
bool td_fft_plan(const struct td_plan_input *in, struct td_arena *arena,
                 struct td_transform_plan **out);

#endif
