/* SPDX-License-Identifier: Apache-2.0 */
/* messages: tree messages between nodes. They pass through td_wire, except that modelled links
 * carry the two most frequent kinds without encoding. */
#ifndef TD_SIM_MESSAGES_H
#define TD_SIM_MESSAGES_H

#include "state.h"

/* Each of the next four functions executes an action of a node. messages_repeat retransmits the
 * unacknowledged messages; messages_forget frees those that are acknowledged. */
void messages_send(struct td_sim *sim, uint32_t node, const struct td_action *a);
void messages_forward(struct td_sim *sim, uint32_t node, const struct td_action *a);
void messages_repeat(struct td_sim *sim, uint32_t node, const struct td_action *a);
void messages_forget(struct td_sim *sim, uint32_t node, const struct td_action *a);
/* messages_put queues the arrival of an encoded message for `to` at `via`, the next node of its
 * route. A numbered one may take the express path. */
void messages_put(struct td_sim *sim, uint32_t node, uint32_t to, uint32_t via, bool numbered,
                  const uint8_t *bytes, size_t size);
/* The next three functions execute the actions on early messages (core/net/early.h).
 * messages_free_early drops those of all nodes. */
void messages_keep_early(struct td_sim *sim, uint32_t node, const struct td_action *a);
void messages_take_early(struct td_sim *sim, uint32_t node, const struct td_action *a);
void messages_forget_early(struct td_sim *sim, uint32_t node, uint32_t from);
void messages_free_early(const struct td_sim *sim, struct node *n);
/* messages_receive passes a message that has arrived to its core. */
void messages_receive(struct td_sim *sim, struct event *e);

#endif
