/* SPDX-License-Identifier: Apache-2.0 */
/* trace_timeline: the events of a job as a timeline: calls, gate, steps, packets, waits and
 * what happened to nodes. */
#ifndef TORUSCTL_INSPECT_TRACE_TIMELINE_H
#define TORUSCTL_INSPECT_TRACE_TIMELINE_H

#include "trace_rings.h"

/* struct ins_selection: the job, and which of its operations. */
struct ins_selection {
    const char *job;
    uint64_t world; /* its instance */
    uint32_t size;  /* of the job, in ranks */
    bool is_whole;  /* all nodes have told their events */
    bool one;       /* only the operation `number` */
    uint64_t number;
    const json_t *late; /* operations in flight, as torusctl ops merges them (collect.h), or NULL */
    const json_t *peers;  /* rows of the other nodes (collect.h), or NULL */
    const json_t *silent; /* nodes that have not answered (machine.h) */
    int64_t late_at;      /* when they were read, CLOCK_MONOTONIC */
    int64_t formed_at;    /* when the job formed, CLOCK_MONOTONIC; 0: not known */
};

/* ins_timeline returns Chrome's list of trace events, and sets *zero to the begin of the axis
 * (CLOCK_MONOTONIC). The caller owns the list. NULL: no memory. */
json_t *ins_timeline(const struct ins_rings *rings, const struct ins_selection *selection,
                     int64_t *zero);

#endif
