/* SPDX-License-Identifier: Apache-2.0 */
/* job: how processes become ranks. A join goes from the process's node to node 0, which keeps the
 * jobs of the machine; when all ranks of a job are there, its membership goes to the nodes
 * concerned, down the job's own combining tree, and each makes a communicator of it.
 *
 * A join that is lost with a link is sent again when the link is back, and so is one that has
 * waited for progress_timeout: node 0 knows it by (node, token), so a repeat does no harm, and
 * where the job formed long ago, its membership was lost with a daemon on the way.
 *
 * Owns: joins of local clients until answered; at node 0, jobs until their last rank is gone. */
#ifndef TD_CORE_MEMBERSHIP_JOB_H
#define TD_CORE_MEMBERSHIP_JOB_H

#include "communicator.h"

struct td_join {
    struct td_join *next;
    enum td_join_state state;
    uint64_t token;
    uint32_t client;
    uint64_t request, uid, pid;
    char name[TD_NAME_MAX];
    uint32_t size, rank; /* UINT32_MAX: any */
    int64_t timeout_ns;
    td_time again_at;   /* when it is sent once more */
    td_time expires_at; /* a while after node 0 should have answered */
};

/* struct td_job: at node 0. */
struct td_job {
    struct td_task task;
    struct td_job *next;
    enum td_job_state state;
    char name[TD_NAME_MAX];
    uint64_t uid, instance; /* instance 0: still forming */
    td_time formed_at;
    uint32_t size, joined, gone;
    td_time expires_at;
    uint8_t *taken; /* ranks asked for by number */
    struct td_entry {
        uint64_t token, pid;
        uint32_t node, rank, asked; /* asked UINT32_MAX: any */
        bool gone;
    } * entry;           /* [size], joined of them, in order of arrival; by rank once formed */
    uint32_t *rank_node; /* membership still to be sent to slot 0's node */
    uint64_t *rank_token;
    uint32_t members_told, first_node;
    uint32_t lost; /* a node that is, since it formed: the membership may have been lost with it */
};

void td_job_request(struct td_core *core, struct td_client *client,
                    const struct td_request *request);
/* td_job_cancel ends a join in flight; false when `request` is none. */
bool td_job_cancel(struct td_core *core, struct td_client *client, uint64_t request);
void td_job_client_gone(struct td_core *core, struct td_client *client);
void td_job_rank_gone(struct td_core *core, struct td_communicator *c, uint32_t rank);
void td_job_message(struct td_core *core, uint32_t from, const struct td_message *message);
void td_job_link_up(struct td_core *core, uint32_t node);
void td_job_link_down(struct td_core *core, uint32_t node);
void td_job_timers(struct td_core *core);
/* td_job_stop refuses the joins that wait. */
void td_job_stop(struct td_core *core);
/* td_job_fill_members writes runs of ranks from `first` on into a MEMBERS that has its size, and
 * whether it is the last piece. The runs live until the next step. It returns the rank after them.
 */
uint32_t td_job_fill_members(struct td_core *core, const uint32_t *rank_node,
                             const uint64_t *rank_token, uint32_t first,
                             struct td_message_members *members);

#endif
