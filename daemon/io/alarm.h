/* SPDX-License-Identifier: Apache-2.0 */
/* alarm: a call at a time of the monotonic clock, to the nanosecond: libuv's timers know
 * milliseconds only, and a packet may take less on a link with a rate. Owns: a descriptor, until
 * fini, which comes after the loop has closed the handle. */
#ifndef TD_IO_ALARM_H
#define TD_IO_ALARM_H

#include <stdbool.h>
#include <uv.h>

#include "base/time.h"

struct td_alarm {
    uv_poll_t poll;
    int fd;     /* 0: not made */
    td_time at; /* what it is set to; 0: it went off */
    void (*ring)(void *user);
    void *user;
};

/* td_alarm_init: on false errno says why. Not set at first. */
bool td_alarm_init(struct td_alarm *alarm, uv_loop_t *uv, void (*ring)(void *user), void *user);
/* td_alarm_set moves the one call to come; TD_TIME_NEVER: there is none. */
void td_alarm_set(struct td_alarm *alarm, td_time at);
void td_alarm_fini(struct td_alarm *alarm);

#endif
