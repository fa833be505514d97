/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts and their overlaps, against ownership counted index by index; and their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "model/layout_text.h"
#include "model/overlap.h"
#include "random.h"

enum { ROUNDS = 400, ELEMENTS_MAX = 4000 };

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    return random_below(&seed, below);
}

/* shuffle makes a random order of the axes. */
static void shuffle(uint8_t *order, uint32_t n)
{
    random_shuffle(&seed, order, n, sizeof *order);
}

static void distribute_grid(struct td_layout *l, struct td_arena *arena, uint32_t dimensions,
                            const uint64_t *size)
{
    uint32_t parts[TD_DIMENSIONS_MAX], owners = 1;
    for (uint32_t d = 0; d < dimensions; d++)
        owners *= parts[d] = 1 + (uint32_t)draw(4);
    assert_true(td_layout_init(l, arena, dimensions, size, owners, false));
    for (uint32_t d = 0; d < dimensions; d++) {
        td_layout_distribute(l, d, draw(2) ? 1 + draw(5) : 0, parts[d]);
        l->axis[d].offset = draw(3) ? 0 : draw(12);
    }
}

/* distribute_boxes cuts the array in two, again and again, and adds empty boxes. */
static void distribute_boxes(struct td_layout *l, struct td_arena *arena, uint32_t dimensions,
                             const uint64_t *size)
{
    uint32_t owners = 1 + (uint32_t)draw(7);
    assert_true(td_layout_init(l, arena, dimensions, size, owners, true));
    for (uint32_t i = 0; i < owners; i++)
        l->box[i].dimensions = dimensions;
    memcpy(l->box[0].count, size, dimensions * sizeof *size);
    for (uint32_t i = 1; i < owners; i++) {
        uint32_t d = (uint32_t)draw(dimensions);
        struct td_box *from = &l->box[draw(i)];
        uint64_t cut = draw(from->count[d] + 1);
        l->box[i] = *from;
        l->box[i].begin[d] += cut;
        l->box[i].count[d] -= cut;
        from->count[d] = cut;
    }
}

static void distribute(struct td_layout *l, struct td_arena *arena, uint32_t dimensions,
                       const uint64_t *size)
{
    if (draw(4))
        distribute_grid(l, arena, dimensions, size);
    else
        distribute_boxes(l, arena, dimensions, size);
    shuffle(l->order, dimensions);
    if (!l->box)
        shuffle(l->grid_order, dimensions);
}

/* owns returns true if an index belongs to the owner, by the definition. */
static bool owns(const struct td_layout *l, uint32_t owner, uint32_t d, uint64_t i)
{
    if (l->box)
        return i >= l->box[owner].begin[d] && i - l->box[owner].begin[d] < l->box[owner].count[d];
    const struct td_axis *a = &l->axis[d];
    return (i + a->offset) / a->block % a->parts == td_layout_coordinate(l, owner, d);
}

/* place returns the position of an element in an owner's array, counting one by one; -1: the owner
 * does not have it. */
static int64_t place(const struct td_layout *l, uint32_t owner, const uint64_t *index)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < l->dimensions; i++) {
        uint32_t d = l->order[i];
        int64_t before = 0, all = 0;
        if (!owns(l, owner, d, index[d]))
            return -1;
        for (uint64_t k = 0; k < l->size[d]; k++) {
            before += k < index[d] && owns(l, owner, d, k);
            all += owns(l, owner, d, k);
        }
        at = at * all + before;
    }
    return at;
}

static bool everyone(const void *me, enum td_overlap_side side, uint32_t owner)
{
    (void)me;
    (void)side;
    (void)owner;
    return true;
}

/* struct arrays: the number of each element at its place in the owners' arrays. */
struct arrays {
    uint64_t elements;
    uint32_t *tag[2][256]; /* [owner] */
};

static void fill_arrays(struct arrays *a, const struct td_layout *from, const struct td_layout *to,
                        struct td_arena *arena)
{
    const struct td_layout *l[2] = {from, to};
    a->elements = 1;
    for (uint32_t d = 0; d < from->dimensions; d++)
        a->elements *= from->size[d];
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t o = 0; o < l[side]->owners; o++) {
            uint64_t count[TD_DIMENSIONS_MAX];
            uint64_t n = td_layout_local(l[side], o, count);
            a->tag[side][o] = td_arena_alloc(arena, (size_t)n * sizeof(uint32_t));
            assert_non_null(a->tag[side][o]);
        }
    for (uint64_t e = 0; e < a->elements; e++) {
        uint64_t index[TD_DIMENSIONS_MAX], rest = e;
        for (uint32_t d = from->dimensions; d-- > 0; rest /= from->size[d])
            index[d] = rest % from->size[d];
        for (unsigned side = 0; side < 2; side++) {
            uint32_t owners = 0;
            for (uint32_t o = 0; o < l[side]->owners; o++) {
                int64_t at = place(l[side], o, index);
                if (at < 0)
                    continue;
                a->tag[side][o][at] = (uint32_t)e;
                owners++;
            }
            assert_int_equal(owners, 1);
        }
    }
}

static const struct td_overlap_range all = {.axis = TD_DIMENSIONS_MAX};

/* gather collects the bytes of a pair through cursors that begin at random places. */
static void gather(const struct td_overlap *o, uint32_t p, uint32_t q, enum td_overlap_side side,
                   const uint32_t *array, uint8_t *out, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        struct td_overlap_cursor c;
        uint64_t want = draw(4) ? bytes - done : 1 + draw(bytes - done), piece = 0;
        td_overlap_start(&c, o, p, q, side, &all, done, want);
        for (uint64_t got = 0; got < want; got += piece) {
            uint64_t most = draw(3) ? UINT64_MAX : 1 + draw(20), left = td_overlap_left(&c);
            uint64_t at = td_overlap_piece(&c, most, &piece);
            assert_int_equal(piece, left < most ? left : most);
            assert_true(piece > 0);
            memcpy(out + done + got, (const uint8_t *)array + at, piece);
        }
        assert_int_equal(td_overlap_left(&c), 0);
        done += want;
    }
}

/* gather_runs is gather for runs: it takes some of them, or a part of the first one. */
static void gather_runs(const struct td_overlap *o, uint32_t p, uint32_t q,
                        enum td_overlap_side side, const uint32_t *array, uint8_t *out,
                        uint64_t bytes)
{
    struct td_overlap_cursor c;
    uint64_t begin = draw(bytes), done = begin;
    td_overlap_start(&c, o, p, q, side, &all, begin, bytes - begin);
    for (struct td_overlap_runs r = td_overlap_runs(&c); r.count > 0; r = td_overlap_runs(&c)) {
        uint64_t count = draw(3) ? r.count : 1 + draw(r.count), part = r.bytes;
        assert_int_equal(r.bytes, td_overlap_left(&c));
        assert_true(r.count * r.bytes <= bytes - done);
        if (draw(4) == 0)
            part = count = 1;
        for (uint64_t i = 0; i < count; i++, done += part)
            memcpy(out + done, (const uint8_t *)array + r.offset + i * r.stride, part);
        td_overlap_skip(&c, count * part, count);
    }
    assert_int_equal(done, bytes);
    if (begin)
        gather(o, p, q, side, array, out, begin);
}

/* check_axis cuts a pair's overlap along an axis, by a number of lines: a chunk has the elements
 * whose index in the owner's array is one of these. */
static void check_axis(const struct td_overlap *o, const struct arrays *a, uint32_t p, uint32_t q,
                       enum td_overlap_side side, uint32_t axis)
{
    uint64_t count[TD_DIMENSIONS_MAX], stride[TD_DIMENSIONS_MAX], found = 0;
    uint32_t owner = side ? q : p;
    td_layout_local(o->layout[side], owner, count);
    td_layout_strides(o->layout[side], owner, stride);
    struct td_owned owned =
        td_layout_owned(o->layout[side], axis, td_layout_coordinate(o->layout[side], owner, axis));
    for (uint64_t i = 0; i < count[axis]; i++) {
        uint64_t run = 0, at = td_owned_at(&owned, i);
        assert_true(at < owned.end && td_owned_next(&owned, at, &run) == at);
        assert_int_equal(td_owned_before(&owned, at), i);
    }
    uint64_t lines = 1 + draw(count[axis] + 1);
    for (uint64_t first = 0; first < count[axis]; first += lines) {
        struct td_overlap_range r = td_overlap_lines(o, p, q, side, axis, first, lines);
        uint64_t elements = td_overlap_elements_in(o, p, q, &r);
        struct td_overlap_cursor here, there;
        td_overlap_start(&here, o, p, q, side, &r, 0, elements * 4);
        td_overlap_start(&there, o, p, q, !side, &r, 0, elements * 4);
        for (uint64_t i = 0, bytes = 0; i < elements; i++) {
            uint64_t x = td_overlap_piece(&here, 4, &bytes) / 4;
            uint64_t y = td_overlap_piece(&there, 4, &bytes) / 4;
            uint64_t line = x / stride[axis] % count[axis];
            assert_true(line >= first && line < first + lines);
            assert_int_equal(a->tag[side][owner][x], a->tag[!side][side ? p : q][y]);
        }
        found += elements;
    }
    assert_int_equal(found, td_overlap_elements(o, p, q));
}

static void check_pair(const struct td_overlap *o, const struct arrays *a, uint32_t p, uint32_t q,
                       uint8_t *seen)
{
    static uint32_t tags[2][ELEMENTS_MAX];
    uint64_t n = td_overlap_elements(o, p, q);
    assert_int_equal(n, td_overlap_count(o->layout[0], o->layout[1], p, q));
    for (unsigned side = 0; side < 2; side++)
        if (n && draw(2))
            gather_runs(o, p, q, side, a->tag[side][side ? q : p], (uint8_t *)tags[side],
                        n * sizeof(uint32_t));
        else
            gather(o, p, q, side, a->tag[side][side ? q : p], (uint8_t *)tags[side],
                   n * sizeof(uint32_t));
    assert_memory_equal(tags[0], tags[1], n * sizeof(uint32_t));
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(seen[tags[0][i]]++, 0);
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t axis = 0; axis < o->layout[0]->dimensions; axis++)
            check_axis(o, a, p, q, side, axis);
}

static void pairs_have_what_ownership_says(void **state)
{
    (void)state;
    static uint8_t seen[ELEMENTS_MAX];
    for (uint64_t round = 0; round < ROUNDS; round++) {
        seed = round;
        struct td_arena *arena = td_arena_create(8 << 20);
        uint32_t dimensions = 1 + (uint32_t)draw(4);
        uint64_t size[TD_DIMENSIONS_MAX];
        for (uint32_t d = 0; d < dimensions; d++)
            size[d] = 1 + draw(dimensions == 1   ? 600
                               : dimensions == 2 ? 40
                                                 : 12 / (dimensions - 1));
        struct td_layout from, to;
        struct td_overlap o;
        struct arrays a;
        uint8_t walk[TD_DIMENSIONS_MAX] = {0, 1, 2, 3};
        distribute(&from, arena, dimensions, size);
        distribute(&to, arena, dimensions, size);
        shuffle(walk, dimensions);
        fill_arrays(&a, &from, &to, arena);
        assert_true(a.elements <= ELEMENTS_MAX);
        assert_true(
            td_overlap_init(&o, arena, &from, &to, 4, draw(2) ? walk : NULL, everyone, NULL));
        memset(seen, 0, sizeof seen);
        for (uint32_t p = 0; p < from.owners; p++)
            for (uint32_t q = 0; q < to.owners; q++)
                check_pair(&o, &a, p, q, seen);
        for (uint64_t e = 0; e < a.elements; e++)
            assert_int_equal(seen[e], 1);
        td_overlap_free(&o, arena);
        td_arena_destroy(arena);
    }
}

static void layouts_that_hardly_ever_repeat_are_told_by_their_work(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create(4 << 20);
    struct td_layout from, to;
    uint64_t size = (uint64_t)1 << 40;
    assert_true(td_layout_init(&from, arena, 1, &size, 16381, false));
    assert_true(td_layout_init(&to, arena, 1, &size, 16384, false));
    td_layout_distribute(&from, 0, 3, 16381);
    td_layout_distribute(&to, 0, 5, 16384);
    assert_true(td_overlap_work(&from, &to) > 1 << 30);
    td_layout_distribute(&from, 0, 1000, 1000);
    td_layout_distribute(&to, 0, 2000, 1000);
    assert_true(td_overlap_work(&from, &to) < 1 << 22);
    td_layout_distribute(&from, 0, 0, 16); /* blocks of 2^36, and of 1: one round of the latter */
    td_layout_distribute(&to, 0, 1, 16);
    assert_true(td_overlap_work(&from, &to) < 4096);
    td_arena_destroy(arena);
}

static void a_hundred_million_indices_take_one_period(void **state)
{
    (void)state;
    struct td_arena *arena = td_arena_create(1 << 20);
    struct td_layout from, to;
    struct td_overlap o;
    uint64_t size = 100000007, total = 0;
    assert_true(td_layout_init(&from, arena, 1, &size, 12, false));
    assert_true(td_layout_init(&to, arena, 1, &size, 7, false));
    td_layout_distribute(&from, 0, 3, 12);
    td_layout_distribute(&to, 0, 7, 7);
    assert_true(td_overlap_init(&o, arena, &from, &to, 8, NULL, everyone, NULL));
    assert_true(td_arena_used(arena) < 200000);
    for (uint32_t p = 0; p < 12; p++)
        for (uint32_t q = 0; q < 7; q++)
            total += td_overlap_elements(&o, p, q);
    assert_int_equal(total, size);
    struct td_overlap_cursor c;
    uint64_t bytes = 0, last = td_overlap_elements(&o, 11, 6) - 1;
    td_overlap_start(&c, &o, 11, 6, TD_OVERLAP_TO, &all, last * 8, 8);
    uint64_t at = td_overlap_piece(&c, 8, &bytes) / 8;
    uint64_t global = at / 7 * 49 + 6 * 7 + at % 7;
    assert_int_equal(global / 7 % 7, 6);
    assert_int_equal(global / 3 % 12, 11);
    assert_true(global < size && size - global < 4 * 252);
    td_overlap_free(&o, arena);
    td_layout_free(&from, arena);
    td_layout_free(&to, arena);
    assert_int_equal(td_arena_used(arena), 0);
    td_arena_destroy(arena);
}

/* ---- text ---- */

static struct td_arena *text_arena;

static bool parse(const char *text, uint32_t dimensions, struct td_layout *l,
                  struct td_layout_wrong *wrong)
{
    static const uint64_t size[TD_DIMENSIONS_MAX] = {100, 60, 7, 1, 2, 3};
    return td_layout_parse(l, text_arena, text, dimensions, size, 12, wrong);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"(block, cyclic(4), *) on 3x4 @0-11", "(block, cyclic(4), *) on 3x4 @0-11"},
        {" ( cyclic , * ) ", "(cyclic, *) on 12 @0-11"},
        {"cyclic(2)@0-2", "(cyclic(2)) on 3 @0-2"},
        {"(block(8)+3,*)@1-9:4", "(cyclic(8)+3, *) on 3 @1,5,9"},
        {"(*, block) order 1,0 on 2 @7,3", "(*, block) on 2 order 1,0 @7,3"},
        {"(*, *)", "(*, *) @0"},
        {"boxes 0:10,0:5 - 0:10,5:9 @0,4,8", "boxes 0:10,0:5 0:0,0:0 0:10,5:9 @0,4,8"},
    };
    text_arena = td_arena_create(1 << 20);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct td_layout l, again;
        struct td_layout_wrong wrong;
        char text[200], text_again[200];
        bool boxes = strncmp(texts[i][0], "boxes", 5) == 0;
        if (!parse(texts[i][0], boxes ? 2 : 0, &l, &wrong))
            fail_msg("%s: at %zu: %s", texts[i][0], wrong.at, wrong.text);
        int length = td_layout_print(&l, text, sizeof text);
        assert_string_equal(text, texts[i][1]);
        assert_int_equal(length, strlen(text));
        assert_true(parse(text, l.dimensions, &again, &wrong));
        td_layout_print(&again, text_again, sizeof text_again);
        assert_string_equal(text_again, text);
        assert_true(td_layout_hash(&l) == td_layout_hash(&again));
        td_layout_free(&l, text_arena);
        td_layout_free(&again, text_arena);
    }
    assert_int_equal(td_arena_used(text_arena), 0);
    td_arena_destroy(text_arena);
}

static void what_is_wrong_is_pointed_at(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t dimensions;
        size_t at;
    } wrong_ones[] = {
        {"", 1, 0},
        {"(block, cyclik(4))", 2, 8},
        {"(block, cyclic(0))", 2, 15},
        {"(block, cyclic(4)", 2, 17},
        {"(block, cyclic)", 2, 0},
        {"(block, cyclic) on 12", 2, 19},
        {"(block, *) on 5 @0-2", 2, 17},
        {"(block, *) on 0", 2, 14},
        {"(block, *) order 0,0", 2, 17},
        {"(block, *) order 0;1", 2, 18},
        {"(block, *) @5-3", 2, 12},
        {"(block, *) @0-2 nonsense", 2, 16},
        {"(block, *, *)", 2, 0},
        {"(block, block) on 99999x99999", 2, 18},
        {"cyclic(99999999999999999999)", 1, 7},
        {"boxes", 2, 5},
        {"boxes 0:5", 2, 9},
        {"boxes 5:0,0:1", 2, 6},
        {"boxes 0:5,0:1 @0-3", 2, 15},
        {"(*,*,*,*,*,*,*)", 0, 13},
    };
    text_arena = td_arena_create(1 << 20);
    for (size_t i = 0; i < sizeof wrong_ones / sizeof wrong_ones[0]; i++) {
        struct td_layout l;
        struct td_layout_wrong wrong = {.at = 999};
        if (parse(wrong_ones[i].text, wrong_ones[i].dimensions, &l, &wrong))
            fail_msg("%s is taken", wrong_ones[i].text);
        if (wrong.at != wrong_ones[i].at)
            fail_msg("%s: at %zu: %s", wrong_ones[i].text, wrong.at, wrong.text);
        assert_true(wrong.text[0]);
    }
    assert_int_equal(td_arena_used(text_arena), 0);
    td_arena_destroy(text_arena);
}

static void any_text_is_read_or_refused(void **state)
{
    (void)state;
    static const char *const words[] = {"(",  ")",     "block", "cyclic", "*", ",", " ",
                                        "on", "x",     "3",     "@",      "0", "-", "order",
                                        ":",  "boxes", "+",     "12",     "1", "(", "), "};
    text_arena = td_arena_create(1 << 20);
    for (seed = 1; seed < 20000;) {
        char text[200] = "";
        struct td_layout l;
        struct td_layout_wrong wrong;
        for (uint64_t n = draw(14); n-- > 0;)
            strcat(text, words[draw(sizeof words / sizeof words[0])]);
        if (parse(text, (uint32_t)draw(4), &l, &wrong))
            td_layout_free(&l, text_arena);
        else
            assert_true(wrong.at <= strlen(text));
        seed = seed % 1000003 + 1;
        static int rounds;
        if (++rounds == 20000)
            break;
    }
    assert_int_equal(td_arena_used(text_arena), 0);
    td_arena_destroy(text_arena);
}

/* ---- checks ---- */

static const char *check(const char *text, uint32_t ranks, uint64_t element)
{
    static const uint64_t size[2] = {10, 9};
    static char sentence[200];
    struct td_layout l;
    struct td_layout_wrong wrong;
    assert_true(td_layout_parse(&l, text_arena, text, 2, size, ranks, &wrong));
    const char *told = td_layout_check(&l, ranks, element, sentence, sizeof sentence);
    td_layout_free(&l, text_arena);
    return told;
}

static void what_does_not_cover_the_array_is_refused(void **state)
{
    (void)state;
    text_arena = td_arena_create(1 << 20);
    assert_null(check("boxes 0:10,0:5 0:10,5:9", 2, 8));
    assert_null(check("(block, *)", 2, 8));
    assert_string_equal(check("boxes 0:10,0:5 0:9,5:9 @1,0", 2, 8),
                        "no box covers 4 of the array's 90 elements");
    assert_string_equal(check("boxes 0:10,0:6 0:10,5:8 @1,0", 2, 8),
                        "the boxes of ranks 1 and 0 overlap");
    assert_string_equal(check("boxes 0:10,0:5 0:10,5:10", 2, 8),
                        "the box of rank 1 ends beyond the 9 indices of axis 1");
    assert_string_equal(check("(block, *) @0-4", 4, 8), "rank 4 is not in the group of 4 ranks");
    assert_string_equal(check("(block, *) @0,1,0", 4, 8), "rank 0 occurs twice");
    assert_string_equal(check("(block, *)", 4, UINT64_MAX / 8),
                        "the array's size in bytes overflows 63 bits");
    td_arena_destroy(text_arena);
}

static void memory_that_is_missing_is_no_fault_of_the_text(void **unused)
{
    (void)unused;
    const uint64_t size[1] = {1000};
    struct td_arena *arena = td_arena_create(1 << 12);
    struct td_layout_wrong wrong;
    struct td_layout l;
    assert_false(td_layout_parse(&l, arena, "cyclic@0-9999", 1, size, 10000, &wrong));
    assert_true(wrong.no_memory);
    assert_false(td_layout_parse(&l, arena, "cyclick", 1, size, 10000, &wrong));
    assert_false(wrong.no_memory);
    td_arena_destroy(arena);
}

static void layout_blocks_cover_and_do_not_overlap(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 60; n++)
        for (uint64_t parts = 1; parts < 20; parts++) {
            uint64_t at = 0, shared = 0;
            for (uint64_t p = 0; p < parts; p++) {
                struct td_range b = td_block(n, parts, p), s = td_share(n, parts, p);
                assert_int_equal(b.begin, at);
                for (uint64_t i = b.begin; i < b.begin + b.count; i++)
                    assert_int_equal(td_block_owner(n, parts, i), p);
                at += b.count;
                assert_int_equal(s.begin, shared);
                shared += s.count;
            }
            assert_int_equal(at, n);
            assert_int_equal(shared, n);
        }
    assert_int_equal(td_block(344, 9, 0).count, 39);
    assert_int_equal(td_block(344, 9, 8).count, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_blocks_cover_and_do_not_overlap),
        cmocka_unit_test(pairs_have_what_ownership_says),
        cmocka_unit_test(layouts_that_hardly_ever_repeat_are_told_by_their_work),
        cmocka_unit_test(a_hundred_million_indices_take_one_period),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(what_is_wrong_is_pointed_at),
        cmocka_unit_test(any_text_is_read_or_refused),
        cmocka_unit_test(memory_that_is_missing_is_no_fault_of_the_text),
        cmocka_unit_test(what_does_not_cover_the_array_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
