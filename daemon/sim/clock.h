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
/* clock_free_events frees a list of events, clock_free_object what one event points to. */
void clock_free_events(struct td_sim *sim, struct event *e);
void clock_free_object(struct event *e);
/* clock_wake wakes a node's core. clock_queue_wake queues the next wake of a node: at once, if the
 * node has no other event at this time, else after its events. */
void clock_wake(struct td_sim *sim, uint32_t node);
void clock_queue_wake(struct td_sim *sim, uint32_t node);

#endif
