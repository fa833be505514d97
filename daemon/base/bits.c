/* SPDX-License-Identifier: Apache-2.0 */
#include "bits.h"

#include <stdio.h>

uint32_t td_bits_count(const uint8_t *bits, uint32_t size)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; i++)
        count += td_bit(bits, i);
    return count;
}

uint32_t td_bits_print(const uint8_t *bits, uint32_t size, bool value, char *text, size_t bytes)
{
    uint32_t count = 0;
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < size; i++) {
        if (td_bit(bits, i) != value)
            continue;
        uint32_t last = i;
        while (last + 1 < size && td_bit(bits, last + 1) == value)
            last++;
        count += last - i + 1;
        const char *comma = length ? ", " : "";
        if (length + 40 > bytes) {
            if (text[length - 1] != '.')
                length += (size_t)snprintf(text + length, bytes - length, ", ...");
        } else if (last > i) {
            length += (size_t)snprintf(text + length, bytes - length, "%s%u-%u", comma, i, last);
        } else {
            length += (size_t)snprintf(text + length, bytes - length, "%s%u", comma, i);
        }
        i = last;
    }
    return count;
}
