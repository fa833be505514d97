/* SPDX-License-Identifier: Apache-2.0 */
#include "bound.h"

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
    return td_bound_load2(t, td_bound_longest(t)) * bytes;
}
