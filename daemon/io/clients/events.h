/* SPDX-License-Identifier: Apache-2.0 */
/* events: what the log says of jobs: which formed here, and which calls failed, with the sentence
 * that names the culprit. The ranks of a node get the same answer; the log has it once. Owns: the
 * hashes of the last lines. */
#ifndef TD_IO_CLIENTS_EVENTS_H
#define TD_IO_CLIENTS_EVENTS_H

#include "io/log.h"
#include "model/request.h"

enum { TD_EVENTS_KEPT = 16 };

/* struct td_events: zeroed: nothing was logged. */
struct td_events {
    uint64_t line[TD_EVENTS_KEPT]; /* hashes of the last lines */
    uint64_t at_ns[TD_EVENTS_KEPT];
    uint32_t next;
    struct td_log_rate jobs, failures;
};

/* td_events_reply logs a reply to a process `pid` of user `uid`, if it says that a group was made
 * or that a call failed for a reason which is not the caller's argument alone. */
void td_events_reply(struct td_events *events, uint64_t now_ns, uint64_t pid, uint64_t uid,
                     const struct td_reply *reply);

#endif
