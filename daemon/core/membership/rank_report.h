/* SPDX-License-Identifier: Apache-2.0 */
/* rank_report: tells a node that takes the list of jobs over which ranks are here.
 *
 * A new registry asks each node (succession.h). The node sends a JOIN for each rank of its jobs,
 * the newest job first, and then the answer. Nodes that ask at the same time are answered one after
 * the other, and a report goes on where it was when a link was full. Owns: the questions until they
 * are answered. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_RANK_REPORT_H
#define TD_CORE_MEMBERSHIP_RANK_REPORT_H

#include "core/core_internal.h"

/* Invariant: `count` nodes are in `asked`; `asker` is one of them, or the number of nodes. */
struct td_rank_reports {
    struct td_task task;
    uint8_t asked[TD_NODES_MAX / 8]; /* by these nodes */
    uint32_t count;
    uint64_t round[TD_NODES_MAX]; /* of each node's question */
    uint32_t asker;               /* the one that is reported to; nodes: none */
    uint32_t next_number;         /* the group whose ranks are reported next, and the seat */
    uint32_t next_seat;
    td_time at; /* when it goes on, if a link was full; else TD_TIME_NEVER */
};

void td_rank_report_init(struct td_core *core);
/* td_rank_report_ask: a node asks for the ranks here, in a round of its questions. */
void td_rank_report_ask(struct td_core *core, uint32_t from, uint64_t round);
/* td_rank_report_node_back repeats the report to a node that had asked. */
void td_rank_report_node_back(struct td_core *core, uint32_t node);
/* td_rank_report_node_lost forgets the question of a node. */
void td_rank_report_node_lost(struct td_core *core, uint32_t node);
/* td_rank_report_timers goes on with a report that waited for a link. */
void td_rank_report_timers(struct td_core *core);

#endif
