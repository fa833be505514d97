/* SPDX-License-Identifier: Apache-2.0 */
#include "moves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "model/layout_text.h"

bool moves_read(struct move *m, struct td_arena *arena, uint32_t ranks, char *why)
{
    struct td_layout_wrong wrong;
    for (unsigned side = 0; side < 2; side++) {
        uint64_t size[TD_DIMENSIONS_MAX];
        for (uint32_t d = 0; d < m->redist.dimensions; d++)
            size[d] = m->redist.size[side ? m->redist.axes[d] : d];
        if (!td_layout_parse(&m->layout[side], arena, m->text[side], m->redist.dimensions, size,
                             ranks, &wrong)) {
            snprintf(why, MOVE_TEXT, "%.1000s: at %zu: %s", m->text[side], wrong.at, wrong.text);
            return false;
        }
    }
    return true;
}

/* tag writes the tag of an element: its number in the whole array, and the element size. */
static void tag(uint8_t *at, uint64_t number, uint64_t element)
{
    for (uint64_t b = 0; b < element; b++)
        at[b] = (uint8_t)(number >> 8 * (b % 8) ^ b * 37);
}

/* number_of returns the place of an element in the source's whole array. */
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
    struct layouts_element e;
    uint64_t bytes = 0;
    for (layouts_first(&e, &m->layout[side], rank); e.valid; layouts_next(&e)) {
        tag(to + e.place * m->redist.element, number_of(m, side, e.index), m->redist.element);
        bytes += m->redist.element;
    }
    return bytes;
}

uint64_t moves_most_bytes(const struct move *m)
{
    uint64_t before = layouts_most(&m->layout[0]), after = layouts_most(&m->layout[1]);
    return (before > after ? before : after) * m->redist.element;
}

void moves_random(struct move *m, uint32_t ranks)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16};
    *m = (struct move){.redist = {.dimensions = 1 + (uint32_t)layouts_draw(4),
                                  .element = sizes[layouts_draw(9)],
                                  .schedule = (uint32_t)layouts_draw(6)}};
    uint32_t n = m->redist.dimensions;
    for (uint32_t d = 0; d < n; d++) {
        m->redist.size[d] = layouts_draw(n == 1 ? 3000 : n == 2 ? 70 : n == 3 ? 18 : 9);
        m->redist.axes[d] = (uint8_t)d;
    }
    for (uint32_t i = n; layouts_draw(3) == 0 && i-- > 1;) {
        uint32_t j = (uint32_t)layouts_draw(i + 1);
        uint8_t t = m->redist.axes[i];
        m->redist.axes[i] = m->redist.axes[j];
        m->redist.axes[j] = t;
    }
    for (unsigned side = 0; side < 2; side++) {
        uint64_t size[TD_DIMENSIONS_MAX];
        for (uint32_t d = 0; d < n; d++)
            size[d] = m->redist.size[side ? m->redist.axes[d] : d];
        layouts_some(m->text[side], n, size, ranks);
    }
}
