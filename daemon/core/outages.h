/* SPDX-License-Identifier: Apache-2.0 */
/* outages: what this node notices of itself that makes others call it silent, for the records of
 * its jobs (membership/waits.h): this daemon did not run, or an interface of this host is at fault.
 * The other nodes cannot know it, and torusctl asks all nodes.
 * Owns: the fields fault_* of the core. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_OUTAGES_H
#define TD_CORE_OUTAGES_H

#include "core_internal.h"

/* td_outages_pause notes that this daemon did not run for a time that ends now. */
void td_outages_pause(const struct td_core *core, td_time now, td_time late);
/* td_outages_timers asks the driver once a second, while a node is silent, whether an interface of
 * this host is the reason. The timers run with each heartbeat. */
void td_outages_timers(struct td_core *core);

#endif
