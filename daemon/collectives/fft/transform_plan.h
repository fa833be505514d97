/* SPDX-License-Identifier: Apache-2.0 */
/* stages: what a plan's programs need to know and a node keeps: the arrays that the data pass
 * through, and their moves from one to the next.
 *
 * An array lies with owners: ranks, in their buffers, or nodes, in scratch. A move takes every
 * element from its owner in one array to its owner in the next: a message from each owner to each
 * other, cut into chunks along an axis, so that a chunk can be sent when it is computed.
 * Owns: its tables, in the arena it was made in. Borrows: the plan and its group.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_FFT_TRANSFORM_PLAN_H
#define TD_COLLECTIVES_FFT_TRANSFORM_PLAN_H

#include "model/group.h"
#include "model/overlap.h"
#include "model/plan.h"
#include "model/program.h"
#include "collectives/redist/redist_schedule.h"

struct td_array {
    struct td_layout layout; /* of nodes: the "ranks" are slots */
    bool borrowed;           /* the layout is the plan's */
    bool of_nodes;
    enum td_space space;
    uint32_t own;     /* slot of this node */
    uint64_t element; /* bytes */
    uint32_t *slot;   /* [owners] where it is */
    uint32_t *place;  /* [owners] among those there */
    uint32_t *there;  /* [slots] how many owners are there */
    uint32_t *here;   /* [there[slot]] the owners of this node */
    uint32_t *local;  /* [there[slot]] which local rank that is; 0 of nodes */
    int64_t *base;    /* [there[slot]] where its part begins in scratch; 0 in buffers of ranks */
};

struct td_array_move {
    const struct td_array *from, *to;
    struct td_overlap overlap;
    bool scheduled; /* owners meet as the schedule says; else each visits the others in an order of
                       its own */
    struct td_schedule schedule;
    bool in_turn; /* unless scheduled: one partner after the other, by number */
    /* chunks: so many lines each of the sender's array, along an axis; alike: they are the same
     * ones on both sides */
    uint64_t chunks, lines;
    uint8_t along;
    bool alike;
    uint64_t bursts;             /* into which a message is cut, which then take turns */
    uint64_t pieces;             /* into which a chunk is cut that stays on the node */
    struct td_move_relay *relay; /* the move as an all-to-all by way of other nodes, else NULL */
};

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

/* Why a transform's stages have the grid of nodes that they have. */
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

/* td_transform_plan_free frees all arrays and moves, and the stages. */
void td_transform_plan_free(struct td_transform_plan *stages, struct td_arena *arena);

/* td_array_make takes or borrows a layout. In scratch its parts begin at *scratch, which goes on
 * behind them. False: no memory. */
bool td_array_make(struct td_array *a, const struct td_plan_input *in, struct td_arena *arena,
                   const struct td_layout *layout, bool of_nodes, enum td_space space,
                   uint64_t element, int64_t *scratch);

/* td_transform_plan_move adds a move, in the chunks of the pass before it (NULL: in one). False: no
 * memory.
 */
bool td_transform_plan_move(struct td_transform_plan *stages, const struct td_plan_input *in,
                            struct td_arena *arena, const struct td_array *from,
                            const struct td_array *to, const struct td_pass *last);
/* td_dealt_alike: whether an axis is dealt out the same in two layouts, so that its lines are,
 * chunk by chunk, the same ones. */
bool td_dealt_alike(const struct td_layout *a, const struct td_layout *b, uint32_t axis);

/* Families of a move without a relay, in this order. SEND: [chunk][burst][turn][owner here]; RECV:
 * [chunk][burst][sender][owner here]; COPY: [chunk][owner here][owner here][piece]. */
enum { TD_MOVE_RECV, TD_MOVE_SEND, TD_MOVE_COPY, TD_MOVE_FAMILIES };
/* td_array_move_add adds the families of a move and returns the first; td_array_move_families
 * returns how many there are. */
unsigned td_array_move_add(struct td_program *p, const struct td_array_move *m);
unsigned td_array_move_families(const struct td_array_move *m);
/* td_array_move_reads: whether such a family reads the array before. */
bool td_array_move_reads(const struct td_array_move *m, unsigned family);
/* td_array_move_needed makes a family wait for all that a move, whose first family is `first`,
 * brings. */
void td_array_move_needed(struct td_program *p, const struct td_array_move *m, unsigned first,
                          unsigned f);
/* td_array_move_slice names chunk `chunk` of what `from` has for `to`, as one of them has it. */
struct td_slice td_array_move_slice(const struct td_array_move *m, enum td_overlap_side side,
                                    uint32_t from, uint32_t to, uint64_t chunk);
/* td_array_move_expand makes step `index` of family first + `family`. */
void td_array_move_expand(const struct td_program *p, const struct td_array_move *m, unsigned first,
                          unsigned family, uint64_t index, struct td_step *step);
/* td_pass_cut cuts a pass into chunks along an axis, of about `bytes`; td_pass_split, when chunks
 * are set, counts into how many steps each falls. */
void td_pass_cut(struct td_pass *p, uint32_t along, uint64_t bytes);
void td_pass_split(struct td_pass *p);
/* td_array_move_turns returns how many partners an owner has turns for. */
uint64_t td_array_move_turns(const struct td_array_move *m);

#endif
