/* SPDX-License-Identifier: Apache-2.0 */
/* job_terms: what the nodes of a job must share (model/terms.h). Node 0 keeps the terms of the
 * first node from which a rank joins, and compares those of the others with them. A daemon's terms
 * never change, so the group that forms keeps them as long as its daemons live.
 * Owns: a copy of the terms. */
#ifndef TD_CORE_MEMBERSHIP_JOB_TERMS_H
#define TD_CORE_MEMBERSHIP_JOB_TERMS_H

#include "core/core_internal.h"

struct td_job_terms {
    uint32_t node; /* that has told them */
    struct td_terms terms;
    uint64_t value[];
};

/* td_job_terms_create returns a copy, or NULL if memory runs out. td_core_free frees it. */
struct td_job_terms *td_job_terms_create(struct td_arena *arena, uint32_t node,
                                         const struct td_terms *terms);
/* td_job_terms_compare returns NULL if a node has the same terms. Otherwise
 * it returns a sentence for the ranks of the job, in the memory of this step. */
const char *td_job_terms_compare(struct td_core *core, const struct td_job_terms *own,
                                 const char *job, uint32_t node, const struct td_terms *terms);

#endif
