/* SPDX-License-Identifier: Apache-2.0 */
/* channel_output: what a channel writes, and how it ends. A write is tried at once; what the socket
 * does not accept waits in libuv. */
#ifndef TD_IO_BULK_CHANNEL_OUTPUT_H
#define TD_IO_BULK_CHANNEL_OUTPUT_H

#include "channel.h"

/* td_channel_end notifies the user and closes the channel, if the user did not. td_channel_fail
 * does so after an error of libuv. */
void td_channel_end(struct td_channel *channel, bool violation, const char *why);
void td_channel_fail(struct td_channel *channel, int error);
/* td_channel_write_later queues the bytes of a head and a payload (may be NULL), which it owns,
 * from byte `done` on. td_channel_write_now tries to write them first. They return false if the
 * stream has ended or memory runs out. */
bool td_channel_write_later(struct td_channel *channel, const uint8_t *head, size_t size,
                            struct td_payload *payload, size_t done);
bool td_channel_write_now(struct td_channel *channel, uint8_t *head, size_t size,
                          struct td_payload *payload);

#endif
