/* SPDX-License-Identifier: Apache-2.0 */
/* registry: the jobs of the machine, or of one side of a cut. One node keeps them (succession.h).
 *
 * When all ranks of a job have joined, the registry asks each node whether its joins may become
 * ranks of a new instance of the job (GRANT). When all nodes have granted them, it sends the
 * membership. If a join is not granted, the job waits for another one.
 * Owns: jobs, until their last rank is gone.
 * Invariant: entry holds `joined` joins in order of arrival, and in rank order once the job has
 * formed. */
#ifndef TD_CORE_MEMBERSHIP_REGISTRY_H
#define TD_CORE_MEMBERSHIP_REGISTRY_H

#include "account.h"
#include "membership_state.h"

struct td_job {
    struct td_task task; /* sends the membership */
    struct td_job *next;
    enum td_job_state state;
    char name[TD_NAME_MAX];
    uint64_t uid, instance; /* instance 0: the job has not formed */
    uint64_t proposal;      /* in GRANTING: the instance that it asks for */
    struct td_account *account;
    td_time begun_at, formed_at; /* begun_at: the first join came */
    uint32_t size, joined, gone;
    td_time expires_at;
    uint8_t *taken;  /* [size] bitmap of the ranks that joins have asked for by number */
    uint8_t *ever;   /* [size] bitmap of those that any join did, also one that is gone */
    uint32_t most;   /* joins at a time */
    bool any;        /* some did not ask by number */
    bool lost_joins; /* while it formed, some were lost with their nodes */
    bool noted;      /* it does not form, and has a record (unformed.h) */
    struct td_entry {
        uint64_t token, pid;
        uint32_t node, rank, asked; /* asked: the rank that the join asks for, UINT32_MAX: any */
        bool gone;                  /* the rank has left, or its node is lost */
        bool differs;               /* the job cannot form with it: the node's terms are not those
                                     * of the job, or the node does not admit it */
        bool granted, denied;       /* in GRANTING: the answer of the node */
    } * entry;                      /* [size] */
    struct td_job_terms *terms;     /* that its nodes share (job_terms.h); NULL: not known */
    char *refusal;           /* why the job cannot form, if joins of that kind have come, or NULL */
    td_err refusal_error;    /* that goes with it */
    char *cancelled;         /* the user who cancelled its joins; NULL after the next join */
    uint32_t asked, granted; /* in GRANTING: entries */
    /* from GRANTING on: the membership, which goes to the node of slot 0 */
    uint32_t *rank_node;
    uint64_t *rank_token;
    uint32_t members_sent, first_node;
    uint64_t epoch;    /* the latest that its nodes knew */
    uint64_t namesake; /* 1 + the uid of another user that forms a job of this name; 0: none */
    uint32_t lost;     /* a node that was lost since the job formed, perhaps with the membership;
                        * UINT32_MAX: none */
    uint32_t unjoined; /* a node that has withdrawn a join since then; UINT32_MAX: none */
};

/* td_token_daemon returns the daemon that made the token of a join: the low half of its
 * incarnation; 0: unknown. */
static inline uint32_t td_token_daemon(uint64_t token)
{
    return (uint32_t)(token >> 32);
}

struct td_registry {
    struct td_job *jobs; /* none but at the registry */
};

/* td_registry_message handles JOIN, UNJOIN, RANK_LEFT and GRANTED. */
void td_registry_message(struct td_core *core, uint32_t from, const struct td_message *message);
/* td_registry_node_lost removes the ranks and joins of a node from all jobs. */
void td_registry_node_lost(struct td_core *core, uint32_t node);
/* td_registry_daemon_is removes the ranks and joins of other daemons of a node; `changed`: also
 * those of an unknown daemon. It returns true if some of this one are left. */
bool td_registry_daemon_is(struct td_core *core, uint32_t node, uint32_t daemon, bool changed);
/* td_registry_job_lost notes that a formed job lost a node, and perhaps its membership with it. */
void td_registry_job_lost(struct td_core *core, uint64_t instance, uint32_t node);
/* td_registry_knows forms the jobs that have waited until this node knew the ranks on all others.
 * td_registry_resign drops the records of jobs that have formed: another node is the registry. */
void td_registry_knows(struct td_core *core);
void td_registry_resign(struct td_core *core);
/* td_registry_timers refuses the joins of jobs that did not form in time. */
void td_registry_timers(struct td_core *core);

#endif
