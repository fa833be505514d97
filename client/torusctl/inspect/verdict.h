/* SPDX-License-Identifier: Apache-2.0 */
/* verdict: why operations do not end: a rank that has not called, a node, or a link. */
#ifndef TORUSCTL_INSPECT_VERDICT_H
#define TORUSCTL_INSPECT_VERDICT_H

#include "machine.h"

/* ins_verdicts adds "causes" to each operation of `all` (collect.h), which has its processes: a
 * list of objects with a "cause" each, the first one the likeliest. It asks for the links of the
 * machine if an operation has run for half a second, or waits without a rank to blame. */
void ins_verdicts(struct ins_machine *m, json_t *all);
/* ins_verdicts_print prints the causes of an operation. Its ranks are those of its group, or with
 * `of_job` those of the job. */
void ins_verdicts_print(const json_t *operation, bool of_job);

#endif
