/* SPDX-License-Identifier: Apache-2.0 */
/* moves: redistributions for tests: random layouts, and the elements of each rank before and after.
 */
#ifndef TD_TESTS_SIM_MOVES_H
#define TD_TESTS_SIM_MOVES_H

#include "layouts.h"
#include "model/plan.h"

struct td_arena;
enum { MOVE_TEXT = LAYOUT_TEXT };

/* struct move: a request, with its layouts as text and as read. */
struct move {
    struct td_redist redist;
    char text[2][MOVE_TEXT];
    struct td_layout layout[2]; /* each with its own axes */
};

/* moves_random draws a move of an array of up to four axes, for a group of `ranks`. */
void moves_random(struct move *m, uint32_t ranks);
/* moves_read reads the layouts. It returns false with a sentence in `why`, of MOVE_TEXT bytes. */
bool moves_read(struct move *m, struct td_arena *arena, uint32_t ranks, char *why);
/* moves_most_bytes returns the size of the largest part of any rank on either side. */
uint64_t moves_most_bytes(const struct move *m);
/* moves_fill writes the elements of a rank on a side, and returns their bytes. */
uint64_t moves_fill(const struct move *m, unsigned side, uint32_t rank, uint8_t *to);

#endif
