/* SPDX-License-Identifier: Apache-2.0 */
/* fft_moves: a transform's plan at one node, made as the daemons do; the loads of its moves on the
 * links of the machine; and their predicted times. */
#ifndef TORUSCTL_EXPLAIN_FFT_MOVES_H
#define TORUSCTL_EXPLAIN_FFT_MOVES_H

#include "candidates.h"
#include "collectives/redist/transform_plan.h"
#include "machine.h"
#include "traffic.h"

/* struct explain_move: slots are times of a full packet on a link; 0 on the direct fabric. */
struct explain_move {
    const struct td_array_move *move;
    enum td_alltoall method;
    struct explain_traffic traffic; /* of this node */
    uint64_t stays;                 /* bytes that are copied on this node */
    uint32_t among; /* number of nodes that exchange data with each other, this one included */
    double bound, predicted;
    double
        by[TD_ALLTOALLS]; /* prediction of each method; 0: unknown, or the method does not apply */
    struct explain_link {
        uint32_t node, dimension;
        int sign;
        double slots; /* 0: no link is used */
    } busiest;        /* with dimension-ordered routes */
};

/* struct explain_pass: 1-D transforms. The operations are 5 n log2 n per line, and half of that for
 * real lines. */
struct explain_pass {
    const struct td_pass *pass;
    uint64_t lines, lines_most; /* of this node, and of the busiest node */
    uint64_t bytes;             /* of this node, before */
    double operations;          /* of this node */
    double operations_most;     /* of the busiest node */
    double operations_all;      /* of all nodes */
};

/* struct explain_grid: a grid of nodes, and the prediction of a plan with it. */
struct explain_grid {
    uint32_t factors, factor[TD_DIMENSIONS_MAX];
    unsigned moves;
    double bound, predicted; /* slots, moves in sequence */
};
enum { EXPLAIN_GRIDS_MAX = 96 };

struct explain_fft {
    struct explain_machine machine;
    struct td_description asked;
    const char *elements_text, *plot;
    int axis[TD_DIMENSIONS_MAX], kind[TD_DIMENSIONS_MAX];
    int axes, kinds; /* number of axes and kinds that the options name */
    bool inverse, single;
    uint32_t ranks_per_node;
    double gflops; /* of a node; 0: not given */

    struct td_arena *arena;
    struct td_group group;
    struct td_plan *plan;
    bool rows;             /* the plan uses fft_rows, with the same moves */
    int64_t scratch_bytes; /* of the node, by the plan's method */
    struct td_program program;
    unsigned moves, passes;
    struct explain_move move[TD_DIMENSIONS_MAX + 2];
    struct explain_pass pass[TD_DIMENSIONS_MAX];
    double together; /* T_min of all moves together */
    struct explain_grid chosen, grid[EXPLAIN_GRIDS_MAX];
    unsigned grids;
    char reason[200];
    struct explain_candidates candidates; /* for the plan's executions */
};

/* explain_fft_move analyses move i of a plan. `others`: it predicts the other methods as well. It
 * returns false if memory runs out. */
bool explain_fft_move(const struct explain_fft *x, const struct td_plan *plan, unsigned i,
                      bool others, struct explain_move *out);
/* explain_fft_traffic analyses the traffic of this node in a move. It returns false if memory runs
 * out.
 */
bool explain_fft_traffic(const struct explain_fft *x, struct explain_move *move);
/* explain_fft_plan makes the plan with a grid (NULL: the requested one), and its stages. On
 * TD_ERR_INVALID and TD_ERR_NO_MEMORY why has a sentence. */
td_err explain_fft_plan(const struct explain_fft *x, struct td_arena *arena,
                        const struct explain_grid *grid, struct td_plan **plan, char *why,
                        size_t size);
/* explain_fft_grids finds the grid of the plan, and predicts others. It returns false if memory
 * runs out. */
bool explain_fft_grids(struct explain_fft *x);

/* explain_fft_totals sums up the slots of the moves and the operations of the busiest nodes. */
struct explain_fft_totals {
    double bound, predicted; /* slots */
    double operations_all, operations_most;
    double moves_s, passes_s; /* seconds; 0: no rate was given */
};
struct explain_fft_totals explain_fft_total(const struct explain_fft *x);

#endif
