/* SPDX-License-Identifier: Apache-2.0 */
#include "awake.h"

#define STOLEN_NS 2000000 /* another process had the processor for a time slice */
#define BUSY_NS 100000000 /* the first time; then twice as long each time, up to */
#define BUSY_MOST_NS (32 * (td_time)BUSY_NS)

enum { KEPT_QUIET = 1000 }; /* looks without a loss: nobody computes */

bool td_awake_extend(struct td_awake *a, td_time now)
{
    if (now < a->busy_until)
        return false;
    a->until = now + TD_AWAKE_NS;
    return true;
}

void td_awake_end(struct td_awake *a)
{
    a->until = 0;
}

bool td_awake_lasts(const struct td_awake *a, td_time now)
{
    return now < a->until && now >= a->busy_until;
}

void td_awake_yielded(struct td_awake *a, td_time before, td_time after)
{
    if (after - before <= STOLEN_NS) {
        a->kept += a->kept < KEPT_QUIET;
        return;
    }
    bool quiet = a->busy_ns == 0 || a->kept == KEPT_QUIET;
    a->busy_ns = quiet ? BUSY_NS : a->busy_ns < BUSY_MOST_NS ? 2 * a->busy_ns : BUSY_MOST_NS;
    a->kept = 0;
    a->busy_until = after + a->busy_ns;
}
