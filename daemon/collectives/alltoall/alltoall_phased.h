/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall_phased: the predicted time of the phased all-to-all.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_ALLTOALL_ALLTOALL_PHASED_H
#define TD_COLLECTIVES_ALLTOALL_ALLTOALL_PHASED_H

#include "collectives/cost/alltoall_model.h"

/* td_alltoall_phased_slots returns the slots of all phases, barriers included. */
uint64_t td_alltoall_phased_slots(struct td_query *q, const struct td_alltoall_model *m);

#endif
