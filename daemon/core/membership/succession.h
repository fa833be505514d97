/* SPDX-License-Identifier: Apache-2.0 */
/* succession: which node keeps the list of jobs, and how another one takes over
 * (docs/adr/0014-registry.md).
 *
 * The registry is the lowest node that does not drain and that this daemon has not given up. Each
 * daemon finds it by itself, so the daemons of one side of a cut find the same one as soon as all
 * of them have noticed the cut. Until then two nodes may keep lists; that is safe, because a daemon
 * grants a join to one instance of a job only (job.h).
 *
 * A registry forms no job before it knows the ranks of the jobs that have formed: it asks all nodes
 * that it hears (REGISTRY_ASK). Each reports its ranks, and then answers. A node that is heard
 * later is asked then.
 *
 * Owns: its sets. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_SUCCESSION_H
#define TD_CORE_MEMBERSHIP_SUCCESSION_H

#include "core/core_internal.h"
#include "membership_state.h"

enum { TD_REGISTRIES_TOLD = 4 };

struct td_succession {
    struct td_task task; /* asks the nodes */
    enum td_succession_state state;
    uint32_t registry; /* as this node finds it */
    uint64_t round;    /* of questions */
    td_time until;     /* when the registry goes on without the nodes that have not answered */
    td_time again_at;  /* when the lower nodes are tried again */
    uint32_t next;     /* the node that is asked next */
    uint32_t owing;    /* nodes that have not answered */
    uint8_t owes[TD_NODES_MAX / 8];
    uint8_t drains[TD_NODES_MAX / 8];
    uint32_t told[TD_REGISTRIES_TOLD]; /* the latest nodes that have asked for the ranks here */
    uint32_t tolds;
};

void td_succession_init(struct td_core *core);
/* td_succession_begin finds the first registry, when the links are made. */
void td_succession_begin(struct td_core *core);
/* td_succession_registry returns the node that keeps the list of jobs, as this node finds it. */
uint32_t td_succession_registry(const struct td_core *core);
/* td_succession_knows returns true if this node is the registry and knows the ranks on all nodes
 * that it hears. If it does not know them yet, it asks; the notice `registry_knows` follows. */
bool td_succession_knows(struct td_core *core);
/* td_succession_keeps returns true if this node is the registry, as it finds it. */
bool td_succession_keeps(const struct td_core *core);
/* td_succession_rank_left tells the registry, and the nodes that the rank was reported to, that a
 * local rank of a job that has formed is gone. */
void td_succession_rank_left(struct td_core *core, uint64_t instance, uint32_t rank);
/* td_succession_note_told: the ranks here are reported to a node from now on.
 * td_succession_is_told returns true if it is one of the latest such nodes. */
bool td_succession_is_told(const struct td_core *core, uint32_t node);
void td_succession_note_told(struct td_core *core, uint32_t node);
/* td_succession_node_lost and td_succession_node_back may find another registry; the notice
 * `registry_moved` follows. */
void td_succession_node_lost(struct td_core *core, uint32_t node);
void td_succession_node_back(struct td_core *core, uint32_t node);
/* td_succession_answer handles a REGISTRY_ANSWER. */
void td_succession_answer(struct td_core *core, uint32_t from,
                          const struct td_message_registry_answer *message);
/* td_succession_decline tells a node that this daemon drains. */
void td_succession_decline(struct td_core *core, uint32_t node);
/* td_succession_stop: this daemon drains, and tells the nodes that it is connected with. It returns
 * false if the step has no room: the caller repeats it. */
bool td_succession_stop(struct td_core *core);
/* td_succession_timers ends the questions in time, and tries lower nodes again if `needed`. */
void td_succession_timers(struct td_core *core, bool needed);

#endif
