/* SPDX-License-Identifier: Apache-2.0 */
/* layout_text: the text form of layouts.
 *
 *   (block, cyclic(4), *) on 3x4 @0-11   one entry per axis; the grid's sizes for distributed axes
 *   cyclic(2)@0-2                        one axis: no parentheses, and the grid is the ranks
 *   (block+3, *)                         as if the axis began 3 indices later
 *   (*, block) order 1,0                 axis 1 outermost in memory
 *   boxes 0:10,0:5 0:10,5:9 @0,4         from:to along each axis, a box for each rank; - is empty
 *
 * Without @ the ranks are 0, 1, ...: one for each place of the grid, or all ranks of the group if
 * the text names no grid. Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_LAYOUT_TEXT_H
#define TD_MODEL_LAYOUT_TEXT_H

#include "layout.h"

/* struct td_layout_wrong: a parse error and the index of its character. no_memory: memory ran out,
 * and the text may be correct. */
struct td_layout_wrong {
    size_t at;
    bool no_memory;
    char text[200];
};

/* td_layout_parse reads the layout of an array of `dimensions` axes of these sizes. With 0
 * dimensions the text defines their number, and `size` must have as many. It returns false with
 * *wrong set, and then nothing must be freed. */
bool td_layout_parse(struct td_layout *layout, struct td_arena *arena, const char *text,
                     uint32_t dimensions, const uint64_t *size, uint32_t group_ranks,
                     struct td_layout_wrong *wrong);
/* td_layout_print writes a layout in a form that td_layout_parse reads. It returns the length, like
 * snprintf. */
int td_layout_print(const struct td_layout *layout, char *text, size_t size);

#endif
