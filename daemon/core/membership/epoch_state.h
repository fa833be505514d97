/* SPDX-License-Identifier: Apache-2.0 */
/* epoch_state: the state machine of a node that asks for an epoch. docs/states.md prints the table.
 */
#ifndef TD_CORE_MEMBERSHIP_EPOCH_STATE_H
#define TD_CORE_MEMBERSHIP_EPOCH_STATE_H

#include "base/transition.h"

struct td_epochs;

enum td_epoch_state {
    TD_EPOCH_RESTING,
    TD_EPOCH_POLLING,
    TD_EPOCH_PROPOSING,
    TD_EPOCH_PAUSING,
};

enum td_epoch_event {
    TD_EPOCH_POLL,
    TD_EPOCH_PROPOSE,
    TD_EPOCH_PAUSE,
    TD_EPOCH_END,
};

extern const struct td_machine td_epoch_machine;

/* The only function that assigns the state. */
void td_epoch_transition(struct td_epochs *e, enum td_epoch_event event);

#endif
