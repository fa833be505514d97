/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

struct td_range td_block(uint64_t n, uint64_t parts, uint64_t part)
{
    uint64_t block = n / parts + (n % parts != 0);
    uint64_t begin = block && part > n / block ? n : block * part;
    if (begin > n)
        begin = n;
    uint64_t left = n - begin;
    return (struct td_range){begin, left < block ? left : block};
}

uint64_t td_block_owner(uint64_t n, uint64_t parts, uint64_t index)
{
    return index / (n / parts + (n % parts != 0));
}

struct td_range td_share(uint64_t n, uint64_t parts, uint64_t part)
{
    uint64_t each = n / parts, more = n % parts;
    return (struct td_range){each * part + (part < more ? part : more), each + (part < more)};
}
