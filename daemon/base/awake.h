/* SPDX-License-Identifier: Apache-2.0 */
/* awake: how long a thread that waits for a short while looks for the event itself, instead of
 * sleeping. Between two looks it lets others run (sched_yield). A sleep and a wake-up cost more
 * than several looks if the event comes soon.
 *
 * A thread that lets others run has its processor again soon, unless another process computes. Then
 * it has lost a time slice, and sleeps at once for some time, longer each time until it has had its
 * processor again soon many times in a row. So a thread that waits takes no processor from one that
 * computes.
 * Pure: no I/O, clock, or globals. Times are of any one clock. */
#ifndef TD_BASE_AWAKE_H
#define TD_BASE_AWAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "time.h"

#define TD_AWAKE_NS 200000 /* from the last event on */
/* bytes of both buffers of a call: one of more takes longer than a thread should look for its end,
 * which would take processors from those that move its bytes */
enum { TD_AWAKE_BYTES = 131072 };

/* struct td_awake: zeros at first. */
struct td_awake {
    td_time until;
    td_time busy_until; /* another process computes */
    td_time busy_ns;    /* how long the thread sleeps at once after it has found that */
    uint32_t kept;      /* how often it has had its processor again soon since then */
};

/* td_awake_extend begins, or extends, the time in which the thread looks. It returns false if the
 * thread should sleep at once. */
bool td_awake_extend(struct td_awake *a, td_time now);
/* td_awake_end ends that time. */
void td_awake_end(struct td_awake *a);
/* td_awake_lasts returns true while the thread should look. */
bool td_awake_lasts(const struct td_awake *a, td_time now);
/* td_awake_yielded takes the times before and after others were let run. */
void td_awake_yielded(struct td_awake *a, td_time before, td_time after);

#endif
