/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* struct piece: header of a piece of the arena. `bytes` includes the header. */
struct piece {
    size_t bytes;
    struct piece *next; /* next free piece by address; NULL: the piece is allocated */
};

struct td_arena {
    size_t bytes, used;
    struct piece *free;
    _Alignas(16) unsigned char memory[];
};

_Static_assert(sizeof(struct piece) == 16, "pieces keep the alignment");

struct td_arena *td_arena_create(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    struct td_arena *arena = malloc(sizeof *arena + bytes);
    if (!arena)
        return NULL;
    arena->bytes = bytes;
    arena->used = 0;
    arena->free = NULL;
    if (bytes >= sizeof(struct piece)) {
        arena->free = (struct piece *)(void *)arena->memory;
        arena->free->bytes = bytes;
        arena->free->next = NULL;
    }
    return arena;
}

void td_arena_destroy(struct td_arena *arena)
{
    free(arena);
}

void *td_arena_alloc(struct td_arena *arena, size_t bytes)
{
    if (bytes > arena->bytes)
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
        return memset(p + 1, 0, p->bytes - sizeof *p);
    }
    return NULL;
}

void *td_arena_alloc_lines(struct td_arena *arena, size_t bytes)
{
    unsigned char *memory = td_arena_alloc(arena, bytes + CACHE_LINE);
    return memory ? memory + (CACHE_LINE - (uintptr_t)memory % CACHE_LINE) % CACHE_LINE : NULL;
}

void td_arena_free(struct td_arena *arena, void *memory)
{
    if (!memory)
        return;
    struct piece *p = (struct piece *)memory - 1;
    assert(arena->used >= p->bytes);
    arena->used -= p->bytes;
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
    if (bytes > ranges->bytes)
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
        /* operations_max bounds the number of holders, and so the number of free ranges */
        assert(ranges->count < TD_RANGES_MAX);
        memmove(&r[i + 1], &r[i], (ranges->count - i) * sizeof *r);
        r[i] = (struct td_free_range){offset, bytes};
        ranges->count++;
    }
}
