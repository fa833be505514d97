/* SPDX-License-Identifier: Apache-2.0 */
/* trial: the input and the expected result of each collective on each rank, computed locally. */
#ifndef TD_TESTS_TRIAL_H
#define TD_TESTS_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "torus/torus.h"

enum { RANKS_MAX = 16 };

/* UNTOUCHED is the value of elements that the call does not write, ANY of those that it may write.
 */
#define UNTOUCHED 0xdeadbeefcafef00du
#define ANY 0xa5a5a5a5a5a5a5a5u

enum kind {
    BARRIER,
    BROADCAST,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTERV,
    SCAN,
    EXSCAN,
    PREFIX,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    NEIGHBOUR,
    NEIGHBOURV,
    KINDS
};

/* struct trial: one collective of one group. */
struct trial {
    enum kind kind;
    uint32_t size; /* ranks */
    size_t count;
    uint32_t root;
    bool in_place, plain, gaps, kept, user;
    struct torus_grid grid;
};

/* struct part: the data of one rank. */
struct part {
    size_t froms, tos;               /* elements */
    uint64_t *from, *start, *expect; /* source; destination before and after */
    uint64_t *source, *destination;  /* the buffers of the call */
    size_t count[2][RANKS_MAX], at[2][RANKS_MAX];
    torus_request *request;
    torus_persistent *persistent;
};

/* trial_name returns the name of a collective. */
const char *trial_name(enum kind kind);
/* trial_can_be_in_place returns true if a collective accepts TORUS_IN_PLACE. */
bool trial_can_be_in_place(enum kind kind);
/* trial_compose composes maps a * v + b of 32 bits: first x, then y. It is not commutative. */
uint64_t trial_compose(uint64_t x, uint64_t y);
/* trial_fill fills in a rank's part, except the buffers and requests of the call; a buffer that the
 * trial replaces is TORUS_IN_PLACE. The caller frees from, start and expect. */
void trial_fill(const struct trial *t, uint32_t rank, struct part *p);

#endif
