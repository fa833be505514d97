/* SPDX-License-Identifier: Apache-2.0 */
/* sync: the SYNC step: a barrier among some nodes of an operation, by dissemination. In round r a
 * node tells the one 2^r places after it that all it has heard of so far have come; after
 * ceil(log2 n) rounds it has heard of all. Messages may come before the step starts here.
 * Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization" (1988).
 * Keeps its state in the engine's counters: see struct td_engine_family. */
#ifndef TD_CORE_OPERATION_SYNC_H
#define TD_CORE_OPERATION_SYNC_H

#include "operation.h"

/* td_sync_start: this node has come to the step. td_engine_delivered tells when all have. */
void td_sync_start(struct td_core *core, struct td_operation *o, unsigned family, uint64_t index,
                   const struct td_step *step);
void td_sync_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                     const struct td_message *m);

#endif
