/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the arena and of ranges of memory. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "random.h"

static void arena_merges_the_memory_that_is_freed(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create(1 << 16);
    void *held[64] = {0};
    uint64_t random = 7;
    for (int i = 0; i < 20000; i++) {
        uint64_t at = random_below(&random, 64);
        if (held[at]) {
            td_arena_free(arena, held[at]);
            held[at] = NULL;
        } else {
            size_t bytes = (size_t)random_below(&random, 2000);
            unsigned char *p = td_arena_alloc(arena, bytes);
            for (size_t b = 0; p && b < bytes; b++)
                assert_int_equal(p[b], 0);
            if (p)
                memset(p, 0xa5, bytes);
            held[at] = p;
        }
    }
    for (int i = 0; i < 64; i++)
        td_arena_free(arena, held[i]);
    assert_int_equal(td_arena_used(arena), 0);
    void *all = td_arena_alloc(arena, (1 << 16) - 64); /* the pieces have merged */
    assert_non_null(all);
    assert_null(td_arena_alloc(arena, 64));
    td_arena_destroy(arena);
}

static void memory_that_is_freed_later_stays_until_it_is_settled(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create(1 << 12);
    unsigned char *first = td_arena_alloc(arena, 1000), *second = td_arena_alloc(arena, 1000);
    memset(first, 1, 1000);
    td_arena_free_later(arena, first);
    td_arena_free_later(arena, NULL);
    td_arena_free_later(arena, second);
    assert_int_equal(td_arena_used(arena), 0);
    assert_null(td_arena_alloc(arena, 3000));
    assert_int_equal(first[0] + first[999], 2);
    td_arena_settle(arena);
    assert_non_null(td_arena_alloc(arena, 3000));
    td_arena_destroy(arena);
}

static void ranges_never_overlap_and_merge_when_freed(void **state)
{
    (void)state;
    static struct td_ranges ranges;
    struct {
        uint64_t offset, bytes;
    } held[32];
    size_t count = 0;
    td_ranges_init(&ranges, 1 << 20);
    uint64_t random = 11;
    for (int i = 0; i < 20000; i++) {
        if (count && (random_below(&random, 2) || count == 32)) {
            size_t at = (size_t)random_below(&random, count);
            td_ranges_release(&ranges, held[at].offset, held[at].bytes);
            held[at] = held[--count];
            continue;
        }
        uint64_t bytes = random_below(&random, 100000);
        uint64_t offset = td_ranges_acquire(&ranges, bytes);
        if (offset == UINT64_MAX)
            continue;
        for (size_t k = 0; k < count; k++)
            assert_true(offset + bytes <= held[k].offset ||
                        held[k].offset + held[k].bytes <= offset || bytes == 0 ||
                        held[k].bytes == 0);
        held[count].offset = offset;
        held[count++].bytes = bytes;
    }
    while (count--)
        td_ranges_release(&ranges, held[count].offset, held[count].bytes);
    assert_int_equal(ranges.used, 0);
    assert_int_equal(td_ranges_acquire(&ranges, 1 << 20), 0);
    assert_int_equal(td_ranges_acquire(&ranges, 1), UINT64_MAX);
}

/* struct purse: the holder of a part that may have `most` bytes. */
struct purse {
    const struct td_arena *part;
    size_t most;
};

static size_t purse_limit(const void *holder, size_t more)
{
    const struct purse *p = holder;
    return td_arena_used(p->part) + more <= p->most ? SIZE_MAX : 0;
}

static void a_piece_leaves_the_part_that_it_was_allocated_from(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create(1 << 14);
    struct purse of_both = {.most = 4096}, of_one = {.most = 2048};
    struct td_arena *both = td_arena_part(arena, purse_limit, &of_both);
    struct td_arena *one = td_arena_part(both, purse_limit, &of_one),
                    *other = td_arena_part(both, NULL, NULL);
    size_t records = td_arena_used(arena);
    of_both.part = both;
    of_one.part = one;
    void *mine = td_arena_alloc(one, 1000), *yours = td_arena_alloc(other, 1000);
    size_t piece = td_arena_piece_bytes(1000);
    assert_int_equal(td_arena_used(one), piece);
    assert_int_equal(td_arena_used(other), piece);
    assert_int_equal(td_arena_used(both), 2 * piece);
    assert_int_equal(td_arena_used(arena), records + 2 * piece);
    assert_null(td_arena_alloc(one, 1500)); /* a limit of its own */
    assert_ptr_equal(td_arena_lack(arena).part, one);
    assert_int_equal(td_arena_lack(arena).bytes, td_arena_piece_bytes(1500));
    assert_null(td_arena_alloc(other, 2500)); /* that of both */
    assert_ptr_equal(td_arena_lack(arena).part, both);
    assert_null(td_arena_alloc(arena, 1 << 14)); /* no limit, but no piece */
    assert_null(td_arena_lack(arena).part);
    td_arena_free(arena, mine); /* whoever frees it */
    td_arena_free_later(one, yours);
    assert_int_equal(td_arena_used(both), 0);
    assert_int_equal(td_arena_count(both), 0);
    assert_int_equal(td_arena_count(arena), records);
    td_arena_settle(arena);
    assert_int_equal(td_arena_count(arena), records);
    assert_non_null(td_arena_alloc(one, 1500));
    assert_int_equal(td_arena_count(one), td_arena_used(one));
    td_arena_destroy(arena);
}

/* confined_limit has the pieces lie in the first bytes, too. */
static size_t confined_limit(const void *holder, size_t more)
{
    const struct purse *p = holder;
    return purse_limit(holder, more) ? p->most : 0;
}

/* One holder leaves small holes everywhere, and then takes pieces that fit into none. */
static void holes_of_one_holder_leave_the_rest_in_one_piece(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20, SMALL = 400, LARGE = 1000 };
    static void *small[BYTES / SMALL];
    struct td_arena *arena = td_arena_create(BYTES);
    struct purse purse = {.most = BYTES / 10 * 7};
    struct td_arena *part = td_arena_part(arena, confined_limit, &purse);
    purse.part = part;
    unsigned count = 0, large = 0;
    while ((small[count] = td_arena_alloc(part, SMALL)))
        count++;
    for (unsigned i = 0; i < count; i += 2)
        td_arena_free(arena, small[i]);
    while (td_arena_alloc(part, LARGE))
        large++;
    assert_true(count > 1000 && large <= 1);
    assert_non_null(td_arena_alloc(arena, BYTES / 4));
    assert_non_null(td_arena_alloc(part, SMALL)); /* into its own holes */
    td_arena_destroy(arena);
}

enum { ALL = 1 << 20, LEAST = 4096 };

static size_t given;
static unsigned char *given_to;

static void give(void *memory, size_t bytes)
{
    assert_true((unsigned char *)memory >= given_to); /* none twice */
    given_to = (unsigned char *)memory + bytes;
    given += bytes;
}

static void memory_that_pieces_have_had_is_given_back_once(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create(1 << 20);
    void *first = td_arena_alloc(arena, 200000), *second = td_arena_alloc(arena, 1000);
    void *third = td_arena_alloc(arena, 300000);
    assert_in_range(td_arena_touched(arena), 501000, 502000);
    assert_int_equal(td_arena_unused(arena, 0, ALL, LEAST, give), 0);
    assert_int_equal(given, 0);
    td_arena_free(arena, first);
    td_arena_free(arena, third);
    assert_int_equal(td_arena_unused(arena, 0, ALL, LEAST, give), 0);
    assert_in_range(given, 499000, 501000); /* not the rest, which nothing has touched */
    assert_in_range(td_arena_touched(arena), 201000, 202000);
    td_arena_free(arena, second);
    given = 0;
    given_to = NULL;
    assert_int_equal(td_arena_unused(arena, 0, ALL, LEAST, give), 0);
    assert_in_range(given, 199000, 202000);
    assert_int_equal(td_arena_touched(arena), 0);
    const unsigned char *again = td_arena_alloc(arena, 900000);
    for (size_t k = 0; k < 900000; k++)
        assert_int_equal(again[k], 0);
    td_arena_destroy(arena);
}

static void memory_is_given_back_in_steps(void **state)
{
    (void)state;
    enum { STEP = 70000 };
    struct td_arena *arena = td_arena_create(ALL);
    void *first = td_arena_alloc(arena, 200000), *second = td_arena_alloc(arena, 1000);
    void *third = td_arena_alloc(arena, 300000);
    td_arena_free(arena, first);
    td_arena_free(arena, third);
    size_t at = 0, all = 0;
    int steps = 0;
    given_to = NULL;
    do {
        given = 0;
        at = td_arena_unused(arena, at, STEP, LEAST, give);
        assert_true(given <= STEP && (at == 0 || given == STEP));
        all += given;
        steps++;
    } while (at);
    assert_in_range(all, 499000, 501000);
    assert_int_equal(steps, 8);
    assert_in_range(td_arena_touched(arena), 201000, 202000);
    td_arena_free(arena, second);
    td_arena_destroy(arena);
}

static void an_arena_within_another_one_gives_back_what_it_does_not_need(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create(1 << 20);
    void *memory = td_arena_take(arena, 1 << 16);
    memset(memory, 0xa5, 1 << 16);
    struct td_arena *within = td_arena_within(memory, 1 << 16);
    unsigned char *kept = NULL, *freed = td_arena_alloc(within, 20000);
    assert_null(td_arena_alloc(within, 1 << 16));
    kept = td_arena_alloc(within, 5000);
    td_arena_free(within, freed);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(kept[i], 0);
    memset(kept, 1, 5000);
    size_t needed = td_arena_fit(within);
    assert_in_range(needed, 25000, 26000);
    td_arena_trim(memory, needed);
    assert_in_range(td_arena_used(arena), needed, needed + 64);
    unsigned char *rest = td_arena_alloc(arena, (1 << 20) - needed - 256);
    assert_non_null(rest); /* the end has merged with what was free */
    assert_int_equal(kept[4999], 1);
    assert_null(td_arena_alloc(within, 30000));
    assert_ptr_equal(td_arena_alloc(within, 100), freed);
    td_arena_free(arena, rest);
    td_arena_free(arena, memory);
    assert_int_equal(td_arena_used(arena), 0);
    td_arena_destroy(arena);
}

enum { UNIT = 16, UNITS = 4096, PIECES = 200 };

/* lowest returns where in `used` the first gap is that is long enough, and its length. */
static unsigned lowest(const bool *used, unsigned needed, unsigned *length)
{
    for (unsigned at = 0, end = 0; at < UNITS; at = end + 1) {
        for (end = at; end < UNITS && !used[end];)
            end++;
        *length = end - at;
        if (*length >= needed)
            return at;
    }
    return UINT_MAX;
}

/* struct model: an arena as units that are used or not, and the pieces that a test holds. */
struct model {
    bool used[UNITS];
    unsigned count, waiting; /* `waiting` behind `count`: freed, but not settled */
    struct held {
        unsigned char *memory;
        unsigned at, units;
        size_t bytes;
        unsigned char content;
    } held[PIECES];
};

static bool is_intact(const struct held *h)
{
    for (size_t b = 0; b < h->bytes; b++)
        if (h->memory[b] != h->content)
            return false;
    return true;
}

/* allocate allocates a piece, if the model has room for it: at the address that the model says. */
static void allocate(struct model *m, struct td_arena *arena, const unsigned char *first,
                     size_t bytes, unsigned char content)
{
    unsigned units = (unsigned)(td_arena_piece_bytes(bytes) / UNIT), length = 0;
    unsigned at = lowest(m->used, units, &length);
    unsigned char *memory = td_arena_take(arena, bytes);
    assert_int_equal(at == UINT_MAX, memory == NULL);
    if (!memory)
        return;
    assert_int_equal(memory - first, at * UNIT);
    assert_int_equal((uintptr_t)memory % 16, 0);
    units = length - units < 2 ? length : units; /* one unit is no piece */
    memset(m->used + at, true, units);
    memset(memory, content, bytes);
    m->held[m->count++] = (struct held){memory, at, units, bytes, content};
}

/* settle frees in the model what was freed later. */
static void settle(struct model *m, struct td_arena *arena)
{
    for (; m->waiting > 0; m->waiting--) {
        const struct held *h = &m->held[PIECES - m->waiting];
        assert_true(is_intact(h));
        memset(m->used + h->at, false, h->units);
    }
    assert_false(td_arena_settle(arena));
}

static void pieces_take_the_lowest_room_and_keep_what_is_in_them(void **state)
{
    (void)state;
    static struct model m;
    uint64_t random = 5;
    struct td_arena *arena = td_arena_create(UNITS * UNIT);
    unsigned char *first = td_arena_take(arena, 0);
    td_arena_free(arena, first);
    for (int i = 0; i < 100000; i++) {
        bool grow = random_below(&random, 1000) < 400 + (uint64_t)(i / 5000 % 2) * 200;
        if (grow && m.count + m.waiting < PIECES) {
            size_t most = random_below(&random, 8) ? 200 : 4000;
            allocate(&m, arena, first, (size_t)random_below(&random, most), (unsigned char)i);
        } else if (m.count && m.count + m.waiting < PIECES) {
            struct held *h = &m.held[random_below(&random, m.count)], gone = *h;
            assert_true(is_intact(h));
            *h = m.held[--m.count];
            if (random_below(&random, 2)) {
                td_arena_free_later(arena, gone.memory);
                m.held[PIECES - ++m.waiting] = gone;
            } else {
                td_arena_free(arena, gone.memory);
                memset(m.used + gone.at, false, gone.units);
            }
        }
        size_t bytes = 0;
        for (unsigned k = 0; k < m.count; k++)
            bytes += (size_t)m.held[k].units * UNIT;
        assert_int_equal(td_arena_used(arena), bytes);
        if (i % 16 == 0)
            assert_int_equal(td_arena_count(arena), bytes);
        if (m.waiting == 10 || m.count + m.waiting == PIECES)
            settle(&m, arena);
    }
    settle(&m, arena);
    while (m.count)
        td_arena_free(arena, m.held[--m.count].memory);
    assert_ptr_equal(td_arena_take(arena, UNITS * UNIT - UNIT), first); /* all is one piece */
    td_arena_destroy(arena);
}

enum { BLOCK = 32 << 20, MANY = 100000, LOOKS = 8 * 25 }; /* 25: bits of an address, and one */

/* looks returns how many pieces the arena has looked at since the last call. */
static uint64_t looks(const struct td_arena *arena)
{
    static uint64_t before;
    uint64_t now = td_arena_looks(arena), looked = now - before;
    before = now;
    return looked;
}

/* however_many_holes makes holes of `bytes` to `bytes` + 15 * `step` in turn, and then allocates
 * and frees pieces that fit into some of them, or into none. */
static void however_many_holes(size_t bytes, size_t step)
{
    static void *held[2 * MANY], *piece[1000];
    enum { LARGE = 600 };
    struct td_arena *arena = td_arena_create(BLOCK * 4);
    for (size_t i = 0; i < 2 * MANY; i++)
        assert_non_null(held[i] = td_arena_take(arena, bytes + i / 2 % 16 * step));
    (void)looks(arena);
    for (size_t i = 0; i < 2 * MANY; i += 2) {
        td_arena_free(arena, held[i]);
        assert_in_range(looks(arena), 0, LOOKS);
    }
    for (size_t i = 0; i < 1000; i++) {
        piece[i] = td_arena_take(arena, i % 2 ? LARGE : bytes + i % 16 * step);
        assert_in_range(looks(arena), 0, LOOKS);
    }
    for (size_t i = 0; i < 1000; i++) {
        td_arena_free(arena, piece[i * 7 % 1000]);
        assert_in_range(looks(arena), 0, LOOKS);
    }
    for (size_t i = 1; i < 2 * MANY; i += 2) {
        td_arena_free(arena, held[i]);
        assert_in_range(looks(arena), 0, LOOKS);
    }
    assert_non_null(td_arena_take(arena, BLOCK * 4 - UNIT));
    td_arena_destroy(arena);
}

static void the_time_of_an_allocation_does_not_depend_on_the_number_of_holes(void **state)
{
    (void)state;
    however_many_holes(80, 0);
    however_many_holes(112, 0);
    however_many_holes(16, 16);
}

static void many_pieces_are_settled_in_several_steps(void **state)
{
    (void)state;
    enum { FREED = 4000 };
    static void *held[FREED];
    struct td_arena *arena = td_arena_create(FREED * 64);
    for (int i = 0; i < FREED; i++)
        assert_non_null(held[i] = td_arena_take(arena, 48));
    assert_null(td_arena_take(arena, 0));
    for (int i = 0; i < FREED / 2; i++)
        td_arena_free_later(arena, held[i]);
    (void)looks(arena);
    assert_true(td_arena_settle(arena));
    assert_in_range(looks(arena), 0, FREED / 5 * LOOKS);
    for (int i = FREED / 2; i < FREED; i++)
        td_arena_free_later(arena, held[i]);
    assert_int_equal(td_arena_count(arena), 0);
    assert_null(td_arena_take(arena, FREED / 2 * 64)); /* the last half may still be read */
    unsigned char *half = td_arena_take(arena, FREED / 2 * 64 - UNIT);
    assert_ptr_equal(half, held[0]); /* it does not wait for the next step */
    td_arena_free(arena, half);
    int steps = 0;
    do
        steps++;
    while (td_arena_settle(arena));
    assert_in_range(steps, 4, 10);
    assert_false(td_arena_settle(arena));
    assert_ptr_equal(td_arena_take(arena, FREED * 64 - UNIT), half);
    td_arena_destroy(arena);
}

static void memory_is_aligned_until_it_is_exhausted(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create((1 << 16) - 3);
    const unsigned char *lines = td_arena_alloc_lines(arena, 100);
    assert_int_equal((uintptr_t)lines % 64, 0);
    unsigned count = 0;
    for (size_t bytes = 0; bytes < 200; bytes++, count++) {
        const unsigned char *memory = td_arena_alloc(arena, bytes);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
    }
    while (td_arena_alloc(arena, 0))
        count++;
    assert_in_range(td_arena_used(arena), (1 << 16) - 16, 1 << 16);
    assert_int_equal(td_arena_lack(arena).bytes, td_arena_piece_bytes(0));
    assert_null(td_arena_alloc(arena, SIZE_MAX));
    assert_null(td_arena_alloc(arena, SIZE_MAX / 2));
    assert_true(count > 500);
    assert_int_equal(td_arena_used(arena), td_arena_count(arena));
    td_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_merges_the_memory_that_is_freed),
        cmocka_unit_test(a_piece_leaves_the_part_that_it_was_allocated_from),
        cmocka_unit_test(memory_that_pieces_have_had_is_given_back_once),
        cmocka_unit_test(memory_is_given_back_in_steps),
        cmocka_unit_test(holes_of_one_holder_leave_the_rest_in_one_piece),
        cmocka_unit_test(memory_that_is_freed_later_stays_until_it_is_settled),
        cmocka_unit_test(an_arena_within_another_one_gives_back_what_it_does_not_need),
        cmocka_unit_test(pieces_take_the_lowest_room_and_keep_what_is_in_them),
        cmocka_unit_test(the_time_of_an_allocation_does_not_depend_on_the_number_of_holes),
        cmocka_unit_test(many_pieces_are_settled_in_several_steps),
        cmocka_unit_test(memory_is_aligned_until_it_is_exhausted),
        cmocka_unit_test(ranges_never_overlap_and_merge_when_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
