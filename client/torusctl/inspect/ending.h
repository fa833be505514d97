/* SPDX-License-Identifier: Apache-2.0 */
/* ending: asks nodes to end calls of a job. */
#ifndef TORUSCTL_INSPECT_ENDING_H
#define TORUSCTL_INSPECT_ENDING_H

#include "machine.h"

/* ins_end_calls asks each node of `ask` [m->nodes] until none of its calls is left to be told, or
 * the time is over. It returns the number of calls that were told to end, summed over the nodes; -1
 * with a sentence in `text` if a node refuses, cannot be asked, or does not answer. */
int64_t ins_end_calls(struct ins_machine *m, const bool *ask,
                      const struct td_message_end_calls *end, char *text, size_t bytes);

#endif
