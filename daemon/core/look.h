/* SPDX-License-Identifier: Apache-2.0 */
/* look: what torusctl may see of other nodes. A client asks its own daemon, which asks the daemon
 * of that node (LOOK), and passes on the page that it sends (SEEN) without reading it. A node that
 * is not connected is named at once. One that does not answer leaves the client
 * without a reply: the client has its own patience. Owns: the questions that wait for a page. The
 * oldest gives way to a new one. Invariant: at most one page goes to a question. Pure: no I/O,
 * clock, or globals. */
#ifndef TD_CORE_LOOK_H
#define TD_CORE_LOOK_H

#include "core/membership/client.h"

enum { TD_LOOKS_MAX = 256 };

struct td_look {
    uint64_t ticket; /* 0: free */
    uint64_t request;
    td_time asked_at;
    uint32_t client, node;
};

struct td_looks {
    uint64_t tickets; /* given so far */
    struct td_look look[TD_LOOKS_MAX];
};

/* td_look_request answers a STATUS request for this node or another one. */
void td_look_request(struct td_core *core, const struct td_client *client,
                     const struct td_request *request);
/* td_look_why_not returns why a node cannot be asked now, and sets *error, or NULL. */
const char *td_look_why_not(struct td_core *core, uint32_t node, td_err *error);
/* td_look_ticket keeps a question of a client to a node, and returns the ticket that the SEEN with
 * the answer has. */
uint64_t td_look_ticket(struct td_core *core, const struct td_client *client, uint32_t node,
                        uint64_t request);
/* td_look_answer sends a page to a node that has asked with a ticket. */
void td_look_answer(struct td_core *core, uint32_t to, uint64_t ticket,
                    const struct td_reply *page);
/* td_look_message handles LOOK and SEEN. */
void td_look_message(struct td_core *core, uint32_t from, const struct td_message *message);

#endif
