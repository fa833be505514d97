/* SPDX-License-Identifier: Apache-2.0 */
#include "membership_state.h"

#include "communicator.h"
#include "job.h"
#include "registry.h"
#include "succession.h"

/* ---- a group ---- */

#define GROUP(state) TD_IN(TD_COMMUNICATOR_##state)

static const struct td_label communicator_states[] = {
    [TD_COMMUNICATOR_ACTIVE] = {"active", "No rank and no node of the group is known to be lost."},
    [TD_COMMUNICATOR_PARTED] = {"parted",
                                "Its nodes do not all hear each other, or messages between them "
                                "were lost. Calls end with PARTITIONED."},
    [TD_COMMUNICATOR_HELD] = {"held",
                              "The nodes agree on the operation that they go on with. Calls "
                              "wait."},
    [TD_COMMUNICATOR_LOST_RANK] = {"lost rank",
                                   "A rank is lost. No operation is released any more; those that "
                                   "were released go on."},
    [TD_COMMUNICATOR_LOST_NODE] = {"lost node", "A node is lost. All operations have ended."},
};

static const struct td_label communicator_events[] = {
    [TD_COMMUNICATOR_LOSE_RANK] = {"lose rank", "The root announces that a rank is lost."},
    [TD_COMMUNICATOR_LOSE_NODE] = {"lose node",
                                   "A node of the group, or on the route of its packets, is lost."},
    [TD_COMMUNICATOR_PART] = {"part", "A node is silent without an epoch that excludes it, or the "
                                      "nodes do not agree on the operation to go on with."},
    [TD_COMMUNICATOR_HOLD] = {"hold",
                              "All nodes are heard, and the root asks which operations have "
                              "been called."},
    [TD_COMMUNICATOR_REJOIN] = {"rejoin", "All nodes have answered."},
};

static const struct td_transition communicator_rows[] = {
    {GROUP(ACTIVE) | GROUP(PARTED) | GROUP(HELD), TD_COMMUNICATOR_LOSE_RANK,
     TD_COMMUNICATOR_LOST_RANK},
    {GROUP(LOST_RANK) | GROUP(LOST_NODE), TD_COMMUNICATOR_LOSE_RANK, TD_STAY},
    {GROUP(ACTIVE) | GROUP(PARTED) | GROUP(HELD) | GROUP(LOST_RANK), TD_COMMUNICATOR_LOSE_NODE,
     TD_COMMUNICATOR_LOST_NODE},
    {GROUP(LOST_NODE), TD_COMMUNICATOR_LOSE_NODE, TD_STAY},
    {GROUP(ACTIVE) | GROUP(HELD), TD_COMMUNICATOR_PART, TD_COMMUNICATOR_PARTED},
    {GROUP(PARTED), TD_COMMUNICATOR_HOLD, TD_COMMUNICATOR_HELD},
    {GROUP(HELD), TD_COMMUNICATOR_HOLD, TD_STAY},
    {GROUP(HELD), TD_COMMUNICATOR_REJOIN, TD_COMMUNICATOR_ACTIVE},
};

const struct td_machine td_communicator_machine = {
    .name = "Group",
    .meaning = "A group, as one node takes part in it (`core/membership/communicator.h`). The "
               "record goes when the group is broken and no local rank or operation needs it.",
    TD_MACHINE(communicator_states, communicator_events, communicator_rows)};

void td_communicator_transition(struct td_communicator *c, enum td_communicator_event event)
{
    c->state =
        (enum td_communicator_state)td_machine_next(&td_communicator_machine, c->state, event);
}

/* ---- a seat ---- */

#define SEAT(state) TD_IN(TD_SEAT_##state)

static const struct td_label seat_states[] = {
    [TD_SEAT_VACANT] = {"vacant", "No process has the seat."},
    [TD_SEAT_ASSIGNED] = {"assigned", "It has a process, whose join is not answered yet."},
    [TD_SEAT_TAKEN] = {"taken", "Its process knows that it is this rank."},
    [TD_SEAT_LEFT] = {"left", "The process has left the group."},
    [TD_SEAT_DIED] = {"died", "The process has closed its connection or died."},
};

static const struct td_label seat_events[] = {
    [TD_SEAT_ASSIGN] = {"assign", "The job has formed, and the rank belongs to a local join."},
    [TD_SEAT_WELCOME] = {"welcome", "The join is answered."},
    [TD_SEAT_INHERIT] = {"inherit", "The group is a subgroup, and the rank has a seat in the "
                                    "group that it is made from."},
    [TD_SEAT_LEAVE] = {"leave", "The process asks to leave the group."},
    [TD_SEAT_DIE] = {"die", "The connection to the process is closed."},
};

static const struct td_transition seat_rows[] = {
    {SEAT(VACANT), TD_SEAT_ASSIGN, TD_SEAT_ASSIGNED},
    {SEAT(ASSIGNED), TD_SEAT_WELCOME, TD_SEAT_TAKEN},
    {SEAT(VACANT), TD_SEAT_INHERIT, TD_SEAT_TAKEN},
    {SEAT(ASSIGNED) | SEAT(TAKEN), TD_SEAT_LEAVE, TD_SEAT_LEFT},
    {SEAT(VACANT) | SEAT(ASSIGNED) | SEAT(TAKEN), TD_SEAT_DIE, TD_SEAT_DIED},
};

const struct td_machine td_seat_machine = {
    .name = "Seat",
    .meaning = "A local rank of a group (`core/membership/communicator.h`).",
    TD_MACHINE(seat_states, seat_events, seat_rows)};

void td_seat_transition(struct td_seat *seat, enum td_seat_event event)
{
    seat->state = (enum td_seat_state)td_machine_next(&td_seat_machine, seat->state, event);
}

/* ---- a join ---- */

#define JOIN(state) TD_IN(TD_JOIN_##state)

static const struct td_label join_states[] = {
    [TD_JOIN_UNSENT] = {"unsent", "JOIN is to be sent to the registry as soon as there is room."},
    [TD_JOIN_SENT] = {"sent", "JOIN is on its way, or the registry waits for the other ranks."},
    [TD_JOIN_ENDED] = {"ended", "The request is answered, and the record is freed."},
};

static const struct td_label join_events[] = {
    [TD_JOIN_SEND] = {"send", "JOIN is sent, for the first time or once more."},
    [TD_JOIN_LINK_BACK] = {"link back", "A new session with the registry begins, or another node "
                                        "is the registry: JOIN may be lost."},
    [TD_JOIN_END] = {"end", "The rank has its seat, or the join is refused, cancelled or late, or "
                            "its process is gone."},
};

static const struct td_transition join_rows[] = {
    {JOIN(UNSENT) | JOIN(SENT), TD_JOIN_SEND, TD_JOIN_SENT},
    {JOIN(UNSENT) | JOIN(SENT), TD_JOIN_LINK_BACK, TD_JOIN_UNSENT},
    {JOIN(UNSENT) | JOIN(SENT), TD_JOIN_END, TD_JOIN_ENDED},
};

const struct td_machine td_join_machine = {
    .name = "Join",
    .meaning = "A local process's request to join a job (`core/membership/job.h`).",
    TD_MACHINE(join_states, join_events, join_rows)};

void td_join_transition(struct td_join *join, enum td_join_event event)
{
    join->state = (enum td_join_state)td_machine_next(&td_join_machine, join->state, event);
}

/* ---- a job ---- */

#define JOB(state) TD_IN(TD_JOB_##state)

static const struct td_label job_states[] = {
    [TD_JOB_FORMING] = {"forming", "Not all ranks have joined."},
    [TD_JOB_REFUSING] =
        {"refusing",
         "The registry has no memory for the job, its nodes differ in what they must share, or "
         "one of them is at a limit: the joins are being refused."},
    [TD_JOB_GRANTING] = {"granting", "All ranks have joined. The registry asks the nodes whether "
                                     "the joins may become ranks of this instance."},
    [TD_JOB_ANNOUNCING] = {"announcing", "The membership is being sent to the job's first node."},
    [TD_JOB_FORMED] = {"formed", "The membership is sent. The job stays on record until its last "
                                 "rank is gone."},
    [TD_JOB_ENDED] = {"ended", "No rank is left, and the record is freed."},
};

static const struct td_label job_events[] = {
    [TD_JOB_DIFFER] =
        {"differ",
         "The last rank has joined, or has left, and the nodes of the others differ, or do "
         "not admit them."},
    [TD_JOB_LACK_MEMORY] = {"lack memory", "The last rank has joined, but there is no memory."},
    [TD_JOB_EXPIRE] = {"expire", "The time of a join has run out."},
    [TD_JOB_ASK] = {"ask", "The last rank has joined, and all ranks have their numbers."},
    [TD_JOB_LOSE_JOIN] = {"lose join", "A join was withdrawn or not granted, or its node is lost."},
    [TD_JOB_FORM] = {"form", "All joins are granted."},
    [TD_JOB_MEMBERS_SENT] = {"members sent", "The last piece of the membership is sent."},
    [TD_JOB_REPORT] = {"report", "A node has reported a rank of a job that formed at an earlier "
                                 "registry."},
    [TD_JOB_END] = {"end", "The last rank is gone, or the last join is refused."},
};

static const struct td_transition job_rows[] = {
    {JOB(FORMING), TD_JOB_DIFFER, TD_JOB_REFUSING},
    {JOB(FORMING), TD_JOB_LACK_MEMORY, TD_JOB_REFUSING},
    {JOB(FORMING) | JOB(GRANTING), TD_JOB_EXPIRE, TD_JOB_REFUSING},
    {JOB(FORMING), TD_JOB_ASK, TD_JOB_GRANTING},
    {JOB(GRANTING), TD_JOB_LOSE_JOIN, TD_JOB_FORMING},
    {JOB(GRANTING), TD_JOB_FORM, TD_JOB_ANNOUNCING},
    {JOB(FORMING), TD_JOB_REPORT, TD_JOB_FORMED},
    {JOB(ANNOUNCING), TD_JOB_MEMBERS_SENT, TD_JOB_FORMED},
    {JOB(FORMING) | JOB(REFUSING) | JOB(GRANTING) | JOB(FORMED) | JOB(ANNOUNCING), TD_JOB_END,
     TD_JOB_ENDED},
};

const struct td_machine td_job_machine = {
    .name = "Job",
    .meaning = "A job, as the registry keeps it (`core/membership/registry.h`).",
    TD_MACHINE(job_states, job_events, job_rows)};

void td_job_transition(struct td_job *job, enum td_job_event event)
{
    job->state = (enum td_job_state)td_machine_next(&td_job_machine, job->state, event);
}

/* ---- the registry ---- */

#define SUCCESSION(state) TD_IN(TD_SUCCESSION_##state)

static const struct td_label succession_states[] = {
    [TD_SUCCESSION_FOLLOWING] = {"following", "Another node is the registry, or no job has needed "
                                              "this one yet."},
    [TD_SUCCESSION_ASKING] = {"asking", "This node is the registry, and asks the nodes that it "
                                        "hears for their ranks."},
    [TD_SUCCESSION_KEEPING] = {"keeping", "It knows them, and forms jobs."},
    [TD_SUCCESSION_STOPPING] = {"stopping", "The daemon drains, and tells the nodes."},
    [TD_SUCCESSION_STOPPED] = {"stopped", "All are told."},
};

static const struct td_label succession_events[] = {
    [TD_SUCCESSION_ASK] = {"ask", "A job is to form."},
    [TD_SUCCESSION_KNOW] = {"know", "All have answered, or are lost, or too late."},
    [TD_SUCCESSION_RESIGN] = {"resign", "A lower node is heard."},
    [TD_SUCCESSION_STOP] = {"stop", "The daemon is asked to stop; or all nodes are told."},
};

static const struct td_transition succession_rows[] = {
    {SUCCESSION(FOLLOWING), TD_SUCCESSION_ASK, TD_SUCCESSION_ASKING},
    {SUCCESSION(ASKING), TD_SUCCESSION_KNOW, TD_SUCCESSION_KEEPING},
    {SUCCESSION(ASKING) | SUCCESSION(KEEPING), TD_SUCCESSION_RESIGN, TD_SUCCESSION_FOLLOWING},
    {SUCCESSION(FOLLOWING) | SUCCESSION(ASKING) | SUCCESSION(KEEPING), TD_SUCCESSION_STOP,
     TD_SUCCESSION_STOPPING},
    {SUCCESSION(STOPPING), TD_SUCCESSION_STOP, TD_SUCCESSION_STOPPED},
};

const struct td_machine td_succession_machine = {
    .name = "Registry",
    .meaning = "The node that keeps the list of jobs, as each node takes part in it "
               "(`core/membership/succession.h`).",
    TD_MACHINE(succession_states, succession_events, succession_rows)};

void td_succession_transition(struct td_succession *s, enum td_succession_event event)
{
    s->state = (enum td_succession_state)td_machine_next(&td_succession_machine, s->state, event);
}
