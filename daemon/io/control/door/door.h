/* SPDX-License-Identifier: Apache-2.0 */
/* door: watches the connections that the ROUTER accepts, because ZeroMQ bounds neither their
 * number nor the size of a message of many parts.
 *
 * A connection is a *stranger* until its first message has passed ZeroMQ's handshake and, with
 * keys, proved its key. At most STRANGERS_MAX strangers are connected: the one that has waited
 * longest is ended. A connection that sends much and completes no message is ended, and so is one
 * that takes a descriptor of the reserve. Failed handshakes are counted as rejections. Owns: a
 * duplicate of each connection's descriptor, so that it ends the right one. */
#ifndef TD_IO_CONTROL_DOOR_DOOR_H
#define TD_IO_CONTROL_DOOR_DOOR_H

#include <stdbool.h>
#include <zmq.h>

#include "io/control/keys/zap.h"

/* td_door_open watches a ROUTER; it is called before the ROUTER's bind. When ZeroMQ's thread has
 * closed the listener, `unbound` is called; it may close the door. It returns false with errno. */
bool td_door_open(struct td_peers *peers, void *router, void (*unbound)(struct td_peers *peers));
/* td_door_pass records that a message of the ROUTER has arrived. td_door_drained records that no
 * message is waiting. */
void td_door_pass(struct td_peers *peers, zmq_msg_t *message);
void td_door_drained(struct td_peers *peers);
/* td_door_remember records that a message of the ROUTER began the session of a node: when its
 * connection ends before the stream has come, the session ends. */
void td_door_remember(struct td_peers *peers, zmq_msg_t *message, uint32_t node);
/* td_door_reject logs why a message is rejected, and ends the connection that it came from. */
void td_door_reject(struct td_peers *peers, zmq_msg_t *message, const struct td_origin *origin,
                    const char *why);
/* td_door_close accepts that there is no door. */
void td_door_close(struct td_peers *peers);

#endif
