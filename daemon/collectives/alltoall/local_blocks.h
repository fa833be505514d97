/* SPDX-License-Identifier: Apache-2.0 */
/* local_blocks: the copies of an all-to-all among the ranks of one node.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_ALLTOALL_LOCAL_BLOCKS_H
#define TD_COLLECTIVES_ALLTOALL_LOCAL_BLOCKS_H

#include "collectives/method.h"

/* td_alltoall_local writes COPY number i (< td_alltoall_locals) of the messages between local
 * ranks. */
void td_alltoall_local(const struct td_program *p, uint64_t i, struct td_step *step);
uint64_t td_alltoall_locals(const struct td_program *p);

#endif
