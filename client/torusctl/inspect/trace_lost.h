/* SPDX-License-Identifier: Apache-2.0 */
/* trace_lost: which nodes have events of a job no more, and why. */
#ifndef TORUSCTL_INSPECT_TRACE_LOST_H
#define TORUSCTL_INSPECT_TRACE_LOST_H

#include "trace_rings.h"

/* struct ins_trace_job: a job that formed `formed_ns` before `now_ns`, on the axis. nodes: of its
 * ranks; empty: not known, perhaps all. */
struct ins_trace_job {
    const json_t *nodes;
    int64_t now_ns, formed_ns;
};

/* ins_trace_lost returns the nodes [{node, reason, age_ns}] of a job whose rings do not reach back
 * to when it formed. reason: "not_recorded" (they have no ring), "restarted"
 * (the ring is that of a later daemon) or "overwritten". age_ns: since the first event that is
 * left, or since the daemon started; 0: not recorded. facts: of the hosts (facts.h). */
json_t *ins_trace_lost(const struct ins_rings *rings, const struct ins_trace_job *job,
                       const json_t *facts);
/* ins_trace_lost_print prints them to stderr. peers: rows of the other nodes. */
void ins_trace_lost_print(const json_t *lost, const json_t *peers);

#endif
