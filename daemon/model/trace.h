/* SPDX-License-Identifier: Apache-2.0 */
/* trace: an event of a daemon's flight recorder, as the daemon keeps it and torusctl reads it.
 * Pure. */
#ifndef TD_MODEL_TRACE_H
#define TD_MODEL_TRACE_H

#include <stdint.h>

/* The numbers are on the wire and never change. rank: of the job. */
enum td_trace_kind {
    TD_TRACE_CALL = 1, /* a rank of this node has called. subject: rank; since: when it began to
                          wait; a: calls by segment before; b: pid */
    TD_TRACE_RETURN,   /* it has its reply. subject: rank; since: its call; a: 1: the rank is gone,
                          and expects no reply any more */
    TD_TRACE_COMPLETE, /* all ranks of this node and of those below have called */
    TD_TRACE_AGAIN,    /* the nodes announce once more: scratch memory, or counts by rank */
    TD_TRACE_RELEASE,  /* the gate has opened. subject: the rank that called last; since: the first
                          call on this node; a: the node whose silence has delayed that call, plus
                          1, 0: none; b: by how many ns, until now */
    TD_TRACE_STEPS_BEGIN, /* the first step of a family has begun. subject: family; a: steps; b:
                             enum td_step_kind */
    TD_TRACE_STEPS_END,   /* all of its steps are done */
    TD_TRACE_STEPS_LEFT,  /* the operation has ended with a: steps done of a family. subject, b */
    TD_TRACE_SENT,        /* packets. subject: node; since: the first one; a: bytes; b: packets */
    TD_TRACE_RECEIVED,
    TD_TRACE_APPEAL,  /* this node asks the root to end the operation */
    TD_TRACE_DONE,    /* no longer recorded: the returns of the ranks tell it */
    TD_TRACE_FAILED,  /* it has ended with an error. subject: rank of the culprit; a: its node
                         plus 1, or 0 */
    TD_TRACE_DIED,    /* a rank of this node has ended without leaving its job. subject: rank; a: 1:
                         after a call of it had failed; more: so many ns had this daemon not run just
                         before, and the rank may have given it up; b: pid */
    TD_TRACE_LINK_UP, /* of no job, as are the following. subject: node; since: it went down */
    TD_TRACE_LINK_DOWN,
    TD_TRACE_CLOCK,  /* of no ring: the answer to a question. a: number of the next event, b: size
                        of the ring */
    TD_TRACE_SILENT, /* no message has come from a node since the time `since`. subject: node */
    TD_TRACE_HEARD,  /* a message has come again. subject, since: as in SILENT */
    TD_TRACE_NODE_LOST, /* the session with a node has ended. subject: node; since: its last
                           message; a: 1: it was stopped by its operator */
    TD_TRACE_RESTARTED, /* another daemon runs on a node. subject: node; a: 1: no goodbye came from
                           the earlier one, which was heard until its end; since: when it
                           was heard last, if it was silent */
    TD_TRACE_PAUSED,    /* this daemon did not run. subject: this node; since: the last moment at
                           which it did */
    TD_TRACE_STOPPED,   /* the process of a rank of this node for which a call waits is stopped.
                           subject: rank; a: enum td_outage; b: pid */
    TD_TRACE_GOES_ON,   /* that process runs again, or has called. subject, a, b: as in STOPPED;
                           since: when it was seen to be stopped */
    TD_TRACE_KINDS
};
#define TD_TRACE_NOBODY UINT32_MAX

/* struct td_trace_event: `world` and `group` name the job and the group in it (0: its world). */
struct td_trace_event {
    uint64_t number;
    uint64_t at, since; /* ns of the daemon's clock */
    uint64_t world;     /* instance of the job; 0: none */
    uint64_t sequence;  /* of the operation, as ranks count their calls */
    uint64_t a, b;
    uint32_t group, subject;
    uint8_t kind, call; /* enum td_trace_kind, enum td_kind */
    uint16_t error;     /* as a positive number; 0: none */
};

enum { TD_TRACE_NUMBERS = 9, TD_TRACE_EVENTS_MAX = 12 /* of a row */ };

/* td_trace_pack writes an event as numbers[TD_TRACE_NUMBERS]; td_trace_unpack reads them. */
void td_trace_pack(const struct td_trace_event *event, uint64_t *numbers);
void td_trace_unpack(const uint64_t *numbers, struct td_trace_event *event);

#endif
