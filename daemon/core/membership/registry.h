/* SPDX-License-Identifier: Apache-2.0 */
/* registry: the jobs of the whole machine, kept by node 0 (see job.h). */
#ifndef TD_CORE_MEMBERSHIP_REGISTRY_H
#define TD_CORE_MEMBERSHIP_REGISTRY_H

#include "job.h"

/* td_registry_message takes JOIN, UNJOIN and RANK_LEFT. */
void td_registry_message(struct td_core *core, uint32_t from, const struct td_message *message);
void td_registry_node_lost(struct td_core *core, uint32_t node);
/* td_registry_job_lost: a formed job of node 0 lost a node, and perhaps its membership with it. */
void td_registry_job_lost(struct td_core *core, uint64_t instance, uint32_t node);
void td_registry_timers(struct td_core *core);
void td_registry_fini(struct td_core *core);

#endif
