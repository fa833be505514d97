/* SPDX-License-Identifier: Apache-2.0 */
#include "shrink_state.h"

#include "shrink.h"

/* ---- the agreement ---- */

#define SHRINK(state) TD_IN(TD_SHRINK_##state)

static const struct td_label shrink_states[] = {
    [TD_SHRINK_RESTING] = {"resting", "No shrink is under way. The view grows all the same."},
    [TD_SHRINK_VOTING] = {"voting", "Sweep 1. The coordinator asks for votes; the other nodes "
                                    "vote, and stay in this state until an outcome is decided."},
    [TD_SHRINK_LAST_CALL] = {"last call",
                             "At the coordinator: the time limit has passed. The nodes whose ranks "
                             "have not called are asked once more, so that no rank is named that "
                             "has called meanwhile."},
    [TD_SHRINK_PROPOSING] = {"proposing",
                             "At the coordinator, sweep 2: it has all votes, and waits until all "
                             "nodes accept the outcome that it proposes."},
};

static const struct td_label shrink_events[] = {
    [TD_SHRINK_BEGIN] = {"begin", "A local rank calls, or another node votes, asks or proposes."},
    [TD_SHRINK_NEW_VIEW] = {"new view", "Another rank is lost: the next round begins."},
    [TD_SHRINK_ASK_AGAIN] = {"ask again", "Votes say that ranks are missing, and the time limit "
                                          "has passed."},
    [TD_SHRINK_PROPOSE] = {"propose", "All votes carry the same view, and there is an outcome to "
                                      "propose."},
    [TD_SHRINK_DECIDE] = {"decide", "All nodes have accepted the outcome, or another node says so. "
                                    "*Begin* follows if one has begun the next shrink."},
    [TD_SHRINK_PART] = {"part", "A node is silent, and there is no quorum: all calls end, and may "
                                "be repeated."},
    [TD_SHRINK_WITHDRAW] = {"withdraw", "All ranks that had called are lost, and no outcome is "
                                        "accepted."},
};

static const struct td_transition shrink_rows[] = {
    {SHRINK(RESTING), TD_SHRINK_BEGIN, TD_SHRINK_VOTING},
    {SHRINK(VOTING) | SHRINK(LAST_CALL) | SHRINK(PROPOSING), TD_SHRINK_BEGIN, TD_STAY},
    {SHRINK(LAST_CALL) | SHRINK(PROPOSING), TD_SHRINK_NEW_VIEW, TD_SHRINK_VOTING},
    {SHRINK(RESTING) | SHRINK(VOTING), TD_SHRINK_NEW_VIEW, TD_STAY},
    {SHRINK(VOTING), TD_SHRINK_ASK_AGAIN, TD_SHRINK_LAST_CALL},
    {SHRINK(VOTING) | SHRINK(LAST_CALL), TD_SHRINK_PROPOSE, TD_SHRINK_PROPOSING},
    {SHRINK(VOTING) | SHRINK(LAST_CALL) | SHRINK(PROPOSING), TD_SHRINK_DECIDE, TD_SHRINK_RESTING},
    {SHRINK(RESTING), TD_SHRINK_DECIDE, TD_STAY},
    {SHRINK(VOTING) | SHRINK(LAST_CALL) | SHRINK(PROPOSING), TD_SHRINK_PART, TD_SHRINK_RESTING},
    {SHRINK(RESTING), TD_SHRINK_PART, TD_STAY},
    {SHRINK(VOTING), TD_SHRINK_WITHDRAW, TD_SHRINK_RESTING},
};

const struct td_machine td_shrink_machine = {
    .name = "Shrink",
    .meaning = "The agreement on the survivors of a group, as one node takes part in it "
               "(`core/membership/shrink.h`).",
    TD_MACHINE(shrink_states, shrink_events, shrink_rows)};

void td_shrink_transition(struct td_shrink *s, enum td_shrink_event event)
{
    s->state = (enum td_shrink_state)td_machine_next(&td_shrink_machine, s->state, event);
}

/* ---- the call of a local rank ---- */

#define CALL(state) TD_IN(TD_SHRINK_CALL_##state)

static const struct td_label call_states[] = {
    [TD_SHRINK_CALL_NONE] = {"none", "The rank has not called, or has its reply."},
    [TD_SHRINK_CALL_WAITING] = {"waiting", "It has called the shrink under way."},
    [TD_SHRINK_CALL_DECIDED] = {"decided", "The shrink that it called is decided, and its reply is "
                                           "due."},
};

static const struct td_label call_events[] = {
    [TD_SHRINK_CALL_MAKE] = {"call", "The rank calls the shrink under way, or begins one."},
    [TD_SHRINK_CALL_MAKE_LATE] = {"call late", "The rank calls a shrink that was decided without "
                                               "it."},
    [TD_SHRINK_CALL_DECIDE] = {"decide", "The shrink under way is decided."},
    [TD_SHRINK_CALL_ANSWER] = {"answer", "The reply is sent: the outcome, or that the other nodes "
                                         "go on without the rank, or that there is no quorum."},
    [TD_SHRINK_CALL_LEAVE] = {"leave", "The process has left the group or died."},
};

static const struct td_transition call_rows[] = {
    {CALL(NONE), TD_SHRINK_CALL_MAKE, TD_SHRINK_CALL_WAITING},
    {CALL(NONE), TD_SHRINK_CALL_MAKE_LATE, TD_SHRINK_CALL_DECIDED},
    {CALL(WAITING), TD_SHRINK_CALL_DECIDE, TD_SHRINK_CALL_DECIDED},
    {CALL(NONE) | CALL(DECIDED), TD_SHRINK_CALL_DECIDE, TD_STAY},
    {CALL(WAITING) | CALL(DECIDED), TD_SHRINK_CALL_ANSWER, TD_SHRINK_CALL_NONE},
    {CALL(WAITING) | CALL(DECIDED), TD_SHRINK_CALL_LEAVE, TD_SHRINK_CALL_NONE},
    {CALL(NONE), TD_SHRINK_CALL_LEAVE, TD_STAY},
};

const struct td_machine td_shrink_call_machine = {
    .name = "Shrink call",
    .meaning = "The call of one local rank for a shrink (`core/membership/shrink.h`).",
    TD_MACHINE(call_states, call_events, call_rows)};

void td_shrink_call_transition(struct td_shrink_call *call, enum td_shrink_call_event event)
{
    call->state =
        (enum td_shrink_call_state)td_machine_next(&td_shrink_call_machine, call->state, event);
}
