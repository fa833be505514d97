/* SPDX-License-Identifier: Apache-2.0 */
/* members: the membership of a job as the pieces that MEMBERS messages carry.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_MEMBERS_H
#define TD_CORE_MEMBERSHIP_MEMBERS_H

#include "core/core_internal.h"

/* td_members_fill fills in the runs of ranks from `first` on, and whether they are the last piece,
 * of a MEMBERS that has its size. rank_node and rank_token are [size]. The runs are valid until the
 * next step. It returns the first rank of the next piece. */
uint32_t td_members_fill(struct td_core *core, const uint32_t *rank_node,
                         const uint64_t *rank_token, uint32_t first,
                         struct td_message_members *members);

#endif
