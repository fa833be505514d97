/* SPDX-License-Identifier: Apache-2.0 */
/* time: instants and durations in nanoseconds. The driver defines the origin: a monotonic clock, or
 * the virtual time of the simulator. */
#ifndef TD_BASE_TIME_H
#define TD_BASE_TIME_H

#include <stdint.h>

typedef uint64_t td_time;
#define TD_TIME_NEVER UINT64_MAX

#endif
