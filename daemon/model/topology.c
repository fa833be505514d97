/* SPDX-License-Identifier: Apache-2.0 */
#include "topology.h"

#include <stdio.h>
#include <string.h>

static td_err refuse(size_t at, const char *reason, size_t *position, const char **why)
{
    *position = at;
    *why = reason;
    return TD_ERR_INVALID;
}

td_err td_topology_parse(struct td_topology *t, const char *text, size_t *position,
                         const char **why)
{
    *t = (struct td_topology){.nodes = 1};
    size_t at = 0;
    for (;;) {
        if (t->dimensions == TD_DIMENSIONS_MAX)
            return refuse(at, "a shape can have at most 6 dimensions", position, why);
        if (text[at] < '0' || text[at] > '9')
            return refuse(at, "expected a size, as in 3x4x2", position, why);
        uint32_t size = 0;
        for (; text[at] >= '0' && text[at] <= '9'; at++) {
            size = size * 10 + (uint32_t)(text[at] - '0');
            if (size > TD_NODES_MAX)
                return refuse(at, "a torus can have at most 4096 nodes", position, why);
        }
        if (size == 0)
            return refuse(at - 1, "a dimension must have at least one node", position, why);
        if (t->nodes * size > TD_NODES_MAX)
            return refuse(at - 1, "a torus can have at most 4096 nodes", position, why);
        t->nodes *= size;
        t->size[t->dimensions] = size;
        t->wrap[t->dimensions] = text[at] != 'm';
        t->dimensions++;
        if (text[at] == 'm')
            at++;
        if (text[at] == '\0')
            return TD_OK;
        if (text[at] != 'x')
            return refuse(at, "expected x, m or the end", position, why);
        at++;
    }
}

int td_topology_print(const struct td_topology *t, char *text, size_t size)
{
    int length = 0;
    if (size)
        text[0] = '\0';
    for (uint32_t d = 0; d < t->dimensions; d++)
        length += snprintf(text + length, (size_t)length < size ? size - (size_t)length : 0,
                           "%s%u%s", d ? "x" : "", t->size[d], t->wrap[d] ? "" : "m");
    return length;
}

void td_topology_coordinates(const struct td_topology *t, uint32_t node,
                             uint32_t coordinates[TD_DIMENSIONS_MAX])
{
    memset(coordinates, 0, TD_DIMENSIONS_MAX * sizeof coordinates[0]);
    for (uint32_t d = t->dimensions; d-- > 1; node /= t->size[d])
        coordinates[d] = node % t->size[d];
    coordinates[0] = node; /* the quotient of all divisions */
}

uint32_t td_topology_node(const struct td_topology *t,
                          const uint32_t coordinates[TD_DIMENSIONS_MAX])
{
    uint32_t node = 0;
    for (uint32_t d = 0; d < t->dimensions; d++)
        node = node * t->size[d] + coordinates[d];
    return node;
}

uint32_t td_topology_neighbour(const struct td_topology *t, uint32_t node, uint32_t dimension,
                               int direction)
{
    uint32_t c[TD_DIMENSIONS_MAX];
    td_topology_coordinates(t, node, c);
    uint32_t k = t->size[dimension];
    bool at_end = direction > 0 ? c[dimension] == k - 1 : c[dimension] == 0;
    if (at_end && !t->wrap[dimension])
        return node;
    c[dimension] = (c[dimension] + (direction > 0 ? 1 : k - 1)) % k;
    return td_topology_node(t, c);
}

static int32_t offset_between(const struct td_topology *t, const uint32_t *ca, const uint32_t *cb,
                              uint32_t dimension)
{
    int32_t k = (int32_t)t->size[dimension];
    int32_t way = (int32_t)cb[dimension] - (int32_t)ca[dimension];
    if (!t->wrap[dimension])
        return way;
    if (way * 2 > k)
        way -= k;
    else if (way * 2 <= -k)
        way += k;
    return way;
}

int32_t td_topology_offset(const struct td_topology *t, uint32_t a, uint32_t b, uint32_t dimension)
{
    uint32_t ca[TD_DIMENSIONS_MAX], cb[TD_DIMENSIONS_MAX];
    td_topology_coordinates(t, a, ca);
    td_topology_coordinates(t, b, cb);
    return offset_between(t, ca, cb, dimension);
}

void td_topology_offsets(const struct td_topology *t, uint32_t a, uint32_t b,
                         int32_t offset[TD_DIMENSIONS_MAX])
{
    uint32_t ca[TD_DIMENSIONS_MAX], cb[TD_DIMENSIONS_MAX];
    td_topology_coordinates(t, a, ca);
    td_topology_coordinates(t, b, cb);
    for (uint32_t d = 0; d < t->dimensions; d++)
        offset[d] = offset_between(t, ca, cb, d);
}

uint32_t td_topology_distance(const struct td_topology *t, uint32_t a, uint32_t b)
{
    uint32_t ca[TD_DIMENSIONS_MAX], cb[TD_DIMENSIONS_MAX], hops = 0;
    td_topology_coordinates(t, a, ca);
    td_topology_coordinates(t, b, cb);
    for (uint32_t d = 0; d < t->dimensions; d++) {
        int32_t way = offset_between(t, ca, cb, d);
        hops += (uint32_t)(way < 0 ? -way : way);
    }
    return hops;
}

uint32_t td_topology_diameter(const struct td_topology *t)
{
    uint32_t hops = 0;
    for (uint32_t d = 0; d < t->dimensions; d++)
        hops += t->wrap[d] ? t->size[d] / 2 : t->size[d] - 1;
    return hops;
}

bool td_topology_tree(uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return low < high && (high - 1) / TD_TREE_ARITY == low;
}

uint32_t td_topology_next_hop(const struct td_topology *t, uint32_t from, uint32_t to)
{
    int32_t offset[TD_DIMENSIONS_MAX];
    td_topology_offsets(t, from, to, offset);
    for (uint32_t d = 0; d < t->dimensions; d++)
        if (offset[d])
            return td_topology_neighbour(t, from, d, offset[d] > 0 ? 1 : -1);
    return from;
}

uint32_t td_topology_path(const struct td_topology *t, uint32_t from, uint32_t to, uint32_t *last)
{
    int32_t offset[TD_DIMENSIONS_MAX];
    uint32_t hops = 0, dimension = 0; /* dimension: the last one of the path */
    td_topology_offsets(t, from, to, offset);
    for (uint32_t d = 0; d < t->dimensions; d++) {
        hops += (uint32_t)(offset[d] < 0 ? -offset[d] : offset[d]);
        dimension = offset[d] ? d : dimension;
    }
    *last = hops ? td_topology_neighbour(t, to, dimension, offset[dimension] > 0 ? -1 : 1) : to;
    return hops;
}
