/* SPDX-License-Identifier: Apache-2.0 */
/* arena: memory of fixed size, given back in pieces. First fit over an address-ordered free list:
 * deterministic, and small enough to read. The same code divides the scratch region, whose bytes it
 * never touches, by keeping its notes outside (struct td_ranges).
 * Owns: its block. Invariant: free pieces are sorted, disjoint and never adjacent. */
#ifndef TD_BASE_ARENA_H
#define TD_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "limits.h"

struct td_arena;

/* td_arena_create returns NULL when the system has no memory. */
struct td_arena *td_arena_create(size_t bytes);
void td_arena_destroy(struct td_arena *arena);
/* td_arena_alloc returns zeroed memory aligned to 16 bytes, or NULL when there is no piece left
 * that is large enough. A size of 0 gives a piece of its own. */
void *td_arena_alloc(struct td_arena *arena, size_t bytes);
/* td_arena_alloc_lines does so from the beginning of a cache line on; it cannot be freed. */
void *td_arena_alloc_lines(struct td_arena *arena, size_t bytes);
/* td_arena_free accepts NULL. */
void td_arena_free(struct td_arena *arena, void *memory);
size_t td_arena_used(const struct td_arena *arena);

/* struct td_ranges: free ranges of an address space of `bytes`; at most TD_RANGES_MAX of them. */
enum { TD_RANGES_MAX = TD_OPERATIONS_MAX + 1 }; /* one more than can be taken */
struct td_ranges {
    uint64_t bytes, used;
    uint32_t count;
    struct td_free_range {
        uint64_t offset, bytes;
    } range[TD_RANGES_MAX];
};
void td_ranges_init(struct td_ranges *ranges, uint64_t bytes);
/* td_ranges_take returns the offset of `bytes` (rounded up to 64), or UINT64_MAX. */
uint64_t td_ranges_take(struct td_ranges *ranges, uint64_t bytes);
void td_ranges_give(struct td_ranges *ranges, uint64_t offset, uint64_t bytes);

#endif
