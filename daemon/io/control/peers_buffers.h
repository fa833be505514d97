/* SPDX-License-Identifier: Apache-2.0 */
/* peers_buffers: received payloads, until the core releases them. */
#ifndef TD_IO_CONTROL_PEERS_BUFFERS_H
#define TD_IO_CONTROL_PEERS_BUFFERS_H

#include "io/bulk/channel.h"
#include "peers.h"

/* td_peers_keep_buffer owns the payload from now on and returns its handle. Without memory it
 * returns UINT32_MAX and changes nothing. */
uint32_t td_peers_keep_buffer(struct td_peers *peers, struct td_payload *payload);
/* td_peers_share_buffer returns the payload with one more holder. */
struct td_payload *td_peers_share_buffer(struct td_peers *peers, uint32_t buffer);
void td_peers_free_buffers(struct td_peers *peers);
/* td_peers_buffer returns the bytes of a buffer, or NULL if they are at their places already;
 * td_peers_release_buffer ends the core's use of it. */
const uint8_t *td_peers_buffer(struct td_peers *peers, uint32_t buffer);
void td_peers_release_buffer(struct td_peers *peers, uint32_t buffer);

#endif
