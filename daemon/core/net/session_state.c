/* SPDX-License-Identifier: Apache-2.0 */
#include "session_state.h"

#include "link.h"

/* ---- the way to the node ---- */

#define LINK(state) TD_IN(TD_LINK_##state)

static const struct td_label link_states[] = {
    [TD_LINK_DOWN] = {"down",
                      "There is no connection: not yet, or not any more. The session ends if "
                      "none is made in time (`expires_at`). Relayed: the node was silent for "
                      "too long, and its session ends now."},
    [TD_LINK_CONNECTING] = {"connecting", "As *down*, and the driver was asked to connect."},
    [TD_LINK_UP] = {"up", "There is a connection, or (relayed) a route on which the node was not "
                          "silent for too long. Relayed: without a route the session ends at "
                          "`expires_at`."},
    [TD_LINK_GIVEN_UP] = {"given up",
                          "The session has ended, and the node has not come back since."},
    [TD_LINK_RETRYING] = {"retrying",
                          "As *given up*, and the driver was asked to connect again, or (relayed) "
                          "the node was sent a heartbeat."},
    [TD_LINK_UNREACHABLE] = {"unreachable",
                             "Relayed: there has been no route to the node for too long. Its "
                             "session has ended."},
};

static const struct td_label link_events[] = {
    [TD_LINK_COME_UP] = {"come up", "The driver has a connection; or (relayed) there is a route "
                                    "at the start or again, or a message of the node has come."},
    [TD_LINK_WANT] = {"want", "This node has something to send: it asks the driver to connect, or "
                              "(relayed) sends a heartbeat."},
    [TD_LINK_EXPECT] = {"expect", "A group has formed with a daemon of the node that was not up "
                                  "here: it is given time to come up."},
    [TD_LINK_GO_DOWN] = {"go down", "The driver has lost the connection, or could not make it; or "
                                    "(relayed) the node is silent."},
    [TD_LINK_LOSE_SESSION] = {"lose session",
                              "All messages in flight are lost: `expires_at` has passed, the far "
                              "daemon is another one, or either end has given the other one up."},
    [TD_LINK_LOSE_ROUTE] = {"lose route", "Relayed: no path of torus neighbours has led to the "
                                          "node for too long, or none does and it is not up."},
};

static const struct td_transition link_rows[] = {
    {LINK(DOWN) | LINK(CONNECTING) | LINK(GIVEN_UP) | LINK(RETRYING) | LINK(UNREACHABLE),
     TD_LINK_COME_UP, TD_LINK_UP},
    {LINK(UP), TD_LINK_COME_UP, TD_STAY},
    {LINK(DOWN), TD_LINK_WANT, TD_LINK_CONNECTING},
    {LINK(GIVEN_UP), TD_LINK_WANT, TD_LINK_RETRYING},
    {LINK(GIVEN_UP), TD_LINK_EXPECT, TD_LINK_DOWN},
    {LINK(RETRYING), TD_LINK_EXPECT, TD_LINK_CONNECTING},
    {LINK(DOWN) | LINK(CONNECTING), TD_LINK_EXPECT, TD_STAY},
    {LINK(CONNECTING) | LINK(UP), TD_LINK_GO_DOWN, TD_LINK_DOWN},
    {LINK(RETRYING), TD_LINK_GO_DOWN, TD_LINK_GIVEN_UP},
    {LINK(DOWN) | LINK(GIVEN_UP) | LINK(UNREACHABLE), TD_LINK_GO_DOWN, TD_STAY},
    {LINK(DOWN), TD_LINK_LOSE_SESSION, TD_LINK_GIVEN_UP},
    {LINK(CONNECTING), TD_LINK_LOSE_SESSION, TD_LINK_RETRYING},
    {LINK(UP) | LINK(GIVEN_UP) | LINK(RETRYING) | LINK(UNREACHABLE), TD_LINK_LOSE_SESSION, TD_STAY},
    {LINK(DOWN) | LINK(CONNECTING) | LINK(UP) | LINK(GIVEN_UP) | LINK(RETRYING), TD_LINK_LOSE_ROUTE,
     TD_LINK_UNREACHABLE},
};

const struct td_machine td_link_machine = {
    .name = "Link",
    .meaning = "The way from this node to another one (`core/net/link.h`): a connection of its "
               "own, or, for a *relayed* link, a route along torus neighbours.",
    TD_MACHINE(link_states, link_events, link_rows)};

void td_link_transition(struct td_link *link, enum td_link_event event)
{
    uint32_t next = td_machine_next(&td_link_machine, link->state, event);
    link->state = (enum td_link_state)(next & ((1u << TD_LINK_STATE_BITS) - 1));
}

/* ---- the session ---- */

#define SESSION(state) TD_IN(TD_SESSION_##state)

static const struct td_label session_states[] = {
    [TD_SESSION_CLOSED] = {"closed",
                           "The ends have not agreed since the connection was lost. What this node "
                           "sends is kept."},
    [TD_SESSION_ASKING] = {"asking",
                           "As *closed*, and a RESUME that asks the far end to reply is due or on "
                           "its way."},
    [TD_SESSION_OPEN] = {"open", "Both ends continue from the same place."},
    [TD_SESSION_CHECKING] =
        {"checking", "As *open*, but the far end was asked to resume, since it is silent or "
                     "a message or packet is missing."},
};

static const struct td_label session_events[] = {
    [TD_SESSION_AGREE] = {"agree", "A RESUME knows this session; or two daemons meet for the first "
                                   "time, and each knows the other one's first session."},
    [TD_SESSION_ASK] = {"ask", "This node asks the far end to resume."},
    [TD_SESSION_HEAR] = {"hear", "A RESUME has come, whether or not it replies to this node's."},
    [TD_SESSION_CLOSE] = {"close", "The link goes down, or (relayed) what was sent may be lost."},
    [TD_SESSION_RESET] = {"reset", "The link comes up, another session begins, or a RESUME does "
                                   "not know this one."},
};

static const struct td_transition session_rows[] = {
    {SESSION(CLOSED), TD_SESSION_AGREE, TD_SESSION_OPEN},
    {SESSION(OPEN), TD_SESSION_AGREE, TD_STAY},
    {SESSION(CLOSED), TD_SESSION_ASK, TD_SESSION_ASKING},
    {SESSION(OPEN), TD_SESSION_ASK, TD_SESSION_CHECKING},
    {SESSION(ASKING) | SESSION(CHECKING), TD_SESSION_ASK, TD_STAY},
    {SESSION(ASKING), TD_SESSION_HEAR, TD_SESSION_CLOSED},
    {SESSION(CHECKING), TD_SESSION_HEAR, TD_SESSION_OPEN},
    {SESSION(CLOSED) | SESSION(OPEN), TD_SESSION_HEAR, TD_STAY},
    {SESSION(OPEN), TD_SESSION_CLOSE, TD_SESSION_CLOSED},
    {SESSION(CHECKING), TD_SESSION_CLOSE, TD_SESSION_ASKING},
    {SESSION(CLOSED) | SESSION(ASKING), TD_SESSION_CLOSE, TD_STAY},
    {SESSION(ASKING) | SESSION(OPEN) | SESSION(CHECKING), TD_SESSION_RESET, TD_SESSION_CLOSED},
    {SESSION(CLOSED), TD_SESSION_RESET, TD_STAY},
};

const struct td_machine td_session_machine = {
    .name = "Session",
    .meaning = "The numbered messages and packets between this node and another one "
               "(`core/net/session.h`), across the connections of their link.",
    TD_MACHINE(session_states, session_events, session_rows)};

void td_session_transition(struct td_link *link, enum td_session_event event)
{
    uint32_t next = td_machine_next(&td_session_machine, link->session_state, event);
    link->session_state = (enum td_session_state)(next & ((1u << TD_SESSION_STATE_BITS) - 1));
}
