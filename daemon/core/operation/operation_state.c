/* SPDX-License-Identifier: Apache-2.0 */
#include "operation_state.h"

#include "operation.h"

#define IN(state) TD_IN(TD_OPERATION_##state)

/* ---- the operation ---- */

static const struct td_label operation_states[] = {
    [TD_OPERATION_GATHERING] = {"gathering",
                                "Local ranks call and children announce. The record exists from "
                                "the first call or message on."},
    [TD_OPERATION_PREPARING] = {"preparing",
                                "All ranks below have arrived with the same call. The program is "
                                "compiled and scratch memory is reserved."},
    [TD_OPERATION_COMBINING] = {"combining",
                                "The payloads of all ranks below are being combined in scratch "
                                "memory."},
    [TD_OPERATION_REFUSED] =
        {"refused", "This node cannot prepare the operation. It has asked the root to end "
                    "it."},
    [TD_OPERATION_ANNOUNCED] = {"announced",
                                "The parent has the announcement. Packets are accepted."},
    [TD_OPERATION_RELEASED] = {"released",
                               "All ranks have arrived. The children do not have the release yet, "
                               "and the payload is not delivered."},
    [TD_OPERATION_RUNNING] = {"running", "The program runs."},
    [TD_OPERATION_BROKEN] = {"broken", "This node cannot go on. It has asked the root to end the "
                                       "operation for all ranks."},
    [TD_OPERATION_ENDING] = {"ending", "It has failed, and the children are not told yet."},
    [TD_OPERATION_ENDED] = {"ended",
                            "It has succeeded or failed. The record stays until nothing reads or "
                            "writes its memory and all local ranks have their reply."},
};

static const struct td_label operation_events[] = {
    [TD_OPERATION_COMPLETE] = {"complete", "All local ranks and all children have arrived."},
    [TD_OPERATION_REFUSE] = {"refuse",
                             "The program does not fit in memory, or the announcement of a child "
                             "does not fit the call; this node appeals to the root."},
    [TD_OPERATION_COMBINE] = {"combine", "The computations on the payload have begun."},
    [TD_OPERATION_ANNOUNCE] = {"announce", "ARRIVE is sent to the parent."},
    [TD_OPERATION_REPEAT] = {"repeat",
                             "A node has no scratch memory, or the sizes of all nodes are known "
                             "now: all nodes announce once more. Scratch memory is released."},
    [TD_OPERATION_RELEASE] = {"release",
                              "The root releases the operation: RELEASE has come from the parent, "
                              "or this node is the root."},
    [TD_OPERATION_RUN] = {"run", "The payload is on its way to the destinations, and the children "
                                 "have the release."},
    [TD_OPERATION_SUCCEED] = {"succeed", "All steps of the program are done."},
    [TD_OPERATION_BREAK] = {"break", "A computation on this node has failed, or a packet found no "
                                     "free record."},
    [TD_OPERATION_FAIL] = {"fail",
                           "It ends with an error on this node. What is queued is dropped."},
    [TD_OPERATION_VERDICT] = {"verdict",
                              "The root has ended it with an error, which the children are to "
                              "hear."},
    [TD_OPERATION_CHILDREN_TOLD] = {"children told", "The error is sent to the children."},
};

static const struct td_transition operation_rows[] = {
    {IN(GATHERING), TD_OPERATION_COMPLETE, TD_OPERATION_PREPARING},
    {IN(GATHERING) | IN(PREPARING) | IN(COMBINING), TD_OPERATION_REFUSE, TD_OPERATION_REFUSED},
    {IN(PREPARING), TD_OPERATION_COMBINE, TD_OPERATION_COMBINING},
    {IN(PREPARING) | IN(COMBINING), TD_OPERATION_ANNOUNCE, TD_OPERATION_ANNOUNCED},
    {IN(PREPARING) | IN(COMBINING) | IN(ANNOUNCED), TD_OPERATION_REPEAT, TD_OPERATION_GATHERING},
    {IN(PREPARING) | IN(COMBINING) | IN(ANNOUNCED), TD_OPERATION_RELEASE, TD_OPERATION_RELEASED},
    {IN(RELEASED), TD_OPERATION_RUN, TD_OPERATION_RUNNING},
    {IN(RUNNING), TD_OPERATION_SUCCEED, TD_OPERATION_ENDED},
    {IN(RUNNING), TD_OPERATION_BREAK, TD_OPERATION_BROKEN},
    {IN(GATHERING) | IN(PREPARING) | IN(COMBINING) | IN(REFUSED) | IN(ANNOUNCED) | IN(RUNNING) |
         IN(BROKEN),
     TD_OPERATION_FAIL, TD_OPERATION_ENDED},
    {IN(RELEASED), TD_OPERATION_FAIL, TD_OPERATION_ENDING},
    {IN(GATHERING) | IN(PREPARING) | IN(COMBINING) | IN(REFUSED) | IN(ANNOUNCED),
     TD_OPERATION_VERDICT, TD_OPERATION_ENDING},
    {IN(ENDING), TD_OPERATION_CHILDREN_TOLD, TD_OPERATION_ENDED},
};

const struct td_machine td_operation_machine = {
    .name = "Operation",
    .meaning = "One collective call of a group, as one node takes part in it "
               "(`core/operation/operation.h`).",
    TD_MACHINE(operation_states, operation_events, operation_rows)};

void td_operation_transition(struct td_operation *o, enum td_operation_event event)
{
    o->state = (enum td_operation_state)td_machine_next(&td_operation_machine, o->state, event);
}

/* ---- the call of a local rank ---- */

static const struct td_label arrival_states[] = {
    [TD_ARRIVAL_ABSENT] = {"absent", "The rank has not called."},
    [TD_ARRIVAL_WAITING] = {"waiting", "It has called, and waits for its reply."},
    [TD_ARRIVAL_ANSWERED] = {"answered", "It has its reply, or left after its call."},
    [TD_ARRIVAL_GONE] = {"gone", "It left before its call, and never calls."},
};

static const struct td_label arrival_events[] = {
    [TD_ARRIVAL_CALL] = {"call", "The rank's request is accepted."},
    [TD_ARRIVAL_ANSWER] = {"answer", "The reply is sent."},
    [TD_ARRIVAL_LEAVE] = {"leave", "The process has left the group or died."},
};

static const struct td_transition arrival_rows[] = {
    {TD_IN(TD_ARRIVAL_ABSENT), TD_ARRIVAL_CALL, TD_ARRIVAL_WAITING},
    {TD_IN(TD_ARRIVAL_WAITING), TD_ARRIVAL_ANSWER, TD_ARRIVAL_ANSWERED},
    {TD_IN(TD_ARRIVAL_ABSENT), TD_ARRIVAL_LEAVE, TD_ARRIVAL_GONE},
    {TD_IN(TD_ARRIVAL_WAITING), TD_ARRIVAL_LEAVE, TD_ARRIVAL_ANSWERED},
    {TD_IN(TD_ARRIVAL_ANSWERED), TD_ARRIVAL_LEAVE, TD_STAY},
};

const struct td_machine td_arrival_machine = {
    .name = "Arrival",
    .meaning = "The call of one local rank in an operation (`core/operation/operation.h`).",
    TD_MACHINE(arrival_states, arrival_events, arrival_rows)};

void td_arrival_transition(struct td_arrival *a, enum td_arrival_event event)
{
    a->state = (enum td_arrival_state)td_machine_next(&td_arrival_machine, a->state, event);
}
