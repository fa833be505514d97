/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_routed_state: the state machine of a torus neighbour, as the routed fabric sees it.
 * docs/states.md prints the table. */
#ifndef TD_CORE_NET_FABRIC_ROUTED_STATE_H
#define TD_CORE_NET_FABRIC_ROUTED_STATE_H

#include "base/transition.h"

struct port;

enum td_neighbour_state { TD_NEIGHBOUR_THERE, TD_NEIGHBOUR_LOST };

enum td_neighbour_event { TD_NEIGHBOUR_LOSE, TD_NEIGHBOUR_RETURN };

extern const struct td_machine td_neighbour_machine;

/* The only function that assigns the state. */
void td_neighbour_transition(struct port *port, enum td_neighbour_event event);

#endif
