/* SPDX-License-Identifier: Apache-2.0 */
/* session: how the sessions of a link begin, outlive their connections, and end. link.h says what a
 * session is. */
#ifndef TD_CORE_NET_SESSION_H
#define TD_CORE_NET_SESSION_H

#include "link.h"

#define TD_LINK_PATIENCE_NS ((td_time)20000000)

/* td_session_init gives a new link its first outgoing session. */
void td_session_init(struct td_core *core, struct td_link *link);
/* td_session_up and td_session_down take the driver's word on a connection. A link that is down is
 * given up after progress_timeout, from the last message on where heartbeats come; after half a
 * heartbeat interval if its host refuses connections, so that callers are told within a second;
 * after one interval if the link was never up. */
void td_session_up(struct td_core *core, uint32_t node, uint64_t incarnation);
void td_session_down(struct td_core *core, uint32_t node, const char *text, bool refused);
/* td_session_expect: a group has formed with a daemon of a node. If another one, or none, is known
 * there, this one is given time to come up. */
void td_session_expect(struct td_core *core, uint32_t node, uint32_t daemon);
/* td_session_give_up ends the session of a relayed link that is silent or broke the protocol.
 * td_session_route is told whether there is a route to the node, and whether all its neighbours
 * have lost it: then the session ends. Otherwise notices may be late, so it ends only if there is
 * no route for progress_timeout. td_session_reachable begins another one, when there is a route
 * again or the node is heard. td_session_probe asks a relayed link that is down to resume. */
void td_session_give_up(struct td_core *core, struct td_link *link, const char *text);
void td_session_route(struct td_core *core, struct td_link *link, bool route, bool lost);
void td_session_reachable(struct td_core *core, struct td_link *link);
void td_session_probe(struct td_core *core, struct td_link *link);
/* td_session_check asks whether the daemon of a relayed link, which is back, is still the same one.
 */
void td_session_check(struct td_core *core, struct td_link *link);
/* td_session_resumed puts off the judgement of all links by a time in which this daemon did not
 * run. If others may have given it up meanwhile, it closes the sessions of its own connections
 * until the far ends have answered a question: a session that has ended there takes no packet, and
 * what was sent in it would be lost. */
void td_session_resumed(struct td_core *core, td_time ns);
/* td_session_timers gives up links that have been down for too long. */
void td_session_timers(struct td_core *core);
/* td_session_send sends a tree message to a node. A message to this node is handled before it
 * returns. */
void td_session_send(struct td_core *core, uint32_t node, const struct td_message *message);
/* td_session_has_room returns true if a task may send a few more tree messages to a node. A fan-out
 * checks it before each message: a link that keeps too many messages is given up. A task that
 * finds no room goes on after TD_LINK_PATIENCE_NS. */
bool td_session_has_room(const struct td_core *core, uint32_t node);
/* td_session_seal gives a tree message that is being sent its place in the session. */
void td_session_seal(struct td_core *core, struct td_action *action);
/* td_session_message takes the session's part of a tree message. It returns false if the message is
 * a RESUME, a duplicate or early (early.h), and nobody else must see it now. */
bool td_session_message(struct td_core *core, uint32_t node, const struct td_message *m);
/* td_session_is_next returns true if a packet belongs to the session and is its next one, or has
 * counts that travel alone. */
bool td_session_is_next(struct td_core *core, struct td_link *link, const struct td_packet *packet);
/* td_session_ask asks the far end to resume; once, until it replies. td_session_ask_again asks even
 * if a reply is outstanding. td_session_ask_missing asks for missing messages. On a
 * relayed link it asks again only after one of them has arrived, or after TD_LINK_PATIENCE_NS: they
 * may wait on a route that RESUME does not take. If none arrives, the sender notices that nothing
 * is acknowledged, and repeats them. td_session_doubt also closes the session: the
 * reply opens it, and what was lost on the way is retransmitted. */
void td_session_ask(struct td_core *core, struct td_link *link) __attribute__((cold));
void td_session_ask_again(struct td_core *core, struct td_link *link) __attribute__((cold));
void td_session_ask_missing(struct td_core *core, struct td_link *link) __attribute__((cold));
void td_session_doubt(struct td_core *core, struct td_link *link) __attribute__((cold));
/* td_session_speak sends the RESUME that is due. */
void td_session_speak(struct td_core *core, struct td_link *link);

#endif
