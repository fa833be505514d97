/* SPDX-License-Identifier: Apache-2.0 */
/* hash: mixing of numbers for hashes, permutations and pseudo-random draws. The results are the
 * same on every machine. Not for secrets. Pure. */
#ifndef TD_BASE_HASH_H
#define TD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* td_hash_mix is the finaliser of splitmix64: each bit of the input affects each bit of the
 * output. */
static inline uint64_t td_hash_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* td_hash_next is splitmix64: it advances the state and returns the next number. */
static inline uint64_t td_hash_next(uint64_t *state)
{
    return td_hash_mix(*state += 0x9e3779b97f4a7c15u);
}

/* FNV-1a. A hash begins with TD_HASH_START and takes one byte after another; td_hash_add takes the
 * 8 bytes of a number, the lowest first. */
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

static inline uint64_t td_hash_bytes(const void *bytes, size_t count)
{
    const uint8_t *byte = bytes;
    uint64_t h = TD_HASH_START;
    for (size_t i = 0; i < count; i++)
        h = td_hash_byte(h, byte[i]);
    return h;
}

#endif
