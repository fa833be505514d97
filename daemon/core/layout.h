/* SPDX-License-Identifier: Apache-2.0 */
/* layout: who owns what of an array. Block distribution is HPF's: block = ceil(n / parts), so 344
 * over 9 is 39 ... 39, 32, and trailing parts may be empty.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_LAYOUT_H
#define TD_CORE_LAYOUT_H

#include <stdint.h>

#include "limits.h"

/* struct td_range: [begin, begin + count). */
struct td_range {
    uint64_t begin, count;
};

/* td_block returns part `part` of n indices in blocks over `parts` parts. */
struct td_range td_block(uint64_t n, uint64_t parts, uint64_t part);
/* td_block_owner returns the part that owns `index`. */
uint64_t td_block_owner(uint64_t n, uint64_t parts, uint64_t index);
/* td_share returns part `part` of n indices spread as evenly as can be: the first n % parts get one
 * more. Ranks fill nodes so. */
struct td_range td_share(uint64_t n, uint64_t parts, uint64_t part);
/* struct td_box: a rank's part of an array; rows of whole contiguous axes where count is full. */
struct td_box {
    uint32_t dimensions;
    uint64_t begin[TD_DIMENSIONS_MAX];
    uint64_t count[TD_DIMENSIONS_MAX];
};

#endif
