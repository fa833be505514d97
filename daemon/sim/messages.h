/* SPDX-License-Identifier: Apache-2.0 */
/* messages: tree messages between nodes. They pass through td_wire; on modelled links, messages of
 * which the head is enough do not. */
#ifndef TD_SIM_MESSAGES_H
#define TD_SIM_MESSAGES_H

#include "state.h"

/* messages_send, messages_forward, messages_repeat and messages_forget execute an action of a
 * node. */
void messages_send(struct td_sim *sim, uint32_t node, const struct td_action *a);
void messages_forward(struct td_sim *sim, uint32_t node, const struct td_action *a);
void messages_repeat(struct td_sim *sim, uint32_t node, const struct td_action *a);
void messages_forget(struct td_sim *sim, uint32_t node, const struct td_action *a);
/* messages_receive passes a message that has arrived to its core. */
void messages_receive(struct td_sim *sim, struct event *e);

#endif
