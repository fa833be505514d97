/* SPDX-License-Identifier: Apache-2.0 */
/* forms against a list of the positions of all bytes (gaps.h), and hostile forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gaps.h"

enum { ROUNDS = 4000 };

static uint64_t state, turns_found;

static uint64_t draw(uint64_t below)
{
    return random_below(&state, below);
}

static struct gaps *draw_gaps(void)
{
    int64_t unit = (int64_t)1 << draw(5);
    return gaps_draw(&state, 1 + (int64_t)draw(GAPS_BYTES_MAX / 16 - 1), unit);
}

/* check_turns checks that turns from a cursor on are alike. */
static void check_turns(const struct gaps *g, const struct td_form_cursor *c, uint64_t byte,
                        uint64_t most)
{
    struct td_form_turns t = td_form_turns(c, most, 1 + draw(10));
    assert_true(t.count * t.bytes <= most);
    for (uint64_t i = 0; i < t.count * t.bytes; i++)
        assert_int_equal(gaps_at(g, byte + i),
                         gaps_at(g, byte + i % t.bytes) + (int64_t)(i / t.bytes) * t.stride);
    turns_found += t.count > 1;
}

/* follow checks the runs from a cursor on, and skips some of them. It returns the bytes skipped. */
static uint64_t follow(const struct gaps *g, struct td_form_cursor *c, uint64_t byte, uint64_t most)
{
    int64_t stride = 0;
    td_form_settle(c);
    assert_int_equal(c->byte, byte);
    assert_true(c->left > 0);
    uint64_t runs = td_form_runs(c, &stride), left = c->left;
    assert_true(runs > 0 && runs * left <= g->form->bytes);
    for (uint64_t i = 0; i < runs * left; i++)
        assert_int_equal(c->at + (int64_t)(i / left) * stride + (int64_t)(i % left),
                         gaps_at(g, byte + i));
    check_turns(g, c, byte, most);
    uint64_t skip = 1 + draw(runs);
    if (skip == 1 || skip > runs) {
        uint64_t part = 1 + draw(left < most ? left : most);
        part = part > left ? left : part;
        td_form_skip(c, part, 1);
        return part;
    }
    td_form_skip(c, skip * left, skip);
    return skip * left;
}

static void cursor_finds_every_byte(void **unused)
{
    (void)unused;
    uint64_t several = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct td_form_cursor c;
        uint64_t span = 0;
        state = seed;
        struct gaps *g = draw_gaps();
        uint64_t bytes = g->form->bytes, all = bytes * (1 + draw(4));
        assert_null(td_form_check(g->form, all, &span));
        assert_int_equal(span, gaps_end(g, all));
        for (uint64_t i = 0; i < 8; i++) {
            uint64_t at = draw(all);
            td_form_seek(&c, g->form, at);
            assert_int_equal(c.at, gaps_at(g, at));
            while (at < all)
                at += follow(g, &c, at, all - at);
        }
        several += g->form->loops > 4;
        free(g);
    }
    assert_true(several > ROUNDS / 3 && turns_found > ROUNDS); /* the forms are not trivial */
}

static void span_ends_with_the_last_element(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        uint64_t span = 0;
        state = seed;
        struct gaps *g = draw_gaps();
        uint64_t bytes = 1 + draw(5 * g->form->bytes);
        assert_null(td_form_check(g->form, bytes, &span));
        assert_int_equal(span, gaps_end(g, bytes));
        free(g);
    }
}

/* ---- hostile forms ---- */

static int64_t any_number(void)
{
    static const int64_t some[] = {0,
                                   1,
                                   -1,
                                   2,
                                   64,
                                   INT64_MAX,
                                   INT64_MIN,
                                   INT32_MAX,
                                   -INT32_MAX,
                                   (int64_t)1 << 55,
                                   -((int64_t)1 << 55),
                                   (int64_t)1 << 40};
    int64_t n = some[draw(sizeof some / sizeof some[0])];
    return draw(2) ? n : (int64_t)((uint64_t)n + draw(9) - 4);
}

static void damage(struct td_form *f)
{
    struct td_form_loop *l = &f->loop[draw(f->loops)];
    switch (draw(8)) {
    case 0:
        l->at = any_number();
        return;
    case 1:
        l->stride = any_number();
        return;
    case 2:
        l->count = (uint64_t)any_number();
        return;
    case 3:
        l->bytes = (uint64_t)any_number();
        return;
    case 4:
        l->inner = (uint32_t)any_number();
        return;
    case 5:
        f->bytes = (uint64_t)any_number();
        return;
    case 6:
        f->extent = (uint64_t)any_number();
        return;
    default:
        f->loops = (uint32_t)draw(TD_FORM_LOOPS_MAX + 1);
    }
}

/* stays_inside follows an accepted form for some runs. */
static void stays_inside(const struct td_form *f, uint64_t bytes, uint64_t span)
{
    struct td_form_cursor c;
    int64_t stride = 0;
    uint64_t at = draw(bytes);
    td_form_seek(&c, f, at);
    for (int i = 0; i < 200 && at < bytes; i++) {
        td_form_settle(&c);
        uint64_t runs = td_form_runs(&c, &stride), whole = (bytes - at) / c.left;
        runs = whole < runs ? whole : runs;
        runs = runs ? 1 + draw(runs) : 1;
        uint64_t part = c.left < bytes - at ? c.left : bytes - at;
        uint64_t skip = runs > 1 ? runs * c.left : part;
        int64_t last = c.at + (runs > 1 ? (int64_t)(runs - 1) * stride : 0);
        assert_true(c.at >= 0 && last >= 0);
        assert_true((uint64_t)c.at + part <= span && (uint64_t)last + part <= span);
        td_form_skip(&c, skip, runs);
        at += skip;
    }
}

static void hostile_forms_are_refused_or_stay_inside_their_span(void **unused)
{
    (void)unused;
    uint64_t accepted = 0, rounds = 20 * (uint64_t)ROUNDS;
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        uint64_t span = 0, times = 0;
        state = seed;
        struct gaps *g = draw_gaps();
        for (times = 1 + draw(3); times > 0 && g->form->loops > 0; times--)
            damage(g->form);
        uint64_t bytes = draw(2) ? 1 + draw(10000) : 1 + ((uint64_t)any_number() & INT64_MAX) / 2;
        if (!td_form_check(g->form, bytes, &span)) {
            accepted++;
            stays_inside(g->form, bytes, span);
        }
        free(g);
    }
    assert_true(accepted > rounds / 20 && accepted < rounds / 2);
}

static void each_rule_is_checked(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t bytes, extent;
        uint32_t loops;
        struct td_form_loop loop[3];
    } wrong[] = {
        {8, 16, 0, {{0}}},
        {8, 16, TD_FORM_LOOPS_MAX + 1, {{0, 0, 1, 8, 0, 0}}},
        {9, 16, 1, {{0, 0, 1, 8, 0, 0}}},                     /* the sum differs */
        {8, 16, 1, {{-1, 0, 1, 8, 0, 0}}},                    /* before the place */
        {16, 16, 1, {{0, -8, 2, 8, 0, 0}}},                   /* the same, by a stride */
        {0, 16, 1, {{0, 0, 0, 8, 0, 0}}},                     /* no turns */
        {0, 16, 1, {{0, 0, 1, 0, 0, 0}}},                     /* no bytes */
        {8, 16, 1, {{0, 0, 1, 8, 1, 0}}},                     /* a loop that is not there */
        {8, 16, 2, {{0, 0, 2, 4, 1, 0}, {0, 0, 1, 8, 0, 0}}}, /* its turn has 8 bytes */
        {16, 16, 3, {{0, 0, 1, 8, 1, 0}, {0, 0, 1, 8, 1, 0}, {0, 0, 1, 8, 0, 0}}},
        {8, UINT64_MAX, 1, {{0, 0, 1, 8, 0, 0}}},
        {(uint64_t)1 << 56, 16, 1, {{0, 0, (uint64_t)1 << 53, 8, 0, 0}}},
        {16, 16, 1, {{0, INT64_MAX, 2, 8, 0, 0}}},
    };
    struct td_form *f = calloc(1, td_form_size(TD_FORM_LOOPS_MAX));
    assert_non_null(f);
    uint64_t span = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        f->bytes = wrong[i].bytes;
        f->extent = wrong[i].extent;
        f->loops = wrong[i].loops;
        memcpy(f->loop, wrong[i].loop, sizeof wrong[i].loop);
        if (!td_form_check(f, 24, &span))
            fail_msg("form %zu is accepted", i);
    }
    /* nine levels */
    f->bytes = f->extent = 8;
    f->loops = TD_FORM_LEVELS_MAX + 1;
    for (uint32_t i = 0; i <= TD_FORM_LEVELS_MAX; i++)
        f->loop[i] = (struct td_form_loop){0, 0, 1, 8, TD_FORM_LEVELS_MAX - i, 0};
    assert_non_null(td_form_check(f, 8, &span));
    memmove(f->loop, f->loop + 1, TD_FORM_LEVELS_MAX * sizeof f->loop[0]);
    f->loops--;
    assert_null(td_form_check(f, 8, &span));
    assert_int_equal(span, 8);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursor_finds_every_byte),
        cmocka_unit_test(span_ends_with_the_last_element),
        cmocka_unit_test(hostile_forms_are_refused_or_stay_inside_their_span),
        cmocka_unit_test(each_rule_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
