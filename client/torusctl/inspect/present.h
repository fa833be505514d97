/* SPDX-License-Identifier: Apache-2.0 */
/* present: the calls of one job that are in flight, beside the record of those that are over. */
#ifndef TORUSCTL_INSPECT_PRESENT_H
#define TORUSCTL_INSPECT_PRESENT_H

#include "machine.h"

/* ins_add_processes adds to each operation the processes of its ranks, "processes". */
void ins_add_processes(json_t *operations, const json_t *clients);
/* ins_present returns the operations in flight of a job, those in flight for the longest time
 * first: [{kind, group, sequence, phase, age_ns, missing (ranks of the group), absent, causes
 * (verdict.h)}]. `all`: the state of the machine (collect.h). The caller owns the list. */
json_t *ins_present(struct ins_machine *m, json_t *all, const char *job, json_int_t instance);
/* ins_present_comes_first returns true if the oldest operation in flight has lasted longer than a
 * second, or longer than the others have waited for any rank in the calls that are over
 * ("stragglers", the worst first). */
bool ins_present_comes_first(const json_t *present, const json_t *stragglers);
/* ins_present_print says how many there are, for which ranks the oldest ones wait, and why the
 * oldest one does. */
void ins_present_print(const json_t *present);

#endif
