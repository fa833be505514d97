/* SPDX-License-Identifier: Apache-2.0 */
/* session_state: the state machines of a link. The first one knows whether messages can go to the
 * node, the second one whether both ends continue from the same place. docs/states.md prints the
 * tables. */
#ifndef TD_CORE_NET_SESSION_STATE_H
#define TD_CORE_NET_SESSION_STATE_H

#include "base/transition.h"

struct td_link;

/* From GIVEN_UP on the node is given up. */
enum td_link_state {
    TD_LINK_DOWN,
    TD_LINK_CONNECTING,
    TD_LINK_UP,
    TD_LINK_GIVEN_UP,
    TD_LINK_RETRYING,
    TD_LINK_UNREACHABLE,
};

enum td_link_event {
    TD_LINK_COME_UP,
    TD_LINK_WANT,
    TD_LINK_EXPECT,
    TD_LINK_GO_DOWN,
    TD_LINK_LOSE_SESSION,
    TD_LINK_LOSE_ROUTE,
};

/* From OPEN on the session is open: messages and packets may leave. */
enum td_session_state {
    TD_SESSION_CLOSED,
    TD_SESSION_ASKING,
    TD_SESSION_OPEN,
    TD_SESSION_CHECKING,
};

enum td_session_event {
    TD_SESSION_AGREE,
    TD_SESSION_ASK,
    TD_SESSION_HEAR,
    TD_SESSION_CLOSE,
    TD_SESSION_RESET,
};

/* The widths of the states as bit fields of struct td_link. */
enum { TD_LINK_STATE_BITS = 3, TD_SESSION_STATE_BITS = 2 };

extern const struct td_machine td_link_machine, td_session_machine;

/* The only functions that assign the two states. */
void td_link_transition(struct td_link *link, enum td_link_event event);
void td_session_transition(struct td_link *link, enum td_session_event event);

#endif
