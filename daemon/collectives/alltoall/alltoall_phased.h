/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall_phased: the predicted time of the phased all-to-all.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_ALLTOALL_ALLTOALL_PHASED_H
#define TD_COLLECTIVES_ALLTOALL_ALLTOALL_PHASED_H

#include "collectives/cost/alltoall_model.h"

/* td_alltoall_phased_bytes returns the bytes of a link that all phases take the time of, barriers
 * included. */
uint64_t td_alltoall_phased_bytes(struct td_query *q, const struct td_alltoall_model *m);

#endif
