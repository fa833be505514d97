/* SPDX-License-Identifier: Apache-2.0 */
/* actions: the execution of a core's actions. */
#ifndef TD_SIM_ACTIONS_H
#define TD_SIM_ACTIONS_H

#include "state.h"

/* actions_execute executes sim->actions, which a node's core has returned. */
void actions_execute(struct td_sim *sim, uint32_t node);

#endif
