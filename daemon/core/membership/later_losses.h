/* SPDX-License-Identifier: Apache-2.0 */
/* later_losses: how groups made of a broken job hear of ranks that the job loses later.
 *
 * The first loss breaks a job; its tree tells of no other. The groups that a rank was in tell the
 * others. But a rank may die before it makes a group that other ranks have made and call in: its
 * daemon does not know that group. So while an operation waits, a node asks the neighbours in the
 * group's tree that may not have made the group, and while a shrink waits, the nodes that do not
 * answer: a RANK_GONE of the job about a rank of the receiver is a question. The receiver answers
 * with RANK_LOST if that rank is gone.
 * Owns: nothing. Borrows: the group. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_LATER_LOSSES_H
#define TD_CORE_MEMBERSHIP_LATER_LOSSES_H

#include "communicator.h"

/* td_later_losses_wait notes that an operation of a group begins to wait. */
void td_later_losses_wait(struct td_core *core, struct td_communicator *c);
/* td_later_losses_made notes that a tree neighbour has made the group, if the message is of its own
 * operation. td_later_losses_parent_made returns true if the parent has. */
void td_later_losses_made(struct td_communicator *c, uint32_t from, const struct td_message *m);
bool td_later_losses_parent_made(const struct td_communicator *c);
/* td_later_losses_ask asks a node about some of its ranks, others in each turn, if the job's tree
 * would not tell of them. What has no room is asked when its turn comes again. */
void td_later_losses_ask(struct td_core *core, const struct td_communicator *c, uint32_t node,
                         uint32_t turn);
/* td_later_losses_timers asks about losses, once per TD_LOSS_AGAIN_NS while an operation waits. */
void td_later_losses_timers(struct td_core *core, struct td_communicator *c);
/* td_later_losses_answer returns false if a RANK_GONE is not a question. */
bool td_later_losses_answer(struct td_core *core, const struct td_communicator *c, uint32_t from,
                            const struct td_message *message);
/* td_later_losses_hear passes a RANK_LOST of a daemon about its own ranks on to the roots of the
 * groups made of the job, if the job is broken or over on this node. */
void td_later_losses_hear(struct td_core *core, uint32_t from, const struct td_message *message);

#endif
