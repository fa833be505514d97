/* SPDX-License-Identifier: Apache-2.0 */
/* core_internal: the state that the modules of the core share. Only files below core include it.
 *
 * An event is handled in two halves. The handler changes state and puts tasks on the work list; it
 * emits at most a handful of actions itself. The pump then lets each task emit while there is room,
 * so a fan-out of any size is cut into steps. */
#ifndef TD_CORE_CORE_INTERNAL_H
#define TD_CORE_CORE_INTERNAL_H

#include <assert.h>

#include "base/arena.h"
#include "base/bits.h"
#include "base/shares.h"
#include "action.h"
#include "event.h"
#include "model/group.h"
#include "notices.h"
#include "notes.h"
#include "options.h"
#include "scheduler.h"

/* struct td_task: an entry of the work list, the first member of the record that it advances.
 * advance returns false when it needs more room for actions. */
struct td_task {
    struct td_task *next;
    bool queued;
    bool (*advance)(struct td_core *, struct td_task *);
};

struct td_communicator;
struct td_link;
struct td_early;
struct td_inflight;
struct td_held;
struct td_fabric;
struct td_routed;
struct td_health;
struct td_silence;
struct td_goodbyes;
struct td_accounts;
struct td_clients;
struct td_joins;
struct td_rank_reports;
struct td_epochs;
struct td_registry;
struct td_succession;
struct td_groups;
struct td_operations;
struct td_endings;
struct td_waits_job;
struct td_looks;
struct td_recorder;
struct td_sums;

enum {
    TD_PAD_BYTES = 1 << 20,
    /* a handler, or one turn of a task, emits at most so much; the pump stops before */
    TD_ACTIONS_SPARE = 64,
    TD_PAD_SPARE = 1 << 18,
    TD_PAD_REPLIES = 1 << 17, /* of the pad, for replies alone: no text may take their place */
    TD_ENDS_MAX = 8,          /* seats, segments and groups that end in a step: some 20 us each */
};

/* The first fields are what nearly every step needs: td_core_spans. */
struct td_core {
    struct td_actions *actions; /* of the current step */
    size_t pad_used;
    uint32_t ends; /* seats, segments and groups that have ended in this step */
    td_time now;
    td_time alarm; /* when the next timer is due */
    struct td_task *work, **work_last;
    struct td_link *link; /* [nodes] */
    const struct td_fabric *fabric;
    struct td_routed *routed; /* the routed fabric's state; only fabric_routed*.c read it */
    struct td_arena *arena;
    struct td_communicator *communicators;         /* newest first */
    struct td_inflight *inflights_free, *inflight; /* [TD_INFLIGHTS_MAX] */
    struct td_held *held;                          /* held packets (net/inflight.h) */
    uint32_t held_left, held_free, held_used;
    uint32_t inflights, inflight_steps;
    uint32_t inflights_used; /* records ever used; the memory of the others is untouched */
    uint32_t node;
    bool started, stopping, stopped;
    bool settling;  /* memory that was freed waits for the next step (td_arena_settle) */
    bool hurried;   /* it does not wait for the operations that run when it stops */
    bool two_paths; /* of the tree message under way (event.h) */

    struct td_core_options options;
    struct td_settings settings;
    uint64_t random;
    uint8_t *held_memory; /* the allocation that `held` lies in */
    uint8_t *pad;         /* [TD_PAD_BYTES] memory that the actions of this step point to */
    char last_words[160]; /* the sentence of an error that finds no memory for its own */
    char *link_text;      /* [nodes][TD_LINK_TEXT_MAX] */
    td_time paused_ns, resumed_at; /* the last time that the daemon did not run, and its end */
    /* the last such time in which clients may have given it up, and until when it may not have read
     * yet that they have; a shorter pause after it puts that off */
    td_time given_up_ns, given_up_until;
    /* core/outages.h: when the driver is asked again about an interface, and of which node first;
     * since when and until when it was seen to be at fault */
    td_time fault_look_at, fault_from, fault_seen;
    uint32_t fault_next;
    td_time links_expire_at; /* when the first of the links that are down is given up */
    struct td_early *early;  /* [nodes] (net/early.h) */
    td_time unused_at;       /* when memory that a user has left goes back to the system */
    size_t unused_from;      /* where in the arena the rest of it begins (td_arena_unused) */
    td_time early_at;        /* when a missing message is asked for */
    struct td_task stop_task;
    struct td_shares_table queues; /* of the jobs whose messages wait for a link */

    /* The state of modules, declared in their headers. Outside of their folders only core.c and
     * inspect.c look into it. */
    struct td_health *health;    /* net/health.h */
    struct td_silence *silences; /* [nodes] (net/silence.h) */
    uint32_t *meant; /* [nodes] session.c: the daemon with which groups have formed while none was
                        known; 0: none has, UINT32_MAX: groups with several */
    struct td_goodbyes *goodbyes;         /* net/goodbye.h */
    struct td_accounts *accounts;         /* membership/account.h */
    struct td_clients *clients;           /* membership/client.h */
    struct td_epochs *epochs;             /* membership/epoch.h */
    struct td_joins *joins;               /* membership/job.h */
    struct td_rank_reports *rank_reports; /* membership/rank_report.h */
    struct td_registry *registry;         /* membership/registry.h */
    struct td_succession *succession;     /* membership/succession.h */
    struct td_groups *groups;             /* membership/communicator.h */
    struct td_operations *operations;     /* operation/operation.h */
    struct td_endings *endings;           /* membership/endings.h */
    struct td_waits_job *waits;           /* [TD_WAITS_JOBS_MAX] (membership/waits.h) */
    struct td_looks *looks;               /* look.h */
    struct td_notes *notes;               /* notes.h */
    struct td_sums *sums;                 /* sums.h */
    struct td_recorder *recorder;         /* recorder.h; NULL without a recorder */
};

/* ---- emitting ---- */

/* td_core_room returns true if a task may emit a few more actions in this step. */
static inline bool td_core_room(const struct td_core *core)
{
    return core->ends < TD_ENDS_MAX && core->actions->count + TD_ACTIONS_SPARE <= TD_ACTIONS_MAX &&
           core->pad_used + TD_PAD_SPARE <= TD_PAD_BYTES;
}
/* td_core_renew begins the room of a step: the actions of the last one are executed. */
static inline void td_core_renew(struct td_core *core)
{
    core->pad_used = 0;
    core->ends = 0;
}
/* td_core_act_bare appends an action whose union is not cleared: the caller assigns every field
 * that is used. It is for frequent actions. */
static inline struct td_action *td_core_act_bare(struct td_core *core, enum td_action_kind kind)
{
    assert(core->actions->count < TD_ACTIONS_MAX);
    struct td_action *a = &core->actions->action[core->actions->count++];
    a->kind = kind;
    return a;
}
static inline void td_core_release_buffer(struct td_core *core, uint32_t buffer)
{
    td_core_act_bare(core, TD_ACTION_RELEASE_BUFFER)->u.buffer.buffer = buffer;
}

#endif
