/* SPDX-License-Identifier: Apache-2.0 */
/* job: how processes become ranks.
 *
 * A join goes from the node of the process to the registry (succession.h), which keeps the jobs
 * (registry.h). When all ranks of a job have joined, a first sweep asks the nodes to grant the
 * joins to an instance of the job. When all have granted them, the registry sends the membership
 * to the node of slot 0 (second sweep). The membership goes on down the job's combining tree, and
 * each node makes a communicator of it.
 *
 * A node grants a join to the registry that it has sent the join to, and to one instance at a time.
 * It seats the join in that instance only. When another node is the registry, the join moves to it;
 * a granted join does so after progress_timeout, since its membership may be on its way.
 *
 * A join is sent again when a new session with the registry begins, and after progress_timeout. The
 * registry knows a join by (node, token), so it ignores a repeated one. If the job formed long ago,
 * its membership was lost with a daemon on the way, and the registry refuses the join.
 * Owns: the joins of local clients until they are answered; memberships that come in pieces. */
#ifndef TD_CORE_MEMBERSHIP_JOB_H
#define TD_CORE_MEMBERSHIP_JOB_H

#include "communicator.h"

struct td_join {
    struct td_join *next, *before;
    struct td_join *same_list; /* of by_token */
    enum td_join_state state;
    uint64_t token; /* names the join on this node */
    uint32_t client;
    struct td_account *account;
    uint64_t request, uid, pid;
    char name[TD_NAME_MAX];
    uint32_t size, rank; /* rank UINT32_MAX: any */
    int64_t timeout_ns;
    uint32_t registry; /* the node that it is sent to */
    uint64_t granted;  /* the instance that it is granted to; 0: none */
    uint32_t granter;  /* the registry that has asked for it */
    td_time granted_at;
    td_time asked_at;   /* when the process asked */
    td_time again_at;   /* when it is sent once more */
    td_time expires_at; /* 2 s after the registry should have answered */
    td_err refused;     /* not TD_OK: why it gets no rank; the answer is due */
    char *over;         /* the sentence on the limit of this node that it exceeds, or NULL. The
                         * registry refuses the whole job, with this sentence */
};

enum { TD_GRANTS_MAX = 4 * TD_FORMING_MAX, TD_JOIN_LISTS = 1024 };

struct td_joins {
    struct td_join *first; /* of local clients, not answered yet */
    struct td_join *by_token[TD_JOIN_LISTS];
    struct td_forming *forming; /* memberships that come in pieces */
    uint64_t next_token;
    struct td_task task; /* answers the joins that are refused */
    /* instances that joins were granted to which have ended or were granted again: a ring */
    uint64_t grant[TD_GRANTS_MAX];
    uint32_t grants;
    struct td_terms terms; /* of this node, for its joins */
    uint64_t setting[TD_TERMS_MAX];
};

/* td_job_init: tokens begin so that none is equal to one of an earlier run of this daemon, which
 * other nodes may still have. */
void td_job_init(struct td_core *core);
/* td_job_request handles a client's request to join a job. */
void td_job_request(struct td_core *core, struct td_client *client,
                    const struct td_request *request);
/* td_job_end_joins ends the joins of this node to a job with TD_ERR_CANCELLED, `most` at most, and
 * returns their number. */
uint32_t td_job_end_joins(struct td_core *core, const char *name, uint64_t uid, uint32_t most,
                          const char *text);
/* td_job_missed refuses the joins that are granted to an instance: its membership is lost, and
 * other nodes are told that no rank is here. */
void td_job_missed(struct td_core *core, uint64_t instance);
/* td_job_cancel ends the join that a request began. It returns false if none exists. */
bool td_job_cancel(struct td_core *core, struct td_client *client, uint64_t request);
/* td_job_client_gone withdraws the joins of a client that is gone. */
void td_job_client_gone(struct td_core *core, struct td_client *client);
/* td_job_message handles JOIN, UNJOIN, RANK_LEFT, REFUSE, MEMBERS, REGISTRY_ASK, REGISTRY_ANSWER,
 * GRANT and GRANTED. */
void td_job_message(struct td_core *core, uint32_t from, const struct td_message *message);
/* td_job_node_back sends the joins again that were sent to the node; td_job_node_lost removes the
 * node's ranks from the jobs here. */
void td_job_node_back(struct td_core *core, uint32_t node);
void td_job_node_lost(struct td_core *core, uint32_t node);
/* td_job_daemon_is removes the ranks of other daemons of a node from the jobs here
 * (td_registry_daemon_is). */
bool td_job_daemon_is(struct td_core *core, uint32_t node, uint32_t daemon, bool changed);
/* td_job_registry_moved: another node keeps the list of jobs. The joins move to it. */
void td_job_registry_moved(struct td_core *core);
/* td_job_timers repeats and ends joins that are due. */
void td_job_timers(struct td_core *core);
/* td_job_stop refuses the joins that wait, since this daemon stops. */
void td_job_stop(struct td_core *core);

#endif
