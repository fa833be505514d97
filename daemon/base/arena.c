/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* Under the address sanitizer free memory, the headers of pieces and the bytes behind an allocation
 * are poisoned, so that it finds an access beyond an allocation as it does on the heap. The
 * functions below may access the headers. */
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
    struct piece *next; /* of a free piece: the next one by address; else of the list `later` */
};

struct td_arena {
    size_t bytes, used;
    struct piece *free, *later; /* later: freed, but not yet to be used again */
    struct td_refusals refusals;
    _Alignas(16) unsigned char memory[];
};

_Static_assert(sizeof(struct piece) == 16, "pieces keep the alignment");

/* begin makes all memory of an arena free. */
OWN static void begin(struct td_arena *arena, size_t bytes)
{
    arena->bytes = bytes;
    arena->used = 0;
    arena->free = arena->later = NULL;
    arena->refusals = (struct td_refusals){0};
    if (bytes >= sizeof(struct piece)) {
        arena->free = (struct piece *)(void *)arena->memory;
        arena->free->bytes = bytes;
        arena->free->next = NULL;
    }
    ASAN_POISON_MEMORY_REGION(arena->memory, bytes);
}

struct td_arena *td_arena_create(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    struct td_arena *arena = malloc(sizeof *arena + bytes);
    if (arena)
        begin(arena, bytes);
    return arena;
}

void td_arena_destroy(struct td_arena *arena)
{
    if (arena)
        ASAN_UNPOISON_MEMORY_REGION(arena->memory, arena->bytes);
    free(arena);
}

void td_arena_refuse(struct td_arena *arena, struct td_refusals refusals)
{
    arena->refusals = refusals;
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

OWN void *td_arena_take(struct td_arena *arena, size_t bytes)
{
    if (bytes > arena->bytes || refuses(&arena->refusals))
        return NULL;
    size_t needed = ((bytes + 15) & ~(size_t)15) + sizeof(struct piece);
    for (struct piece **link = &arena->free; *link; link = &(*link)->next) {
        struct piece *p = *link;
        if (p->bytes < needed)
            continue;
        if (p->bytes - needed >= 2 * sizeof(struct piece)) {
            struct piece *rest = (struct piece *)(void *)((unsigned char *)p + needed);
            rest->bytes = p->bytes - needed;
            rest->next = p->next;
            p->bytes = needed;
            *link = rest;
        } else {
            *link = p->next;
        }
        p->next = NULL;
        arena->used += p->bytes;
        ASAN_UNPOISON_MEMORY_REGION(p + 1, bytes);
        return p + 1;
    }
    return NULL;
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
OWN static void insert(struct td_arena *arena, struct piece *p)
{
    ASAN_POISON_MEMORY_REGION(p + 1, p->bytes - sizeof *p);
    struct piece *before = NULL, *after = arena->free;
    while (after && after < p) {
        before = after;
        after = after->next;
    }
    p->next = after;
    if (after && (unsigned char *)p + p->bytes == (unsigned char *)after) {
        p->bytes += after->bytes;
        p->next = after->next;
    }
    if (!before) {
        arena->free = p;
    } else if ((unsigned char *)before + before->bytes == (unsigned char *)p) {
        before->bytes += p->bytes;
        before->next = p->next;
    } else {
        before->next = p;
    }
}

/* release ends the use of an allocation. */
OWN static struct piece *release(struct td_arena *arena, void *memory)
{
    struct piece *p = (struct piece *)memory - 1;
    assert(arena->used >= p->bytes);
    arena->used -= p->bytes;
    return p;
}

void td_arena_free(struct td_arena *arena, void *memory)
{
    if (memory)
        insert(arena, release(arena, memory));
}

OWN void td_arena_free_later(struct td_arena *arena, void *memory)
{
    if (!memory)
        return;
    struct piece *p = release(arena, memory);
    p->next = arena->later;
    arena->later = p;
}

OWN void td_arena_settle(struct td_arena *arena)
{
    while (arena->later) {
        struct piece *p = arena->later;
        arena->later = p->next;
        insert(arena, p);
    }
}

struct td_arena *td_arena_within(void *memory, size_t bytes)
{
    struct td_arena *arena = memory;
    assert(bytes >= TD_ARENA_WITHIN_MIN);
    begin(arena, (bytes - sizeof *arena) & ~(size_t)15);
    return arena;
}

OWN size_t td_arena_fit(struct td_arena *arena)
{
    unsigned char *end = arena->memory + arena->bytes;
    for (struct piece **link = &arena->free, *p; (p = *link); link = &p->next)
        if (!p->next && (unsigned char *)p + p->bytes == end) {
            arena->bytes -= p->bytes;
            *link = NULL;
            break;
        }
    return sizeof *arena + arena->bytes;
}

OWN void td_arena_trim(struct td_arena *arena, void *memory, size_t bytes)
{
    struct piece *p = (struct piece *)memory - 1;
    size_t needed = ((bytes + 15) & ~(size_t)15) + sizeof *p;
    if (p->bytes < needed + 2 * sizeof *p)
        return;
    struct piece *rest = (struct piece *)(void *)((unsigned char *)p + needed);
    ASAN_UNPOISON_MEMORY_REGION(rest, sizeof *rest);
    rest->bytes = p->bytes - needed;
    p->bytes = needed;
    arena->used -= rest->bytes;
    insert(arena, rest);
}

OWN size_t td_arena_free_piece(const struct td_arena *arena, void **piece)
{
    struct piece *p = arena->free;
    while (p && (void *)(p + 1) <= *piece)
        p = p->next;
    *piece = p ? p + 1 : NULL;
    return p ? p->bytes - sizeof *p : 0;
}

size_t td_arena_used(const struct td_arena *arena)
{
    return arena->used;
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
