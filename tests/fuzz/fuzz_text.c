/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of short texts: layouts, torus shapes, host lists, records of plans, quantities, names.
 * The first byte chooses. What a parser accepts, it accepts again in the form that the printer
 * gives it. In a layout that is accepted, each index has one owner. With its highest bit a layout
 * is drawn from the other bytes. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/quantity.h"
#include "base/text.h"
#include "compute/fft/fft_text.h"
#include "decide.h"
#include "io/config/hosts.h"
#include "model/layout_text.h"
#include "model/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DRAWN = 0x80, TEXT_MAX = 4096, ARENA_BYTES = 1 << 20, GROUP_RANKS = 12 };

/* look_at_owners counts the indices of each part of each axis. */
static void look_at_owners(const struct td_layout *l)
{
    char why[200];
    if (l->box || td_layout_check(l, GROUP_RANKS, 8, why, sizeof why))
        return;
    for (uint32_t d = 0; d < l->dimensions; d++) {
        uint64_t sum = 0;
        for (uint32_t part = 0; part < td_layout_parts(l, d); part++) {
            struct td_owned o = td_layout_owned(l, d, part);
            sum += td_owned_before(&o, o.end);
        }
        assert(sum == l->size[d]);
    }
}

static void feed_layout(const char *text, struct decide *d)
{
    static const uint64_t some[2][TD_DIMENSIONS_MAX] = {
        {12, 7, 1, 100, 3, 64},
        {(uint64_t)1 << 59, 3, 1, 1, 1, 1},
    };
    const uint64_t *sizes = some[d->left > 0 && *d->at >= 128];
    struct td_arena *arena = td_arena_create(ARENA_BYTES);
    struct td_layout layout, again;
    struct td_layout_wrong wrong = {0};
    uint32_t dimensions = decide_below(d, TD_DIMENSIONS_MAX + 1);
    assert(arena);
    if (td_layout_parse(&layout, arena, text, dimensions, sizes, GROUP_RANKS, &wrong)) {
        look_at_owners(&layout);
        char printed[TEXT_MAX], twice[TEXT_MAX];
        int length = td_layout_print(&layout, printed, sizeof printed);
        if (length >= 0 && (size_t)length < sizeof printed) {
            bool parsed = td_layout_parse(&again, arena, printed, layout.dimensions, sizes,
                                          GROUP_RANKS, &wrong);
            assert(parsed || wrong.no_memory);
            if (parsed) {
                td_layout_print(&again, twice, sizeof twice);
                assert(strcmp(printed, twice) == 0);
            }
        }
    } else {
        assert(wrong.at <= strlen(text) && (wrong.no_memory || wrong.text[0]));
    }
    td_arena_destroy(arena);
}

static void feed_shape(const char *text)
{
    struct td_topology t, again;
    size_t position = 0;
    const char *why = NULL;
    char printed[200];
    if (td_topology_parse(&t, text, &position, &why) != TD_OK) {
        assert(why && position <= strlen(text));
        return;
    }
    td_topology_print(&t, printed, sizeof printed);
    assert(td_topology_parse(&again, printed, &position, &why) == TD_OK);
    assert(again.nodes == t.nodes && again.dimensions == t.dimensions);
}

static bool count_names(void *user, const char *name)
{
    size_t *left = user;
    assert(strlen(name) > 0);
    return --*left > 0;
}

static void feed_hosts(const char *text)
{
    size_t left = 10000, position = 0;
    const char *why = td_hosts_expand(text, count_names, &left, &position);
    assert(!why || position <= strlen(text));
}

static void feed_record(const char *text)
{
    struct td_fft_record record, again;
    char line[TD_FFT_LINE_MAX];
    if (!td_fft_record_parse(&record, text))
        return;
    td_fft_record_print(&record, line, sizeof line);
    assert(td_fft_record_parse(&again, line));
}

/* feed_name: what is shown of a text is plain text, and is shown as it is. */
static void feed_name(const char *text)
{
    char fault[TD_TEXT_FAULT_MAX], shown[TEXT_MAX], again[TEXT_MAX];
    const char *wrong = td_text_fault(text, fault);
    td_text_show(text, shown, sizeof shown);
    assert(!td_text_fault(shown, fault));
    assert(strcmp(td_text_show(shown, again, sizeof again), shown) == 0);
    assert(wrong || strlen(text) >= sizeof shown || strcmp(text, shown) == 0);
    assert(strlen(td_text_show(text, again, 8)) < 8);
}

static void feed_quantity(const char *text)
{
    uint64_t value = 0;
    char printed[64];
    if (td_quantity_parse(text, &value) || td_quantity_parse_rate(text, &value))
        assert(strlen(td_quantity_print(value, printed, sizeof printed)) < sizeof printed);
}

/* ---- layouts that are drawn ---- */

/* some_number draws a number of indices, often next to a limit. */
static unsigned long long some_number(struct decide *d)
{
    if (decide_below(d, 2))
        return decide_number(d);
    return ((uint64_t)INT64_MAX >> decide_below(d, 6)) + decide_below(d, 3) - 1;
}

/* draw_layout writes a layout of up to three axes that is well formed but for its numbers. */
static void draw_layout(struct decide *d, char *text, size_t room)
{
    FILE *f = fmemopen(text, room, "w");
    uint32_t axes = 1 + decide_below(d, 3);
    assert(f);
    fputs("(", f);
    for (uint32_t i = 0; i < axes; i++) {
        static const char *const forms[] = {"*", "block", "cyclic"};
        uint32_t form = decide_below(d, 5);
        fputs(i ? ", " : "", f);
        if (form < 3)
            fputs(forms[form], f);
        else
            fprintf(f, form == 3 ? "block(%llu)" : "cyclic(%llu)", some_number(d));
        if (form > 0 && decide_below(d, 4) == 0)
            fprintf(f, "+%llu", some_number(d));
    }
    fputs(")", f);
    uint32_t first = 1 + decide_below(d, 6), second = 1 + decide_below(d, 3);
    if (decide_below(d, 2))
        fprintf(f, axes == 1 ? " on %u" : " on %ux%u", first, second);
    if (decide_below(d, 2))
        fprintf(f, " @0-%u", first * (axes == 1 ? 1 : second) - 1);
    fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct decide d = {data, size};
    uint32_t which = decide_below(&d, 256);
    if (which & DRAWN) {
        char drawn[TEXT_MAX] = "";
        struct decide numbers = d;
        draw_layout(&d, drawn, sizeof drawn);
        feed_layout(drawn, &numbers);
        return 0;
    }
    which %= 6;
    struct decide numbers = d;
    if (d.left > 0)
        d = (struct decide){d.at + 1, d.left - 1};
    char *text = malloc(d.left + 1); /* of exactly this size: a read beyond it is found */
    assert(text);
    memcpy(text, d.at, d.left);
    text[d.left] = '\0';
    if (which == 0)
        feed_layout(text, &numbers);
    else if (which == 1)
        feed_shape(text);
    else if (which == 2)
        feed_hosts(text);
    else if (which == 3)
        feed_record(text);
    else if (which == 4)
        feed_quantity(text);
    else
        feed_name(text);
    free(text);
    return 0;
}
