/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall: the program of an all-to-all at one node. It is compiled here as the daemons do,
 * without a daemon. */
#ifndef TORUSCTL_EXPLAIN_ALLTOALL_H
#define TORUSCTL_EXPLAIN_ALLTOALL_H

#include "candidates.h"
#include "machine.h"
#include "model/group.h"
#include "steps.h"

struct explain_alltoall {
    struct explain_machine machine;
    struct td_group group;
    struct td_call call;
    struct td_program program;
    struct explain_plan plan;
    struct explain_totals totals;
    struct td_arena *arena;
    char reason[300];
    struct explain_candidates candidates;
    double bound, predicted; /* slots; predicted 0: unknown */
};

/* explain_alltoall is `torus-plan alltoall`; it returns the exit code. */
int explain_alltoall(int argc, char **argv);

#endif
