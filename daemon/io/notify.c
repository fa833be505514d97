/* SPDX-License-Identifier: Apache-2.0 */
#include "notify.h"

#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

void td_notify_ready(void)
{
    sd_notify(0, "READY=1");
}

void td_notify_stopping(void)
{
    sd_notify(0, "STOPPING=1\nSTATUS=draining");
}

void td_notify_status(const char *text)
{
    static char last[256];
    if (strcmp(text, last) == 0)
        return;
    snprintf(last, sizeof last, "%s", text);
    sd_notifyf(0, "STATUS=%s", text);
}

uint64_t td_notify_watchdog_ns(void)
{
    uint64_t period_us = 0;
    return sd_watchdog_enabled(0, &period_us) > 0 ? period_us * 1000 / 2 : 0;
}

void td_notify_feed(void)
{
    sd_notify(0, "WATCHDOG=1");
}
