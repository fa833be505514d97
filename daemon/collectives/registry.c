/* SPDX-License-Identifier: Apache-2.0 */
#include "registry.h"

/* Each line is a method: its file defines `const struct td_method td_method_NAME`. */
#define METHODS(each)                                                                              \
    each(flood) each(tree_combine) each(bcast_trees) each(bcast_planes) each(bcast_binomial)       \
        each(bcast) each(reduce_trees) each(tree_reduce) each(reduce_binomial) each(tree_gather)   \
            each(reduce_swing) each(reduce_bucket) each(reduce_swing_whole) each(reduce_exchange)  \
                each(reduce_scatter_swing) each(reduce_scatter_bucket) each(allgather_swing)       \
                    each(allgather_bucket) each(scan_chain) each(prefix_stream)                    \
                        each(prefix_round_trips) each(gather) each(reduce_rank_order)              \
                            each(reduce_counts) each(alltoall_random) each(alltoallv)              \
                                each(alltoall_two_phase) each(alltoall_phased)                     \
                                    each(alltoall_pairwise) each(alltoallv_pairwise)               \
                                        each(fft_rows) each(fft) each(redist)

#define DECLARE(name) extern const struct td_method td_method_##name;
#define ADDRESS(name) &td_method_##name,

METHODS(DECLARE)

const struct td_method *const *td_registry(unsigned *count)
{
    static const struct td_method *const table[] = {METHODS(ADDRESS)};
    _Static_assert(sizeof table / sizeof *table <= TD_METHODS_MAX, "all have room");
    *count = sizeof table / sizeof *table;
    return table;
}
