/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* Under the address sanitizer free memory, the headers of pieces and the bytes behind an allocation
 * are poisoned, so that it finds an access beyond an allocation as it does on the heap. Memory far
 * behind all that was allocated is not. The functions below may access the headers. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined SANITIZED
#include <sanitizer/asan_interface.h>
#define OWN __attribute__((no_sanitize_address))
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)0)
#define OWN
#endif

/* struct piece: header of a piece of the arena. `bytes` includes the header. */
struct piece {
    size_t bytes;
    union {
        struct td_arena *owner; /* of an allocated piece: the arena or part that it counts in */
        struct piece *next;     /* of a free piece: the next one by address; else of `later` */
    } u;
};

struct td_arena {
    struct block *block;
    struct td_arena *whole; /* of which it is a part, or NULL */
    size_t used;
    td_arena_limit *limit; /* NULL: it has none of its own */
    const void *holder;
};

/* struct block: the memory of an arena and its parts. */
struct block {
    struct td_arena arena;
    size_t bytes, touched;      /* touched: the end of all pieces since td_arena_unused */
    struct piece *free, *later; /* later: freed, but not yet to be used again */
    struct td_refusals refusals;
    struct td_arena_lack lack; /* of the last allocation that failed */
    _Alignas(16) unsigned char memory[];
};

enum { GUARD_BYTES = 64 << 10 }; /* so many bytes behind the touched memory are poisoned */
enum { LATER = 1 };              /* in `bytes` of a piece of the list `later` */

_Static_assert(sizeof(struct piece) == 16, "pieces keep the alignment");

/* guard poisons free memory up to GUARD_BYTES behind `to`, the end of a piece that is about to be
 * allocated, from where the last call has ended. To poison the whole block would cost more than
 * most tests do with it. */
static void guard(const struct block *block, size_t to)
{
    size_t from = to > 0 ? block->touched + GUARD_BYTES : 0, end = to + GUARD_BYTES;
    end = end < block->bytes ? end : block->bytes;
    if (from < end)
        ASAN_POISON_MEMORY_REGION(block->memory + from, end - from);
}

/* begin makes an arena of a block, all of whose memory is free. */
OWN static struct td_arena *begin(struct block *block, size_t bytes)
{
    *block = (struct block){.arena = {.block = block}, .bytes = bytes};
    if (bytes >= sizeof(struct piece)) {
        block->free = (struct piece *)(void *)block->memory;
        block->free->bytes = bytes;
        block->free->u.next = NULL;
    }
    guard(block, 0);
    return &block->arena;
}

struct td_arena *td_arena_create(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    struct block *block = malloc(sizeof *block + bytes);
    return block ? begin(block, bytes) : NULL;
}

void td_arena_destroy(struct td_arena *arena)
{
    if (!arena)
        return;
    free(arena->block); /* free and malloc replace the poison */
}

struct td_arena *td_arena_part(struct td_arena *whole, td_arena_limit *limit, const void *holder)
{
    struct td_arena *part = td_arena_alloc(&whole->block->arena, sizeof *part);
    if (part)
        *part = (struct td_arena){
            .block = whole->block, .whole = whole, .limit = limit, .holder = holder};
    return part;
}

void td_arena_part_free(struct td_arena *part)
{
    assert(!part || part->used == 0);
    if (part)
        td_arena_free_later(&part->block->arena, part);
}

void td_arena_refuse(struct td_arena *arena, struct td_refusals refusals)
{
    arena->block->refusals = refusals;
}

/* refuses counts an allocation, and returns true if it is refused. */
static bool refuses(struct td_refusals *r)
{
    if (r->refuse == 0)
        return false;
    if (r->pass > 0) {
        r->pass--;
        return false;
    }
    r->refuse--;
    return true;
}

/* limiting returns the first of the arena and those of which it is a part that may not have so much
 * more; NULL: all may, if the piece lies before *end. */
static const struct td_arena *limiting(const struct td_arena *arena, size_t more, size_t *end)
{
    for (; arena; arena = arena->whole) {
        size_t before = arena->limit ? arena->limit(arena->holder, more) : SIZE_MAX;
        if (before == 0)
            return arena;
        *end = before < *end ? before : *end;
    }
    return NULL;
}

/* obtain takes a piece of at least `needed` bytes before `end` from the free list, or returns NULL.
 */
OWN static struct piece *obtain(struct block *block, size_t needed, size_t end)
{
    for (struct piece **link = &block->free; *link; link = &(*link)->u.next) {
        struct piece *p = *link;
        if (p->bytes < needed)
            continue;
        if ((size_t)((unsigned char *)p - block->memory) + needed > end)
            return NULL;
        if (p->bytes - needed >= 2 * sizeof(struct piece)) {
            struct piece *rest = (struct piece *)(void *)((unsigned char *)p + needed);
            rest->bytes = p->bytes - needed;
            rest->u.next = p->u.next;
            p->bytes = needed;
            *link = rest;
        } else {
            *link = p->u.next;
        }
        return p;
    }
    return NULL;
}

size_t td_arena_piece_bytes(size_t bytes)
{
    return ((bytes + 15) & ~(size_t)15) + sizeof(struct piece);
}

struct td_arena_lack td_arena_lack(const struct td_arena *arena)
{
    return arena->block->lack;
}

OWN void *td_arena_take(struct td_arena *arena, size_t bytes)
{
    struct block *block = arena->block;
    size_t needed = td_arena_piece_bytes(bytes), end = SIZE_MAX;
    const struct td_arena *limited = limiting(arena, needed, &end);
    struct piece *p = NULL;
    if (bytes <= block->bytes && !refuses(&block->refusals) && !limited)
        p = obtain(block, needed, end);
    if (!p) {
        if (!limited && end < SIZE_MAX)
            limited = arena;
        block->lack = (struct td_arena_lack){limited, needed, limited ? limited->used : 0};
        return NULL;
    }
    p->u.owner = arena;
    size_t to = (size_t)((unsigned char *)p - block->memory) + p->bytes;
    guard(block, to);
    block->touched = to > block->touched ? to : block->touched;
    for (struct td_arena *a = arena; a; a = a->whole)
        a->used += p->bytes;
    ASAN_UNPOISON_MEMORY_REGION(p + 1, bytes);
    return p + 1;
}

void *td_arena_alloc(struct td_arena *arena, size_t bytes)
{
    void *memory = td_arena_take(arena, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *td_arena_alloc_lines(struct td_arena *arena, size_t bytes)
{
    unsigned char *memory = td_arena_alloc(arena, bytes + CACHE_LINE);
    return memory ? memory + (CACHE_LINE - (uintptr_t)memory % CACHE_LINE) % CACHE_LINE : NULL;
}

/* insert adds a piece to the list of free pieces, and joins it with its neighbours. */
OWN static void insert(struct block *block, struct piece *p)
{
    ASAN_POISON_MEMORY_REGION(p + 1, p->bytes - sizeof *p);
    struct piece *before = NULL, *after = block->free;
    while (after && after < p) {
        before = after;
        after = after->u.next;
    }
    p->u.next = after;
    if (after && (unsigned char *)p + p->bytes == (unsigned char *)after) {
        p->bytes += after->bytes;
        p->u.next = after->u.next;
    }
    if (!before) {
        block->free = p;
    } else if ((unsigned char *)before + before->bytes == (unsigned char *)p) {
        before->bytes += p->bytes;
        before->u.next = p->u.next;
    } else {
        before->u.next = p;
    }
}

/* release ends the use of an allocation: its owner no longer holds it. */
OWN static struct piece *release(struct td_arena *arena, void *memory)
{
    struct piece *p = (struct piece *)memory - 1;
    assert(p->u.owner->block == arena->block);
    for (struct td_arena *a = p->u.owner; a; a = a->whole) {
        assert(a->used >= p->bytes);
        a->used -= p->bytes;
    }
    return p;
}

void td_arena_free(struct td_arena *arena, void *memory)
{
    if (memory)
        insert(arena->block, release(arena, memory));
}

OWN void td_arena_free_later(struct td_arena *arena, void *memory)
{
    if (!memory)
        return;
    struct piece *p = release(arena, memory);
    p->bytes |= LATER;
    p->u.next = arena->block->later;
    arena->block->later = p;
}

OWN void td_arena_settle(struct td_arena *arena)
{
    struct block *block = arena->block;
    while (block->later) {
        struct piece *p = block->later;
        block->later = p->u.next;
        p->bytes &= ~(size_t)LATER;
        insert(block, p);
    }
}

_Static_assert(sizeof(struct block) + 2 * sizeof(struct piece) <= TD_ARENA_WITHIN_MIN,
               "the least arena within memory has room");

struct td_arena *td_arena_within(void *memory, size_t bytes)
{
    struct block *block = memory;
    assert(bytes >= TD_ARENA_WITHIN_MIN);
    return begin(block, (bytes - sizeof *block) & ~(size_t)15);
}

OWN size_t td_arena_fit(struct td_arena *within)
{
    struct block *block = within->block;
    unsigned char *end = block->memory + block->bytes;
    for (struct piece **link = &block->free, *p; (p = *link); link = &p->u.next)
        if (!p->u.next && (unsigned char *)p + p->bytes == end) {
            block->bytes -= p->bytes;
            *link = NULL;
            break;
        }
    return sizeof *block + block->bytes;
}

OWN void td_arena_trim(void *memory, size_t bytes)
{
    struct piece *p = (struct piece *)memory - 1;
    size_t needed = td_arena_piece_bytes(bytes);
    if (p->bytes < needed + 2 * sizeof *p)
        return;
    struct piece *rest = (struct piece *)(void *)((unsigned char *)p + needed);
    ASAN_UNPOISON_MEMORY_REGION(rest, sizeof *rest);
    rest->bytes = p->bytes - needed;
    p->bytes = needed;
    assert(p->u.owner);
    for (struct td_arena *a = p->u.owner; a; a = a->whole)
        a->used -= rest->bytes;
    insert(p->u.owner->block, rest);
}

size_t td_arena_used(const struct td_arena *arena)
{
    return arena->used;
}

size_t td_arena_touched(const struct td_arena *arena)
{
    return arena->block->touched;
}

OWN size_t td_arena_unused(struct td_arena *arena, size_t at, size_t most, size_t least,
                           void (*give)(void *, size_t))
{
    struct block *block = arena->block;
    for (struct piece *p = block->free; p; p = p->u.next) {
        size_t begin = (size_t)((unsigned char *)p - block->memory), from = begin + sizeof *p;
        bool last = begin + p->bytes >= block->touched;
        size_t end = last ? block->touched : begin + p->bytes;
        from = from > at ? from : at;
        size_t bytes = end > from + least ? end - from : 0, now = bytes < most ? bytes : most;
        if (now > 0)
            give(block->memory + from, now);
        if (now < bytes)
            return from + now;
        most -= now;
        if (last) {
            block->touched = begin < block->touched ? begin : block->touched;
            return 0;
        }
    }
    return 0;
}

/* is_of returns true if memory of `owner` counts in `arena`. */
static bool is_of(const struct td_arena *owner, const struct td_arena *arena)
{
    while (owner && owner != arena)
        owner = owner->whole;
    return owner != NULL;
}

OWN size_t td_arena_count(const struct td_arena *arena)
{
    const struct block *block = arena->block;
    const struct piece *free = block->free;
    size_t count = 0, bytes = 0;
    for (size_t at = 0; at + sizeof(struct piece) <= block->bytes; at += bytes) {
        const struct piece *p = (const void *)(block->memory + at);
        bytes = p->bytes & ~(size_t)LATER;
        if (p == free)
            free = p->u.next;
        else if (!(p->bytes & LATER) && is_of(p->u.owner, arena))
            count += bytes;
    }
    return count;
}

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + 63) & ~(uint64_t)63;
}

void td_ranges_init(struct td_ranges *ranges, uint64_t bytes)
{
    *ranges = (struct td_ranges){.bytes = bytes & ~(uint64_t)63, .count = 1};
    ranges->range[0] = (struct td_free_range){0, ranges->bytes};
}

uint64_t td_ranges_acquire(struct td_ranges *ranges, uint64_t bytes)
{
    if (bytes > ranges->bytes || ranges->holders >= TD_RANGES_MAX - 1 || refuses(&ranges->refusals))
        return UINT64_MAX;
    bytes = rounded(bytes);
    for (uint32_t i = 0; i < ranges->count; i++) {
        struct td_free_range *r = &ranges->range[i];
        if (r->bytes < bytes)
            continue;
        uint64_t offset = r->offset;
        r->offset += bytes;
        r->bytes -= bytes;
        /* an empty range stays if it is the only one, so that count >= 1 */
        if (r->bytes == 0 && ranges->count > 1) {
            memmove(r, r + 1, (ranges->count - i - 1) * sizeof *r);
            ranges->count--;
        }
        ranges->used += bytes;
        ranges->holders += bytes > 0;
        return offset;
    }
    return UINT64_MAX;
}

void td_ranges_release(struct td_ranges *ranges, uint64_t offset, uint64_t bytes)
{
    bytes = rounded(bytes);
    if (bytes == 0)
        return;
    assert(ranges->used >= bytes);
    ranges->used -= bytes;
    ranges->holders--;
    uint32_t i = 0;
    while (i < ranges->count && ranges->range[i].offset < offset)
        i++;
    struct td_free_range *r = ranges->range;
    int joins_left = i > 0 && r[i - 1].offset + r[i - 1].bytes == offset;
    int joins_right = i < ranges->count && offset + bytes == r[i].offset;
    if (joins_left && joins_right) {
        r[i - 1].bytes += bytes + r[i].bytes;
        memmove(&r[i], &r[i + 1], (ranges->count - i - 1) * sizeof *r);
        ranges->count--;
    } else if (joins_left) {
        r[i - 1].bytes += bytes;
    } else if (joins_right) {
        r[i].offset = offset;
        r[i].bytes += bytes;
    } else {
        /* td_ranges_acquire bounds the number of holders, and so the number of free ranges */
        assert(ranges->count < TD_RANGES_MAX);
        memmove(&r[i + 1], &r[i], (ranges->count - i) * sizeof *r);
        r[i] = (struct td_free_range){offset, bytes};
        ranges->count++;
    }
}
