/* SPDX-License-Identifier: Apache-2.0 */
/* alarm: a timer with the resolution of the monotonic clock. libuv's timers have milliseconds, but
 * a packet may take less on a link with a rate. Owns: a descriptor, until td_alarm_fini, which
 * follows once the loop has closed the handle. */
#ifndef TD_IO_ALARM_H
#define TD_IO_ALARM_H

#include <stdbool.h>
#include <uv.h>

#include "base/time.h"

struct td_alarm {
    uv_poll_t poll;
    int fd;     /* 0: not created */
    td_time at; /* expiry time; 0: expired */
    void (*expired)(void *user);
    void *user;
};

/* td_alarm_init creates an alarm without an expiry time. On false, errno has the error. */
bool td_alarm_init(struct td_alarm *alarm, uv_loop_t *uv, void (*expired)(void *user), void *user);
/* td_alarm_set replaces the expiry time; TD_TIME_NEVER stops the alarm. */
void td_alarm_set(struct td_alarm *alarm, td_time at);
void td_alarm_fini(struct td_alarm *alarm);

#endif
