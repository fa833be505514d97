/* SPDX-License-Identifier: Apache-2.0 */
#include "swing.h"

/* log2_of returns m of 2^m. */
static uint32_t log2_of(uint32_t k)
{
    uint32_t m = 0;
    while (k >> m > 1)
        m++;
    return m;
}

bool td_swing_fits(const struct td_grid *grid)
{
    bool fits = grid->box;
    for (uint32_t d = 0; d < grid->shape.dimensions; d++) {
        uint32_t k = grid->shape.size[d];
        fits = fits && grid->shape.wrap[d] && k > 1 && (k & (k - 1)) == 0;
    }
    return fits;
}

bool td_swing_applies(struct td_query *q)
{
    return td_swing_fits(td_query_grid(q)) ||
           td_query_refuse(q, "the size of a ring is not a power of two");
}

uint32_t td_swing_steps(const struct td_grid *grid)
{
    uint32_t steps = 0;
    for (uint32_t d = 0; d < grid->shape.dimensions; d++)
        steps += log2_of(grid->shape.size[d]);
    return steps;
}

/* find writes the dimension and turn of a step: turn after turn, the piece's dimension first. */
static void find(const struct td_grid *grid, uint32_t piece, uint32_t step, struct td_traffic *x)
{
    uint32_t dimensions = grid->shape.dimensions, before = 0;
    for (x->turn = 0;; x->turn++)
        for (uint32_t f = 0; f < dimensions; f++) {
            x->dimension = (piece / 2 + f) % dimensions;
            if (x->turn < log2_of(grid->shape.size[x->dimension]) && before++ == step)
                return;
        }
}

/* places returns the distance of partners in a turn, modulo 2^32 and so modulo any smaller ring:
 * forwards from an even node, backwards from an odd one. */
static uint32_t places(uint32_t turn)
{
    uint32_t distance = 0;
    for (uint32_t t = 0; t <= turn; t++) /* 1, -1, 3, -5: d(t) = 1 - 2 d(t - 1) */
        distance = 1 - 2 * distance;
    return distance;
}

static uint32_t partner(uint32_t at, uint32_t turn)
{
    return at % 2 ? at - places(turn) : at + places(turn);
}

/* bit_of returns the bit of a turn in the label of a place of a ring of 2^m. The label is the set
 * of turns that lead from place 0 to it. Let d be the remaining distance. If the bit is 0, d is an
 * alternating sum of distances of later turns. Those are 1/3 modulo 2^(t + 2), so 3 d is 0 or 1.
 * Otherwise, because the distance of the turn itself is 1/3 + 2^(t + 1), 3 d is 2^(t + 1) or one
 * more. */
static uint32_t bit_of(uint32_t at, uint32_t m, uint32_t turn)
{
    uint32_t mask = ((uint32_t)1 << m) - 1;
    for (uint32_t t = 0, from = 0;; t++) {
        uint32_t left = from % 2 ? from - at : at - from;
        uint32_t bit = t + 1 < m ? 3 * left >> (t + 1) & 1 : (left & mask) != 0;
        if (t == turn)
            return bit;
        from = bit ? partner(from, t) : from;
    }
}

/* seen returns the coordinate that a piece uses: in a mirrored piece, odd and even places are
 * exchanged. */
static uint32_t seen(const struct td_grid *grid, uint32_t slot, uint32_t piece, uint32_t dimension)
{
    return (td_grid_coordinate(grid, slot, dimension) + piece % 2) % grid->shape.size[dimension];
}

struct td_traffic td_swing_exchange(const struct td_grid *grid, uint32_t slot, uint32_t piece,
                                    uint32_t step)
{
    struct td_traffic x;
    find(grid, piece, step, &x);
    uint32_t k = grid->shape.size[x.dimension], at = seen(grid, slot, piece, x.dimension);
    uint32_t on = (partner(at, x.turn) - at) & (k - 1);
    uint32_t to = (td_grid_coordinate(grid, slot, x.dimension) + on) % k;
    x.partner = td_grid_moved(grid, slot, x.dimension, to);
    x.hops = on <= k / 2 ? on : k - on;
    x.sign = 2 * on < k || (2 * on == k && at % 2 == 0) ? 1 : -1;
    x.bit = bit_of(at, log2_of(k), x.turn);
    return x;
}

uint32_t td_swing_place(const struct td_grid *grid, uint32_t slot, uint32_t piece)
{
    uint32_t place = 0, steps = td_swing_steps(grid);
    for (uint32_t s = 0; s < steps; s++)
        place = place * 2 + td_swing_exchange(grid, slot, piece, s).bit;
    return place;
}

uint32_t td_swing_slot(const struct td_grid *grid, uint32_t place, uint32_t piece)
{
    uint32_t at[TD_DIMENSIONS_MAX] = {0}, steps = td_swing_steps(grid), slot = 0;
    for (uint32_t s = 0; s < steps; s++) {
        struct td_traffic x;
        find(grid, piece, s, &x);
        if (place >> (steps - 1 - s) & 1)
            at[x.dimension] = partner(at[x.dimension], x.turn);
    }
    for (uint32_t d = 0; d < grid->shape.dimensions; d++)
        slot = td_grid_moved(grid, slot, d, (at[d] - piece % 2) & (grid->shape.size[d] - 1));
    return slot;
}

void td_swing_chain(struct td_program *p, unsigned fold, unsigned recv, unsigned combine,
                    unsigned send)
{
    td_program_need_all(p, combine, fold);
    td_program_need(p, combine, recv, 1, 1, 1);
    td_program_need(p, combine, combine, 1, 1, 0);
    td_program_need_all(p, send, fold);
    td_program_need(p, send, combine, 1, 1, 0);
}
