/* SPDX-License-Identifier: Apache-2.0 */
/* redist_matching: schedules of maximum matchings, one after the other.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_REDIST_MATCHING_H
#define TD_COLLECTIVES_REDIST_REDIST_MATCHING_H

#include "redist_pairs.h"

/* td_pairs_match makes the MATCHING of the pairs, in `degree` steps. It returns false and keeps no
 * memory if the arena is full. The caller owns the table of the schedule. */
bool td_pairs_match(const struct td_pairs *pairs, struct td_arena *arena, struct td_schedule *s);

#endif
