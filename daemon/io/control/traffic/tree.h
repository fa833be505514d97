/* SPDX-License-Identifier: Apache-2.0 */
/* tree: sends and retransmits tree messages, on the express path or with ZeroMQ. */
#ifndef TD_IO_CONTROL_TRAFFIC_TREE_H
#define TD_IO_CONTROL_TRAFFIC_TREE_H

#include "core/action.h"

struct td_peers;

void td_peers_send_tree(struct td_peers *peers, const struct td_action *action);
/* td_peers_forward_tree sends a received message on to a neighbour, or drops it when the connection
 * is down or its queue is full. */
void td_peers_forward_tree(struct td_peers *peers, const struct td_action *action);
/* td_peers_repeat_tree retransmits the kept messages from a number on. td_peers_forget_tree drops
 * the kept messages up to a number. */
void td_peers_repeat_tree(struct td_peers *peers, uint32_t node, uint32_t via, uint64_t number);
void td_peers_forget_tree(struct td_peers *peers, uint32_t node, uint64_t number);

#endif
