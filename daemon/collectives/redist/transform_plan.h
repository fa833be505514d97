/* SPDX-License-Identifier: Apache-2.0 */
/* transform_plan: the arrays of a plan, the local transforms of them (passes), and the moves from
 * one array to the next. A redistribution has one move and no pass. Owns: its tables, in the arena
 * it was made in. Borrows: the plan and its group. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_TRANSFORM_PLAN_H
#define TD_COLLECTIVES_REDIST_TRANSFORM_PLAN_H

#include "array_move.h"

/* struct td_pass: 1-D transforms of all lines of an array along one axis, into another array or in
 * place. They are cut into chunks along a second axis, so that the next phase can begin early. */
struct td_pass {
    const struct td_array *from, *to;
    uint8_t axis, kind; /* enum td_transform_kind */
    uint64_t length;    /* points */
    double factor;
    uint64_t twiddle; /* if the pass is one half of a long transform: length of that transform; 0:
                         none */
    uint8_t along;    /* axis of the chunks */
    uint64_t chunks, lines; /* number of chunks, and lines of each */
    uint64_t parts;         /* steps of a chunk: the loops that do not fit one transform step */
};

/* Arrays of a transform of six axes: the array before, one of each type per stage, and the array
 * after. */
enum { TD_STAGE_ARRAYS_MAX = 2 * TD_DIMENSIONS_MAX + 2, TD_PHASES_MAX = 2 * TD_DIMENSIONS_MAX + 2 };

/* enum td_grid_reason: the reason for the grid of nodes between the first and the last array. */
enum td_grid_reason {
    TD_GRID_NONE, /* the layouts before and after need no grid */
    TD_GRID_ASKED,
    TD_GRID_BEFORE, /* the application's layout uses it */
    TD_GRID_LINKS,  /* its places are boxes of the torus */
    TD_GRID_SQUARE, /* as few factors as give every node a part, about equal */
    TD_GRID_MATRIX, /* the matrix of one long axis */
};

struct td_transform_plan {
    unsigned arrays, moves, passes, phases;
    uint8_t grid; /* enum td_grid_reason */
    struct td_array array[TD_STAGE_ARRAYS_MAX];
    struct td_array_move move[TD_DIMENSIONS_MAX + 2];
    struct td_pass pass[TD_DIMENSIONS_MAX];
    struct td_phase {
        bool moves;         /* otherwise it transforms */
        uint8_t index;      /* of the move or pass */
        uint8_t family;     /* the first family in its program */
    } phase[TD_PHASES_MAX]; /* in order */
    int64_t scratch_bytes;
};

/* td_transform_plan_free frees all arrays and moves, and the transform plan. */
void td_transform_plan_free(struct td_transform_plan *t, struct td_arena *arena);
/* td_transform_plan_move adds a move, in the chunks of the pass before it (NULL: in one chunk). It
 * returns false if the arena is full. */
bool td_transform_plan_move(struct td_transform_plan *t, const struct td_plan_input *in,
                            struct td_arena *arena, const struct td_array *from,
                            const struct td_array *to, const struct td_pass *last);

#endif
