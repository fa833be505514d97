/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_routed_state.h"

#include "fabric_routed.h"

#define NEIGHBOUR(state) TD_IN(TD_NEIGHBOUR_##state)

static const struct td_label states[] = {
    [TD_NEIGHBOUR_THERE] = {"there", "It was not given up; it may never have been up."},
    [TD_NEIGHBOUR_LOST] = {"lost",
                           "It is given up, and all nodes are told. They are also told when "
                           "it is back."},
};

static const struct td_label events[] = {
    [TD_NEIGHBOUR_LOSE] = {"lose", "It is given up."},
    [TD_NEIGHBOUR_RETURN] = {"return", "The session with it is open."},
};

static const struct td_transition rows[] = {
    {NEIGHBOUR(THERE), TD_NEIGHBOUR_LOSE, TD_NEIGHBOUR_LOST},
    {NEIGHBOUR(LOST), TD_NEIGHBOUR_LOSE, TD_STAY},
    {NEIGHBOUR(LOST), TD_NEIGHBOUR_RETURN, TD_NEIGHBOUR_THERE},
};

const struct td_machine td_neighbour_machine = {
    .name = "Neighbour",
    .meaning = "A torus neighbour of this node on the routed fabric "
               "(`core/net/fabric_routed_losses.c`).",
    TD_MACHINE(states, events, rows)};

void td_neighbour_transition(struct port *port, enum td_neighbour_event event)
{
    port->state =
        (enum td_neighbour_state)(td_machine_next(&td_neighbour_machine, port->state, event) & 3u);
}
