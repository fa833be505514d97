/* SPDX-License-Identifier: Apache-2.0 */
/* events: what the log says of jobs: which formed and ended here, which ranks died, and which
 * operations failed, with the sentence that names the culprit; and which nodes were silent. The
 * core notes these (core/notes.h). Calls that fail without an operation (a join that timed out, a
 * call of a group that is broken) are read off the replies; a sentence that was logged is not
 * logged again for each rank that gets it. Owns: the hashes of the last sentences. */
#ifndef TD_IO_CLIENTS_EVENTS_H
#define TD_IO_CLIENTS_EVENTS_H

#include "core/notes.h"
#include "io/log.h"
#include "model/request.h"

enum { TD_EVENTS_KEPT = 16 };

/* struct td_events: zeroed: nothing was logged. */
struct td_events {
    uint64_t line[TD_EVENTS_KEPT]; /* hashes of the last sentences */
    uint64_t at_ns[TD_EVENTS_KEPT];
    uint32_t next;
    struct td_log_rate jobs, deaths, failures, replies, silences;
};

/* td_events_error_name returns the name of an error, as in torus/torus.h without its beginning;
 * NULL: no error. */
const char *td_events_error_name(td_err error);
/* td_events_note logs a note of the core. lost: notes that were lost before it. */
void td_events_note(struct td_events *events, uint64_t now_ns, const struct td_note *note,
                    uint64_t lost);
/* td_events_reply logs a reply to a process `pid` of user `uid`, if it says that a subgroup was
 * made or that a call failed for a reason which is not the caller's argument alone. */
void td_events_reply(struct td_events *events, uint64_t now_ns, uint64_t pid, uint64_t uid,
                     const struct td_reply *reply);
/* td_events_tick says how many lines were suppressed, some time after the last of them. */
void td_events_tick(struct td_events *events, uint64_t now_ns);
void td_events_end(const struct td_events *events);

#endif
