/* SPDX-License-Identifier: Apache-2.0 */
/* moves: redistributions for tests: random layouts, and what each rank has of them before and
 * after. */
#ifndef TD_TESTS_SIM_MOVES_H
#define TD_TESTS_SIM_MOVES_H

#include "layouts.h"
#include "model/plan.h"

struct td_arena;
enum { MOVE_TEXT = LAYOUT_TEXT };

/* struct move: what is asked for, with the layouts as they were asked for and as read. */
struct move {
    struct td_redist redist;
    char text[2][MOVE_TEXT];
    struct td_layout layout[2]; /* each with its own axes */
};

/* moves_random makes up a move of an array of up to four axes, for a group of `ranks`. */
void moves_random(struct move *m, uint32_t ranks);
/* moves_read reads the layouts. False: `why`, of MOVE_TEXT bytes. */
bool moves_read(struct move *m, struct td_arena *arena, uint32_t ranks, char *why);
/* moves_most_bytes returns how large the largest part is, of any rank on either side. */
uint64_t moves_most_bytes(const struct move *m);
/* moves_fill writes what a rank has on a side; returns the bytes. */
uint64_t moves_fill(const struct move *m, unsigned side, uint32_t rank, uint8_t *to);

#endif
