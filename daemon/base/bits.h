/* SPDX-License-Identifier: Apache-2.0 */
/* bits: sets of small numbers as bitmaps. Number i is bit i % 8 of byte i / 8.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_BASE_BITS_H
#define TD_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct td_bitmap: a set of nodes, of ranks or of operations. Member n is bit n % 8 of byte n / 8.
 * bytes 0: no set. */
struct td_bitmap {
    const uint8_t *bits;
    uint32_t bytes;
};

static inline void td_bit_set(uint8_t *bits, uint32_t i)
{
    bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << i % 8);
}
static inline void td_bit_clear(uint8_t *bits, uint32_t i)
{
    bits[i / 8] = (uint8_t)(bits[i / 8] & ~(1u << i % 8));
}
static inline bool td_bit(const uint8_t *bits, uint32_t i)
{
    return bits[i / 8] >> i % 8 & 1;
}
static inline uint32_t td_bit_bytes(uint32_t bits)
{
    return (bits + 7) / 8;
}
/* td_bits_count returns the number of set bits below `size`. */
uint32_t td_bits_count(const uint8_t *bits, uint32_t size);
/* td_bits_print lists the set bits below `size` (or, if `value` is false, the clear bits) as "0-3,
 * 5", and ends a list that does not fit with "...". It returns the number of such bits. */
uint32_t td_bits_print(const uint8_t *bits, uint32_t size, bool value, char *text, size_t bytes);

#endif
