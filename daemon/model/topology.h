/* SPDX-License-Identifier: Apache-2.0 */
/* topology: the shape of the torus. Nodes are numbered in row-major order, last coordinate fastest.
 * A dimension wraps around (torus) or does not (mesh). The text form is `3x4m`, with m for mesh.
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

/* td_topology_parse reads e.g. "3x4m" into t. On TD_ERR_INVALID, *position is the place of the
 * offending character and *why a static sentence fragment. */
td_err td_topology_parse(struct td_topology *t, const char *text, size_t *position,
                         const char **why);
/* td_topology_print writes the shape in the form that td_topology_parse reads and returns the
 * length. */
int td_topology_print(const struct td_topology *t, char *text, size_t size);
void td_topology_coordinates(const struct td_topology *t, uint32_t node,
                             uint32_t coordinates[TD_DIMENSIONS_MAX]);
uint32_t td_topology_node(const struct td_topology *t,
                          const uint32_t coordinates[TD_DIMENSIONS_MAX]);
/* td_topology_neighbour returns the node one hop away in `dimension`, direction +1 or -1. At the
 * end of a mesh, and in a dimension of size 1, it returns the node itself. */
uint32_t td_topology_neighbour(const struct td_topology *t, uint32_t node, uint32_t dimension,
                               int direction);
/* td_topology_offset returns the signed minimal distance from a to b in one dimension. At half of
 * an even ring it is positive. */
int32_t td_topology_offset(const struct td_topology *t, uint32_t a, uint32_t b, uint32_t dimension);
/* td_topology_offsets writes these distances for all dimensions. */
void td_topology_offsets(const struct td_topology *t, uint32_t a, uint32_t b,
                         int32_t offset[TD_DIMENSIONS_MAX]);
/* td_topology_distance returns the hops from a to b; td_topology_diameter the maximum over all
 * pairs. */
uint32_t td_topology_distance(const struct td_topology *t, uint32_t a, uint32_t b);
uint32_t td_topology_diameter(const struct td_topology *t);
/* td_topology_next_hop returns the neighbour of `from` on the dimension-ordered path to another
 * node: dimension 0 is resolved first, and half-way round a ring the path goes in the positive
 * direction. */
uint32_t td_topology_next_hop(const struct td_topology *t, uint32_t from, uint32_t to);
/* td_topology_path returns the hops of that path, and writes the node that it comes through last
 * before `to`, or `to` if it has no hops. */
uint32_t td_topology_path(const struct td_topology *t, uint32_t from, uint32_t to, uint32_t *last);
/* td_topology_tree returns true if two nodes are parent and child in the node tree. The tree spans
 * all nodes; the children of node n are TD_TREE_ARITY n + 1 and so on. */
bool td_topology_tree(uint32_t a, uint32_t b);

#endif
