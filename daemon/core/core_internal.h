/* SPDX-License-Identifier: Apache-2.0 */
/* state: what the modules of the core share: the core itself, its work list, and how a module asks
 * for actions. Only files of this folder include it.
 *
 * An event is handled in two halves. The handler changes state and puts what now has something to
 * do on the work list; it emits at most a handful of actions itself. The pump then lets each task
 * emit while there is room, so a fan-out of any size is cut into steps. */
#ifndef TD_CORE_CORE_INTERNAL_H
#define TD_CORE_CORE_INTERNAL_H

#include <assert.h>

#include "base/arena.h"
#include "base/bits.h"
#include "action.h"
#include "event.h"
#include "model/group.h"
#include "notices.h"
#include "options.h"

/* struct td_task: an entry of the work list, the first member of what it stands for. advance
 * returns true when it is done for now, false when it needs more room. */
struct td_task {
    struct td_task *next;
    bool queued;
    bool (*advance)(struct td_core *, struct td_task *);
};

struct td_client;
struct td_communicator;
struct td_operation;
struct td_join;
struct td_forming;
struct td_job;
struct td_link;
struct td_inflight;
struct td_held;
struct td_fabric;
struct td_routed;

enum { TD_CLIENT_BUCKETS = 256, TD_GONE_MAX = 256 };

enum {
    TD_PAD_BYTES = 1 << 20,
    /* a handler or one turn of a task emits at most so much; the pump stops before */
    TD_ACTIONS_SPARE = 64,
    TD_PAD_SPARE = 1 << 18,
};

/* The first fields are what nearly every step needs: td_core_spans. */
struct td_core {
    struct td_actions *actions; /* of the step under way */
    size_t pad_used;
    td_time now;
    td_time alarm; /* when a timer next wants to be looked at */
    td_time heartbeat_at;
    struct td_task *work, **work_last;
    struct td_link *link; /* [nodes] */
    const struct td_fabric *fabric;
    struct td_routed *routed; /* the routed fabric's state; only fabric_routed*.c read it */
    struct td_arena *arena;
    struct td_communicator *communicators;         /* newest first */
    struct td_inflight *inflights_free, *inflight; /* [TD_INFLIGHTS_MAX] */
    struct td_held *held;                          /* held packets (net/inflight.h) */
    uint32_t held_left, held_free, held_used;
    uint32_t inflights;
    uint32_t inflights_used; /* records ever used; the memory of the others is untouched */
    uint32_t node;
    bool stopping, stopped;

    struct td_core_options options;
    struct td_settings settings;
    uint64_t random;
    uint8_t *held_memory;           /* the allocation that `held` lies in */
    uint8_t *pad;                   /* [TD_PAD_BYTES] what the actions of this step point to */
    struct td_region *dead_regions; /* to be released by the driver */
    struct td_task dead_task;
    char *link_text;            /* [nodes][TD_LINK_TEXT_MAX] */
    struct td_join *joins;      /* of local clients, not answered yet */
    struct td_forming *forming; /* memberships that come in pieces */
    struct td_job *jobs;        /* at node 0: of the whole machine */
    uint64_t next_token;
    uint32_t next_communicator;
    uint32_t operations;
    uint32_t tree_neighbours;
    uint16_t tree_neighbour[TD_TREE_CHILDREN_MAX + 1]; /* parent and children in the node tree */
    uint32_t beaten;         /* nodes that a tick under way has come past */
    td_time links_expire_at; /* when the first of the links that are down is given up */
    struct td_task stop_task;
    struct td_client *client[TD_CLIENT_BUCKETS];
    uint64_t gone[TD_GONE_MAX]; /* made groups that are over here: a ring of instances */
    uint32_t next_gone;
    struct td_ranges scratch;
};

/* ---- emitting ---- */

/* td_core_room: whether a task may emit a few more actions. */
static inline bool td_core_room(const struct td_core *core)
{
    return core->actions->count + TD_ACTIONS_SPARE <= TD_ACTIONS_MAX &&
           core->pad_used + TD_PAD_SPARE <= TD_PAD_BYTES;
}
struct td_action *td_core_act(struct td_core *core, enum td_action_kind kind);
/* td_core_act_bare is for actions that are emitted all the time: all that is used of one is to be
 * assigned. */
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
/* td_core_pad returns memory that lives until the next step, NULL when there is none left. */
void *td_core_pad(struct td_core *core, size_t bytes);
/* td_core_format prints into such memory. */
const char *td_core_format(struct td_core *core, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));
/* td_core_queue puts a task on the work list, once. */
void td_core_queue(struct td_core *core, struct td_task *task);
/* td_core_unqueue takes it off: before what it stands for is freed. */
void td_core_unqueue(struct td_core *core, struct td_task *task);
/* td_core_alarm: timers are to be looked at no later than `at`. */
void td_core_alarm(struct td_core *core, td_time at);
uint64_t td_core_random(struct td_core *core);
/* td_core_after returns now + ns, TD_TIME_NEVER for a negative ns. */
td_time td_core_after(const struct td_core *core, int64_t ns);
/* td_core_send sends a tree message to a node; to this node itself it is handled at once. */
void td_core_send(struct td_core *core, uint32_t node, const struct td_message *message);
/* td_core_node_name returns "node 3 (1,0)" in memory that lives until the next step. */
const char *td_core_node_name(struct td_core *core, uint32_t node);

/* ---- replies ---- */

/* td_reply_refused: the call was not made, and may be made again. */
void td_reply_refused(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                      const char *text);
void td_reply_error(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                    const char *text);
void td_reply_done(struct td_core *core, uint32_t client, uint64_t id);
/* td_reply_new returns a reply to fill in, already in the action list. */
struct td_reply *td_reply_new(struct td_core *core, uint32_t client, uint64_t id,
                              enum td_reply_kind kind);

#endif
