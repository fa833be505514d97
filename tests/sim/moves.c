/* SPDX-License-Identifier: Apache-2.0 */
#include "moves.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/layout_text.h"

enum { TEXT = MOVE_TEXT };

static uint64_t state;

void moves_seed(uint64_t seed)
{
    state = seed;
}

uint64_t moves_draw(uint64_t below)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % below;
}

bool moves_read(struct move *m, struct td_arena *arena, uint32_t ranks, char *why)
{
    struct td_layout_wrong wrong;
    for (unsigned side = 0; side < 2; side++) {
        uint64_t size[TD_DIMENSIONS_MAX];
        for (uint32_t d = 0; d < m->redist.dimensions; d++)
            size[d] = m->redist.size[side ? m->redist.axes[d] : d];
        if (!td_layout_parse(&m->layout[side], arena, m->text[side], m->redist.dimensions, size,
                             ranks, &wrong)) {
            snprintf(why, TEXT, "%.1000s: at %zu: %s", m->text[side], wrong.at, wrong.text);
            return false;
        }
    }
    return true;
}

/* tag writes what an element is known by: its number in the whole array, and the element size. */
static void tag(uint8_t *at, uint64_t number, uint64_t element)
{
    for (uint64_t b = 0; b < element; b++)
        at[b] = (uint8_t)(number >> 8 * (b % 8) ^ b * 37);
}

/* number_of returns an element's place in the source's whole array. */
static uint64_t number_of(const struct move *m, unsigned side, const uint64_t *index)
{
    uint64_t source[TD_DIMENSIONS_MAX], number = 0;
    for (uint32_t d = 0; d < m->redist.dimensions; d++)
        source[side ? m->redist.axes[d] : d] = index[d];
    for (uint32_t d = 0; d < m->redist.dimensions; d++)
        number = number * m->redist.size[d] + source[d];
    return number;
}

uint64_t moves_fill(const struct move *m, unsigned side, uint32_t rank, uint8_t *to)
{
    const struct td_layout *l = &m->layout[side];
    uint32_t owner = td_layout_owner(l, rank), dimensions = l->dimensions;
    uint64_t count[TD_DIMENSIONS_MAX], stride[TD_DIMENSIONS_MAX];
    if (owner == UINT32_MAX)
        return 0;
    uint64_t elements = td_layout_local(l, owner, count);
    td_layout_strides(l, owner, stride);
    for (uint64_t e = 0; e < elements; e++) {
        uint64_t index[TD_DIMENSIONS_MAX], rest = e, place = 0;
        for (uint32_t d = dimensions; d-- > 0; rest /= count[d]) {
            struct td_owned owned = td_layout_owned(l, d, td_layout_coordinate(l, owner, d));
            index[d] = td_owned_at(&owned, rest % count[d]);
            place += rest % count[d] * stride[d];
        }
        tag(to + place * m->redist.element, number_of(m, side, index), m->redist.element);
    }
    return elements * m->redist.element;
}

uint64_t moves_most_bytes(const struct move *m)
{
    uint64_t most = 0;
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t o = 0; o < m->layout[side].owners; o++) {
            uint64_t count[TD_DIMENSIONS_MAX];
            uint64_t bytes = td_layout_local(&m->layout[side], o, count) * m->redist.element;
            most = bytes > most ? bytes : most;
        }
    return most;
}

/* ---- random layouts ---- */

static uint32_t put_some_ranks(char *text, uint32_t ranks, uint32_t wanted)
{
    uint32_t first = (uint32_t)moves_draw(ranks - wanted + 1), step = 1;
    while (moves_draw(2) && first + wanted * (step + 1) <= ranks)
        step++;
    snprintf(text, TEXT, " @%u-%u:%u", first, first + (wanted - 1) * step, step);
    return wanted;
}

static void some_grid(struct move *m, unsigned side, uint32_t ranks)
{
    char axes[TEXT] = "", grid[TEXT] = "", order[TEXT] = "", who[TEXT] = "";
    uint32_t left = ranks, n = m->redist.dimensions, dealt = 0;
    for (uint32_t d = 0; d < n; d++) {
        char *p = axes + strlen(axes), *g = grid + strlen(grid);
        uint32_t parts = 1 + (uint32_t)moves_draw(left < 6 ? left : 6);
        const char *before = d ? ", " : "";
        switch (moves_draw(4)) {
        case 0:
            snprintf(p, 40, "%s*", before);
            continue;
        case 1:
            snprintf(p, 40, "%sblock", before);
            break;
        case 2:
            snprintf(p, 40, "%scyclic(%u)", before, 1 + (unsigned)moves_draw(5));
            break;
        default:
            snprintf(p, 40, "%scyclic(%u)+%u", before, 1 + (unsigned)moves_draw(5),
                     (unsigned)moves_draw(9));
        }
        snprintf(g, 20, "%s%u", dealt ? "x" : " on ", parts);
        dealt++;
        left /= parts;
    }
    if (moves_draw(3) == 0) {
        uint8_t a[TD_DIMENSIONS_MAX] = {0, 1, 2, 3};
        for (uint32_t i = n; i-- > 1;) {
            uint32_t j = (uint32_t)moves_draw(i + 1);
            uint8_t t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
        for (uint32_t i = 0; i < n; i++)
            snprintf(order + strlen(order), 20, i ? ",%u" : " order %u", a[i]);
    }
    uint32_t places = 1;
    for (const char *g = grid; *g; g++)
        if (*g >= '0' && *g <= '9' && (g == grid || g[-1] < '0' || g[-1] > '9'))
            places *= (uint32_t)strtoul(g, NULL, 10);
    put_some_ranks(who, ranks, places);
    int length =
        snprintf(m->text[side], TEXT, "(%.300s)%.100s%.100s%.100s", axes, grid, order, who);
    assert(length < TEXT);
}

static void some_boxes(struct move *m, unsigned side, uint32_t ranks)
{
    uint64_t begin[8][TD_DIMENSIONS_MAX] = {{0}}, end[8][TD_DIMENSIONS_MAX] = {{0}};
    uint32_t n = m->redist.dimensions, boxes = 1 + (uint32_t)moves_draw(ranks < 8 ? ranks : 8);
    for (uint32_t d = 0; d < n; d++)
        end[0][d] = m->redist.size[side ? m->redist.axes[d] : d];
    for (uint32_t i = 1; i < boxes; i++) {
        uint32_t of = (uint32_t)moves_draw(i), d = (uint32_t)moves_draw(n);
        uint64_t cut = begin[of][d] + moves_draw(end[of][d] - begin[of][d] + 1);
        memcpy(begin[i], begin[of], sizeof begin[i]);
        memcpy(end[i], end[of], sizeof end[i]);
        begin[i][d] = end[of][d] = cut;
    }
    char *text = m->text[side];
    snprintf(text, TEXT, "boxes");
    for (uint32_t i = 0; i < boxes; i++)
        for (uint32_t d = 0; d < n; d++)
            snprintf(text + strlen(text), 40, "%c%llu:%llu", d ? ',' : ' ',
                     (unsigned long long)begin[i][d], (unsigned long long)end[i][d]);
    put_some_ranks(text + strlen(text), ranks, boxes);
}

void moves_random(struct move *m, uint32_t ranks)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16};
    *m = (struct move){.redist = {.dimensions = 1 + (uint32_t)moves_draw(4),
                                  .element = sizes[moves_draw(9)],
                                  .schedule = (uint32_t)moves_draw(6)}};
    uint32_t n = m->redist.dimensions;
    for (uint32_t d = 0; d < n; d++) {
        m->redist.size[d] = moves_draw(n == 1 ? 3000 : n == 2 ? 70 : n == 3 ? 18 : 9);
        m->redist.axes[d] = (uint8_t)d;
    }
    for (uint32_t i = n; moves_draw(3) == 0 && i-- > 1;) {
        uint32_t j = (uint32_t)moves_draw(i + 1);
        uint8_t t = m->redist.axes[i];
        m->redist.axes[i] = m->redist.axes[j];
        m->redist.axes[j] = t;
    }
    for (unsigned side = 0; side < 2; side++)
        (moves_draw(4) ? some_grid : some_boxes)(m, side, ranks);
}
