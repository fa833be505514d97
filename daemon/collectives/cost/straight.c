/* SPDX-License-Identifier: Apache-2.0 */
#include "straight.h"

uint64_t td_straight_cost(const struct td_program *p, uint64_t bytes, uint64_t path)
{
    if (p->tuning.fabric == TD_FABRIC_ROUTED || p->group->slots < 2)
        return 0;
    return td_cost_bytes(p, bytes + path * p->tuning.message_bytes);
}
