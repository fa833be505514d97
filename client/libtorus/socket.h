/* SPDX-License-Identifier: Apache-2.0 */
/* socket: requests to the daemon and replies from it, one datagram each.
 *
 * Replies arrive only inside these functions. tl_receive and tl_await pass a reply to
 * upcalls->reply; tl_send and tl_call keep replies to other requests for them, because a request
 * that makes progress may send and call again. The end of the connection goes to upcalls->lost. */
#ifndef TORUS_SOCKET_H
#define TORUS_SOCKET_H

#include "context.h"

/* tl_send sends a request, with the descriptor `fd` unless it is -1. It returns TORUS_OK; the error
 * of tl_ready; or TORUS_ERR_INVALID if the request exceeds a datagram. */
int tl_send(torus_context *c, const struct td_request *q, int fd);

/* tl_encode encodes a request, and now and then reads replies that have arrived; *bytes is valid
 * until the next request. tl_send_bytes sends an encoded request. */
int tl_encode(torus_context *c, const struct td_request *q, const uint8_t **bytes, size_t *size);
int tl_send_bytes(torus_context *c, const uint8_t *bytes, size_t size, int fd);

/* tl_receive handles one reply, the oldest kept one first, without waiting. It returns
 * TORUS_PENDING if none has arrived. */
int tl_receive(torus_context *c);

/* Each wait for the daemon, with a deadline or without one, ends within TL_SILENCE_S if the
 * daemon does not reply to anything: the connection is given up with TORUS_ERR_TIMEOUT. A daemon
 * that is late but alive replies to a request that these functions make themselves. */

/* tl_await waits for a reply until `deadline_ns` (CLOCK_MONOTONIC; -1: no limit). It returns
 * TORUS_OK if a reply has arrived (handled or still in the socket), TORUS_PENDING at the deadline.
 */
int tl_await(torus_context *c, int64_t deadline_ns);

/* tl_reply_to returns the kind of the reply to a request that does not fail. */
enum td_reply_kind tl_reply_to(const struct td_request *q);

/* A reply that breaks the protocol ends the connection (tl_malformed): one that cannot be decoded,
 * that is of another kind than its request demands, that has an id which no request had, or that is
 * one too many. */

/* tl_call sends a request, waits for its reply as tl_await does, and keeps other replies. It
 * returns the error of the reply. *reply is valid until the next receive. If the deadline passes
 * (-1: after TL_CALL_S), the connection is given up, whatever else the daemon sends. */
int tl_call(torus_context *c, struct td_request *q, int fd, int64_t deadline_ns,
            struct td_reply *reply);

/* tl_next takes the next reply, whatever request it belongs to, and waits for it until
 * `deadline_ns`: then it returns TORUS_PENDING. *reply is valid until the next receive; its error
 * is not this function's. */
int tl_next(torus_context *c, int64_t deadline_ns, struct td_reply *reply);

/* tl_give_up ends the connection to a daemon that has not answered a request in time. It returns
 * TORUS_ERR_TIMEOUT. */
int tl_give_up(torus_context *c);

/* tl_handle_kept handles all kept replies; tl_forget_kept frees them. */
void tl_handle_kept(torus_context *c);
void tl_forget_kept(torus_context *c);

#endif
