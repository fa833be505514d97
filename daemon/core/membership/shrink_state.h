/* SPDX-License-Identifier: Apache-2.0 */
/* shrink_state: the state machines of a shrink: the agreement as one node takes part in it, and the
 * call of a local rank. docs/states.md prints the tables. */
#ifndef TD_CORE_MEMBERSHIP_SHRINK_STATE_H
#define TD_CORE_MEMBERSHIP_SHRINK_STATE_H

#include "base/transition.h"

struct td_shrink;
struct td_shrink_call;

enum td_shrink_state {
    TD_SHRINK_RESTING,
    TD_SHRINK_VOTING,
    TD_SHRINK_LAST_CALL,
    TD_SHRINK_PROPOSING,
};

enum td_shrink_event {
    TD_SHRINK_BEGIN,
    TD_SHRINK_NEW_VIEW,
    TD_SHRINK_ASK_AGAIN,
    TD_SHRINK_PROPOSE,
    TD_SHRINK_DECIDE,
    TD_SHRINK_PART,
    TD_SHRINK_WITHDRAW,
};

enum td_shrink_call_state {
    TD_SHRINK_CALL_NONE,
    TD_SHRINK_CALL_WAITING,
    TD_SHRINK_CALL_DECIDED,
};

enum td_shrink_call_event {
    TD_SHRINK_CALL_MAKE,
    TD_SHRINK_CALL_MAKE_LATE,
    TD_SHRINK_CALL_DECIDE,
    TD_SHRINK_CALL_ANSWER,
    TD_SHRINK_CALL_LEAVE,
};

extern const struct td_machine td_shrink_machine, td_shrink_call_machine;

/* The only functions that assign the two states. */
void td_shrink_transition(struct td_shrink *s, enum td_shrink_event event);
void td_shrink_call_transition(struct td_shrink_call *call, enum td_shrink_call_event event);

#endif
