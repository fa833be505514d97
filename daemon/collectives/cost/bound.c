/* SPDX-License-Identifier: Apache-2.0 */
#include "bound.h"

#include "constants.h"
#include "model/call.h"

uint64_t td_bound_load2(const struct td_topology *t, uint32_t dimension)
{
    uint64_t k = t->size[dimension];
    return t->nodes / k * (k * k / 4) * (t->wrap[dimension] ? 1 : 2);
}

uint32_t td_bound_longest(const struct td_topology *t)
{
    uint32_t longest = 0;
    for (uint32_t d = 1; d < t->dimensions; d++)
        if (td_bound_load2(t, d) > td_bound_load2(t, longest))
            longest = d;
    return longest;
}

uint64_t td_alltoall_bound(const struct td_topology *t, uint64_t bytes)
{
    uint64_t all = 0;
    bool fits = !__builtin_mul_overflow(td_bound_load2(t, td_bound_longest(t)), bytes, &all);
    return fits ? all : UINT64_MAX;
}

double td_bound_slots(const struct td_topology *t, unsigned kind, uint64_t bytes, uint32_t ranks,
                      uint32_t packet_bytes)
{
    double n = (double)bytes / packet_bytes, others = ranks - 1.0, links = 0;
    for (uint32_t d = 0; d < t->dimensions; d++)
        links += t->size[d] > 1 ? 2 : 0;
    double hop = bytes ? n : (double)TD_COST_CONTROL_BYTES / packet_bytes, volume = 0;
    double latency = ranks > 1 ? td_topology_diameter(t) * (hop < 1 ? hop : 1) : 0;
    if (links == 0)
        return 0;
    switch (kind) {
    case TD_KIND_ALLTOALL:
    case TD_KIND_ALLTOALLV:
        return (double)td_alltoall_bound(t, bytes) / 2 / packet_bytes;
    case TD_KIND_ALLREDUCE: /* each node must receive and send it, twice */
        volume = 2 * n * others / ranks / links;
        break;
    case TD_KIND_BROADCAST:
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
    case TD_KIND_REDUCE:
        volume = n / links;
        break;
    case TD_KIND_REDUCE_SCATTER:
    case TD_KIND_GATHER:
    case TD_KIND_SCATTER:
    case TD_KIND_ALLGATHER:
    case TD_KIND_PREFIX:
        volume = n * others / links;
        break;
    default:
        break;
    }
    return volume > latency ? volume : latency;
}
