/* SPDX-License-Identifier: Apache-2.0 */
#include "layouts.h"
#include "random.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

void layouts_seed(uint64_t seed)
{
    state = seed;
}

uint64_t layouts_draw(uint64_t below)
{
    return random_below(&state, below);
}

static uint32_t put_some_ranks(char *text, uint32_t ranks, uint32_t count)
{
    uint32_t first = (uint32_t)layouts_draw(ranks - count + 1), step = 1;
    while (layouts_draw(2) && first + count * (step + 1) <= ranks)
        step++;
    snprintf(text, LAYOUT_TEXT, " @%u-%u:%u", first, first + (count - 1) * step, step);
    return count;
}

static void some_grid(char *text, uint32_t n, uint32_t ranks)
{
    char axes[LAYOUT_TEXT] = "", grid[LAYOUT_TEXT] = "", order[LAYOUT_TEXT] = "",
         who[LAYOUT_TEXT] = "";
    uint32_t left = ranks, distributed = 0;
    for (uint32_t d = 0; d < n; d++) {
        char *p = axes + strlen(axes), *g = grid + strlen(grid);
        uint32_t parts = 1 + (uint32_t)layouts_draw(left < 6 ? left : 6);
        const char *before = d ? ", " : "";
        switch (layouts_draw(4)) {
        case 0:
            snprintf(p, 40, "%s*", before);
            continue;
        case 1:
            snprintf(p, 40, "%sblock", before);
            break;
        case 2:
            snprintf(p, 40, "%scyclic(%u)", before, 1 + (unsigned)layouts_draw(5));
            break;
        default:
            snprintf(p, 40, "%scyclic(%u)+%u", before, 1 + (unsigned)layouts_draw(5),
                     (unsigned)layouts_draw(9));
        }
        snprintf(g, 20, "%s%u", distributed ? "x" : " on ", parts);
        distributed++;
        left /= parts;
    }
    if (layouts_draw(3) == 0) {
        uint8_t a[TD_DIMENSIONS_MAX] = {0, 1, 2, 3};
        for (uint32_t i = n; i-- > 1;) {
            uint32_t j = (uint32_t)layouts_draw(i + 1);
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
    int length = snprintf(text, LAYOUT_TEXT, "(%.300s)%.100s%.100s%.100s", axes, grid, order, who);
    assert(length < LAYOUT_TEXT);
}

static void some_boxes(char *text, uint32_t n, const uint64_t *size, uint32_t ranks)
{
    uint64_t begin[8][TD_DIMENSIONS_MAX] = {{0}}, end[8][TD_DIMENSIONS_MAX] = {{0}};
    uint32_t boxes = 1 + (uint32_t)layouts_draw(ranks < 8 ? ranks : 8);
    for (uint32_t d = 0; d < n; d++)
        end[0][d] = size[d];
    for (uint32_t i = 1; i < boxes; i++) {
        uint32_t of = (uint32_t)layouts_draw(i), d = (uint32_t)layouts_draw(n);
        uint64_t cut = begin[of][d] + layouts_draw(end[of][d] - begin[of][d] + 1);
        memcpy(begin[i], begin[of], sizeof begin[i]);
        memcpy(end[i], end[of], sizeof end[i]);
        begin[i][d] = end[of][d] = cut;
    }
    snprintf(text, LAYOUT_TEXT, "boxes");
    for (uint32_t i = 0; i < boxes; i++)
        for (uint32_t d = 0; d < n; d++)
            snprintf(text + strlen(text), 40, "%c%llu:%llu", d ? ',' : ' ',
                     (unsigned long long)begin[i][d], (unsigned long long)end[i][d]);
    put_some_ranks(text + strlen(text), ranks, boxes);
}

void layouts_some(char *text, uint32_t dimensions, const uint64_t *size, uint32_t ranks)
{
    if (layouts_draw(4))
        some_grid(text, dimensions, ranks);
    else
        some_boxes(text, dimensions, size, ranks);
}

uint64_t layouts_most(const struct td_layout *l)
{
    uint64_t most = 0;
    for (uint32_t o = 0; o < l->owners; o++) {
        uint64_t count[TD_DIMENSIONS_MAX], elements = td_layout_local(l, o, count);
        most = elements > most ? elements : most;
    }
    return most;
}

static void look(struct layouts_element *e)
{
    uint64_t rest = e->number;
    e->place = 0;
    e->valid = e->number < e->elements;
    for (uint32_t d = e->layout->dimensions; e->valid && d-- > 0; rest /= e->count[d]) {
        struct td_owned owned =
            td_layout_owned(e->layout, d, td_layout_coordinate(e->layout, e->owner, d));
        e->index[d] = td_owned_at(&owned, rest % e->count[d]);
        e->place += rest % e->count[d] * e->stride[d];
    }
}

void layouts_first(struct layouts_element *e, const struct td_layout *layout, uint32_t rank)
{
    *e = (struct layouts_element){.layout = layout, .owner = td_layout_owner(layout, rank)};
    if (e->owner == UINT32_MAX)
        return;
    e->elements = td_layout_local(layout, e->owner, e->count);
    td_layout_strides(layout, e->owner, e->stride);
    look(e);
}

void layouts_next(struct layouts_element *e)
{
    e->number++;
    look(e);
}
