/* SPDX-License-Identifier: Apache-2.0 */
/* shrink: agreement on the survivors of a group.
 *
 * Each node keeps a view: the set of ranks that it knows to be lost. Views only grow. Each view
 * defines a round and its coordinator, the first slot that still has a live rank.
 *
 * Sweep 1 (vote): every node with a live rank sends its view to the coordinator. If views differ,
 * the larger view spreads and starts the next round, possibly with another coordinator.
 * Sweep 2 (accept): when all votes carry the same view, the coordinator proposes an outcome: the
 * group of survivors, or the outcome that some node accepted in an earlier round (it may already
 * have been decided). When all nodes accept, the outcome is decided and never changes. Each node
 * then makes its part of the new group; so does a node that first receives a message of that group.
 *
 * A rank that cancels, or whose time limit passes, appeals with its node's vote. The votes tell the
 * coordinator which ranks have not called, and it may propose an error as the outcome.
 *
 * A question without an answer, and the vote, are repeated each second: a node on which no rank has
 * created the group ignores them, and answers NOBODY once it has refused to create it.
 *
 * If all ranks that have called are lost, nobody waits for an outcome. The coordinator withdraws
 * the shrink when the votes of all live nodes say so, and no outcome is accepted. Its number stays,
 * and no rank gets an error: the live ranks may still call it. A node without live ranks withdraws
 * from it when it has voted. Other nodes stay in the state *voting*.
 *
 * A view holds ranks that are lost for good: their own daemon says so, another daemon runs on their
 * node, or an epoch excludes the node (epoch.h). A silent node is in no view. While one is silent,
 * nothing is proposed: the first node that lives and speaks (the head) asks for an epoch. Without a
 * quorum all calls end with PARTITIONED; ranks may call again, and take part if the silent node has
 * come back. A node that others have excluded learns it before any message that follows from it.
 * A node to which another live one is silent votes that it is deaf: the head waits although it
 * hears both. If they do not meet within progress_timeout, the deaf ones ask for epochs themselves,
 * and the first epoch excludes one of them. Otherwise the new group would break at once, again and
 * again. Since epochs form a chain, at most one of two parts of a machine finds a successor.
 *
 * The protocol resembles single-decree Paxos: a node that accepted an outcome reports it in every
 * later vote.
 * Owns: its arrays. Borrows: the group; its `lost_rank` set is the view.
 * Invariant: one round at a time; an accepted outcome survives until one is decided.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_SHRINK_H
#define TD_CORE_MEMBERSHIP_SHRINK_H

#include "communicator.h"
#include "shrink_state.h"

/* enum td_vote: what the coordinator knows of a node. */
enum td_vote {
    TD_VOTE_NONE,
    TD_VOTE_ASKED,
    TD_VOTE_WAITING, /* it has voted; not all of its live ranks have called, or it is deaf */
    TD_VOTE_READY,   /* it has voted; all of its live ranks have called */
    TD_VOTE_PROPOSED,
    TD_VOTE_ACCEPTED,
    TD_VOTE_LOST, /* it has no live rank, and no vote */
};

struct td_shrink_outcome {
    td_err error;
    uint8_t *lost; /* [group.size] TD_OK: the ranks that are not in the new group */
    uint64_t made; /* instance of the new group; 0: there is none */
    char text[TD_TEXT_MAX];
};

struct td_shrink {
    struct td_task task;
    struct td_communicator *communicator;
    uint64_t number; /* shrinks decided so far */
    enum td_shrink_state state;
    uint64_t number_seen;   /* the largest number that another node has sent */
    struct td_shrink_call { /* of a local rank */
        enum td_shrink_call_state state;
        uint32_t client;
        uint64_t request, next; /* next: the number of its next call */
        td_time expires_at;     /* while it waits */
    } * call;
    td_time started_at, expires_at; /* expires_at: the first time limit of a rank that waits */
    td_err appeal_error;            /* why a rank of the group does not wait any longer, or TD_OK */
    char appeal_text[TD_TEXT_MAX];
    struct td_shrink_outcome accepted, decided; /* decided: the latest */
    uint32_t accepted_round;                    /* 0: no outcome is accepted */
    bool vote_due, accept_due;                  /* to be sent to the head */
    td_time hurry_at; /* when this node asks for an epoch itself, if a node is silent */
    td_time again_at; /* when questions without an answer, or the vote, are repeated */
    bool parting;     /* the calls end: there is no quorum */

    /* at the coordinator */
    uint8_t *vote;      /* [slots] enum td_vote */
    uint8_t *missing;   /* [group.size] ranks that have not called, according to the votes */
    uint32_t next;      /* the slot that is asked, or proposed to, next */
    uint32_t announced; /* the decided outcome is to be sent to the slots from here on */
    uint64_t unmade;    /* the new group that this node had no memory for, */
    uint32_t unmade_to; /* which the nodes of the slots from here on are still to be told */
    uint32_t parted;    /* the end of all calls is to be sent to the slots from here on */
};

/* td_shrink_reserve reserves the record of a group's shrinks. It returns false if memory runs out.
 */
bool td_shrink_reserve(struct td_communicator *c);
/* td_shrink_request handles the call of a local rank. The reply is JOINED, with the ranks that are
 * not in the new group. */
void td_shrink_request(struct td_core *core, struct td_client *client,
                       const struct td_request *request);
/* td_shrink_end appeals for the end of a group's shrink that is under way, with TD_ERR_CANCELLED.
 * It returns false if none is, or no rank of this node waits for it. `by`: who ends it. */
bool td_shrink_end(struct td_core *core, struct td_communicator *c, const char *by);
/* td_shrink_cancel appeals for the end of a shrink. It returns false if `request` began none. */
bool td_shrink_cancel(struct td_core *core, struct td_client *client, uint64_t request);
/* td_shrink_message handles the kinds SHRINK_ASK to SHRINK_NOBODY and SHRINK_PARTITIONED. c is NULL
 * if this node has no such group. */
void td_shrink_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                       const struct td_message *message);
/* td_shrink_foretold makes the group with that instance if an outcome accepted here defines it. */
void td_shrink_foretold(struct td_core *core, uint64_t instance);
/* td_shrink_rank_lost and td_shrink_slot_lost add to the view: there is proof, or an epoch. */
void td_shrink_rank_lost(struct td_core *core, struct td_communicator *c, uint32_t rank);
void td_shrink_slot_lost(struct td_core *core, struct td_communicator *c, uint32_t slot);
/* td_shrink_seat_died: a local rank expects no reply any more, and its time limit does not count.
 */
void td_shrink_seat_died(struct td_communicator *c, uint32_t local);
/* td_shrink_keeps returns true if the group's record is still needed for a shrink. */
bool td_shrink_keeps(const struct td_communicator *c);
/* td_shrink_timers appeals when the time limit of the shrink has passed. */
void td_shrink_timers(struct td_core *core, struct td_communicator *c);
/* td_shrink_arrived writes the ranks [group.size] that the shrink does not wait for: those known to
 * have called, and those lost. */
void td_shrink_arrived(const struct td_shrink *s, uint8_t *bits);
void td_shrink_free(struct td_core *core, struct td_communicator *c);
/* td_shrink_is_under_way returns true if a rank has called a shrink that is not decided. */
static inline bool td_shrink_is_under_way(const struct td_shrink *s)
{
    return s->state != TD_SHRINK_RESTING;
}

/* ---- for the coordinator's part (shrink_coordinator.h) ---- */

/* td_shrink_waits_here writes the local ranks that live and have not called, and counts them. */
uint32_t td_shrink_waits_here(const struct td_shrink *s, uint8_t *bits);
/* td_shrink_ask, td_shrink_propose and td_shrink_tell_decided send a node SHRINK_ASK,
 * SHRINK_PROPOSE or SHRINK_DECIDED. */
void td_shrink_ask(struct td_core *core, struct td_shrink *s, uint32_t node, bool gave_up_receiver);
void td_shrink_propose(struct td_core *core, struct td_shrink *s, uint32_t node);
void td_shrink_tell_decided(struct td_core *core, struct td_shrink *s, uint32_t node);
/* td_shrink_accept records an outcome, which later votes carry. If `lost` is NULL, the outcome is
 * an error. */
void td_shrink_accept(struct td_shrink *s, uint32_t round, td_err error, const uint8_t *lost,
                      const char *text);
/* td_shrink_withdraw ends this node's part in the shrink under way without an outcome. It is the
 * same shrink that is under way again when a rank or another node calls for it. */
void td_shrink_withdraw(struct td_shrink *s);
/* td_shrink_decide ends the shrink under way with the accepted outcome. */
void td_shrink_decide(struct td_core *core, struct td_shrink *s);

#endif
