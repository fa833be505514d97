/* SPDX-License-Identifier: Apache-2.0 */
/* transform_plan: the arrays that the data of a plan pass through, the 1-D transforms of them
 * (passes), and their moves from one to the next. A redistribution has one move and no pass.
 * Owns: its tables, in the arena it was made in. Borrows: the plan and its group.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_TRANSFORM_PLAN_H
#define TD_COLLECTIVES_REDIST_TRANSFORM_PLAN_H

#include "array_move.h"

/* struct td_pass: 1-D transforms of all lines of an array along one axis, into another array or in
 * place. They are cut into chunks along a second axis, so that what follows can begin. */
struct td_pass {
    const struct td_array *from, *to;
    uint8_t axis, kind; /* enum td_transform_kind */
    uint64_t length;    /* points */
    double factor;
    uint64_t twiddle;       /* of a long transform in two halves: its length; 0: none */
    uint8_t along;          /* axis of the chunks */
    uint64_t chunks, lines; /* so many lines each */
    uint64_t parts;         /* pieces of a chunk: loops that a transform step has no room for */
};

/* A transform of six axes has at most: the array before, one and one of another type a stage, and
 * the array after. */
enum { TD_STAGE_ARRAYS_MAX = 2 * TD_DIMENSIONS_MAX + 2, TD_PHASES_MAX = 2 * TD_DIMENSIONS_MAX + 2 };

/* enum td_grid_reason: the reason for the grid of nodes between the first and the last array. */
enum td_grid_reason {
    TD_GRID_NONE, /* the layouts before and after leave nothing to be dealt out between */
    TD_GRID_ASKED,
    TD_GRID_BEFORE, /* the application has the array so */
    TD_GRID_LINKS,  /* its places are boxes of the torus */
    TD_GRID_SQUARE, /* as few factors as give every node something, about equal */
    TD_GRID_MATRIX, /* of one long axis */
};

struct td_transform_plan {
    unsigned arrays, moves, passes, phases;
    uint8_t grid; /* enum td_grid_reason */
    struct td_array array[TD_STAGE_ARRAYS_MAX];
    struct td_array_move move[TD_DIMENSIONS_MAX + 2];
    struct td_pass pass[TD_DIMENSIONS_MAX];
    struct td_phase {
        bool moves;         /* else it transforms */
        uint8_t index;      /* of move or pass */
        uint8_t family;     /* the first of its program */
    } phase[TD_PHASES_MAX]; /* one after the other */
    int64_t scratch_bytes;
};

/* td_transform_plan_free frees all arrays and moves, and the transform plan. */
void td_transform_plan_free(struct td_transform_plan *t, struct td_arena *arena);
/* td_transform_plan_move adds a move, in the chunks of the pass before it (NULL: in one chunk).
 * False: the arena is full. */
bool td_transform_plan_move(struct td_transform_plan *t, const struct td_plan_input *in,
                            struct td_arena *arena, const struct td_array *from,
                            const struct td_array *to, const struct td_pass *last);

#endif
