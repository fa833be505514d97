/* SPDX-License-Identifier: Apache-2.0 */
/* socket: requests to the daemon and replies from it, one datagram each.
 *
 * Replies arrive only inside these functions. A reply to an earlier request goes to
 * upcalls->reply; the end of the connection goes to upcalls->lost. */
#ifndef TORUS_SOCKET_H
#define TORUS_SOCKET_H

#include "context.h"

/* tl_send sends a request, with the descriptor `fd` unless it is -1. It returns TORUS_OK; the error
 * of tl_ready; or TORUS_ERR_INVALID if the request exceeds a datagram. */
int tl_send(torus_context *c, const struct td_request *q, int fd);

/* tl_receive reads and handles one reply, without waiting. It returns TORUS_PENDING if none has
 * arrived. */
int tl_receive(torus_context *c);

/* tl_await waits for a reply until `deadline_ns` (CLOCK_MONOTONIC; -1: no limit). It returns
 * TORUS_OK if a reply has arrived (handled or still in the socket), TORUS_PENDING at the deadline.
 */
int tl_await(torus_context *c, int64_t deadline_ns);

/* tl_call sends a request, waits for its reply as tl_await does, and handles other replies
 * meanwhile. It returns the error of the reply. *reply is valid until the next receive. If the
 * deadline passes, the connection is given up. */
int tl_call(torus_context *c, struct td_request *q, int fd, int64_t deadline_ns,
            struct td_reply *reply);

#endif
