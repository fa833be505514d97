/* SPDX-License-Identifier: Apache-2.0 */
/* notify: readiness, status and watchdog messages for systemd. Without systemd it does nothing. */
#ifndef TD_IO_NOTIFY_H
#define TD_IO_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* td_notify_enabled returns true if a service manager reads the messages. */
bool td_notify_enabled(void);
void td_notify_ready(void);
/* td_notify_reloading and td_notify_reloaded enclose a reload. If the manager cannot read the end
 * at once, the next td_notify_status repeats it. */
void td_notify_reloading(void);
void td_notify_reloaded(void);
void td_notify_stopping(void);
/* td_notify_draining asks the service manager for `seconds` more, from now on, to stop in. */
void td_notify_draining(unsigned seconds);
/* td_notify_status sends the line if it differs from the last one. It sends at most 299 bytes. */
void td_notify_status(const char *text);
/* td_notify_watchdog_ns returns the interval between two td_notify_feed calls, or 0 without a
 * watchdog. */
uint64_t td_notify_watchdog_ns(void);
void td_notify_feed(void);

#endif
