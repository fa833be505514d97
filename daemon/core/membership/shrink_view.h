/* SPDX-License-Identifier: Apache-2.0 */
/* shrink_view: the view of a node in a shrink (shrink.h): the ranks of a group that it knows to be
 * lost for good, by proof or by an epoch. A view only grows.
 * Borrows: the group; its `lost_rank` set is the view. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_SHRINK_VIEW_H
#define TD_CORE_MEMBERSHIP_SHRINK_VIEW_H

#include "communicator.h"

/* td_shrink_view_has_rank_besides returns true if a rank of the slot is not in `bits`. */
bool td_shrink_view_has_rank_besides(const struct td_communicator *c, uint32_t slot,
                                     const uint8_t *bits);
/* td_shrink_view_lives returns true if a rank of the slot is not known to be lost. */
bool td_shrink_view_lives(const struct td_communicator *c, uint32_t slot);
/* td_shrink_view_coordinator returns the slot of the coordinator, UINT32_MAX if no rank lives. */
uint32_t td_shrink_view_coordinator(const struct td_communicator *c);
/* td_shrink_view_silent returns true if a rank of the slot lives as far as this node knows, but the
 * session with its node has ended. */
bool td_shrink_view_silent(const struct td_core *core, const struct td_communicator *c,
                           uint32_t slot);
/* td_shrink_view_head returns the first slot that lives and is not silent, UINT32_MAX if there is
 * none: it collects votes, but proposes only if it is the coordinator. */
uint32_t td_shrink_view_head(const struct td_core *core, const struct td_communicator *c);
/* td_shrink_view_count_lost returns the number of ranks in the view. */
uint32_t td_shrink_view_count_lost(const struct td_communicator *c);
/* td_shrink_view_round returns the number of the view's round: a larger view has a larger number.
 */
uint32_t td_shrink_view_round(const struct td_communicator *c);
uint64_t td_shrink_view_hash(const struct td_communicator *c);
/* td_shrink_view_lose, td_shrink_view_lose_slot and td_shrink_view_learn add a rank, all ranks of a
 * slot, or the view of another node. They return false if the view had all of these ranks. */
bool td_shrink_view_lose(struct td_communicator *c, uint32_t rank);
bool td_shrink_view_lose_slot(struct td_communicator *c, uint32_t slot);
bool td_shrink_view_learn(struct td_communicator *c, const struct td_bitmap *lost);

#endif
