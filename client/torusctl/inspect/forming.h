/* SPDX-License-Identifier: Apache-2.0 */
/* forming: the jobs that wait for ranks. */
#ifndef TORUSCTL_INSPECT_FORMING_H
#define TORUSCTL_INSPECT_FORMING_H

#include <jansson.h>

#include "wanted.h"

/* ins_forming returns those of the jobs that wait for ranks, with the processes that have joined,
 * "processes" [{rank (-1: any), node, pid, program}]. `groups`: groups.h. The caller owns the list.
 */
json_t *ins_forming(const json_t *jobs, const json_t *groups, const json_t *clients);
/* ins_forming_earlier makes the ages of these jobs those of a moment that was `ns` earlier. */
void ins_forming_earlier(json_t *forming, json_int_t ns);
/* ins_forming_latest returns the job that is wanted in that list whose first process joined last,
 * or NULL. */
json_t *ins_forming_latest(const json_t *forming, const struct ins_wanted *wanted);
/* ins_forming_print prints since when a job forms, which ranks are missing, and what to check. */
void ins_forming_print(const json_t *job);
/* ins_unformed_print prints why a job {job, uid, size, begun_ns, ended_ns, text} did not form. Ages
 * are before `unix_ns`. */
void ins_unformed_print(const json_t *job, json_int_t unix_ns);

#endif
