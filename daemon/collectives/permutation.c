/* SPDX-License-Identifier: Apache-2.0 */
#include "permutation.h"

#include "base/hash.h"

/* A Feistel network of four rounds permutes the least even number of bits that holds n values.
 * Values from n on are permuted again until one is below n: at most 4 rounds on average. */
uint64_t td_permutation_at(uint64_t seed, uint64_t n, uint64_t i)
{
    unsigned half = 1;
    while (half < 31 && (uint64_t)1 << 2 * half < n)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t next = left ^ (td_hash_mix(right + td_hash_mix(seed + round)) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}
