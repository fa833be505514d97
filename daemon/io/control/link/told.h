/* SPDX-License-Identifier: Apache-2.0 */
/* told: what the log and the core hear about a link. Each fact is told once, not at each
 * attempt. */
#ifndef TD_IO_CONTROL_LINK_TOLD_H
#define TD_IO_CONTROL_LINK_TOLD_H

#include "reasons.h"

/* td_peer_complain logs a reason why a link cannot be made. td_peer_complain_once does so for a
 * rejection by the peer, unless it is the same as before. */
void td_peer_complain(const struct td_peer *p, const char *text);
void td_peer_complain_once(struct td_peer *p, const char *text);
/* td_peer_tell_up logs that the link is up, before `last` describes it. */
void td_peer_tell_up(struct td_peer *p);
/* td_peer_tell_end logs the end of an attempt, or of a link that was up, and keeps its text for the
 * core. It returns false if that is no news, and no message waits. */
bool td_peer_tell_end(struct td_peer *p, const struct td_reason *reason, bool was_up);

#endif
