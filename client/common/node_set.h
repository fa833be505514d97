/* SPDX-License-Identifier: Apache-2.0 */
/* node_set: which nodes of a simulated machine take part. */
#ifndef TD_COMMON_NODE_SET_H
#define TD_COMMON_NODE_SET_H

#include <stdbool.h>

#include "model/topology.h"

/* td_node_set_parse writes the nodes that `text` names, in increasing order, into node[t->nodes],
 * and how many there are. `all`; `random:0.6`, a connected set of that share of the nodes, grown
 * from a random one by random neighbours; `nodes:0-5,9`; `file:NAME` with numbers and ranges, any
 * space or comma between. False when it cannot: *why is a static sentence fragment. */
bool td_node_set_parse(const struct td_topology *t, const char *text, uint64_t seed, uint32_t *node,
                       uint32_t *count, const char **why);

#endif
