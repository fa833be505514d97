/* SPDX-License-Identifier: Apache-2.0 */
/* end_calls: which calls a user ends who is no rank of them; as a request of a client, and as a
 * message between daemons. Borrows: its strings. Pure. */
#ifndef TD_MODEL_END_CALLS_H
#define TD_MODEL_END_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Node > node: end calls on the receiver, with TD_ERR_CANCELLED. A SEEN with the ticket is the
 * answer: a page of the local protocol without rows, whose error is that of the request, and whose
 * `next` is the number of calls that end. */
struct td_message_end_calls {
    uint64_t ticket;   /* the sender's name of the question; in a request of a client 0 */
    uint64_t user;     /* who ends them: their owner, or root; set by the client's daemon */
    const char *job;   /* its name */
    uint64_t owner;    /* of the job */
    bool all;          /* all calls of the job, also its joins, else one operation: */
    uint64_t instance; /* of the group */
    uint64_t number;   /* of the operation, as its ranks count */
    const char *why;   /* for the sentence; "": no reason is given */
};

#endif
