/* SPDX-License-Identifier: Apache-2.0 */
/* node_set: a set of nodes of a machine, from text. */
#ifndef TD_COMMON_NODE_SET_H
#define TD_COMMON_NODE_SET_H

#include <stdbool.h>

#include "model/topology.h"

/* td_node_set_parse writes the nodes that `text` selects to node[t->nodes], in increasing order,
 * and their number to *count. The forms are `all`; `random:0.6`, a connected set of that share of
 * the nodes, grown from a random node by random neighbours; `nodes:0-5,9`; and `file:NAME` with
 * numbers and ranges, separated by spaces or commas. It returns false on an error: *why is then a
 * static sentence fragment. */
bool td_node_set_parse(const struct td_topology *t, const char *text, uint64_t seed, uint32_t *node,
                       uint32_t *count, const char **why);

#endif
