/* SPDX-License-Identifier: Apache-2.0 */
/* fft_moves: a transform's plan as one node has it, made here as the daemons do, the load that its
 * moves put on the links of the machine, and their predicted times. */
#ifndef TORUSCTL_EXPLAIN_FFT_MOVES_H
#define TORUSCTL_EXPLAIN_FFT_MOVES_H

#include "candidates.h"
#include "collectives/redist/transform_plan.h"
#include "machine.h"
#include "traffic.h"

/* struct explain_move: slots are what a full packet takes on a link; 0 on the direct fabric, which
 * has no such links. */
struct explain_move {
    const struct td_array_move *move;
    enum td_alltoall method;
    struct explain_traffic traffic; /* of this node */
    uint64_t stays;                 /* bytes that are copied on it */
    uint32_t among;                 /* nodes that exchange with each other, this one among them */
    double bound, predicted;
    double by[TD_ALLTOALLS]; /* predicted of each method; 0: not known, or it cannot be */
    struct explain_link {
        uint32_t node, dimension;
        int sign;
        double slots; /* 0: nothing passes a link */
    } busiest;        /* if packets take the dimensions in order */
};

/* struct explain_pass: 1-D transforms; operations are 5 n log2 n a line, half that of real ones. */
struct explain_pass {
    const struct td_pass *pass;
    uint64_t lines, lines_most; /* of this node, and of the one that has most */
    uint64_t bytes;             /* of this node, before */
    double operations;          /* of this node, */
    double operations_most;     /* of the one that has most, */
    double operations_all;      /* and of all */
};

/* struct explain_grid: a grid of nodes between, and what a plan with it would take. */
struct explain_grid {
    uint32_t factors, factor[TD_DIMENSIONS_MAX];
    unsigned moves;
    double bound, predicted; /* slots, one move after the other */
};
enum { EXPLAIN_GRIDS_MAX = 96 };

struct explain_fft {
    struct explain_machine machine;
    struct td_description asked;
    const char *elements_text, *plot;
    int axis[TD_DIMENSIONS_MAX], kind[TD_DIMENSIONS_MAX];
    int axes, kinds; /* that are named */
    bool inverse, single;
    uint32_t ranks_per_node;
    uint64_t link_rate; /* bytes a second; 0: not told */
    double gflops;      /* of a node; 0: not told */

    struct td_arena *arena;
    struct td_group group;
    struct td_plan *plan;
    bool rows; /* the plan has a program of its own, with the same moves */
    struct td_program program;
    unsigned moves, passes;
    struct explain_move move[TD_DIMENSIONS_MAX + 2];
    struct explain_pass pass[TD_DIMENSIONS_MAX];
    double together; /* T_min of all moves at once */
    struct explain_grid chosen, grid[EXPLAIN_GRIDS_MAX];
    unsigned grids;
    char reason[200];
    struct explain_candidates candidates; /* for the plan's executions */
};

/* explain_fft_move looks at move i of a plan; `others`: predicts the methods that it is not by as
 * well. False: no memory. */
bool explain_fft_move(const struct explain_fft *x, const struct td_plan *plan, unsigned i,
                      bool others, struct explain_move *out);
/* explain_fft_traffic looks at what this node sends and receives in it. False: no memory. */
bool explain_fft_traffic(const struct explain_fft *x, struct explain_move *move);
/* explain_fft_plan makes the plan with a grid (NULL: the one asked for), and its stages.
 * TD_ERR_INVALID, TD_ERR_NO_MEMORY: why. */
td_err explain_fft_plan(const struct explain_fft *x, struct td_arena *arena,
                        const struct explain_grid *grid, struct td_plan **plan, char *why,
                        size_t size);
/* explain_fft_grids finds the grid of the plan, and what others would take. False: no memory. */
bool explain_fft_grids(struct explain_fft *x);

/* explain_fft_totals adds up the moves' slots and the operations of the busiest nodes. */
struct explain_fft_totals {
    double bound, predicted; /* slots */
    double operations_all, operations_most;
    double moves_s, passes_s; /* seconds; 0: not told how fast */
};
struct explain_fft_totals explain_fft_total(const struct explain_fft *x);

#endif
