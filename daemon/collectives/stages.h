/* SPDX-License-Identifier: Apache-2.0 */
/* stages: what a plan's programs need to know and a node keeps: the arrays that the data pass
 * through, and their moves from one to the next.
 *
 * An array lies with owners: ranks, in their buffers, or nodes, in scratch. A move takes every
 * element from its owner in one array to its owner in the next: a message from each owner to each
 * other, cut into chunks along the outermost axis of the common order, so that a chunk can be sent
 * when it is computed.
 * Owns: its tables, in the arena it was made in. Borrows: the plan and its group.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_STAGES_H
#define TD_COLLECTIVES_STAGES_H

#include "core/group.h"
#include "core/overlap.h"
#include "core/plan.h"
#include "core/program.h"
#include "redist_schedule.h"

struct td_array {
    struct td_layout layout; /* of nodes: the "ranks" are slots */
    bool borrowed;           /* the layout is the plan's */
    bool of_nodes;
    enum td_space space;
    int64_t at;       /* in scratch */
    uint32_t own;     /* slot of this node */
    uint64_t element; /* bytes */
    uint32_t *slot;   /* [owners] where it is */
    uint32_t *place;  /* [owners] among those there */
    uint32_t *there;  /* [slots] how many owners are there */
    uint32_t *here;   /* [there[slot]] the owners of this node */
    uint32_t *local;  /* [there[slot]] which local rank that is; 0 of nodes */
};

struct td_move {
    const struct td_array *from, *to;
    struct td_overlap overlap;
    bool scheduled; /* owners meet as the schedule says; else each visits the others in an order of
                       its own */
    struct td_schedule schedule;
    uint64_t chunks, lines; /* of the sender's array: so many lines of the outermost axis each */
    uint64_t pieces;        /* into which a chunk is cut that stays on the node */
};

/* More than a transform of six axes has: before, a stage an axis, after. */
enum { TD_STAGE_ARRAYS_MAX = TD_DIMENSIONS_MAX + 2 };

struct td_stages {
    unsigned arrays, moves;
    struct td_array array[TD_STAGE_ARRAYS_MAX];
    struct td_move move[TD_STAGE_ARRAYS_MAX];
};

/* td_stages_free frees all arrays and moves, and the stages. */
void td_stages_free(struct td_stages *stages, struct td_arena *arena);

/* td_array_make takes or borrows a layout. False: no memory; td_array_free is still due. */
bool td_array_make(struct td_array *a, const struct td_plan_input *in, struct td_arena *arena,
                   const struct td_layout *layout, bool of_nodes, enum td_space space,
                   uint64_t element);
void td_array_free(struct td_array *a, struct td_arena *arena);
/* td_array_bytes returns the size of an owner's array. */
uint64_t td_array_bytes(const struct td_array *a, uint32_t owner);

/* td_move_make makes the tables of a move; walk as td_overlap_init has it. False: no memory;
 * td_move_free is still due. */
bool td_move_make(struct td_move *m, const struct td_plan_input *in, struct td_arena *arena,
                  const struct td_array *from, const struct td_array *to, const uint8_t *walk);
void td_move_free(struct td_move *m, struct td_arena *arena);

/* Families of a move, in this order. SEND: [chunk][turn][owner here]; RECV: [chunk][sender][owner
 * here]; COPY: [chunk][owner here][owner here][piece]. */
enum { TD_MOVE_RECV, TD_MOVE_SEND, TD_MOVE_COPY, TD_MOVE_FAMILIES };
/* td_move_add adds them and returns the first. */
unsigned td_move_add(struct td_program *p, const struct td_move *m);
/* td_move_expand makes step `index` of family first + `family`. */
void td_move_expand(const struct td_program *p, const struct td_move *m, unsigned first,
                    unsigned family, uint64_t index, struct td_step *step);
/* td_move_turns returns how many partners an owner has turns for. */
uint64_t td_move_turns(const struct td_move *m);

#endif
