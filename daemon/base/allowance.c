/* SPDX-License-Identifier: Apache-2.0 */
#include "allowance.h"

uint64_t td_allowance(uint64_t limit, uint64_t others, uint32_t percent, bool privileged)
{
    uint64_t usable = privileged ? limit : limit - limit / TD_RESERVED_PART;
    uint64_t left = usable > others ? usable - others : 0;
    if (privileged)
        return left;
    /* by hundreds, so that nothing overflows */
    return left / 100 * percent + (left % 100 * percent + 99) / 100;
}
