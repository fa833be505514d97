/* SPDX-License-Identifier: Apache-2.0 */
/* A permutation without a table: a four-round Feistel network on the least even number of bits that
 * holds n, walked until it lands below n (at most 4 tries on average). */
#include "collectives/collectives.h"
#include "base/hash.h"

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

uint32_t td_ranks_here(const struct td_program *p)
{
    return td_group_slot_ranks(p->group, p->slot);
}
