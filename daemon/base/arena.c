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

/* struct piece: the beginning of a piece of the arena. `bytes` includes its header, and has flags
 * in its lowest bits. Only a free piece, a hole, has more than the header, and its size again in
 * its last bytes (boundary tags: D. E. Knuth, The Art of Computer Programming 1, 2.5). The holes
 * are a priority search tree (E. M. McCreight, Priority search trees, 1985). No hole is larger than
 * the one above it. Below a hole at depth d lie on side 0 those whose addresses in the block have a
 * 0 at bit d, from the top, and on side 1 the others: lower addresses are on side 0. So the tree is
 * no deeper than an address has bits, whatever a user allocates and frees, and it finds the lowest
 * of the holes that are large enough on one way down. Segregated lists (TLSF) do not find the
 * lowest, which td_arena_limit needs. */
struct piece {
    size_t bytes;
    union {
        struct td_arena *owner; /* of an allocated piece: the arena or part that it counts in */
        struct piece *next;     /* of a piece that waits to be settled */
        struct piece *side[2];  /* of a hole */
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
    size_t bytes, touched; /* touched: the end of all pieces since td_arena_unused */
    size_t top;            /* the highest bit of an address in the block */
    struct piece *holes;
    struct piece *later, **later_end; /* freed, oldest first, but not yet holes */
    size_t laters, settling;          /* how many; and how many of them may become holes */
    uint64_t looks;
    struct td_refusals refusals;
    struct td_arena_lack lack; /* of the last allocation that failed */
    _Alignas(16) unsigned char memory[];
};

enum { GUARD_BYTES = 64 << 10 };  /* so many bytes behind the touched memory are poisoned */
enum { HEADER = 16, LEAST = 32 }; /* LEAST: bytes of the smallest piece */
/* Flags: the piece waits in `later`; it is a hole; the piece before it is one. */
enum { LATER = 1, HOLE = 2, AFTER_HOLE = 4, FLAGS = 15 };
enum { SETTLE_MAX = 512 }; /* pieces of which td_arena_settle makes holes: at most some 0.5 ms */

_Static_assert(offsetof(struct piece, u.side[1]) == HEADER, "a header ends with the owner");
_Static_assert(sizeof(struct piece) + sizeof(size_t) <= LEAST,
               "a hole fits into the smallest piece");

OWN static size_t size(const struct piece *p)
{
    return p->bytes & ~(size_t)FLAGS;
}

/* place returns the address of a piece in the block. */
static size_t place(const struct block *block, const struct piece *p)
{
    return (size_t)((const unsigned char *)p - block->memory);
}

static struct piece *piece_at(struct block *block, size_t at)
{
    return (struct piece *)(void *)(block->memory + at);
}

static struct piece *piece_of(void *memory)
{
    return (struct piece *)(void *)((unsigned char *)memory - HEADER);
}

static void *memory_of(struct piece *p)
{
    return (unsigned char *)p + HEADER;
}

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

/* ---- the tree of holes ---- */

/* struct spot: a place in the tree for a hole, or for none. */
struct spot {
    struct piece **link;       /* NULL: no spot */
    const struct piece *above; /* NULL: the top */
    size_t bit;                /* of an address: on which side of a hole here it is */
};

static struct spot top(struct block *block)
{
    return (struct spot){&block->holes, NULL, block->top};
}

OWN static struct spot below(struct block *block, struct spot s, bool side)
{
    block->looks++;
    return (struct spot){&(*s.link)->u.side[side], *s.link, s.bit >> 1};
}

OWN static void add(struct block *block, struct piece *p)
{
    struct spot s = top(block);
    for (; *s.link; s = below(block, s, (place(block, p) & s.bit) != 0)) {
        struct piece *at = *s.link;
        if (p->bytes <= at->bytes)
            continue;
        p->u = at->u;
        *s.link = p;
        p = at;
    }
    p->u.side[0] = p->u.side[1] = NULL;
    *s.link = p;
}

/* take_out takes a hole out of the tree: the larger of the two below it moves up. */
OWN static struct piece *take_out(struct block *block, struct piece **link)
{
    struct piece *p = *link, *side[] = {p->u.side[0], p->u.side[1]};
    while (side[0] || side[1]) {
        bool larger = !side[0] || (side[1] && side[1]->bytes > side[0]->bytes);
        struct piece *up = side[larger], *other = side[!larger];
        block->looks++;
        *link = up;
        link = &up->u.side[larger];
        side[0] = up->u.side[0];
        side[1] = up->u.side[1];
        up->u.side[!larger] = other;
    }
    *link = NULL;
    return p;
}

OWN static bool has(const struct piece *p, size_t needed)
{
    return p && p->bytes >= needed;
}

/* replace puts a hole into the tree instead of another one: where that was, if the order allows. */
OWN static void replace(struct block *block, struct spot s, struct piece *p)
{
    const struct piece *old = *s.link;
    bool ordered = (place(block, old) ^ place(block, p)) < 2 * s.bit &&
                   (!s.above || s.above->bytes >= p->bytes) && !has(old->u.side[0], p->bytes + 1) &&
                   !has(old->u.side[1], p->bytes + 1);
    if (ordered) {
        p->u = old->u;
        *s.link = p;
    } else {
        take_out(block, s.link);
        add(block, p);
    }
}

/* find returns the spot of a hole. */
OWN static struct spot find(struct block *block, const struct piece *hole)
{
    struct spot s = top(block);
    while (*s.link != hole)
        s = below(block, s, (place(block, hole) & s.bit) != 0);
    return s;
}

/* find_first returns the spot of the first hole of at least `needed` bytes that begins at or behind
 * an address. */
OWN static struct spot find_first(struct block *block, size_t at, size_t needed)
{
    struct spot s = top(block), first = {0}, behind = {0};
    for (; at > 0 && has(*s.link, needed); s = below(block, s, (at & s.bit) != 0)) {
        const struct piece *p = *s.link;
        if (place(block, p) >= at && (!first.link || p < *first.link))
            first = s;
        if (!(at & s.bit) && has(p->u.side[1], needed))
            behind = below(block, s, true);
    }
    for (s = at > 0 ? behind : s; s.link && has(*s.link, needed);) {
        const struct piece *p = *s.link;
        if (!first.link || p < *first.link)
            first = s;
        s = below(block, s, !has(p->u.side[0], needed));
    }
    return first;
}

/* mark writes both ends of a hole, and the flag of the piece behind it. */
OWN static void mark(struct block *block, struct piece *p, size_t bytes)
{
    size_t end = place(block, p) + bytes;
    p->bytes = bytes | HOLE;
    *(size_t *)(void *)(block->memory + end - sizeof bytes) = bytes;
    piece_at(block, end)->bytes |= AFTER_HOLE;
}

/* hole_before returns the hole before a piece. */
OWN static struct piece *hole_before(struct block *block, const struct piece *p)
{
    size_t at = place(block, p);
    return piece_at(block, at - *(size_t *)(void *)(block->memory + at - sizeof at));
}

/* insert makes a piece a hole, and joins it with its neighbours. */
OWN static void insert(struct block *block, struct piece *p)
{
    size_t bytes = size(p);
    ASAN_POISON_MEMORY_REGION(memory_of(p), bytes - HEADER);
    struct piece *low = p->bytes & AFTER_HOLE ? hole_before(block, p) : NULL;
    struct piece *high = piece_at(block, place(block, p) + bytes);
    high = high->bytes & HOLE ? high : NULL;
    bytes += (low ? size(low) : 0) + (high ? size(high) : 0);
    if (high && low)
        take_out(block, find(block, high).link);
    struct spot s = low ? find(block, low) : high ? find(block, high) : (struct spot){0};
    p = low ? low : p;
    mark(block, p, bytes);
    if (s.link)
        replace(block, s, p);
    else
        add(block, p);
}

/* obtain takes a piece of at least `needed` bytes before `end` out of the holes, or returns NULL.
 */
OWN static struct piece *obtain(struct block *block, size_t needed, size_t end)
{
    struct spot first = find_first(block, 0, needed);
    if (!first.link || place(block, *first.link) + needed > end)
        return NULL;
    struct piece *p = *first.link;
    p->bytes = size(p);
    if (p->bytes - needed >= LEAST) {
        struct piece *rest = piece_at(block, place(block, p) + needed);
        mark(block, rest, p->bytes - needed);
        p->bytes = needed;
        replace(block, first, rest);
    } else {
        piece_at(block, place(block, p) + p->bytes)->bytes &= ~(size_t)AFTER_HOLE;
        take_out(block, first.link);
    }
    return p;
}

uint64_t td_arena_looks(const struct td_arena *arena)
{
    return arena->block->looks;
}

/* ---- arenas and parts ---- */

/* begin makes an arena of a block of `bytes` of memory. All is free but the last header, which has
 * the flag of a piece behind the last one. */
OWN static struct td_arena *begin(struct block *block, size_t bytes)
{
    *block = (struct block){.arena = {.block = block}, .bytes = bytes - HEADER, .top = HEADER};
    block->later_end = &block->later;
    while (block->top <= block->bytes / 2)
        block->top *= 2;
    piece_at(block, block->bytes)->bytes = 0;
    if (block->bytes >= LEAST) {
        mark(block, piece_at(block, 0), block->bytes);
        add(block, piece_at(block, 0));
    }
    guard(block, 0);
    return &block->arena;
}

struct td_arena *td_arena_create(size_t bytes)
{
    bytes = ((bytes + 15) & ~(size_t)15) + HEADER;
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

size_t td_arena_piece_bytes(size_t bytes)
{
    size_t needed = ((bytes + 15) & ~(size_t)15) + HEADER;
    return needed > LEAST ? needed : LEAST;
}

struct td_arena_lack td_arena_lack(const struct td_arena *arena)
{
    return arena->block->lack;
}

/* settle makes holes of some of the pieces that wait. */
OWN static void settle(struct block *block)
{
    for (int i = 0; i < SETTLE_MAX && block->settling > 0; i++, block->settling--) {
        struct piece *p = block->later;
        block->later = p->u.next;
        if (--block->laters == 0)
            block->later_end = &block->later;
        p->bytes &= ~(size_t)LATER;
        insert(block, p);
    }
}

OWN void *td_arena_take(struct td_arena *arena, size_t bytes)
{
    struct block *block = arena->block;
    size_t needed = td_arena_piece_bytes(bytes), end = SIZE_MAX;
    const struct td_arena *limited = limiting(arena, needed, &end);
    struct piece *p = NULL;
    if (bytes <= block->bytes && !refuses(&block->refusals) && !limited) {
        while (!(p = obtain(block, needed, end)) && block->settling > 0)
            settle(block);
    }
    if (!p) {
        if (!limited && end < SIZE_MAX)
            limited = arena;
        block->lack = (struct td_arena_lack){limited, needed, limited ? limited->used : 0};
        return NULL;
    }
    p->u.owner = arena;
    size_t to = place(block, p) + size(p);
    guard(block, to);
    block->touched = to > block->touched ? to : block->touched;
    for (struct td_arena *a = arena; a; a = a->whole)
        a->used += size(p);
    ASAN_UNPOISON_MEMORY_REGION(memory_of(p), bytes);
    return memory_of(p);
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

/* release ends the use of an allocation: its owner no longer holds it. */
OWN static struct piece *release(struct td_arena *arena, void *memory)
{
    struct piece *p = piece_of(memory);
    assert(p->u.owner->block == arena->block);
    for (struct td_arena *a = p->u.owner; a; a = a->whole) {
        assert(a->used >= size(p));
        a->used -= size(p);
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
    struct block *block = arena->block;
    p->bytes |= LATER;
    p->u.next = NULL;
    *block->later_end = p;
    block->later_end = &p->u.next;
    block->laters++;
}

bool td_arena_settle(struct td_arena *arena)
{
    struct block *block = arena->block;
    block->settling = block->laters;
    settle(block);
    return block->settling > 0;
}

_Static_assert(sizeof(struct block) + HEADER + LEAST <= TD_ARENA_WITHIN_MIN,
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
    struct piece *end = piece_at(block, block->bytes);
    if (end->bytes & AFTER_HOLE) {
        end = take_out(block, find(block, hole_before(block, end)).link);
        end->bytes = 0;
        block->bytes = place(block, end);
    }
    return sizeof *block + block->bytes + HEADER;
}

OWN void td_arena_trim(void *memory, size_t bytes)
{
    struct piece *p = piece_of(memory);
    size_t needed = td_arena_piece_bytes(bytes);
    if (size(p) < needed + LEAST)
        return;
    struct piece *rest = (struct piece *)(void *)((unsigned char *)p + needed);
    ASAN_UNPOISON_MEMORY_REGION(rest, HEADER);
    rest->bytes = size(p) - needed;
    p->bytes -= rest->bytes;
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
    const struct piece *p = NULL;
    for (struct spot s = find_first(block, 0, least);
         s.link && place(block, *s.link) < block->touched;
         s = find_first(block, place(block, p) + size(p), least)) {
        p = *s.link;
        size_t from = place(block, p) + sizeof *p, end = place(block, p) + size(p) - sizeof(size_t);
        from = from > at ? from : at;
        end = end < block->touched ? end : block->touched;
        size_t bytes = end > from + least ? end - from : 0, now = bytes < most ? bytes : most;
        if (now > 0)
            give(block->memory + from, now);
        if (now < bytes)
            return from + now;
        most -= now;
        if (place(block, p) + size(p) >= block->touched)
            block->touched = place(block, p);
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
    struct block *block = arena->block;
    size_t count = 0, bytes = 0;
    for (size_t at = 0; at < block->bytes; at += bytes) {
        const struct piece *p = piece_at(block, at);
        bytes = size(p);
        if (!(p->bytes & (HOLE | LATER)) && is_of(p->u.owner, arena))
            count += bytes;
    }
    return count;
}

/* ---- ranges ---- */

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
