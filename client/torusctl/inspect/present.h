/* SPDX-License-Identifier: Apache-2.0 */
/* present: the calls of one job that are in flight, beside the record of those that are over. */
#ifndef TORUSCTL_INSPECT_PRESENT_H
#define TORUSCTL_INSPECT_PRESENT_H

#include "machine.h"

/* ins_present returns the operations in flight of a job, those in flight for the longest time
 * first: [{kind, group, sequence, phase, age_ns, missing (ranks of the group), absent}]. The caller
 * owns the list. NULL: the connection to the daemon is lost. */
json_t *ins_present(struct ins_machine *m, const char *job, json_int_t instance);
/* ins_present_print says how many there are, and for which ranks the oldest ones wait. */
void ins_present_print(const json_t *present);

#endif
