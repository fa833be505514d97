/* SPDX-License-Identifier: Apache-2.0 */
#include "alltoall_model.h"

#include "bound.h"
#include "constants.h"
#include "straight.h"

/* unit returns the bytes from one node to another: the mean over all pairs of nodes, and the
 * maximum. */
static void unit(const struct td_program *p, uint64_t *mean, uint64_t *most)
{
    uint64_t ranks = td_ranks_most(p), pairs = (uint64_t)p->group->slots * (p->group->slots - 1);
    *mean = *most = td_program_bytes(p) * ranks * ranks;
    if (!p->counts && !p->units)
        return;
    *most = p->survey.most;
    *mean = pairs ? p->survey.total / pairs + (p->survey.total % pairs != 0) : 0;
}

/* ratio2_of returns twice the ratio of the highest load of a dimension to the second highest. */
static uint64_t ratio2_of(const struct td_topology *t, uint32_t longest)
{
    uint64_t next = 0;
    for (uint32_t d = 0; d < t->dimensions; d++)
        if (d != longest && td_bound_load2(t, d) > next)
            next = td_bound_load2(t, d);
    return next ? 2 * td_bound_load2(t, longest) / next : 2;
}

/* estimate sets the efficiencies. They were measured as random and two-phase, with 4 to 16 packets
 * a pair, in a model of slots in which control messages and credits take no time (torus-sim is
 * within 0.02 where docs/network.md has the case): balanced  8x8x8 0.987 0.631   4x4x4 0.973 0.693
 * 8mx8m 0.822 0.626 x 1.5     6x6x9 0.913 0.909   8x8x12 0.801 0.913 x 2       4x4x8 0.985 0.987
 * 5x5x10 0.846 0.962  6x6x12 0.773 0.970  8x8x16 0.695 0.981 more      4x4x12 0.742 0.987  4x4x16
 * 0.685 0.990  8x32 0.632 0.981 lines     8x8mx8 0.911 0.792  4x8mx4 0.894 0.946 two       4x16
 * 0.974 0.982  8x16 0.979 0.935  4x32 0.976 0.982  8x24 0.700  2x2x16 0.962 Random order loses
 * efficiency with the length of a ring that is longer than the others, but not where few nodes are
 * beside that ring. */
static void estimate(const struct td_topology *t, struct td_alltoall_model *out)
{
    uint64_t ratio2 = ratio2_of(t, out->longest);
    uint32_t k = t->size[out->longest];
    out->random = TD_COST_RANDOM;
    out->two_phase = ratio2 >= 4   ? TD_COST_TWO_PHASE_2
                     : ratio2 >= 3 ? TD_COST_TWO_PHASE_1_5
                                   : TD_COST_TWO_PHASE;
    if (!t->wrap[out->longest]) {
        out->random = TD_COST_RANDOM_MESH;
        out->two_phase = ratio2 >= 8   ? TD_COST_TWO_PHASE_MESH_4
                         : ratio2 >= 4 ? TD_COST_TWO_PHASE_MESH_2
                                       : TD_COST_TWO_PHASE_MESH;
    } else if (ratio2 >= 3 && k > (t->dimensions == 2 ? 16 : 8) && t->nodes / k > 4) {
        out->random =
            k >= 18 ? TD_COST_RANDOM_LONGEST : TD_COST_RANDOM - TD_COST_RANDOM_LOSS * (k - 8);
    }
}

struct td_alltoall_model td_alltoall_model_of(struct td_query *q)
{
    const struct td_program *p = q->program;
    const struct td_topology *t = &td_query_grid(q)->shape;
    uint64_t mean = 0, most = 0;
    unit(p, &mean, &most);
    struct td_alltoall_model m = {.longest = td_bound_longest(t),
                                  .unit = mean,
                                  .packets = td_program_packets(p, mean),
                                  .bound = td_alltoall_bound(t, mean) / 2,
                                  .longest_bound = td_alltoall_bound(t, most) / 2};
    estimate(t, &m);
    return m;
}

uint64_t td_alltoall_model_cost(const struct td_query *q, uint64_t bytes, unsigned efficiency)
{
    uint64_t cost = td_cost_bytes(q->program, bytes);
    return cost / efficiency < TD_COST_UNKNOWN / 1000
               ? cost / efficiency * 1000 + cost % efficiency * 1000 / efficiency
               : TD_COST_UNKNOWN - 1;
}

/* straight_cost returns the cost of all messages of a node on the direct fabric, `path` of them one
 * after the other, at an efficiency in thousandths; 0: not known. */
static uint64_t straight_cost(const struct td_query *q, uint64_t path, unsigned efficiency)
{
    const struct td_program *p = q->program;
    uint64_t mean = 0, most = 0, bytes = 0, waits = td_straight_cost(p, 0, path);
    if (waits == 0 || ((p->counts || p->units) && !q->surveyed))
        return 0;
    unit(p, &mean, &most);
    if (__builtin_mul_overflow(mean, p->group->slots - 1, &bytes))
        return TD_COST_UNKNOWN;
    return waits + td_alltoall_model_cost(q, bytes, efficiency);
}

uint64_t td_alltoall_model_straight(const struct td_query *q)
{
    return straight_cost(q, 1, TD_COST_RANDOM_DIRECT);
}

uint64_t td_alltoall_model_pairwise(const struct td_query *q)
{
    return straight_cost(q, q->program->group->slots - 1, 1000);
}
