/* SPDX-License-Identifier: Apache-2.0 */
/* recorder: the flight recorder of a node: a ring of its latest events, of fixed size. When an
 * operation fails, the latest events of its job, and those of links and nodes, are copied to a
 * second ring, so that a busy machine does not overwrite them at once; a new failure takes the
 * place of the oldest. Events that are rare, of nodes, links, deaths and stops, are copied to a
 * ring of their own, for the same reason.
 *
 * Packets are added up per operation, far node and direction: a flow. A flow becomes an event when
 * its operation ends, or when another flow needs its place.
 * Owns: the rings, in one allocation that its creator makes and frees. Borrows: nothing.
 * Invariant: an event takes no memory and no loop; events of a ring are in the order of their
 * numbers. Pure: no I/O, clock, or globals; time is handed in. */
#ifndef TD_CORE_RECORDER_H
#define TD_CORE_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/time.h"
#include "model/trace.h"

enum {
    TD_RECORDER_KEPT = 1024,   /* events of failed operations, of all failures */
    TD_RECORDER_BEFORE = 256,  /* of one failure */
    TD_RECORDER_LOOK = 2048,   /* events that one failure looks at */
    TD_RECORDER_RARE = 256,    /* rare events */
    TD_RECORDER_FAILURES = 16, /* sentences */
    TD_RECORDER_FLOWS = 64,
};
#define TD_RECORDER_AGAIN_NS ((td_time)1000000000) /* between two copies for one job */

/* struct td_flow: the packets of one operation to or from one node, so far. */
struct td_flow {
    const void *owner; /* the operation; NULL: free */
    uint32_t node;
    bool out;
    struct td_trace_event event;
};

struct td_failure {
    struct td_trace_event event;
    char text[TD_TEXT_MAX];
};

struct td_recorder {
    uint64_t next; /* number of the next event; the first one is 1 */
    uint32_t mask; /* events of the ring, minus 1 */
    uint32_t failures;
    uint64_t kept;         /* events that were ever kept */
    uint64_t rares;        /* rare events that there ever were */
    uint64_t copied_world; /* the job whose events were copied last, and when */
    td_time copied_at;
    uint32_t flows; /* that are not recorded yet */
    struct td_flow flow[TD_RECORDER_FLOWS];
    struct td_failure failure[TD_RECORDER_FAILURES];
    struct td_trace_event before[TD_RECORDER_KEPT];
    struct td_trace_event rare[TD_RECORDER_RARE];
    struct td_trace_event ring[];
};

/* td_recorder_size returns the number of events of a ring for `events`: the next power of two. */
uint32_t td_recorder_size(uint32_t events);
/* td_recorder_bytes returns the bytes of a recorder for `events` events; td_recorder_init prepares
 * zeroed memory of that size. */
size_t td_recorder_bytes(uint32_t events);
void td_recorder_init(struct td_recorder *recorder, uint32_t events);

/* td_recorder_next returns the place of the next event, r->next, which the caller writes. */
static inline struct td_trace_event *td_recorder_next(struct td_recorder *r)
{
    return &r->ring[r->next++ & r->mask];
}

/* td_recorder_add returns a new event with its number, kind and time, for the caller to fill in:
 * the other fields have old values. */
static inline struct td_trace_event *td_recorder_add(struct td_recorder *r, enum td_trace_kind kind,
                                                     td_time now)
{
    uint64_t number = r->next;
    struct td_trace_event *e = td_recorder_next(r);
    e->number = number;
    e->at = e->since = now;
    e->kind = (uint8_t)kind;
    return e;
}

/* td_recorder_rare copies an event, which is complete, to the ring of the rare ones. */
void td_recorder_rare(struct td_recorder *recorder, const struct td_trace_event *event);
/* td_recorder_node adds a rare event of no job about a node. NULL: there is no recorder. */
void td_recorder_node(struct td_recorder *recorder, enum td_trace_kind kind, uint32_t node,
                      td_time now, td_time since, uint64_t a);
/* td_recorder_flow returns the flow of an operation to (`out`) or from a node. If it is new,
 * `event` names the operation, and its bytes are zero. */
struct td_flow *td_recorder_flow(struct td_recorder *recorder, const void *owner, uint32_t node,
                                 bool out, td_time now, const struct td_trace_event *event);
/* td_recorder_flush records the flows of an operation, which ends. */
void td_recorder_flush(struct td_recorder *recorder, const void *owner);
/* td_recorder_fail keeps the sentence of a failure, whose event was added last, and copies the
 * latest events of its job, and those of links and nodes. */
void td_recorder_fail(struct td_recorder *recorder, const struct td_trace_event *event,
                      const char *text);

#endif
