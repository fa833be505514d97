/* SPDX-License-Identifier: Apache-2.0 */
#include "awake.h"

#define STOLEN_NS 2000000 /* another process had the processor for a time slice */
#define BUSY_NS 100000000 /* the first time; then twice as long each time, up to */
#define BUSY_MOST_NS (32 * (td_time)BUSY_NS)

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
    if (after - before <= STOLEN_NS)
        return;
    bool again = a->busy_ns && before - a->busy_until < 2 * a->busy_ns;
    a->busy_ns = !again ? BUSY_NS : a->busy_ns < BUSY_MOST_NS ? 2 * a->busy_ns : BUSY_MOST_NS;
    a->busy_until = after + a->busy_ns;
}
