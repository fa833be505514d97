/* SPDX-License-Identifier: Apache-2.0 */
/* layout_text: layouts as people write them.
 *
 *   (block, cyclic(4), *) on 3x4 @0-11   an axis each; the grid's sizes for those dealt out
 *   cyclic(2)@0-2                        one axis: no parentheses, and the grid is the ranks
 *   (block+3, *)                         as if the axis began 3 indices later
 *   (*, block) order 1,0                 axis 1 outermost in memory
 *   boxes 0:10,0:5 0:10,5:9 @0,4         from:to along each axis, a box for each rank; - is none
 *
 * Ranks that are not named are 0, 1, ...; of ranks there are as many as the grid has places, or, if
 * it is not named either, as the group has. Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_LAYOUT_TEXT_H
#define TD_MODEL_LAYOUT_TEXT_H

#include "layout.h"

/* struct td_layout_wrong: what is wrong, and at which character; no_memory: nothing is. */
struct td_layout_wrong {
    size_t at;
    bool no_memory;
    char text[200];
};

/* td_layout_parse reads the layout of an array of `dimensions` axes; 0: as many as the text has,
 * and `size` is then used for each of them that it has. Returns false with *wrong; the layout is
 * then nothing to be freed. */
bool td_layout_parse(struct td_layout *layout, struct td_arena *arena, const char *text,
                     uint32_t dimensions, const uint64_t *size, uint32_t group_ranks,
                     struct td_layout_wrong *wrong);
/* td_layout_print writes a layout so that it can be read again; returns its length, as snprintf. */
int td_layout_print(const struct td_layout *layout, char *text, size_t size);

#endif
