/* SPDX-License-Identifier: Apache-2.0 */
/* arena: an allocator over one block of fixed size. It uses first fit: deterministic, and what is
 * allocated keeps to low addresses. An allocation and a release look at no more pieces than some
 * times the number of bits of an address, however many holes there are. A part of an arena takes
 * memory from the same block, counts it, and may have a limit. Each piece names the arena or part
 * that it was allocated from, so the piece leaves the right count, whoever frees it. struct
 * td_ranges divides the scratch region by first fit, too, over a list of at most TD_RANGES_MAX
 * ranges. It never touches that region's bytes and keeps its records outside. Owns: its block.
 * Invariant: free pieces are disjoint and never adjacent; an arena has used what its parts have
 * used, and its own pieces. */
#ifndef TD_BASE_ARENA_H
#define TD_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits.h"

struct td_arena;

/* struct td_refusals: a simulated shortage: after `pass` allocations that succeed, `refuse` are
 * refused. Zeroed: none. */
struct td_refusals {
    uint64_t pass, refuse;
};

/* td_arena_create returns NULL if the system has no memory. */
struct td_arena *td_arena_create(size_t bytes);
void td_arena_destroy(struct td_arena *arena);
/* td_arena_limit returns 0 if the holder of a part may not have `more` bytes. Otherwise it returns
 * the end of the bytes of the block in which they may lie (SIZE_MAX: anywhere): what is behind
 * stays in one piece for others, however a holder divides the rest. */
typedef size_t td_arena_limit(const void *holder, size_t more);
/* td_arena_part makes a part of an arena, or of a part. An allocation from it obeys `limit` (NULL:
 * there is none) and those of all of which it is a part. It returns NULL if memory runs
 * out. td_arena_part_free accepts NULL; nothing that was allocated from the part may be left. */
struct td_arena *td_arena_part(struct td_arena *whole, td_arena_limit *limit, const void *holder);
void td_arena_part_free(struct td_arena *part);
/* td_arena_alloc returns zeroed memory aligned to 16 bytes, or NULL if no free piece is large
 * enough, or a limit forbids it. A size of 0 allocates a piece of its own. */
void *td_arena_alloc(struct td_arena *arena, size_t bytes);
/* td_arena_take does the same with memory of any content: it takes no time, however many bytes. */
void *td_arena_take(struct td_arena *arena, size_t bytes);
/* td_arena_alloc_lines does the same with memory aligned to a cache line. The memory cannot be
 * freed. */
void *td_arena_alloc_lines(struct td_arena *arena, size_t bytes);
/* td_arena_free accepts NULL, and memory of all parts of the arena. */
void td_arena_free(struct td_arena *arena, void *memory);
/* td_arena_free_later frees memory at the next td_arena_settle; until then its bytes stay. It is no
 * longer counted as used. td_arena_settle frees some hundreds of pieces at most, and returns true
 * if the next call has more to free; an allocation that finds no other room frees these. */
void td_arena_free_later(struct td_arena *arena, void *memory);
bool td_arena_settle(struct td_arena *arena);
/* td_arena_within makes an arena in memory of the caller, aligned to 16 bytes, of at least
 * TD_ARENA_WITHIN_MIN bytes. It ends with the memory. */
enum { TD_ARENA_WITHIN_MIN = 256 };
struct td_arena *td_arena_within(void *memory, size_t bytes);
/* td_arena_fit ends the allocation of such an arena, and returns how many bytes of its memory it
 * needs. td_arena_trim returns the bytes of an allocation behind the first `bytes`. */
size_t td_arena_fit(struct td_arena *within);
void td_arena_trim(void *memory, size_t bytes);
/* td_arena_refuse begins a simulated shortage, or ends it. */
void td_arena_refuse(struct td_arena *arena, struct td_refusals refusals);
/* td_arena_touched returns the end of the bytes of the block that pieces have had since
 * td_arena_unused. That calls `give` for the bytes of each free piece of at least `least` bytes
 * there, from byte `at` of the block on: their content is of no use. A smaller one at the end stays
 * among the bytes that pieces have had. It gives at most `most` bytes,
 * and returns where the next call goes on; 0: it has given all. */
size_t td_arena_touched(const struct td_arena *arena);
size_t td_arena_unused(struct td_arena *arena, size_t at, size_t most, size_t least,
                       void (*give)(void *memory, size_t bytes));
/* td_arena_looks returns how many free pieces the arena has looked at since it was created: the
 * time that it has taken, for tests. */
uint64_t td_arena_looks(const struct td_arena *arena);
/* td_arena_piece_bytes returns what an allocation of `bytes` takes of the arena and its limits. */
size_t td_arena_piece_bytes(size_t bytes);
/* td_arena_lack tells of the last allocation that failed, of the arena and all its parts: the part
 * whose limit forbade it, or that has no piece so large in its bytes of the block (NULL: no part
 * has), and what it would have taken. */
struct td_arena_lack {
    const struct td_arena *part;
    size_t bytes, used; /* used: what the part had */
};
struct td_arena_lack td_arena_lack(const struct td_arena *arena);
/* td_arena_used returns the bytes of all pieces that were allocated from the arena and its parts.
 * td_arena_count adds them up from the pieces: a test compares the two. */
size_t td_arena_used(const struct td_arena *arena);
size_t td_arena_count(const struct td_arena *arena);

/* struct td_ranges: the free ranges of an address space of `bytes`. */
enum { TD_RANGES_MAX = TD_OPERATIONS_MAX + 1 }; /* one more than the number of allocated ranges */
struct td_ranges {
    uint64_t bytes, used;
    uint32_t holders; /* allocated ranges */
    uint32_t count;
    struct td_refusals refusals;
    struct td_free_range {
        uint64_t offset, bytes;
    } range[TD_RANGES_MAX];
};
void td_ranges_init(struct td_ranges *ranges, uint64_t bytes);
/* td_ranges_acquire reserves `bytes` (rounded up to 64) and returns their offset, or UINT64_MAX if
 * no free range is large enough, or TD_RANGES_MAX - 1 are allocated. td_ranges_release returns
 * them. */
uint64_t td_ranges_acquire(struct td_ranges *ranges, uint64_t bytes);
void td_ranges_release(struct td_ranges *ranges, uint64_t offset, uint64_t bytes);

#endif
