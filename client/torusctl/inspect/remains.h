/* SPDX-License-Identifier: Apache-2.0 */
/* remains: the state of a job that is not over, and its processes. A broken job is not over before
 * its last process has left. Pure. */
#ifndef TORUSCTL_INSPECT_REMAINS_H
#define TORUSCTL_INSPECT_REMAINS_H

#include <jansson.h>

/* ins_remains adds to the record of a job its "state" (job_states.h; "over"; "unknown"), the
 * "reason" of that, or "", and "processes" [{rank, node, pid, program, process_state}]: those of
 * its ranks that have not left. `jobs` [collect.h], `groups` (groups.h), `clients` and the `silent`
 * nodes are those of the machine. If several jobs have this name and user, no list says whose
 * processes these are: none is given. */
void ins_remains(json_t *record, const json_t *jobs, const json_t *groups, const json_t *clients,
                 const json_t *silent);
/* ins_remains_print prints a line if the job is broken and not over, without processes that are
 * stopped (stayed.h), and one with the reason if no call has failed. */
void ins_remains_print(const json_t *record);

#endif
