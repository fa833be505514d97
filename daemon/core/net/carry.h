/* SPDX-License-Identifier: Apache-2.0 */
/* carry: data that CARRY messages bring instead of packets.
 *
 * They are tree messages: numbered by their link's session, kept by the driver until they are
 * acknowledged, and acknowledged by what goes back anyway. The direct fabric carries short
 * messages, the routed fabric those that would pass a lost node. A window for each destination
 * bounds what is kept. Owns nothing. */
#ifndef TD_CORE_NET_CARRY_H
#define TD_CORE_NET_CARRY_H

#include "fabric.h"

/* td_carry_has_room returns true if the window of a link has room for one more message. */
bool td_carry_has_room(const struct td_link *link);
/* td_carry_part sends the next bytes of a message, at most `most`, in a CARRY. The action list must
 * have room. It returns false if there is no inflight record: the next one that is sent to this
 * node queues the link again. */
bool td_carry_part(struct td_core *core, struct td_transfer *transfer, uint32_t most);
/* td_carry_sent: the driver has encoded a CARRY. */
void td_carry_sent(struct td_core *core, struct td_inflight *inflight);
/* td_carry_take takes a CARRY from its origin. */
void td_carry_take(struct td_core *core, uint32_t from, const struct td_message *m);

#endif
