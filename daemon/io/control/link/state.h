/* SPDX-License-Identifier: Apache-2.0 */
/* state: the state machines of the connections to a peer, and of its express path.
 * docs/states.md prints the tables. */
#ifndef TD_IO_CONTROL_LINK_STATE_H
#define TD_IO_CONTROL_LINK_STATE_H

#include "base/transition.h"

/* A DEALER is open in CALLING, OPENING and UP. From PAUSING on the next attempt has its time. */
enum td_connection_state {
    TD_CONNECTION_IDLE,
    TD_CONNECTION_CALLING,
    TD_CONNECTION_OPENING,
    TD_CONNECTION_UP,
    TD_CONNECTION_PAUSING,
    TD_CONNECTION_ABSENT,
};

enum td_connection_event {
    TD_CONNECTION_CONNECT,
    TD_CONNECTION_AGREE,
    TD_CONNECTION_COME_UP,
    TD_CONNECTION_END,
    TD_CONNECTION_REFUSE,
};

enum td_express_state {
    TD_EXPRESS_CLOSED,
    TD_EXPRESS_AGREED,
    TD_EXPRESS_OPENING,
    TD_EXPRESS_OPEN,
};

enum td_express_event {
    TD_EXPRESS_AGREE,
    TD_EXPRESS_CONNECT,
    TD_EXPRESS_COME_UP,
    TD_EXPRESS_CLOSE,
};

extern const struct td_machine td_connection_machine, td_express_machine;

/* The only functions that assign the two states. */
void td_connection_transition(enum td_connection_state *state, enum td_connection_event event);
void td_express_transition(enum td_express_state *state, enum td_express_event event);

#endif
