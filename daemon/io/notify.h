/* SPDX-License-Identifier: Apache-2.0 */
/* notify: readiness, status and watchdog for systemd; silent where there is none. */
#ifndef TD_IO_NOTIFY_H
#define TD_IO_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* td_notify_wanted: somebody listens. */
bool td_notify_wanted(void);
void td_notify_ready(void);
void td_notify_stopping(void);
/* td_notify_status sends the line when it differs from the last one: at most 299 bytes. */
void td_notify_status(const char *text);
/* td_notify_watchdog_ns returns how often the watchdog wants to be fed, 0 for never. */
uint64_t td_notify_watchdog_ns(void);
void td_notify_feed(void);

#endif
