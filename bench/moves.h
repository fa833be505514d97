/* SPDX-License-Identifier: Apache-2.0 */
/* moves: messages between the driver of the comparison with ScaLAPACK's pdgemr2d and its ranks, and
 * the functions that each side provides. The messages travel over a Unix socket whose path is in
 * MOVES_SOCKET. The program of the ranks is the same for both sides; only the side_ functions
 * differ. A side that is not measured waits in a system call. */
#ifndef BENCH_MOVES_H
#define BENCH_MOVES_H

#include <stdint.h>

#include "running.h"
#include "side.h"

enum { MOVES_TEXT_BYTES = 160 };

/* struct half: one side of a move: axis d is cyclic(block[d]) over parts[d] ranks, the first of
 * which is `first`; ranks are numbered along the last axis first. */
struct half {
    uint32_t block[2], parts[2], first;
};

/* struct move: of size[0] x size[1] doubles; axis 1 is contiguous. */
struct move {
    uint64_t size[2];
    struct half half[2]; /* before, after */
};

enum order_kind {
    ORDER_PLAN, /* drop the last move, and prepare this one */
    ORDER_RUN,  /* fill, execute once, and check every element */
};
struct order {
    uint32_t kind; /* enum order_kind */
    struct move move;
    uint64_t turn; /* makes the values of this execution unique */
};

/* struct outcome: times are CLOCK_MONOTONIC, as the ranks are on one machine. */
struct outcome {
    int64_t begin_ns, end_ns;
    int32_t failed; /* nonzero: `text` is the error */
    char text[MOVES_TEXT_BYTES];
};

/* ---- a side; a function that can fail returns NULL or the error ---- */

/* side_plan prepares a move, and allocates a part of elements[half] doubles for each half. */
const char *side_plan(const struct move *move, const uint64_t elements[2], double *part[2]);
const char *side_run(void);

#endif
