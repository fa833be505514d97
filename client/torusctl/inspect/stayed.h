/* SPDX-License-Identifier: Apache-2.0 */
/* stayed: jobs in which a call has failed, or was cancelled, and which stay because processes of
 * them are stopped: these cannot hear of it, and have not left. */
#ifndef TORUSCTL_INSPECT_STAYED_H
#define TORUSCTL_INSPECT_STAYED_H

#include <jansson.h>

#include "machine.h"

/* ins_stayed_of finds these jobs among the processes (collect.h) and the records [{job, uid,
 * instance, formed_ns, error, failed_ns}] of all nodes: [{job, uid, cancelled, failed_ns, stopped
 * [{rank, node, host, pid, program}]}]. */
json_t *ins_stayed_of(const json_t *clients, const json_t *records, const json_t *peers);
/* ins_stayed returns the same of the state of the machine. It asks the nodes for records only if a
 * process is stopped. */
json_t *ins_stayed(struct ins_machine *m, const json_t *all);
/* ins_stayed_print prints a line for each. */
void ins_stayed_print(const json_t *stayed);

#endif
