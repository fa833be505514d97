/* SPDX-License-Identifier: Apache-2.0 */
/* clock: virtual time. It jumps from event to event: each is handled at its node, whose core then
 * works until its deadline is in the future. */
#ifndef TD_SIM_CLOCK_H
#define TD_SIM_CLOCK_H

#include "world.h"

struct event;

td_time td_sim_now(const struct td_sim *sim);
/* td_sim_next returns the time of the next event, or TD_TIME_NEVER. */
td_time td_sim_next(const struct td_sim *sim);
/* td_sim_run handles the events of the next `duration_ns`. */
void td_sim_run(struct td_sim *sim, td_time duration_ns);
/* td_sim_settle runs until every request of an open client has its reply. It returns false if that
 * takes longer than `limit_ns`. */
bool td_sim_settle(struct td_sim *sim, td_time limit_ns);

/* ---- for the files of this folder ---- */

/* clock_delay returns a random time in [now + 1, now + most]. */
td_time clock_delay(struct td_sim *sim, td_time most);
/* clock_free_events frees a list of events. */
void clock_free_events(struct td_sim *sim, struct event *e);

#endif
