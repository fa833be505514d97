/* SPDX-License-Identifier: Apache-2.0 */
/* pass: the chunks and steps of a pass, which transforms all lines along one axis of an array.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_FFT_PASS_H
#define TD_COLLECTIVES_FFT_PASS_H

#include "collectives/redist/transform_plan.h"

/* td_pass_cut cuts a pass into chunks of about `bytes` along an axis. td_pass_split counts the
 * steps of a chunk when the chunks are set. */
void td_pass_cut(struct td_pass *p, uint32_t along, uint64_t bytes);
void td_pass_split(struct td_pass *p);
/* td_pass_step adds the transforms of step `index` to an empty TRANSFORM. */
void td_pass_step(const struct td_program *p, const struct td_pass *pass, uint64_t index,
                  struct td_step *step);

#endif
