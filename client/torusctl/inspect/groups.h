/* SPDX-License-Identifier: Apache-2.0 */
/* groups: the groups of the machine, each once. */
#ifndef TORUSCTL_INSPECT_GROUPS_H
#define TORUSCTL_INSPECT_GROUPS_H

#include "rounds.h"

/* ins_groups returns the groups [{id, job, uid, is_job, size, ranks, nodes, state, age_ns,
 * calls_done, in_flight, error, text}] of all nodes that answer; NULL if the connection is lost.
 * The ranks are those of the job. A group is as broken as its worst node says. */
json_t *ins_groups(struct ins_machine *m);

#endif
