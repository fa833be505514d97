/* SPDX-License-Identifier: Apache-2.0 */
/* decide: the input of a fuzzer as a list of decisions. When the input ends, every decision is 0.
 */
#ifndef TD_TESTS_FUZZ_DECIDE_H
#define TD_TESTS_FUZZ_DECIDE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct decide {
    const uint8_t *at;
    size_t left;
};

/* decide_bytes reads `bytes` <= 8 bytes as a number. */
static inline uint64_t decide_bytes(struct decide *d, size_t bytes)
{
    uint64_t value = 0;
    size_t taken = bytes < d->left ? bytes : d->left;
    memcpy(&value, d->at, taken);
    d->at += taken;
    d->left -= taken;
    return value;
}

/* decide_below returns a number below `bound`, which is at least 1. */
static inline uint32_t decide_below(struct decide *d, uint32_t bound)
{
    return (uint32_t)(decide_bytes(d, bound <= 256 ? 1 : 4) % bound);
}

/* decide_number returns a number that code is likely to treat in a special way, or any number. */
static inline uint64_t decide_number(struct decide *d)
{
    static const uint64_t edges[] = {
        127,   128,       255,      256,        257,       4095,       4096,           16384,
        16385, INT32_MAX, 1u << 31, UINT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
    uint32_t kind = decide_below(d, 64);
    if (kind < 40)
        return kind % 8;
    return kind < 56 ? edges[kind - 40] : decide_bytes(d, kind < 60 ? 2 : 8);
}

#endif
