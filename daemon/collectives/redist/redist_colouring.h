/* SPDX-License-Identifier: Apache-2.0 */
/* redist_colouring: schedules by edge colouring: a colour is a step.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_REDIST_COLOURING_H
#define TD_COLLECTIVES_REDIST_REDIST_COLOURING_H

#include "redist_pairs.h"

/* td_pairs_colour makes the COLOURING of the pairs, in `degree` steps; td_pairs_classes the
 * CLASSES. These functions return false and keep no memory if the arena is full. The caller owns
 * the table of a built schedule. */
bool td_pairs_colour(const struct td_pairs *pairs, struct td_arena *arena, struct td_schedule *s);
bool td_pairs_classes(const struct td_pairs *pairs, struct td_arena *arena, struct td_schedule *s);
/* td_pairs_classes_cost returns the steps and volume of td_pairs_classes. */
bool td_pairs_classes_cost(const struct td_pairs *pairs, struct td_arena *arena,
                           struct td_schedule_cost *cost);

#endif
