/* SPDX-License-Identifier: Apache-2.0 */
#include "alarm.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void on_alarm(uv_poll_t *poll, int error, int events)
{
    struct td_alarm *alarm = poll->data;
    uint64_t times = 0;
    (void)error;
    (void)events;
    if (read(alarm->fd, &times, sizeof times) == sizeof times)
        alarm->at = 0; /* it expires once */
    alarm->expired(alarm->user);
}

bool td_alarm_init(struct td_alarm *alarm, uv_loop_t *uv, void (*expired)(void *user), void *user)
{
    *alarm = (struct td_alarm){.at = TD_TIME_NEVER, .expired = expired, .user = user};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0)
        return false;
    alarm->fd = fd;
    alarm->poll.data = alarm;
    return uv_poll_init(uv, &alarm->poll, fd) == 0 &&
           uv_poll_start(&alarm->poll, UV_READABLE, on_alarm) == 0;
}

void td_alarm_set(struct td_alarm *alarm, td_time at)
{
    if (at == alarm->at)
        return;
    alarm->at = at;
    struct itimerspec time = {.it_value = {.tv_sec = 0}}; /* never */
    if (at != TD_TIME_NEVER)
        time.it_value = (struct timespec){.tv_sec = (time_t)(at / 1000000000u),
                                          .tv_nsec = (long)(at % 1000000000u)};
    timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &time, NULL);
}

void td_alarm_fini(struct td_alarm *alarm)
{
    if (alarm->fd > 0)
        close(alarm->fd);
}
