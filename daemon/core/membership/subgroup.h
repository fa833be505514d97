/* SPDX-License-Identifier: Apache-2.0 */
/* subgroup: groups made of ranks of another group.
 *
 * Every member asks its own node for the group, with the same list of ranks, and each node makes
 * its part by itself. The group's name is a hash of the list, so all nodes compute the same name. A
 * message for a group that a node has not made yet is refused, and its sender repeats it.
 * Owns: nothing; the groups are communicators. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_SUBGROUP_H
#define TD_CORE_MEMBERSHIP_SUBGROUP_H

#include "communicator.h"

/* td_subgroup_make handles a local rank's request for a group of ranks of a group. */
void td_subgroup_make(struct td_core *core, struct td_client *client,
                      const struct td_request *request);
/* td_subgroup_survivors_instance returns the name of the group that the shrink with this number
 * makes, if the ranks in `lost` [group.size] are not in it. */
uint64_t td_subgroup_survivors_instance(const struct td_communicator *c, uint64_t number,
                                        const uint8_t *lost);
/* td_subgroup_make_survivors makes that group, if it has ranks on this node. It returns false if
 * memory runs out. */
bool td_subgroup_make_survivors(struct td_core *core, struct td_communicator *parent,
                                uint64_t instance, const uint8_t *lost);
/* td_subgroup_unknown answers a message of a group that does not exist on this node: not yet, or
 * not any more. */
void td_subgroup_unknown(struct td_core *core, uint32_t from, const struct td_message *message);

#endif
