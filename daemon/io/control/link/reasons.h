/* SPDX-License-Identifier: Apache-2.0 */
/* reasons: why a connection to a peer ends or does not come about. ZeroMQ tells little. The
 * rest follows from the peer's own connections to this node, and from probes (probe.h). */
#ifndef TD_IO_CONTROL_LINK_REASONS_H
#define TD_IO_CONTROL_LINK_REASONS_H

#include <stdbool.h>
#include <stddef.h>

#include "io/control/peer.h"

struct td_reason {
    enum td_cause cause;
    unsigned after_ms; /* until the next attempt; 0: by the back-off of the peer */
    char text[600];
};

/* td_reason returns the reason of a cause. */
struct td_reason td_reason(enum td_cause cause, const char *text, unsigned after_ms);
/* td_reason_is_absence returns true if no daemon of the peer is at its endpoint. */
bool td_reason_is_absence(enum td_cause cause);
/* td_reason_unanswered is for an attempt that took its time, or found no way. A daemon that is
 * connected to this node neither hangs nor is down. `text`: what happened. */
struct td_reason td_reason_unanswered(const struct td_peer *p, const char *text);
/* td_reason_nameless is for a look-up that failed. */
struct td_reason td_reason_nameless(const struct td_peer *p, const char *why);
/* td_reason_probed is for the outcome of a probe: 0, or libuv's error. */
struct td_reason td_reason_probed(const struct td_peer *p, int error);
/* td_reason_broken_off is for a handshake that the other end broke off, as a daemon does that has
 * another key than is expected. *certain: such a key has come from that host, too. */
struct td_reason td_reason_broken_off(const struct td_peer *p, bool *certain);
/* td_reason_is_of_names returns true if an error of libuv is that of a look-up, and what the system
 * calls it. */
bool td_reason_is_of_names(int error, const char **why);
/* td_peer_own_fault writes what is wrong with the interface of this host that the last link used:
 * "interface eth0 of node 0 is down". It returns false if it runs, or is not known. */
bool td_peer_own_fault(const struct td_peer *p, char *text, size_t bytes);

#endif
