/* SPDX-License-Identifier: Apache-2.0 */
#include "registry.h"

/* Each line is a method, its number and its version. Its file defines `const struct td_method
 * td_method_NAME`.
 *
 * Of methods with equal costs, the first one is chosen. The number of a method never changes, and
 * that of a method that is gone is not used again. The version is raised with each change of the
 * method's programs, `applies` or `cost`, and of its place among the lines: nodes with different
 * versions then form no group. */
/* clang-format off */
#define METHODS(each) \
    each(tree_combine, 1, 2) \
    each(bcast_trees, 2, 2) \
    each(bcast_planes, 3, 2) \
    each(bcast_binomial, 4, 1) \
    each(bcast, 5, 2) \
    each(bcast_chain, 33, 1) \
    each(reduce_trees, 6, 2) \
    each(tree_reduce, 7, 2) \
    each(reduce_binomial, 8, 1) \
    each(tree_gather, 9, 1) \
    each(reduce_swing, 10, 2) \
    each(reduce_bucket, 11, 2) \
    each(reduce_swing_whole, 12, 2) \
    each(reduce_exchange, 13, 4) \
    each(reduce_scatter_swing, 14, 2) \
    each(reduce_scatter_bucket, 15, 2) \
    each(allgather_swing, 16, 2) \
    each(allgather_bucket, 17, 2) \
    each(scan_chain, 18, 4) \
    each(prefix_stream, 19, 2) \
    each(prefix_round_trips, 20, 1) \
    each(gather, 21, 3) \
    each(reduce_rank_order, 22, 3) \
    each(reduce_counts, 23, 1) \
    each(alltoall_random, 24, 3) \
    each(alltoallv, 25, 3) \
    each(alltoall_two_phase, 26, 2) \
    each(alltoall_phased, 27, 2) \
    each(alltoall_pairwise, 28, 2) \
    each(alltoallv_pairwise, 29, 1) \
    each(fft_rows, 30, 6) \
    each(fft, 31, 1) \
    each(redist, 32, 1)
/* clang-format on */

#define DECLARE(name, number, version) extern const struct td_method td_method_##name;
#define ADDRESS(name, number, version) &td_method_##name,
#define VERSION(name, number, version) [number] = (version),
#define NAME(name, number, version) [number] = #name,
/* Two lines with one number do not compile. */
#define ONLY(name, number, version) TD_METHOD_NUMBER_##number,

METHODS(DECLARE)
enum { METHODS(ONLY) TD_METHOD_NUMBERS };

static const uint64_t version_of[] = {METHODS(VERSION)};
static const char *const name_of[] = {METHODS(NAME)};
enum { NUMBERS = sizeof version_of / sizeof *version_of };
_Static_assert((int)NUMBERS <= (int)TD_TERMS_MAX, "all nodes hear of every method");

const struct td_method *const *td_registry(unsigned *count)
{
    static const struct td_method *const table[] = {METHODS(ADDRESS)};
    _Static_assert(sizeof table / sizeof *table <= TD_METHODS_MAX, "all have room");
    *count = sizeof table / sizeof *table;
    return table;
}

struct td_term_list td_registry_versions(void)
{
    return (struct td_term_list){NUMBERS, version_of};
}

const char *td_registry_name(uint32_t number)
{
    return number < NUMBERS ? name_of[number] : NULL;
}
