/* SPDX-License-Identifier: Apache-2.0 */
/* operation_state: the state machines of an operation: the operation itself, and the call of each
 * local rank. docs/states.md prints the tables. */
#ifndef TD_CORE_OPERATION_OPERATION_STATE_H
#define TD_CORE_OPERATION_OPERATION_STATE_H

#include "base/transition.h"

struct td_operation;
struct td_arrival;

/* The order matters: a later state is further on its way. */
enum td_operation_state {
    TD_OPERATION_GATHERING,
    TD_OPERATION_PREPARING,
    TD_OPERATION_COMBINING,
    TD_OPERATION_REFUSED,
    TD_OPERATION_ANNOUNCED,
    TD_OPERATION_RELEASED,
    TD_OPERATION_RUNNING,
    TD_OPERATION_BROKEN,
    TD_OPERATION_ENDING,
    TD_OPERATION_ENDED,
};

enum td_operation_event {
    TD_OPERATION_COMPLETE,
    TD_OPERATION_REFUSE,
    TD_OPERATION_COMBINE,
    TD_OPERATION_ANNOUNCE,
    TD_OPERATION_REPEAT,
    TD_OPERATION_RELEASE,
    TD_OPERATION_RUN,
    TD_OPERATION_SUCCEED,
    TD_OPERATION_BREAK,
    TD_OPERATION_FAIL,
    TD_OPERATION_VERDICT,
    TD_OPERATION_CHILDREN_TOLD,
};

enum td_arrival_state {
    TD_ARRIVAL_ABSENT,
    TD_ARRIVAL_WAITING,
    TD_ARRIVAL_ANSWERED,
    TD_ARRIVAL_GONE,
};

enum td_arrival_event { TD_ARRIVAL_CALL, TD_ARRIVAL_ANSWER, TD_ARRIVAL_LEAVE };

extern const struct td_machine td_operation_machine, td_arrival_machine;

/* The only functions that assign the two states. */
void td_operation_transition(struct td_operation *o, enum td_operation_event event);
void td_arrival_transition(struct td_arrival *a, enum td_arrival_event event);

#endif
