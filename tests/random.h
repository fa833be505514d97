/* SPDX-License-Identifier: Apache-2.0 */
/* random: seeded pseudo-random numbers for tests. A seed gives the same numbers on every machine
 * (splitmix64), so a failure can be repeated from its seed.
 * Owns: nothing; the caller keeps the state, which starts as the seed. */
#ifndef TD_TESTS_RANDOM_H
#define TD_TESTS_RANDOM_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"

/* random_below returns a number from 0 to bound - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t bound)
{
    assert(bound > 0);
    return td_hash_next(state) % bound;
}

/* random_shuffle permutes `count` elements of `bytes` bytes each (Fisher and Yates). */
static inline void random_shuffle(uint64_t *state, void *elements, size_t count, size_t bytes)
{
    unsigned char *at = elements, held[16];
    assert(bytes <= sizeof held);
    for (size_t i = count; i-- > 1;) {
        size_t other = (size_t)random_below(state, i + 1);
        memcpy(held, at + i * bytes, bytes);
        memmove(at + i * bytes, at + other * bytes, bytes);
        memcpy(at + other * bytes, held, bytes);
    }
}

/* random_at returns the value of element `i` of rank `rank` in call `call`: -50 .. 50. It has
 * no state, so each rank can compute what the others hold. */
static inline int random_at(uint64_t rank, uint64_t i, uint64_t call)
{
    uint64_t x = rank * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u + call * 0x94d049bb133111ebu;
    x = (x ^ x >> 31) * 0x94d049bb133111ebu;
    return (int)(x >> 40) % 101 - 50;
}

#endif
