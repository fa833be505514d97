/* SPDX-License-Identifier: Apache-2.0 */
/* peers_early: tree messages that arrived before their turn (core/net/early.h), until the core
 * takes them. */
#ifndef TD_IO_CONTROL_PEERS_EARLY_H
#define TD_IO_CONTROL_PEERS_EARLY_H

#include "core/action.h"
#include "peers.h"

/* td_peers_keep_early, td_peers_take_early and td_peers_forget_early execute the actions of the
 * core. A message that was taken waits for td_peers_next_early. */
void td_peers_keep_early(struct td_peers *peers, const struct td_action *action);
void td_peers_take_early(struct td_peers *peers, uint32_t node, uint64_t number);
void td_peers_forget_early(struct td_peers *peers, uint32_t node);
/* td_peers_next_early returns the next message that was taken, and its node, or NULL. The caller
 * frees it by free. */
struct td_early_message *td_peers_next_early(struct td_peers *peers, uint32_t *node);
/* td_peers_free_early drops all messages. */
void td_peers_free_early(struct td_peers *peers);

#endif
