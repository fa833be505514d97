/* SPDX-License-Identifier: Apache-2.0 */
/* job_states: whether a job forms, runs, is parted, or has lost ranks, and why. */
#ifndef TORUSCTL_INSPECT_JOB_STATES_H
#define TORUSCTL_INSPECT_JOB_STATES_H

#include <jansson.h>

/* ins_job_states adds "state" (forming, running, parted, broken or silent), "age_ns" (since the job
 * formed), "error" and "text" (why it is broken or silent) to each job, with the groups of the
 * machine and the nodes that have not answered. */
void ins_job_states(json_t *jobs, const json_t *groups, const json_t *silent);
/* ins_job_print_text prints why a job is broken or silent. */
void ins_job_print_text(const json_t *job);

#endif
