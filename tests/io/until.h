/* SPDX-License-Identifier: Apache-2.0 */
/* until: runs a loop until a condition holds, and fails the test if that takes too long. */
#ifndef TD_TESTS_IO_UNTIL_H
#define TD_TESTS_IO_UNTIL_H

#include <uv.h>
#include <cmocka.h>

enum { UNTIL_MS = 20000 };

static inline void until_late(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("nothing happens any more");
}

/* UNTIL_IN runs a loop until the condition holds. `timer`: a timer of that loop. */
#define UNTIL_IN(loop, timer, condition)                                                           \
    do {                                                                                           \
        uv_timer_start(timer, until_late, UNTIL_MS, 0);                                            \
        while (!(condition))                                                                       \
            uv_run(loop, UV_RUN_ONCE);                                                             \
        uv_timer_stop(timer);                                                                      \
    } while (0)

#endif
