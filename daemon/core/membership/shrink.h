/* SPDX-License-Identifier: Apache-2.0 */
/* shrink: the ranks that are left of a group make a new one.
 *
 * Nodes learn of losses at different times, and more may be lost meanwhile. What a node knows to be
 * lost is its *view*, which only grows. A view is a round, and says who leads it: the *head*, the
 * first slot where a rank lives. All nodes where one lives vote at the head by saying what they
 * know; a larger view spreads from either end, and is the next round, perhaps of another head. When
 * all have voted for the same view (first sweep) the head proposes an ending: a group of those that
 * live, or what some node has accepted in a round before, for somebody may have been told that this
 * is it. When all have accepted (second sweep) it is decided, and stays so whoever dies: every node
 * that lives has it. Each makes its part of the new group then, and so does one to which a message
 * of that group comes first.
 *
 * Somebody who cancels, or has waited too long, says so with his vote. The votes tell the head who
 * has not called; the ending may then be an error, which is agreed on in the same way.
 *
 * A node that others have given up learns so when it speaks to them; its ranks are told. Two parts
 * of a machine that cannot reach each other give each other up, and each goes on by itself.
 * Owns: its arrays. Borrows: the group, whose `lost_rank` is the view.
 * Invariant: one round at a time; an ending accepted in a round is not forgotten before one is
 * decided. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_SHRINK_H
#define TD_CORE_MEMBERSHIP_SHRINK_H

#include "communicator.h"

enum td_vote {
    TD_VOTE_NONE,
    TD_VOTE_ASKED,
    TD_VOTE_WAITS, /* not all of its ranks have called */
    TD_VOTE_READY,
    TD_VOTE_PROPOSED, /* to it */
    TD_VOTE_ACCEPTED,
    TD_VOTE_NEVER, /* no rank lives there */
};

struct td_ending {
    td_err error;
    uint8_t *lost; /* [group.size] TD_OK: who is not in the new group */
    uint64_t made; /* its instance; 0: there is none */
    char text[TD_TEXT_MAX];
};

struct td_shrink {
    struct td_task task;
    struct td_communicator *communicator;
    uint64_t number;        /* decided before */
    bool active;            /* one more is under way */
    uint64_t wanted;        /* the latest that others were seen to be in */
    struct td_shrink_call { /* of a local rank */
        bool here, due;     /* it waits; its answer is due */
        uint32_t client;
        uint64_t request, next; /* next: the number of its next call */
    } * call;
    td_time started_at, expires_at;
    td_err appeal; /* why somebody waits no longer, or TD_OK */
    char appeal_text[TD_TEXT_MAX];
    struct td_ending accepted, last; /* last: the latest decided */
    uint32_t accepted_round;         /* 0: none */
    bool vote_due, accept_due;

    /* at the head */
    uint8_t *vote;    /* [slots] enum td_vote */
    uint8_t *missing; /* [group.size] ranks that have not called, as votes say */
    uint32_t next;    /* slot to be told next */
    bool proposing, warned;
    bool telling; /* the ending, to slots from `told` on */
    uint32_t told;
};

/* td_shrink_request: a local rank calls; the reply is JOINED, with who is not in the group. */
void td_shrink_request(struct td_core *core, struct td_client *client,
                       const struct td_request *request);
/* td_shrink_cancel: false: `request` is no shrink under way. */
bool td_shrink_cancel(struct td_core *core, struct td_client *client, uint64_t request);
/* td_shrink_message takes the kinds SHRINK_ASK to SHRINK_NOBODY; c is NULL where there is no such
 * group. */
void td_shrink_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                       const struct td_message *message);
/* td_shrink_foretold makes the group of that instance if an ending accepted here says what it is.
 */
void td_shrink_foretold(struct td_core *core, uint64_t instance);
/* td_shrink_rank_lost and _slot_lost: so much is known to be lost. */
void td_shrink_rank_lost(struct td_core *core, struct td_communicator *c, uint32_t rank);
void td_shrink_slot_lost(struct td_core *core, struct td_communicator *c, uint32_t slot);
/* td_shrink_seat_gone: a local rank wants no reply any more. */
void td_shrink_seat_gone(struct td_communicator *c, uint32_t local);
/* td_shrink_keeps: the group cannot go yet, though nobody is left here. */
bool td_shrink_keeps(const struct td_communicator *c);
void td_shrink_timers(struct td_core *core, struct td_communicator *c);
/* td_shrink_arrived writes the ranks (group.size) that nobody waits for: they have called, as far
 * as is known here, or are lost. */
void td_shrink_arrived(const struct td_shrink *s, uint8_t *bits);
void td_shrink_free(struct td_core *core, struct td_communicator *c);

/* ---- between shrink.c and shrink_head.c ---- */

/* td_shrink_has_rank_besides: whether a rank of the slot is not among `bits`. */
bool td_shrink_has_rank_besides(const struct td_communicator *c, uint32_t slot,
                                const uint8_t *bits);
uint32_t td_shrink_count_lost(const struct td_communicator *c);
/* td_shrink_round numbers the round of a view: of two that a node comes through the later has more.
 */
uint32_t td_shrink_round(const struct td_communicator *c);
/* td_shrink_waits_here writes the local ranks that live and have not called; returns how many. */
uint32_t td_shrink_waits_here(const struct td_shrink *s, uint8_t *bits);
/* td_shrink_ask, td_shrink_propose and td_shrink_tell_decided send a node an ASK, a PROPOSE or a
 * DECIDED. */
void td_shrink_ask(struct td_core *core, struct td_shrink *s, uint32_t node, bool gave_up_receiver);
void td_shrink_propose(struct td_core *core, struct td_shrink *s, uint32_t node);
void td_shrink_tell_decided(struct td_core *core, struct td_shrink *s, uint32_t node);
/* td_shrink_accept notes an ending: later votes come with it. lost NULL: of an error. */
void td_shrink_accept(struct td_shrink *s, uint32_t round, td_err error, const uint8_t *lost,
                      const char *text);
/* td_shrink_decide ends the shrink under way as was accepted. */
void td_shrink_decide(struct td_core *core, struct td_shrink *s);
/* td_shrink_take_vote: of a node with the same view. */
void td_shrink_take_vote(struct td_core *core, struct td_shrink *s, uint32_t slot,
                         const struct td_message_shrink_vote *vote);
/* td_shrink_lead goes on; false when there is no more room. */
bool td_shrink_lead(struct td_core *core, struct td_shrink *s);
/* td_shrink_tell_all tells what is decided to every node that has a part in it, also where the
 * ranks were lost since they accepted it: these have to tell the new group. False: as above. */
bool td_shrink_tell_all(struct td_core *core, struct td_shrink *s);

#endif
