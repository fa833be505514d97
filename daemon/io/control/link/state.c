/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

/* ---- the connections to a peer ---- */

#define IN(state) TD_IN(TD_CONNECTION_##state)

static const struct td_label connection_states[] = {
    [TD_CONNECTION_IDLE] = {"idle", "Nothing has needed the link since the daemon started."},
    [TD_CONNECTION_CALLING] = {"calling", "The DEALER connects. The peer has not accepted its "
                                          "handshake."},
    [TD_CONNECTION_OPENING] = {"opening", "The peer has accepted the DEALER, and the stream of "
                                          "packets connects."},
    [TD_CONNECTION_UP] = {"up", "The peer has accepted both: messages and packets can be sent."},
    [TD_CONNECTION_PAUSING] = {"pausing", "Both are closed until the next attempt."},
    [TD_CONNECTION_ABSENT] = {"absent",
                              "As *pausing*, and no daemon of the peer was at its endpoint. The "
                              "next attempt begins at once when one connects to this node."},
};

static const struct td_label connection_events[] = {
    [TD_CONNECTION_CONNECT] = {"connect",
                               "An attempt begins: the first message or the start of the daemon "
                               "needs the link, the pause is over, or the peer's daemon has "
                               "connected to this node."},
    [TD_CONNECTION_AGREE] = {"agree", "The peer accepts the handshake of the DEALER."},
    [TD_CONNECTION_COME_UP] = {"come up", "The peer accepts the handshake of the stream."},
    [TD_CONNECTION_END] = {"end", "The attempt has failed, a connection has ended, or this node "
                                  "ends the link."},
    [TD_CONNECTION_REFUSE] = {"refuse", "The attempt has shown that no daemon of the peer is at "
                                        "its endpoint."},
};

static const struct td_transition connection_rows[] = {
    {IN(IDLE) | IN(PAUSING) | IN(ABSENT), TD_CONNECTION_CONNECT, TD_CONNECTION_CALLING},
    {IN(CALLING), TD_CONNECTION_AGREE, TD_CONNECTION_OPENING},
    {IN(OPENING), TD_CONNECTION_COME_UP, TD_CONNECTION_UP},
    {IN(CALLING) | IN(OPENING) | IN(UP) | IN(ABSENT), TD_CONNECTION_END, TD_CONNECTION_PAUSING},
    {IN(PAUSING), TD_CONNECTION_END, TD_STAY},
    {IN(CALLING) | IN(OPENING) | IN(UP), TD_CONNECTION_REFUSE, TD_CONNECTION_ABSENT},
};

const struct td_machine td_connection_machine = {
    .name = "Connection",
    .meaning = "The connections of a daemon to one peer, which carry a link of the core "
               "(`io/control/link/link.h`).",
    TD_MACHINE(connection_states, connection_events, connection_rows)};

void td_connection_transition(enum td_connection_state *state, enum td_connection_event event)
{
    *state = (enum td_connection_state)td_machine_next(&td_connection_machine, *state, event);
}

/* ---- the express path ---- */

#define EXPRESS(state) TD_IN(TD_EXPRESS_##state)

static const struct td_label express_states[] = {
    [TD_EXPRESS_CLOSED] = {"closed", "The ends have not agreed on a path, or it could not be "
                                     "opened. ZeroMQ carries all tree messages."},
    [TD_EXPRESS_AGREED] = {"agreed", "Both ends have [network] express. No frequent message has "
                                     "needed the path."},
    [TD_EXPRESS_OPENING] = {"opening", "The path connects."},
    [TD_EXPRESS_OPEN] = {"open", "The path carries all numbered tree messages."},
};

static const struct td_label express_events[] = {
    [TD_EXPRESS_AGREE] = {"agree", "The peer accepts the handshake of the DEALER."},
    [TD_EXPRESS_CONNECT] = {"connect", "The first frequent message is sent."},
    [TD_EXPRESS_COME_UP] = {"come up", "The peer accepts the handshake of the path."},
    [TD_EXPRESS_CLOSE] = {"close", "The path cannot be opened, or the connections end."},
};

static const struct td_transition express_rows[] = {
    {EXPRESS(CLOSED), TD_EXPRESS_AGREE, TD_EXPRESS_AGREED},
    {EXPRESS(AGREED), TD_EXPRESS_CONNECT, TD_EXPRESS_OPENING},
    {EXPRESS(OPENING), TD_EXPRESS_COME_UP, TD_EXPRESS_OPEN},
    {EXPRESS(AGREED) | EXPRESS(OPENING) | EXPRESS(OPEN), TD_EXPRESS_CLOSE, TD_EXPRESS_CLOSED},
    {EXPRESS(CLOSED), TD_EXPRESS_CLOSE, TD_STAY},
};

const struct td_machine td_express_machine = {
    .name = "Express path",
    .meaning = "The third connection to a peer, for numbered tree messages "
               "(`io/control/traffic/express.h`).",
    TD_MACHINE(express_states, express_events, express_rows)};

void td_express_transition(enum td_express_state *state, enum td_express_event event)
{
    *state = (enum td_express_state)td_machine_next(&td_express_machine, *state, event);
}
