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
 * route. */
void messages_put(struct td_sim *sim, uint32_t node, uint32_t to, uint32_t via,
                  const uint8_t *bytes, size_t size);
/* messages_receive passes a message that has arrived to its core. */
void messages_receive(struct td_sim *sim, struct event *e);

#endif
