/* SPDX-License-Identifier: Apache-2.0 */
/* handshake: checks incoming handshakes and replies to them. */
#ifndef TD_IO_CONTROL_DOOR_HANDSHAKE_H
#define TD_IO_CONTROL_DOOR_HANDSHAKE_H

#include <zmq.h>

#include "io/bulk/channel.h"
#include "io/control/keys/zap.h"

struct td_peers;

/* td_peers_receive_handshake replies to a handshake from the ROUTER, and
 * td_peers_receive_channel_handshake to one from a channel. */
void td_peers_receive_handshake(struct td_peers *peers, void *router, zmq_msg_t *identity,
                                zmq_msg_t *message, const struct td_origin *origin);
void td_peers_receive_channel_handshake(void *peers, struct td_channel *channel,
                                        const uint8_t *bytes, size_t size);

#endif
