/* SPDX-License-Identifier: Apache-2.0 */
/* communicator: a group as this node takes part in it: its local ranks, its place in the group's
 * combining tree, its operations on record, and its lost ranks.
 *
 * On the direct fabric the tree is a heap of the group's nodes (slots). On the routed fabric parent
 * and child are torus neighbours wherever the group allows it (planes_best.h). The root of the tree
 * decides every ending. A job's membership enters at slot 0 and spreads along all edges of the
 * tree, so a node knows the group before a message of the group comes from a child.
 *
 * Owns: seats, operations, plans. Borrows: clients.
 * Invariant: first_sequence <= sequence of any operation on record < first + the window. */
#ifndef TD_CORE_MEMBERSHIP_COMMUNICATOR_H
#define TD_CORE_MEMBERSHIP_COMMUNICATOR_H

#include "client.h"
#include "model/plan.h"
#include "core/core_internal.h"
#include "membership_state.h"
#include "model/tree.h"

/* struct td_seat: a local rank. */
struct td_seat {
    enum td_seat_state state;
    uint32_t rank;
    struct td_client *client; /* NULL unless assigned or taken; NULL too if it died meanwhile */
    uint64_t join;            /* its request */
    uint64_t next_sequence;   /* of its next operation */
    uint64_t again;           /* operations from here on may be made again, less 1: one was
                               * refused, and the group broke before the rank knew; 0: none */
    uint64_t pid;             /* of the process that has or had the seat; 0: none had it */
    td_time called_at;        /* its last request for an operation, or its join */
    bool after_error; /* its process has ended after its call had failed: it is not the cause */
};

/* struct td_call_tree: the tree of calls from one root, kept for the next. */
struct td_call_tree {
    struct td_tree tree;
    uint8_t kind;
    uint32_t root, uses;
};

enum {
    TD_GROUP_MADE = 1,
    TD_GONE_MAX = 256,
    TD_DEPARTURE_LISTS = 1024,
    TD_COMMUNICATOR_LISTS = 1024,
    TD_STALLS_MAX = 2 * TD_GROUP_OPERATIONS_MAX
};

/* struct td_parting: what a node knows of the silence between the nodes of a group (parting.h). */
struct td_parting {
    struct td_task task;
    struct td_communicator *communicator;
    uint8_t *silent;   /* [slots] bitmap: the session has ended since the group went on last */
    td_time doubt_at;  /* when this node asks for an epoch, if a call waits; never: no doubt */
    bool asked;        /* it has asked in this doubt */
    bool told;         /* it has told the first node that is heard */
    bool urged;        /* another node has told this one that a call waits there */
    td_time rejoin_at; /* when it tries again to go on */
    uint32_t telling;  /* the end of the operations is to be sent to the slots from here on */
    uint64_t era;      /* the round of the last RESUME; 0: there was none */
    uint64_t round;    /* the last one that this node was asked in */
    uint64_t next;     /* the largest number of an operation that the nodes below may go on with */
    uint32_t ready;    /* mask of the children that are ready in the round */
    bool reported;     /* this node has said that it is ready */
};

/* struct td_gone: a group that is over on this node, or will never be made here. */
struct td_gone {
    uint64_t instance;
    td_err refused; /* not TD_OK: this node has refused to make it, with this error */
};

struct td_groups {
    uint32_t numbers; /* that local clients know, so far */
    uint32_t next_gone;
    struct td_gone gone[TD_GONE_MAX];                   /* a ring */
    struct td_departure *departure[TD_DEPARTURE_LISTS]; /* by a hash of the group (departure.h) */
    struct td_communicator *by_instance[TD_COMMUNICATOR_LISTS];
    struct td_communicator *by_number[TD_COMMUNICATOR_LISTS];
    struct td_departure *ending; /* a ring: departures of jobs whose records are freed */
    struct td_task end;          /* ends them */
};

struct td_communicator {
    struct td_task task;
    enum td_communicator_state state;
    struct td_communicator *next;
    struct td_communicator *same_instance, *same_number; /* of the lists of td_groups */
    uint32_t number;                                     /* names the group to local clients */
    uint64_t instance; /* names the group to other nodes, with the index */
    uint32_t index;    /* 0: the world of a job; TD_GROUP_MADE: a subgroup */
    uint64_t world;    /* instance of the job's world */
    uint32_t *member;  /* of a subgroup: [group.size] the world's rank of each rank */
    uint64_t epoch;    /* exclusions after it concern the group (epoch.h) */
    char name[TD_NAME_MAX];
    uint64_t uid;
    struct td_account *account;
    struct td_group group;
    uint32_t *daemon;     /* [group.slots] of the ranks on a slot (td_token_daemon) */
    uint32_t slot;        /* this node's */
    uint32_t ranks;       /* local ranks */
    struct td_seat *seat; /* [ranks] */
    struct td_tree tree;
    bool closed;                    /* the group's nodes are a torus by themselves */
    struct td_call_tree *call_tree; /* the latest, or NULL */
    bool has_parent;                /* false: this node is the root */
    uint32_t parent;                /* node */
    uint32_t children;              /* count */
    uint32_t child[TD_TREE_CHILDREN_MAX];
    uint32_t makers; /* mask of these, and of the parent, that are known to have made the group */
    uint32_t asked;  /* ranks of each of the others that they were asked about (later_losses.h) */
    td_time ask_at;  /* when they are asked next */

    /* the membership, while it is passed on to the tree neighbours except members_from */
    uint32_t *rank_node;
    uint64_t *rank_token;
    uint32_t members_sent, members_from;

    /* of a subgroup: memory for the time after it; of a job: a ring, its departures (departure.h)
     */
    struct td_departure *departure;
    bool made_late;          /* operations had ended before the group was here (endings.h) */
    bool listed;             /* by the registry: for a page of jobs (inspect.c) */
    bool has_segment;        /* local ranks may have a segment, which is not closed */
    uint64_t first_sequence; /* of the oldest operation that may be on record */
    struct td_operation *operation[TD_GROUP_OPERATIONS_MAX];
    uint32_t recorded;                     /* how many of them are not NULL */
    bool retired[TD_GROUP_OPERATIONS_MAX]; /* operations of the window that are over */
    /* the errors (as positive numbers) of operations that ended while this node had no memory for a
     * record of them. Ranks that call them later get the errors */
    uint8_t ended_unrecorded[TD_GROUP_OPERATIONS_MAX];
    /* the operations that this node knows to stand still (operation/stall.h) */
    uint8_t stalled[TD_STALLS_MAX / 8];
    struct td_plan *plans;
    struct td_waits_job *waits; /* the job's record (waits.h), or NULL */

    /* Bitmaps of the ranks and slots that are lost for good: by proof, or by an epoch. They only
     * grow (shrink.h). */
    uint8_t *lost_rank, *lost_slot;
    struct td_parting parting;
    struct td_shrink *shrink, *shrink_reserve; /* shrink: NULL until the first one */
    bool was_away; /* this daemon has not run, and its node may be excluded unheard (epoch.h) */

    /* the loss that the root has not answered yet; gone_due: it is to be sent */
    bool gone_due;
    uint32_t losing_rank;
    td_err losing_error;
    bool losing_of_job;
    char losing_text[TD_TEXT_MAX];

    /* of a broken group: why, and which rank (in LOST_NODE: which node) is lost. lost_proven: that
     * node is known to be lost for good. lost_of_job: the whole job has lost the rank */
    td_err error;
    char text[TD_TEXT_MAX];
    uint32_t lost;
    uint64_t lost_silent_ns; /* how long that node, or one in `silent`, had not been heard before */
    bool lost_proven, lost_of_job;
    /* the notice of the loss, still to be sent down (slots from notified_down on), up, and (from
     * notified on) to all nodes of the group. notice_from: the tree neighbour that sent it */
    bool notice_down, notice_up, notice_all;
    uint32_t notice_from, notified, notified_down;
    td_time resume_at; /* when the task goes on, if a link was full, or the root has not answered
                        * the loss; else TD_TIME_NEVER */
};

/* td_communicator_create makes the record of a job's group whose membership came from node `from`.
 * It owns rank_node and rank_token [size], of the arena, from now on. A subgroup has no rank_token:
 * its daemons are those of `parent`. It returns NULL if memory runs out; the arrays are the
 * caller's then. */
struct td_communicator *td_communicator_create(struct td_core *core, uint64_t instance,
                                               const char *name, uint64_t uid, uint32_t size,
                                               uint32_t *rank_node, uint64_t *rank_token,
                                               uint32_t from, const struct td_communicator *parent);
/* td_communicator_find returns the group with that name, or NULL. */
struct td_communicator *td_communicator_find(struct td_core *core, uint64_t instance,
                                             uint32_t index);
/* td_communicator_seat returns the client's seat in the group that it calls `number`, or NULL. */
struct td_seat *td_communicator_seat(struct td_core *core, const struct td_client *client,
                                     uint32_t number, struct td_communicator **communicator);
/* td_communicator_all_lost returns true if a node, or all ranks of the group there, are lost to the
 * group. */
bool td_communicator_all_lost(const struct td_communicator *c, uint32_t node);
/* td_communicator_has_left returns true if a node has no rank of a group any more: it may have
 * forgotten the group, and passes nothing on. */
bool td_communicator_has_left(const struct td_communicator *c, uint32_t slot);
/* td_communicator_hearer returns the slot that hears what a slot tells its parent: the root, or the
 * nearest one on the way there that has ranks of the group. */
uint32_t td_communicator_hearer(const struct td_communicator *c, uint32_t slot);
/* td_communicator_tells returns true if a slot hears from this node what goes down the tree. */
bool td_communicator_tells(const struct td_communicator *c, uint32_t slot);
/* td_communicator_is_below returns true if a node is on the way from this one to the root. */
bool td_communicator_is_below(const struct td_communicator *c, uint32_t node);
/* td_communicator_broken returns true if no operation of the group can be released any more. */
static inline bool td_communicator_broken(const struct td_communicator *c)
{
    return c->state >= TD_COMMUNICATOR_LOST_RANK;
}
/* td_communicator_rests returns true if no operation can be released now: the group is broken, or
 * its nodes do not all hear each other. */
static inline bool td_communicator_rests(const struct td_communicator *c)
{
    return c->state >= TD_COMMUNICATOR_PARTED;
}
/* td_seat_occupied returns true if a process has the seat. */
static inline bool td_seat_occupied(const struct td_seat *seat)
{
    return seat->state == TD_SEAT_ASSIGNED || seat->state == TD_SEAT_TAKEN;
}
/* td_communicator_job_rank returns the rank in the job of a rank of the group: sentences name it.
 * It returns a number that is no rank of the group as it is: a peer may have sent it. */
static inline uint32_t td_communicator_job_rank(const struct td_communicator *c, uint32_t rank)
{
    return c->member && rank < c->group.size ? c->member[rank] : rank;
}
/* td_communicator_print_ranks prints the ranks in the job of those ranks of the group whose bits
 * are as `set` says, and returns their number. Without memory in this step it prints nothing. */
uint32_t td_communicator_print_ranks(struct td_core *core, const struct td_communicator *c,
                                     const uint8_t *bits, bool set, char *text, size_t size);
/* td_communicator_neighbours writes the neighbours of this node in the tree of a group of some
 * ranks, given the node of each, and returns their number. It works in the arena. UINT32_MAX:
 * memory runs out. */
uint32_t td_communicator_neighbours(struct td_core *core, struct td_arena *arena,
                                    const uint32_t *rank_node, uint32_t size,
                                    uint32_t node[TD_TREE_CHILDREN_MAX + 1]);
/* td_communicator_note_gone records that a group will never be made here, unless its record is
 * there: a group that was here, and is over, has one, too. td_communicator_note_refused records
 * that this node has refused to make it. td_communicator_gone returns the record, or NULL; the last
 * TD_GONE_MAX are kept. */
void td_communicator_note_gone(struct td_core *core, uint64_t instance);
void td_communicator_note_refused(struct td_core *core, uint64_t instance, td_err error);
const struct td_gone *td_communicator_gone(const struct td_core *core, uint64_t instance);

/* ---- trees and plans ---- */

/* td_communicator_tree sets *tree to the tree of a call that goes along one of its own, unless it
 * is set already. It returns false if memory runs out. td_communicator_tree_release gives it
 * back. */
bool td_communicator_tree(struct td_core *core, struct td_communicator *c,
                          const struct td_call *call, struct td_call_tree **tree);
void td_communicator_tree_release(struct td_core *core, struct td_call_tree *tree);
/* td_communicator_plan returns the group's plan with that number, or NULL. */
struct td_plan *td_communicator_plan(struct td_communicator *c, uint64_t number);
/* td_communicator_hold: a local rank holds the plan until the rank frees it, or is lost. */
void td_communicator_hold(struct td_plan *plan, uint32_t local);

/* td_communicator_note begins a note for the log about a group, or returns NULL: it is lost. */
struct td_note *td_communicator_note(struct td_core *core, const struct td_communicator *c,
                                     enum td_note_kind kind);
/* td_communicator_note_stop notes the end, on this node, of the jobs that have connected ranks
 * here, since this daemon has stopped. */
void td_communicator_note_stop(struct td_core *core);

/* ---- requests ---- */

/* td_communicator_joined answers a request of a client: it has the seat in the group. */
struct td_reply *td_communicator_joined(struct td_core *core, struct td_communicator *c,
                                        uint32_t client, uint64_t request, uint32_t rank);
void td_communicator_leave(struct td_core *core, struct td_client *client,
                           const struct td_request *request);
void td_communicator_unplan(struct td_core *core, struct td_client *client,
                            const struct td_request *request);
/* td_communicator_peer_region answers with the handle of a region of another local rank of a group
 * of the client. */
void td_communicator_peer_region(struct td_core *core, struct td_client *client,
                                 const struct td_request *request);

/* ---- seats ---- */

/* td_communicator_client_gone loses all seats of a client. It returns false if the step has no
 * room: the caller repeats it then. */
bool td_communicator_client_gone(struct td_core *core, struct td_client *client);
/* td_communicator_seat_lost: a local rank has left or died. The root hears of it. */
void td_communicator_seat_lost(struct td_core *core, struct td_communicator *c,
                               struct td_seat *seat, bool died);
/* td_communicator_gone_text says that a rank is gone; in memory of this step. */
const char *td_communicator_gone_text(struct td_core *core, const struct td_communicator *c,
                                      const struct td_seat *seat, bool died);
/* td_communicator_record puts an operation on record; td_communicator_retire: the operation with
 * this sequence number is over on this node. */
void td_communicator_record(struct td_communicator *c, uint64_t sequence,
                            struct td_operation *operation);
void td_communicator_retire(struct td_core *core, struct td_communicator *c, uint64_t sequence);
/* td_communicator_timers goes on with the notices of a group that found a link full. */
void td_communicator_timers(struct td_core *core, struct td_communicator *c);

#endif
