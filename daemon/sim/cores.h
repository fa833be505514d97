/* SPDX-License-Identifier: Apache-2.0 */
/* cores: the steps of the cores: events in, actions out. */
#ifndef TD_SIM_CORES_H
#define TD_SIM_CORES_H

#include "state.h"

/* cores_feed passes the gathered events and one more to a core, and executes the core's actions.
 * cores_gather defers an event to the next cores_feed at the same time; the event must stay in
 * place. cores_feed_gathered passes the gathered events to the core. */
void cores_feed(struct td_sim *sim, uint32_t node, const struct td_event *event);
void cores_gather(struct td_sim *sim, uint32_t node, const struct td_event *event);
void cores_feed_gathered(struct td_sim *sim, uint32_t node);
/* cores_complete feeds a SENT or COMPUTED to the core after the actions of the current step. */
void cores_complete(struct td_sim *sim, enum td_event_kind kind, uint64_t handle);

#endif
