/* SPDX-License-Identifier: Apache-2.0 */
/* number: arithmetic on whole numbers. Pure. */
#ifndef TD_BASE_NUMBER_H
#define TD_BASE_NUMBER_H

#include <stdint.h>

/* td_gcd returns the greatest common divisor; of a number and 0, the number. */
static inline uint64_t td_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
