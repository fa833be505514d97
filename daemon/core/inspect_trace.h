/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_trace: the sections of the status that show the flight recorder, and the daemon's clock.
 * A user sees the events of jobs that the user may see, and those of links. Pure. */
#ifndef TD_CORE_INSPECT_TRACE_H
#define TD_CORE_INSPECT_TRACE_H

#include "inspect_page.h"

/* td_inspect_trace lists the sentences of failures with their events, the events that failures have
 * kept, and the ring. A page goes on where the last one ended: events that come meanwhile are not
 * listed, and those that were overwritten meanwhile are left out. */
void td_inspect_trace(struct td_page *page);
/* td_inspect_clock lists one event, TD_TRACE_CLOCK. */
void td_inspect_clock(struct td_page *page);

#endif
