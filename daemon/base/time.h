/* SPDX-License-Identifier: Apache-2.0 */
/* time: points in time and durations in nanoseconds. The driver gives a point its meaning (a
 * monotonic clock, or the simulator's virtual time). */
#ifndef TD_BASE_TIME_H
#define TD_BASE_TIME_H

#include <stdint.h>

typedef uint64_t td_time;
#define TD_TIME_NEVER UINT64_MAX

#endif
