/* SPDX-License-Identifier: Apache-2.0 */
/* combine: reduction operators on arrays. Pure. */
#ifndef TD_COMPUTE_COMBINE_H
#define TD_COMPUTE_COMBINE_H

#include <stddef.h>
#include <stdint.h>

/* td_combine_array computes a[i] = a[i] op b[i] for n elements of `type` (enum td_type) with `op`
 * (enum td_op). `a` holds the values of the earlier ranks. The arrays do not overlap and are
 * aligned to td_call_alignment. The operator must accept the type (td_op_accepts).
 *
 * Sums and products of integers wrap around. Half and bfloat16 are computed in float and rounded
 * after each operation. A complex product is (ac - bd, ad + bc), also for infinities. A minimum or
 * maximum with a NaN is NaN; among equal values the earlier one's bits stay. MINLOC and MAXLOC copy
 * one of the two operands whole, padding included; a NaN wins over a number, and among equal values
 * the lower index wins. The padding of a long double is undefined in the result. */
void td_combine_array(unsigned type, unsigned op, void *a, const void *b, size_t n);

#endif
