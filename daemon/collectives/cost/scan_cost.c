/* SPDX-License-Identifier: Apache-2.0 */
#include "scan_cost.h"

#include "bound.h"
#include "constants.h"

bool td_scan_is_predicted(struct td_query *q)
{
    const struct td_program *p = q->program;
    return p->tuning.fabric == TD_FABRIC_ROUTED && p->group->slots >= 3 && td_query_grid(q)->box;
}

uint64_t td_scan_exchanges_cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    uint64_t nodes = p->group->slots, each = (td_program_bytes(p) + nodes - 1) / nodes;
    uint64_t ranks = (p->group->size + nodes - 1) / nodes; /* all nodes must predict the same */
    /* twice the load of the links, and half of that again because pieces are short */
    uint64_t load = td_alltoall_bound(&td_query_grid(q)->shape, each * ranks);
    return td_cost_bytes(p, load / 2 * TD_COST_SCAN_SHARE2);
}
