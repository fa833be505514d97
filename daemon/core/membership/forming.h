/* SPDX-License-Identifier: Apache-2.0 */
/* forming: memberships of jobs that come in pieces.
 *
 * A node sends the ranks of a job in the order of the ranks, as many in a message as fit.
 * Owns: the pieces until the last one. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_FORMING_H
#define TD_CORE_MEMBERSHIP_FORMING_H

#include "account.h"

/* struct td_forming: a membership whose pieces have not all come. It lives until its last piece,
 * or until its sender is lost or sends nothing more of it for progress_timeout. */
struct td_forming {
    struct td_forming *next;
    struct td_account *account; /* of the job's user */
    uint64_t instance;
    uint32_t from, size; /* from: the node that sends it */
    td_time expires_at;
    uint32_t *rank_node; /* [size] */
    uint64_t *rank_token;
};

/* td_forming_start returns the membership that a node begins to send with the piece `m`, or NULL:
 * memory lacks, or the node sends too many at a time. */
struct td_forming *td_forming_start(struct td_core *core, uint32_t from, uint64_t instance,
                                    const struct td_message_members *m);
/* td_forming_find returns the membership that a node sends, or NULL. */
struct td_forming *td_forming_find(struct td_core *core, uint32_t from, uint64_t instance);
/* td_forming_take notes the ranks of a piece. */
void td_forming_take(struct td_forming *forming, const struct td_message_members *piece);
void td_forming_drop(struct td_core *core, struct td_forming *forming);
/* td_forming_end drops the memberships that a node sends, or those that are overdue (UINT32_MAX).
 */
void td_forming_end(struct td_core *core, uint32_t from);

#endif
