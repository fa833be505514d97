/* SPDX-License-Identifier: Apache-2.0 */
/* groups: the records of jobs and groups (parties), and the requests of their members. */
#ifndef SWARM_GROUPS_H
#define SWARM_GROUPS_H

#include "state.h"

/* swarm_process_of returns the process of a seat, or NULL if it is not known yet. */
struct swarm_process *swarm_process_of(struct swarm *s, const struct swarm_seat *seat);
/* swarm_can_act returns true if a live process has the seat and has not left the group. */
bool swarm_can_act(struct swarm *s, const struct swarm_seat *seat);
/* swarm_new_party returns the record of a job or group of `size` members. */
struct swarm_party *swarm_new_party(struct swarm *s, uint32_t job, uint32_t size);
/* swarm_take_group notes that a member has a group. All members have the same one. */
void swarm_take_group(struct swarm *s, struct swarm_party *p, uint32_t member,
                      const struct td_reply *r);
/* swarm_ask_for_group makes a member ask its daemon for a group of ranks of another group. */
void swarm_ask_for_group(struct swarm *s, uint32_t number, uint32_t member);
/* swarm_leave_seat makes a member leave its group. */
void swarm_leave_seat(struct swarm *s, struct swarm_seat *seat);
/* swarm_kill ends a process. */
void swarm_kill(struct swarm *s, uint32_t process);
/* swarm_new_call draws the next call of a group. */
void swarm_new_call(struct swarm *s, struct swarm_party *p);
/* swarm_call_shrink makes a member call a shrink: for the first time, or again. */
void swarm_call_shrink(struct swarm *s, struct swarm_seat *seat);

#endif
