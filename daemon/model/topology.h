/* SPDX-License-Identifier: Apache-2.0 */
/* topology: the shape of the machine. Nodes are numbered in row-major order, last coordinate
 * fastest; a dimension wraps around (torus) or does not (mesh). Written `3x4m`, m for mesh.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_TOPOLOGY_H
#define TD_MODEL_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errors.h"
#include "base/limits.h"

struct td_topology {
    uint32_t dimensions;
    uint32_t nodes;
    uint32_t size[TD_DIMENSIONS_MAX];
    bool wrap[TD_DIMENSIONS_MAX];
};

/* td_topology_parse reads e.g. "3x4m" into t. On TD_ERR_INVALID, *position is the offending
 * character's place in text and *why a static sentence fragment. */
td_err td_topology_parse(struct td_topology *t, const char *text, size_t *position,
                         const char **why);
/* td_topology_print writes the shape as it is parsed; returns the length. */
int td_topology_print(const struct td_topology *t, char *text, size_t size);
void td_topology_coordinates(const struct td_topology *t, uint32_t node,
                             uint32_t coordinates[TD_DIMENSIONS_MAX]);
uint32_t td_topology_node(const struct td_topology *t,
                          const uint32_t coordinates[TD_DIMENSIONS_MAX]);
/* td_topology_neighbour returns the node one hop away in `dimension`, direction +1 or -1; the node
 * itself where a mesh ends or the dimension has size 1. */
uint32_t td_topology_neighbour(const struct td_topology *t, uint32_t node, uint32_t dimension,
                               int direction);
/* td_topology_offset returns the signed minimal way from a to b in one dimension; at half of an
 * even ring it is positive. */
int32_t td_topology_offset(const struct td_topology *t, uint32_t a, uint32_t b, uint32_t dimension);
/* td_topology_offsets returns those of all dimensions. */
void td_topology_offsets(const struct td_topology *t, uint32_t a, uint32_t b,
                         int32_t offset[TD_DIMENSIONS_MAX]);
/* td_topology_distance returns the hops from a to b; td_topology_diameter the most of any pair. */
uint32_t td_topology_distance(const struct td_topology *t, uint32_t a, uint32_t b);
uint32_t td_topology_diameter(const struct td_topology *t);
/* td_topology_tree: whether two nodes are parent and child in the node tree, in which the children
 * of n are TD_TREE_ARITY n + 1 and so on, and which spans every machine. */
bool td_topology_tree(uint32_t a, uint32_t b);

#endif
