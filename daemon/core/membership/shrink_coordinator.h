/* SPDX-License-Identifier: Apache-2.0 */
/* shrink_coordinator: the coordinator's part of a shrink (shrink.h): it asks for votes, proposes an
 * outcome, and announces what is decided.
 * Owns: nothing; its state is in struct td_shrink. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_SHRINK_COORDINATOR_H
#define TD_CORE_MEMBERSHIP_SHRINK_COORDINATOR_H

#include "shrink.h"

/* td_shrink_coordinator_vote counts the vote of a node that has the same view. */
void td_shrink_coordinator_vote(struct td_core *core, struct td_shrink *s, uint32_t slot,
                                const struct td_message_shrink_vote *vote);
/* td_shrink_coordinator_advance asks, proposes and decides as far as the votes allow. It returns
 * false when the action list is full. */
bool td_shrink_coordinator_advance(struct td_core *core, struct td_shrink *s);
/* td_shrink_coordinator_announce sends the decided outcome to every node that takes part in it,
 * also to those whose ranks were lost after they accepted it: they have to tell the new group. It
 * returns false when the action list is full. */
bool td_shrink_coordinator_announce(struct td_core *core, struct td_shrink *s);

#endif
