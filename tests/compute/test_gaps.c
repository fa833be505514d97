/* SPDX-License-Identifier: Apache-2.0 */
/* compute on buffers with gaps: each step runs twice, on buffers with random forms and on packed
 * buffers. The packed results, spread by the list of positions of gaps.h, must be the memory with
 * gaps, whole buffers with their gaps included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compute/compute.h"
#include "compute/fft/step.h"
#include "compute/walk.h"
#include "gaps.h"

enum { RANKS = 3, BUFFERS = 2 * RANKS, PACKED = 48 << 10, ROOM = 1 << 19, ROUNDS = 200 };

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    return random_below(&state, below);
}

/* Buffers: the sources, the destinations, scratch. */
static struct gaps *form[BUFFERS];
static uint8_t *packed[BUFFERS + 1], *spread[BUFFERS + 1], *expected[BUFFERS + 1];
static struct td_memory memory[BUFFERS];
static struct td_bases flat, gapped;

static int setup(void **unused)
{
    (void)unused;
    for (int i = 0; i <= BUFFERS; i++) {
        packed[i] = aligned_alloc(64, ROOM);
        spread[i] = aligned_alloc(64, ROOM);
        expected[i] = aligned_alloc(64, ROOM);
        if (!packed[i] || !spread[i] || !expected[i])
            return -1;
    }
    flat = (struct td_bases){
        .source = packed, .destination = packed + RANKS, .scratch = packed[BUFFERS]};
    gapped = (struct td_bases){.source = spread,
                               .destination = spread + RANKS,
                               .scratch = spread[BUFFERS],
                               .source_memory = memory,
                               .destination_memory = memory + RANKS};
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    for (int i = 0; i <= BUFFERS; i++) {
        free(packed[i]);
        free(spread[i]);
        free(expected[i]);
    }
    return 0;
}

/* spread_all writes the packed bytes of all buffers where they belong. */
static void spread_all(uint8_t **to)
{
    for (int i = 0; i <= BUFFERS; i++)
        for (uint64_t k = 0; k < PACKED; k++)
            to[i][i < BUFFERS && form[i] ? (uint64_t)gaps_at(form[i], k) : k] = packed[i][k];
}

/* fill draws forms, of which some buffers have none, and the memory. */
static void fill(int64_t unit)
{
    for (int i = 0; i <= BUFFERS; i++) {
        for (size_t k = 0; k < ROOM; k += 8) {
            uint64_t x = draw(UINT64_MAX);
            memcpy(spread[i] + k, &x, 8);
            x = draw(UINT64_MAX);
            memcpy(packed[i] + k, &x, 8);
        }
        if (i == BUFFERS)
            break;
        form[i] = draw(4) ? gaps_draw(&state, 1 + (int64_t)draw(draw(2) ? 6 : 100), unit) : NULL;
        memory[i].form = form[i] ? form[i]->form : NULL;
        assert_true(!form[i] || gaps_end(form[i], PACKED) <= ROOM);
    }
    spread_all(spread);
    for (int i = 0; i <= BUFFERS; i++)
        memcpy(expected[i], spread[i], ROOM);
}

/* check compares the memory with gaps with the packed memory, and frees the forms. */
static void check(void)
{
    spread_all(expected);
    for (int i = 0; i <= BUFFERS; i++) {
        if (memcmp(expected[i], spread[i], ROOM) != 0)
            for (size_t k = 0; k < ROOM; k++)
                if (expected[i][k] != spread[i][k])
                    fail_msg("byte %zu of buffer %d differs", k, i);
        if (i < BUFFERS)
            free(form[i]);
    }
}

/* draw_slice draws a slice of units, and lanes, of which no byte is twice. `length`: its units, of
 * which there are up to 600, or 0 to draw them. */
static struct td_slice draw_slice(unsigned space, int64_t unit, const int64_t *count,
                                  uint32_t lanes, struct td_lanes *out)
{
    struct td_slice s = td_slice_at((enum td_space)space, 0, (int64_t)draw(9) * unit, unit);
    bool by_rank = space != TD_SPACE_SCRATCH && draw(2);
    int64_t extent = unit;
    for (int l = 0; l < 3; l++) {
        if (l == 0 && draw(2)) {
            s.run *= count[0];
            extent *= count[0];
            continue;
        }
        s.level[s.levels].count = count[l];
        s.level[s.levels].rank_stride = by_rank && count[l] <= RANKS;
        s.level[s.levels].stride = extent + (int64_t)draw(2) * unit;
        if (s.level[s.levels].rank_stride) {
            s.level[s.levels].stride = 0;
            by_rank = false;
        } else {
            extent += (count[l] - 1) * s.level[s.levels].stride;
        }
        s.levels++;
    }
    *out = (struct td_lanes){.count = lanes, .stride = extent + (int64_t)draw(3) * unit};
    for (int l = 0; l < s.levels; l++) /* the loops in another order */
        if (draw(3) == 0) {
            struct td_level swap = s.level[l];
            s.level[l] = s.level[0];
            s.level[0] = swap;
        }
    assert_true(s.offset + extent * (lanes + 2) + 16 * unit <= PACKED);
    return s;
}

static void draw_counts(int64_t *count)
{
    count[0] = 1 + (int64_t)draw(draw(6) ? 20 : 90);
    count[1] = 1 + (int64_t)draw(4);
    count[2] = 1 + (int64_t)draw(3);
}

/* other returns a space that is not `space`. */
static unsigned other(unsigned space)
{
    return (space + 1 + (unsigned)draw(2)) % 3;
}

/* run_parts executes a step in parts of drawn sizes, as a driver does that lets jobs take turns. */
static void run_parts(const struct td_step *step, const struct td_bases *bases)
{
    uint64_t element = step->kind == TD_COMBINE ? td_type_bytes(step->type) : 1;
    uint64_t all = td_step_divisible(step), at = 0, bytes = 0;
    for (; at < all; at += bytes) {
        bytes = (1 + draw(draw(2) ? 100 : 20000)) * element;
        bytes = bytes < all - at ? bytes : all - at;
        td_step_run_part(step, bases, at, bytes);
    }
}

static void run_both(const struct td_step *step)
{
    if (draw(2))
        run_parts(step, &gapped);
    else
        assert_int_equal(td_step_run(step, &gapped), TD_OK);
    assert_int_equal(td_step_run(step, &flat), TD_OK);
    check();
}

static void copies_move_data_between_forms(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        state = seed;
        int64_t count[3], unit = (int64_t)1 << draw(4);
        struct td_lanes one;
        struct td_step step = {.kind = TD_COPY};
        unsigned space = (unsigned)draw(3);
        draw_counts(count);
        fill(draw(2) ? unit : 1 + (int64_t)draw(16));
        step.from = draw_slice(space, unit, count, 1, &one);
        if (draw(8) == 0)
            step.from = td_slice_at(TD_SPACE_SOURCE, 0, 0, 0);
        step.to = draw_slice(other(space), unit, count, 1 + (uint32_t)draw(2), &step.to_lanes);
        run_both(&step);
    }
}

static void combines_fold_data_of_forms(void **unused)
{
    (void)unused;
    static const uint8_t types[] = {TD_TYPE_INT32, TD_TYPE_INT64, TD_TYPE_UINT16};
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        state = seed;
        int64_t count[3];
        struct td_step step = {.kind = TD_COMBINE, .type = types[draw(3)], .op = TD_OP_SUM};
        int64_t unit = (int64_t)td_type_bytes(step.type);
        unsigned space = (unsigned)draw(3);
        draw_counts(count);
        fill(draw(3) ? unit : 1); /* elements between gaps need no alignment */
        step.from = draw_slice(space, unit, count, 1 + (uint32_t)draw(3), &step.from_lanes);
        step.with = draw_slice(other(space), unit, count, (uint32_t)draw(3), &step.with_lanes);
        if (draw(3) == 0 && step.with.space != step.from.space) { /* in place */
            step.to = step.from;
            step.to_lanes = step.from_lanes;
        } else {
            space = step.from.space + step.with.space; /* the third one */
            step.to = draw_slice(3 - space, unit, count, 1 + (uint32_t)draw(2), &step.to_lanes);
        }
        if (draw(3) == 0) {
            step.running.kind = (uint8_t)(TD_RUNNING_UP_TO + draw(2));
            step.running.first = (uint32_t)draw(2);
            step.running.step = 1;
        }
        run_both(&step);
    }
}

static void packing_and_unpacking_follow_the_form(void **unused)
{
    (void)unused;
    static uint8_t a[PACKED], b[PACKED];
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        state = seed;
        int64_t count[3], unit = (int64_t)1 << draw(4);
        struct td_lanes lanes;
        draw_counts(count);
        fill(draw(2) ? unit : 1 + (int64_t)draw(16));
        struct td_slice s =
            draw_slice((unsigned)draw(3), unit, count, 1 + (uint32_t)draw(2), &lanes);
        uint64_t all = (uint64_t)td_slice_bytes(&s), offset = draw(all);
        uint64_t bytes = draw(all - offset + 1);
        td_compute_pack(&s, &gapped, offset, bytes, a);
        td_compute_pack(&s, &flat, offset, bytes, b);
        assert_memory_equal(a, b, bytes);
        for (uint64_t i = 0; i < bytes; i++)
            a[i] = (uint8_t)draw(256);
        td_compute_unpack(&s, &lanes, &gapped, offset, bytes, a);
        td_compute_unpack(&s, &lanes, &flat, offset, bytes, a);
        check();
    }
}

/* A walk that is asked for pieces of any size returns runs of the form, and td_walk_left is the
 * size of the next. */
static void pieces_are_the_data_in_order(void **unused)
{
    (void)unused;
    static uint8_t all[PACKED];
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        state = seed;
        int64_t count[3], unit = (int64_t)1 << draw(4), piece = 0;
        struct td_lanes lanes;
        draw_counts(count);
        fill(draw(2) ? unit : 1 + (int64_t)draw(16));
        struct td_slice s = draw_slice((unsigned)draw(2), unit, count, 1, &lanes);
        uint64_t bytes = (uint64_t)td_slice_bytes(&s), at = draw(bytes);
        td_compute_pack(&s, &flat, 0, bytes, all);
        struct td_walk w;
        td_walk_start(&w, &s, &gapped, NULL, 0, at);
        assert_true(td_walk_has_runs(&w));
        const uint8_t *from = NULL;
        int64_t left = td_walk_left(&w), most = 1 + (int64_t)draw(100);
        while ((from = td_walk_piece(&w, most, &piece))) {
            assert_int_equal(piece, left < most ? left : most);
            assert_memory_equal(from, all + at, (size_t)piece);
            const uint8_t *place = td_compute_contiguous(&s, &gapped, at, (uint64_t)piece);
            assert_ptr_equal(place, from);
            at += (uint64_t)piece;
            left = td_walk_left(&w);
            most = draw(2) ? 1 + (int64_t)draw(100) : INT64_MAX;
        }
        assert_int_equal(at, bytes);
        assert_int_equal(left, 0);
        check();
    }
}

static void bytes_on_both_sides_of_a_gap_are_not_contiguous(void **unused)
{
    (void)unused;
    struct td_form *f = calloc(1, td_form_size(1));
    assert_non_null(f);
    *f = (struct td_form){.bytes = 16, .extent = 40, .loops = 1};
    f->loop[0] = (struct td_form_loop){.stride = 24, .count = 2, .bytes = 8};
    for (int i = 0; i < BUFFERS; i++)
        memory[i].form = f;
    struct td_slice s = td_slice_at(TD_SPACE_SOURCE, 1, 0, 160);
    assert_ptr_equal(td_compute_contiguous(&s, &gapped, 0, 8), spread[1]);
    assert_ptr_equal(td_compute_contiguous(&s, &gapped, 9, 7), spread[1] + 25);
    assert_ptr_equal(td_compute_contiguous(&s, &gapped, 16, 8), spread[1] + 40);
    assert_null(td_compute_contiguous(&s, &gapped, 0, 9));
    assert_null(td_compute_contiguous(&s, &gapped, 12, 8));
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_move_data_between_forms),
        cmocka_unit_test(combines_fold_data_of_forms),
        cmocka_unit_test(packing_and_unpacking_follow_the_form),
        cmocka_unit_test(pieces_are_the_data_in_order),
        cmocka_unit_test(bytes_on_both_sides_of_a_gap_are_not_contiguous),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
