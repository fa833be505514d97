/* SPDX-License-Identifier: Apache-2.0 */
#include "typemap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "random.h"

/* A type is a tree of constructors, and this model of it walks the tree as MPI defines it.
 * NOLINTBEGIN(misc-no-recursion) */

/* ---- forms ---- */

struct form *form_basic(int type)
{
    struct form *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->basic = type;
    return f;
}

struct form *form_of(enum constructor how, struct form *inner)
{
    struct form *f = form_basic(0);
    f->how = how;
    f->inner[0] = inner;
    return f;
}

void form_free(struct form *f)
{
    for (size_t i = 0; f && i < BLOCKS_MAX; i++)
        form_free(f->inner[i]);
    free(f);
}

struct form *form_copy(const struct form *f)
{
    struct form *copy = form_basic(0);
    *copy = *f;
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        if (f->inner[i])
            copy->inner[i] = form_copy(f->inner[i]);
    return copy;
}

/* draw_places draws disjoint places for the blocks, in any order; `width` is the most that one
 * element takes. */
static void draw_places(uint64_t *random, struct form *f, size_t width)
{
    size_t slot[BLOCKS_MAX];
    ptrdiff_t at[BLOCKS_MAX], next = -(ptrdiff_t)(random_below(random, 4) * width);
    for (size_t i = 0; i < f->count; i++)
        slot[i] = i;
    random_shuffle(random, slot, f->count, sizeof slot[0]);
    for (size_t i = 0; i < f->count; i++) {
        at[i] = next;
        next += (ptrdiff_t)((f->block[slot[i]] + random_below(random, 3)) * width);
        f->place[slot[i]] = at[i];
    }
}

/* room returns bytes that an element's data and bounds fit in, below and above its address. */
static size_t room(const struct form *f)
{
    struct map *m = map_make(f);
    ptrdiff_t lower = 0, upper = 0, low = 0, high = 0;
    map_bounds(m, &lower, &upper);
    for (size_t i = 0; i < m->entries && i < ENTRIES_MAX; i++) {
        low = m->entry[i].at < low ? m->entry[i].at : low;
        high = m->entry[i].at > high ? m->entry[i].at : high;
    }
    free(m);
    low = lower < low ? lower : low;
    high = upper > high ? upper : high;
    return (size_t)(high - low) + 32;
}

struct form *form_draw(uint64_t *random, unsigned depth, const int *basic, size_t basics)
{
    if (depth == 0)
        return form_basic(basic[random_below(random, basics)]);
    struct form *f = form_of((enum constructor)(1 + random_below(random, 5)),
                             form_draw(random, depth - 1, basic, basics));
    ptrdiff_t lower = 0, upper = 0;
    struct map *m = map_make(f->inner[0]);
    map_bounds(m, &lower, &upper);
    free(m);
    f->count = random_below(random, 4);
    switch ((int)f->how) {
    case VECTOR:
        f->block[0] = 1 + random_below(random, 3);
        f->place[0] = (ptrdiff_t)(f->block[0] + random_below(random, 3));
        if (random_below(random, 3) == 0)
            f->place[0] = -f->place[0];
        break;
    case INDEXED:
    case STRUCT:
        for (size_t i = 0; i < f->count; i++)
            f->block[i] = random_below(random, 4);
        for (size_t i = 1; f->how == STRUCT && i < f->count; i++)
            f->inner[i] = form_draw(random, depth - 1, basic, basics);
        size_t width = 1;
        for (size_t i = 0; f->how == STRUCT && i < f->count; i++)
            width = room(f->inner[i]) > width ? room(f->inner[i]) : width;
        draw_places(random, f, width);
        break;
    case RESIZED:
        f->place[0] = lower - (ptrdiff_t)random_below(random, 9);
        f->extent = room(f->inner[0]) + random_below(random, 20);
        break;
    default:
        break;
    }
    return f;
}

/* flat makes a struct of all basic elements of a form, in order, with random gaps or without. */
static struct form *flat(uint64_t *random, const struct map *m, bool gaps)
{
    struct form *f = NULL;
    ptrdiff_t at = gaps ? -16 * (ptrdiff_t)random_below(random, 3) : 0;
    for (size_t i = 0; i < m->entries; i++) {
        if (m->entry[i].type < 0)
            continue;
        size_t bytes = 0;
        struct map one = {.entry = {{0, m->entry[i].type}}, .entries = 1};
        bytes = map_bytes(&one);
        struct form *s = form_of(STRUCT, f);
        size_t n = f != NULL;
        s->block[0] = 1;
        s->block[n] = 1;
        s->place[n] = at;
        s->inner[n] = form_basic(m->entry[i].type);
        s->count = n + 1;
        at += (ptrdiff_t)(bytes + (gaps ? random_below(random, 9) : 0));
        f = s;
    }
    return f;
}

struct form *form_alike(uint64_t *random, const struct form *f)
{
    struct map *m = map_make(f);
    struct form *made = NULL;
    size_t elements = 0;
    for (size_t i = 0; i < m->entries; i++)
        elements += m->entry[i].type > 0;
    if (elements > 0 && elements <= 20 && random_below(random, 2)) {
        bool gaps = random_below(random, 2);
        struct form *inner = flat(random, m, gaps);
        made = form_of(RESIZED, inner);
        made->extent = gaps ? room(inner) : map_bytes(m);
    } else if (random_below(random, 2)) {
        made = form_of(RESIZED, form_copy(f));
        made->place[0] = (ptrdiff_t)random_below(random, 9) - 4;
        made->extent = room(f) + random_below(random, 20);
    } else {
        made = form_copy(f);
    }
    free(m);
    return made;
}

/* ---- types of the library ---- */

int form_make(torus_context *c, const struct form *f)
{
    int inner[BLOCKS_MAX], made = 0, error = TORUS_OK;
    if (f->how == BASIC)
        return f->basic;
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        inner[i] = f->inner[i] ? form_make(c, f->inner[i]) : 0;
    switch ((int)f->how) {
    case CONTIGUOUS:
        error = torus_type_contiguous(c, f->count, inner[0], &made);
        break;
    case VECTOR:
        error = torus_type_vector(c, f->count, f->block[0], f->place[0], inner[0], &made);
        break;
    case INDEXED:
        error = torus_type_indexed(c, f->count, f->block, f->place, inner[0], &made);
        break;
    case STRUCT:
        error = torus_type_struct(c, f->count, f->block, f->place, inner, &made);
        break;
    default:
        error = torus_type_resized(c, inner[0], f->place[0], f->extent, &made);
    }
    if (error != TORUS_OK)
        fail_msg("%s", torus_last_error(c));
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        if (inner[i] >= 65536)
            assert_int_equal(torus_type_free(c, inner[i]), TORUS_OK);
    return made;
}

/* ---- type maps ---- */

static size_t basic_bytes(int type)
{
    switch (type) {
    case TORUS_BYTE:
    case TORUS_INT8:
        return 1;
    case TORUS_INT16:
        return 2;
    case TORUS_INT32:
    case TORUS_FLOAT:
        return 4;
    case TORUS_LONG_DOUBLE:
    case TORUS_COMPLEX_DOUBLE:
        return 16;
    default:
        return 8;
    }
}

static ptrdiff_t basic_alignment(int type)
{
    return type == TORUS_COMPLEX_DOUBLE ? 8 : (ptrdiff_t)basic_bytes(type);
}

static void add_entry(struct map *m, ptrdiff_t at, int type)
{
    if (m->entries < ENTRIES_MAX)
        m->entry[m->entries] = (struct entry){at, type};
    m->entries += m->entries <= ENTRIES_MAX;
}

/* add_block adds `count` elements with the map `of`, the first at `at`, an extent apart. */
static void add_block(struct map *m, ptrdiff_t at, size_t count, const struct map *of)
{
    ptrdiff_t lower = 0, upper = 0;
    map_bounds(of, &lower, &upper);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < of->entries && k < ENTRIES_MAX; k++)
            add_entry(m, at + (ptrdiff_t)i * (upper - lower) + of->entry[k].at, of->entry[k].type);
    if (of->entries > ENTRIES_MAX && count)
        m->entries = ENTRIES_MAX + 1;
}

static void add_resized(struct map *m, const struct form *f, const struct map *of)
{
    for (size_t k = 0; k < of->entries && k < ENTRIES_MAX; k++)
        if (of->entry[k].type > 0)
            add_entry(m, of->entry[k].at, of->entry[k].type);
    add_entry(m, f->place[0], LOWER);
    add_entry(m, f->place[0] + (ptrdiff_t)f->extent, UPPER);
    if (of->entries > ENTRIES_MAX)
        m->entries = ENTRIES_MAX + 1;
}

struct map *map_make(const struct form *f)
{
    struct map *m = calloc(1, sizeof *m), *of = NULL;
    ptrdiff_t lower = 0, upper = 0;
    assert_non_null(m);
    if (f->how == BASIC) {
        add_entry(m, 0, f->basic);
        return m;
    }
    for (size_t i = 0; i < (f->how == INDEXED || f->how == STRUCT ? f->count : 1); i++) {
        of = map_make(f->inner[f->how == STRUCT ? i : 0]);
        map_bounds(of, &lower, &upper);
        if (f->how == CONTIGUOUS)
            add_block(m, 0, f->count, of);
        for (size_t k = 0; f->how == VECTOR && k < f->count; k++)
            add_block(m, (ptrdiff_t)k * f->place[0] * (upper - lower), f->block[0], of);
        if (f->how == INDEXED)
            add_block(m, f->place[i] * (upper - lower), f->block[i], of);
        if (f->how == STRUCT)
            add_block(m, f->place[i], f->block[i], of);
        if (f->how == RESIZED)
            add_resized(m, f, of);
        free(of);
    }
    return m;
}

void map_bounds(const struct map *m, ptrdiff_t *lower, ptrdiff_t *upper)
{
    bool marked = false, some = false;
    ptrdiff_t alignment = 1;
    *lower = *upper = 0;
    for (size_t i = 0; i < m->entries && i < ENTRIES_MAX; i++)
        marked = marked || m->entry[i].type < 0;
    for (size_t i = 0; i < m->entries && i < ENTRIES_MAX; i++) {
        const struct entry *e = &m->entry[i];
        if (marked && e->type > 0)
            continue;
        ptrdiff_t end = e->at + (e->type > 0 ? (ptrdiff_t)basic_bytes(e->type) : 0);
        if (e->type != UPPER && (!some || e->at < *lower))
            *lower = e->at;
        if (e->type != LOWER && (!some || end > *upper))
            *upper = end;
        if (marked && !some) /* markers come in pairs, the lower one first */
            *upper = m->entry[i + 1].at;
        some = true;
        if (e->type > 0 && basic_alignment(e->type) > alignment)
            alignment = basic_alignment(e->type);
    }
    while (!marked && (*upper - *lower) % alignment != 0)
        ++*upper;
}

size_t map_bytes(const struct map *m)
{
    size_t bytes = 0;
    for (size_t i = 0; i < m->entries && i < ENTRIES_MAX; i++)
        bytes += m->entry[i].type > 0 ? basic_bytes(m->entry[i].type) : 0;
    return bytes;
}

size_t map_pack(const struct map *m, const uint8_t *at, uint8_t *packed)
{
    size_t done = 0;
    for (size_t i = 0; i < m->entries; i++) {
        if (m->entry[i].type < 0)
            continue;
        size_t bytes = basic_bytes(m->entry[i].type);
        memcpy(packed + done, at + m->entry[i].at, bytes);
        done += bytes;
    }
    return done;
}

size_t map_unpack(const struct map *m, const uint8_t *packed, uint8_t *at)
{
    size_t done = 0;
    for (size_t i = 0; i < m->entries; i++) {
        if (m->entry[i].type < 0)
            continue;
        size_t bytes = basic_bytes(m->entry[i].type);
        memcpy(at + m->entry[i].at, packed + done, bytes);
        done += bytes;
    }
    return done;
}

/* NOLINTEND(misc-no-recursion) */
