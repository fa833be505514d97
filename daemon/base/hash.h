/* SPDX-License-Identifier: Apache-2.0 */
/* scatter: one number to another that looks like none of the others: for hashes, orders and draws
 * that are the same on every machine. Not for secrets. */
#ifndef TD_BASE_HASH_H
#define TD_BASE_HASH_H

#include <stdint.h>

/* td_hash_mix is the finaliser of splitmix64: every bit of the input reaches every bit. */
static inline uint64_t td_hash_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* td_hash_next is splitmix64: the next number of a sequence. */
static inline uint64_t td_hash_next(uint64_t *state)
{
    return td_hash_mix(*state += 0x9e3779b97f4a7c15u);
}

/* FNV-1a of fields, byte by byte from the lowest, one after the other. */
static const uint64_t TD_HASH_START = 0xcbf29ce484222325u;

static inline uint64_t td_hash_byte(uint64_t h, uint8_t byte)
{
    return (h ^ byte) * 0x100000001b3u;
}

static inline uint64_t td_hash_add(uint64_t h, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        h = td_hash_byte(h, (uint8_t)(value >> (8 * i)));
    return h;
}

#endif
