/* SPDX-License-Identifier: Apache-2.0 */
/* departure: groups that all ranks of this node have left, or that it has refused to make, while
 * neighbours in the group's tree may still make them or call in them.
 *
 * The record of a group goes when no local rank needs it. The node then tells its tree neighbours
 * that it has left the group, and keeps a departure for those that have not left. A neighbour may
 * be any number of groups behind: it has not made the group, and ignores the word. When it makes
 * the group and calls, it asks, and the departure answers. When it leaves, its own word ends the
 * departure. A node that refuses to make a group does the same, with the error of the refusal. No
 * list of groups is bounded, and nothing is forgotten while it is needed.
 *
 * Facts of the job do the rest: a job that this node does not know is over here, so the departures
 * of a job end with its record: from then on td_departure_find does not find them. A job may have
 * hundreds of thousands, so a task frees them in the next steps.
 * Owns: the departures; the memory of those from groups that were here is reserved with the groups.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_DEPARTURE_H
#define TD_CORE_MEMBERSHIP_DEPARTURE_H

#include "communicator.h"

/* struct td_departure. Invariant: a neighbour has not left, or a local rank has not asked. */
struct td_departure {
    struct td_departure *next, **link;  /* with the same hash; link: that to this one */
    struct td_departure *older, *newer; /* the ring of the same job, or of `ending` */
    uint64_t instance;                  /* of the group */
    uint64_t world;
    uint32_t neighbours; /* that have not left */
    uint32_t node[TD_TREE_CHILDREN_MAX + 1];
    uint32_t ranks;             /* of this node that may still ask for a group that was refused */
    td_err error;               /* RANK_FAILED: the ranks have left; else of the refusal */
    char *text;                 /* why the group is over here; NULL: no memory */
    struct td_account *account; /* has both */
};

/* td_departure_begin tells the tree neighbours of a group that this node has left it, before the
 * group's record is freed. It returns false if the links or the step have no room. */
bool td_departure_begin(struct td_core *core, struct td_communicator *c);
/* td_departure_refuse tells the tree neighbours of a group of ranks of `parent` that this node will
 * never make it. `ranks` of this node have not asked for it. It returns false if there is no memory
 * to keep that. */
bool td_departure_refuse(struct td_core *core, const struct td_communicator *parent,
                         uint64_t instance, const uint32_t *node, uint32_t nodes, uint32_t ranks,
                         td_err error, const char *text);
/* td_departure_asked: another rank of this node has asked for a group that was refused. */
void td_departure_asked(struct td_core *core, uint64_t instance);
/* td_departure_find returns the departure from a group of a job whose record is here, or NULL. */
struct td_departure *td_departure_find(struct td_core *core, uint64_t instance);
/* td_departure_is_over returns true if a group that is not here is over on this node, or will never
 * be made here. */
static inline bool td_departure_is_over(struct td_core *core, uint64_t instance)
{
    return td_departure_find(core, instance) || td_communicator_gone(core, instance);
}
/* td_departure_hear handles a neighbour's word that it has left a group whose record is not here.
 */
void td_departure_hear(struct td_core *core, uint32_t from, const struct td_message *message);
/* td_departure_end_job ends the departures from all groups of a job, whose record is no longer on
 * the list. */
void td_departure_end_job(struct td_core *core, struct td_communicator *job);
/* td_departure_is_word returns true if a message is a node's word that it has left a group, or will
 * never make it. A node that answers TIMEOUT may make it later. */
static inline bool td_departure_is_word(const struct td_message *m)
{
    return m->kind == TD_MESSAGE_RANK_LOST && m->group == TD_GROUP_MADE &&
           m->u.rank_lost.rank == UINT32_MAX && m->u.rank_lost.error != TD_ERR_TIMEOUT;
}

#endif
