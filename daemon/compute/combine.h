/* SPDX-License-Identifier: Apache-2.0 */
/* combine: operators on arrays. */
#ifndef TD_COMPUTE_COMBINE_H
#define TD_COMPUTE_COMBINE_H

#include <stddef.h>
#include <stdint.h>

/* td_combine_array: a[i] = a[i] op b[i], for n elements of `type` (enum td_type), op (enum td_op);
 * a has the values of the earlier ranks. The arrays do not overlap, and are aligned as
 * td_call_alignment says; the operator takes the type.
 *
 * Sums and products of integers wrap around. Those of half and bfloat16 are of floats, and rounded
 * after each operation. A complex product is (ac - bd, ad + bc), whatever becomes of infinities.
 * A minimum or maximum with a NaN is NaN; of equal values, the earlier one's bits stay.
 * MINLOC and MAXLOC take one of the two operands whole, what its padding holds included; a NaN wins
 * over a number, and of two the lower place. The padding of a long double may come out as anything.
 */
void td_combine_array(unsigned type, unsigned op, void *a, const void *b, size_t n);

#endif
