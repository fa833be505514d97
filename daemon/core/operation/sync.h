/* SPDX-License-Identifier: Apache-2.0 */
/* sync: the SYNC step: a dissemination barrier among some nodes of an operation.
 *
 * In round r a node signals the node 2^r places after it, once it has been signalled in all earlier
 * rounds. After ceil(log2 n) rounds all n nodes have reached the step. Signals may arrive before
 * the step starts on this node. Source: Hensgen, Finkel and Manber, "Two algorithms for barrier
 * synchronization" (1988). Owns: nothing; its state is in the engine's counters (struct
 * td_engine_family). */
#ifndef TD_CORE_OPERATION_SYNC_H
#define TD_CORE_OPERATION_SYNC_H

#include "operation.h"

/* td_sync_start begins the step: this node has reached it. td_engine_delivered follows when all
 * nodes have. */
void td_sync_start(struct td_core *core, struct td_operation *o, unsigned family, uint64_t index,
                   const struct td_step *step);
/* td_sync_owed_by returns the node whose signal a step that has started waits for. */
uint32_t td_sync_owed_by(const struct td_operation *o, unsigned family, uint64_t index,
                         const struct td_among *among);
void td_sync_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                     const struct td_message *m);

#endif
