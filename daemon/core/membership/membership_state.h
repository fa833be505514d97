/* SPDX-License-Identifier: Apache-2.0 */
/* membership_state: the state machines of membership: a group, a local rank's seat in it, a join
 * that waits on its own node, and a job and its registry. docs/states.md prints the tables. */
#ifndef TD_CORE_MEMBERSHIP_MEMBERSHIP_STATE_H
#define TD_CORE_MEMBERSHIP_MEMBERSHIP_STATE_H

#include "base/transition.h"

struct td_communicator;
struct td_seat;
struct td_join;
struct td_job;
struct td_succession;

/* From PARTED on no operation of the group is released; from LOST_RANK on the group is broken. */
enum td_communicator_state {
    TD_COMMUNICATOR_ACTIVE,
    TD_COMMUNICATOR_PARTED,
    TD_COMMUNICATOR_HELD,
    TD_COMMUNICATOR_LOST_RANK,
    TD_COMMUNICATOR_LOST_NODE,
};

enum td_communicator_event {
    TD_COMMUNICATOR_LOSE_RANK,
    TD_COMMUNICATOR_LOSE_NODE,
    TD_COMMUNICATOR_PART,
    TD_COMMUNICATOR_HOLD,
    TD_COMMUNICATOR_REJOIN,
};

enum td_seat_state {
    TD_SEAT_VACANT,
    TD_SEAT_ASSIGNED,
    TD_SEAT_TAKEN,
    TD_SEAT_LEFT,
    TD_SEAT_DIED,
};

enum td_seat_event {
    TD_SEAT_ASSIGN,
    TD_SEAT_WELCOME,
    TD_SEAT_INHERIT,
    TD_SEAT_LEAVE,
    TD_SEAT_DIE,
};

enum td_join_state { TD_JOIN_UNSENT, TD_JOIN_SENT, TD_JOIN_ENDED };

enum td_join_event { TD_JOIN_SEND, TD_JOIN_LINK_BACK, TD_JOIN_END };

enum td_job_state {
    TD_JOB_FORMING,
    TD_JOB_REFUSING,
    TD_JOB_GRANTING,
    TD_JOB_ANNOUNCING,
    TD_JOB_FORMED,
    TD_JOB_ENDED,
};

enum td_job_event {
    TD_JOB_DIFFER,
    TD_JOB_LACK_MEMORY,
    TD_JOB_EXPIRE,
    TD_JOB_ASK,
    TD_JOB_LOSE_JOIN,
    TD_JOB_FORM,
    TD_JOB_MEMBERS_SENT,
    TD_JOB_REPORT,
    TD_JOB_END
};

/* In STOPPED the registry that drains has told all nodes. */
enum td_succession_state {
    TD_SUCCESSION_FOLLOWING,
    TD_SUCCESSION_ASKING,
    TD_SUCCESSION_KEEPING,
    TD_SUCCESSION_STOPPING,
    TD_SUCCESSION_STOPPED,
};

enum td_succession_event {
    TD_SUCCESSION_ASK,
    TD_SUCCESSION_KNOW,
    TD_SUCCESSION_RESIGN,
    TD_SUCCESSION_STOP,
};

extern const struct td_machine td_communicator_machine, td_seat_machine, td_join_machine,
    td_job_machine, td_succession_machine;

/* The only functions that assign the five states. */
void td_communicator_transition(struct td_communicator *c, enum td_communicator_event event);
void td_seat_transition(struct td_seat *seat, enum td_seat_event event);
void td_join_transition(struct td_join *join, enum td_join_event event);
void td_job_transition(struct td_job *job, enum td_job_event event);
void td_succession_transition(struct td_succession *s, enum td_succession_event event);

#endif
