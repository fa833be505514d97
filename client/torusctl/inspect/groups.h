/* SPDX-License-Identifier: Apache-2.0 */
/* groups: the groups of the machine, each once. */
#ifndef TORUSCTL_INSPECT_GROUPS_H
#define TORUSCTL_INSPECT_GROUPS_H

#include "rounds.h"

/* ins_groups returns the groups [{id, job, uid, is_job, size, ranks, nodes, state, age_ns,
 * calls_done, in_flight, error, text}] of all nodes that answer; NULL if the connection is lost.
 * The ranks are those of the job. A group is as broken as its worst node says. */
json_t *ins_groups(struct ins_machine *m);
/* ins_add_member_nodes adds to each operation, which has its "instance", the nodes that have ranks
 * of its group: "member_nodes". An operation without this list may have ranks on any node. */
void ins_add_member_nodes(json_t *operations, const json_t *groups);
/* ins_group_of_job returns the group of a job {name, uid}, a broken or parted one before others;
 * NULL if there is none. */
const json_t *ins_group_of_job(const json_t *groups, const json_t *job);
/* ins_is_forming returns true if a job {name, uid, size, joined} of the list waits for ranks. A job
 * that has lost ranks has fewer, too, and has a group. A successor of the same name is listed
 * before it: nodes list the newest job first. */
bool ins_is_forming(const json_t *jobs, const json_t *groups, const json_t *job);

#endif
