/* SPDX-License-Identifier: Apache-2.0 */
/* daemons: the daemons of an emulation, from the start to the end. */
#ifndef TORUSCTL_DAEMONS_H
#define TORUSCTL_DAEMONS_H

#include "emulation.h"

/* daemons_find sets the path of torusd: that of --daemon, or beside torusctl, in ../sbin or in
 * PATH. It returns false if none exists. */
bool daemons_find(struct emulation *e);
/* daemons_open_notify opens the socket on which daemons report that they are ready. It returns
 * false with errno. */
bool daemons_open_notify(struct emulation *e);
void daemons_start(struct emulation *e);
/* daemons_wait_ready returns true when all daemons are ready. Else it prints the reason. */
bool daemons_wait_ready(struct emulation *e);
/* daemons_mark_ended returns the node of the daemon that had this pid, and marks it as ended;
 * UINT32_MAX if no daemon had it. */
uint32_t daemons_mark_ended(struct emulation *e, pid_t pid);
/* daemons_show_log prints the end of a daemon's log. */
void daemons_show_log(const struct emulation *e, uint32_t node);
/* daemons_signal sends a signal to all that have not ended; daemons_count returns their number. */
void daemons_signal(const struct emulation *e, int number);
uint32_t daemons_count(const struct emulation *e);

#endif
