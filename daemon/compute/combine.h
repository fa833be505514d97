/* SPDX-License-Identifier: Apache-2.0 */
/* combine: operators on arrays. */
#ifndef TD_COMPUTE_COMBINE_H
#define TD_COMPUTE_COMBINE_H

#include <stddef.h>
#include <stdint.h>

/* td_combine_array: a[i] = a[i] op b[i], for n elements of `type` (enum td_type), op (enum td_op).
 * Integer sums wrap around. A minimum or maximum with a NaN is NaN. The arrays do not overlap. */
void td_combine_array(unsigned type, unsigned op, void *a, const void *b, size_t n);

#endif
