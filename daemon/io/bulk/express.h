/* SPDX-License-Identifier: Apache-2.0 */
/* express: tree messages on a channel of their own, without a thread between a message and its
 * socket.
 *
 * A frame is the message's length (u32, little-endian), its tag if the stream is sealed (seal.h),
 * and the message. The messages of one step of the core are written together, and many messages are
 * read together. The length has no tag of its own: it is at most TD_TREE_MESSAGE_MAX, and the
 * message's tag does not fit another length. */
#ifndef TD_IO_BULK_EXPRESS_H
#define TD_IO_BULK_EXPRESS_H

#include "channel.h"

/* td_express_send adds a message to those that td_express_flush writes. It returns false if the
 * stream has ended, too much waits, or memory runs out. */
bool td_express_send(struct td_channel *channel, const uint8_t *bytes, size_t size);
/* td_express_is_full returns true if so much waits that a message which somebody else keeps should
 * be dropped. */
bool td_express_is_full(const struct td_channel *channel);
/* td_express_flush writes the pending messages of all channels, unless more messages that have
 * arrived together are about to be handled. */
void td_express_flush(struct td_channels *channels);
/* td_express_read reads a frame from the staged bytes of a channel at *at. It returns false if no
 * frame is complete, or the channel has ended. td_express_written continues after a write that
 * waited. td_express_free drops all pending messages. channel.c calls them. */
bool td_express_read(struct td_channel *channel, size_t *at);
void td_express_written(struct td_channel *channel);
void td_express_free(struct td_channel *channel);

#endif
