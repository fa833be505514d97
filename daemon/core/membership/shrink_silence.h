/* SPDX-License-Identifier: Apache-2.0 */
/* shrink_silence: what a shrink does about nodes that are silent, and about a time in which this
 * daemon did not run itself. It asks for epochs (epoch.h), or ends the calls with PARTITIONED.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_SHRINK_SILENCE_H
#define TD_CORE_MEMBERSHIP_SHRINK_SILENCE_H

#include "shrink.h"

/* td_shrink_slot_silent: the session with the slot's node has ended. */
void td_shrink_slot_silent(struct td_core *core, struct td_communicator *c, uint32_t slot);
/* td_shrink_node_back repeats the messages to a node whose session is new: earlier messages may be
 * lost. */
void td_shrink_node_back(struct td_core *core, uint32_t node);
/* td_shrink_confirmed: after a pause of this daemon, whether it is known that no epoch has excluded
 * this node meanwhile. Until it is, no shrink relies on the death of other daemons. */
void td_shrink_confirmed(struct td_core *core, bool is_known);
/* td_shrink_no_quorum ends the calls that wait for silent nodes. */
void td_shrink_no_quorum(struct td_core *core);
/* td_shrink_exclude asks for an epoch without the silent nodes whose part is needed, if a rank has
 * called; a node that an epoch has excluded itself cannot. After a pause of this daemon it confirms
 * its place first. It returns true if the shrink has to wait for either. */
bool td_shrink_exclude(struct td_core *core, struct td_shrink *s);
/* td_shrink_awaits_any returns true if a slot is silent, and its part in the shrink is still
 * needed. */
bool td_shrink_awaits_any(const struct td_core *core, const struct td_shrink *s);
/* td_shrink_has_calls returns true if a live rank is known to have called. Only the coordinator
 * knows of ranks on other nodes. */
bool td_shrink_has_calls(const struct td_shrink *s);
/* td_shrink_hurry sets the time from which on this node asks for an epoch itself: the head may not
 * hear that a node is silent. */
void td_shrink_hurry(struct td_core *core, struct td_shrink *s);

#endif
