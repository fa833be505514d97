/* SPDX-License-Identifier: Apache-2.0 */
/* communicator: a group as this node takes part in it: the local ranks, the node's place in the
 * group's combining tree, the operations on record, and who is lost.
 *
 * On the direct fabric the tree is a heap of the group's nodes, the slots; on the routed one
 * parents and children are neighbours in the torus wherever the group allows it (planes.h). Its
 * root decides every ending. The membership of a job enters at slot 0 and goes along all edges from
 * there, so a node knows of the group before any message of it comes from its child.
 *
 * When a rank is lost the root says so (RANK_LOST), after the releases it gave before: whatever a
 * node has no release for by then will have none, and ends. When a node is lost each of its tree
 * neighbours tells the piece of the tree it is in (NODE_LOST), and what was running ends too.
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
};

/* struct td_call_tree: the tree of calls from one root, kept for the next. */
struct td_call_tree {
    struct td_tree tree;
    uint8_t kind;
    uint32_t root, uses;
};

struct td_communicator {
    struct td_task task;
    enum td_communicator_state state;
    struct td_communicator *next;
    uint32_t number; /* for local clients */
    uint64_t instance;
    uint32_t index;   /* 0: the world of a job; TD_GROUP_MADE: made of ranks of another group */
    uint64_t world;   /* instance of the job's world */
    uint32_t *member; /* of a made group: its ranks' ranks in the world */
    char name[TD_NAME_MAX];
    uint64_t uid;
    struct td_group group;
    uint32_t slot;
    uint32_t ranks; /* local */
    struct td_seat *seat;
    struct td_tree tree;
    bool closed;                    /* a torus by itself */
    struct td_call_tree *call_tree; /* used last, or NULL */
    bool has_parent;
    uint32_t parent;   /* node */
    uint32_t children; /* count */
    uint32_t child[TD_TREE_CHILDREN_MAX];

    /* membership still to be passed on to the neighbours in the tree, but for who told it */
    uint32_t *rank_node;
    uint64_t *rank_token;
    uint32_t members_told, members_from;

    uint64_t first_sequence; /* the oldest that may be on record */
    struct td_operation *operation[TD_GROUP_OPERATIONS_MAX];
    bool retired[TD_GROUP_OPERATIONS_MAX]; /* of those from first_sequence on */
    /* errors (as positive numbers) with which operations ended while there was no room for a record
     * of them here; ranks that are late get them */
    uint8_t missed[TD_GROUP_OPERATIONS_MAX];
    struct td_plan *plans;

    /* who is known to be lost: ranks, and slots whose node is. Bitmaps, which only grow (shrink.h)
     */
    uint8_t *lost_rank, *lost_slot;
    struct td_shrink *shrink; /* NULL until there is one */

    /* in LOSING_RANK: the loss that the root announces once it is settled */
    uint32_t losing_rank;
    td_err losing_error;
    char losing_text[TD_TEXT_MAX];

    /* in LOST_RANK_SETTLED: the operations that complete in spite of the loss: all before
     * good_first, and those of the window from there on that have a bit */
    uint64_t good_first;
    uint8_t good[TD_GROUP_OPERATIONS_MAX / 8];

    /* why the group is broken */
    td_err error;
    char text[TD_TEXT_MAX];
    /* the notice still to be passed on */
    bool notice_down, notice_up;
    uint32_t lost, notice_from; /* lost: the node in LOST_NODE, else the rank */
    /* no neighbour tells of a node that has no part of the group: all are told from here */
    bool notice_all;
    uint32_t notified; /* slots */
};

enum { TD_GROUP_MADE = 1 };

/* td_communicator_create takes part in a job that has formed, as node `from` told. rank_node and
 * rank_token (arrays of size, of the arena) become its own. NULL when there is no memory. */
struct td_communicator *td_communicator_create(struct td_core *core, uint64_t instance,
                                               const char *name, uint64_t uid, uint32_t size,
                                               uint32_t *rank_node, uint64_t *rank_token,
                                               uint32_t from);
struct td_communicator *td_communicator_find(struct td_core *core, uint64_t instance,
                                             uint32_t index);
/* td_communicator_seat finds the client's rank in the communicator it calls `number`. */
struct td_seat *td_communicator_seat(struct td_core *core, const struct td_client *client,
                                     uint32_t number, struct td_communicator **communicator);
/* td_communicator_broken returns true if no operation of the group can be released any more. */
static inline bool td_communicator_broken(const struct td_communicator *c)
{
    return c->state >= TD_COMMUNICATOR_LOST_RANK;
}
/* td_seat_occupied returns true if a process has the seat. */
static inline bool td_seat_occupied(const struct td_seat *seat)
{
    return seat->state == TD_SEAT_ASSIGNED || seat->state == TD_SEAT_TAKEN;
}
/* td_communicator_may_flood returns true if short operations of the group may go along the rings of
 * the torus instead of the tree (flood.h). */
bool td_communicator_may_flood(const struct td_core *core, const struct td_communicator *c);
/* td_communicator_make takes part in a group of ranks of a group. Every member asks its own node
 * for it, and messages for it may come before: those are to come again (td_communicator_unknown).
 */
void td_communicator_make(struct td_core *core, struct td_client *client,
                          const struct td_request *request);
/* td_communicator_left_instance names the group that the shrink with this number makes when `lost`
 * (of group.size) are not in it; td_communicator_make_left makes it, if it has ranks here. */
uint64_t td_communicator_left_instance(const struct td_communicator *c, uint64_t number,
                                       const uint8_t *lost);
void td_communicator_make_left(struct td_core *core, struct td_communicator *parent,
                               uint64_t instance, const uint8_t *lost);
/* td_communicator_note_gone: there is no such group here any more, or never will be. The last
 * TD_GONE_MAX are known. */
void td_communicator_note_gone(struct td_core *core, uint64_t instance);
bool td_communicator_is_gone(const struct td_core *core, uint64_t instance);
/* td_communicator_unknown answers a message of a group that there is none of here, not yet or not
 * any more. */
void td_communicator_unknown(struct td_core *core, uint32_t from, const struct td_message *message);
/* td_communicator_tree finds or makes the tree of a call that goes along its own; *tree is NULL, or
 * that, which td_communicator_tree_give gives back. False: no memory. Does nothing if there is one.
 */
bool td_communicator_tree(struct td_core *core, struct td_communicator *c,
                          const struct td_call *call, struct td_call_tree **tree);
void td_communicator_tree_give(struct td_core *core, struct td_call_tree *tree);
/* td_communicator_hold: a local rank holds the plan until it frees it, or is lost. */
void td_communicator_hold(struct td_plan *plan, uint32_t local);
struct td_plan *td_communicator_plan(struct td_communicator *c, uint64_t number);
void td_communicator_leave(struct td_core *core, struct td_client *client,
                           const struct td_request *request);
void td_communicator_unplan(struct td_core *core, struct td_client *client,
                            const struct td_request *request);
void td_communicator_client_gone(struct td_core *core, struct td_client *client);
/* td_communicator_seat_lost: the rank left or died; the root will be told. */
void td_communicator_seat_lost(struct td_core *core, struct td_communicator *c,
                               struct td_seat *seat, bool died);
/* td_communicator_rank_lost and _node_lost take notices, from a tree neighbour or from here. */
void td_communicator_rank_lost(struct td_core *core, struct td_communicator *c, uint32_t rank,
                               td_err error, const char *text);
void td_communicator_node_lost(struct td_core *core, uint32_t node, const char *why);
/* td_communicator_way_lost: the node lies on the way of the group's packets. */
void td_communicator_way_lost(struct td_core *core, struct td_communicator *c, uint32_t node,
                              const char *why);
void td_communicator_notice(struct td_core *core, uint32_t from, const struct td_message *message);
/* td_communicator_appeal takes an APPEAL or a RANK_GONE to the root. */
void td_communicator_appeal(struct td_core *core, struct td_communicator *c,
                            const struct td_message *message);
/* td_communicator_stop ends every communicator since this daemon stops. No operation runs then. */
void td_communicator_stop(struct td_core *core);
/* td_communicator_retire: the operation with this sequence is over here. */
void td_communicator_retire(struct td_core *core, struct td_communicator *c, uint64_t sequence);

#endif
