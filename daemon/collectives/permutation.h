/* SPDX-License-Identifier: Apache-2.0 */
/* permutation: a permutation without a table. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_PERMUTATION_H
#define TD_COLLECTIVES_PERMUTATION_H

#include <stdint.h>

/* td_permutation_at returns place i of a permutation of 0 .. n - 1. The seed determines the
 * permutation. */
uint64_t td_permutation_at(uint64_t seed, uint64_t n, uint64_t i);

#endif
