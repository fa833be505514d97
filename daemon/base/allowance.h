/* SPDX-License-Identifier: Apache-2.0 */
/* allowance: the part of a limit that one user may hold, so that one user has most of an idle
 * daemon and none can take what is left for the others.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_BASE_ALLOWANCE_H
#define TD_BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

/* One part in so many of each limit is kept for root and the daemon's own user. */
enum { TD_RESERVED_PART = 16 };

/* td_allowance returns how much of `limit` a user may hold while all other users hold `others`:
 * `percent` of what they leave, rounded up. A privileged user may hold all of it. */
uint64_t td_allowance(uint64_t limit, uint64_t others, uint32_t percent, bool privileged);

#endif
