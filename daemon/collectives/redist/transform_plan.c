/* SPDX-License-Identifier: Apache-2.0 */
#include "transform_plan.h"

#include "base/arena.h"

/* room returns the number of families that a move by relays may have, so that later moves have room
 * as well. A transform of one axis has at most 3 passes and 6 moves (fft_long.c), others one pass
 * per axis and two moves more. */
static unsigned room(const struct td_transform_plan *t, const struct td_fft *fft)
{
    unsigned axes = fft->dimensions, passes = axes == 1 ? 3 : axes,
             moves = axes == 1 ? 6 : axes + 2;
    unsigned taken = passes + (moves > t->moves ? moves - t->moves : 0) * TD_MOVE_FAMILIES;
    for (unsigned i = 0; i + 1 < t->moves; i++)
        taken += td_array_move_families(&t->move[i]);
    return taken < TD_FAMILIES_MAX ? TD_FAMILIES_MAX - taken : 0;
}

bool td_transform_plan_move(struct td_transform_plan *t, const struct td_plan_input *in,
                            struct td_arena *arena, const struct td_array *from,
                            const struct td_array *to, const struct td_pass *last)
{
    struct td_array_move *m = &t->move[t->moves];
    struct td_move_chunks chunks = {0};
    if (last)
        chunks = (struct td_move_chunks){last->chunks, last->lines, last->along};
    t->phase[t->phases++] = (struct td_phase){.moves = true, .index = (uint8_t)t->moves++};
    return td_array_move_make(m, in, arena, from, to, last ? &chunks : NULL,
                              room(t, &in->plan->fft), &t->scratch_bytes);
}

void td_transform_plan_free(struct td_transform_plan *t, struct td_arena *arena)
{
    for (unsigned i = 0; i < t->moves; i++)
        td_array_move_free(&t->move[i], arena);
    for (unsigned i = 0; i < t->arrays; i++)
        td_array_free(&t->array[i], arena);
    td_arena_free(arena, t);
}
