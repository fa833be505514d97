/* SPDX-License-Identifier: Apache-2.0 */
/* call: the program of any operation except an all-to-all of equal parts, at one node: families of
 * steps, and traffic by peer node. */
#ifndef TORUSCTL_EXPLAIN_CALL_H
#define TORUSCTL_EXPLAIN_CALL_H

#include "candidates.h"
#include "machine.h"
#include "model/counts.h"
#include "model/group.h"
#include "model/tree.h"
#include "traffic.h"

/* struct explain_busiest: the busiest link. */
struct explain_busiest {
    uint32_t node, dimension;
    int sign;
    uint64_t bytes; /* 0: unknown, or no link */
};

struct explain_call {
    struct explain_machine machine;
    struct td_call call;
    uint64_t bytes;
    double spread;
    uint32_t ranks_per_node, size;
    struct td_arena *arena;
    struct td_group group;
    struct td_tree tree;
    struct td_counts counts;
    struct td_survey survey;
    uint64_t *count; /* [2][size]: of calls whose counts differ by rank */
    struct td_program program;
    struct explain_traffic traffic;
    struct explain_busiest busiest;
    char reason[300];
    struct explain_candidates candidates;
    double bound; /* slots */
};

/* explain_call is `torus-plan` of these operations. It returns the exit code. */
int explain_call(int argc, char **argv);
/* explain_call_known returns true if one of these operations has that name. */
bool explain_call_known(const char *name);

#endif
