/* SPDX-License-Identifier: Apache-2.0 */
/* fft: what the driver of the comparison with FFTW-MPI and its ranks tell each other, over a Unix
 * socket whose path is in FFT_SOCKET, and what each side of the comparison provides.
 *
 * The ranks' program is the same for both sides; only the side_ functions differ. A side that is
 * not measured waits in a system call, so that it takes nothing from the other. */
#ifndef BENCH_FFT_H
#define BENCH_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "running.h"

enum { FFT_DIMENSIONS = 3, FFT_TEXT_BYTES = 160 };

/* struct problem: a forward transform, complex to complex, double, unscaled; out of place, the
 * input is kept; rows of axis 0 are dealt out before and after. */
struct problem {
    uint32_t dimensions;
    uint64_t size[FFT_DIMENSIONS];
};

enum order_kind {
    ORDER_PLAN,   /* forget the last problem, plan this one; the time is the planner's */
    ORDER_RUN,    /* `times` executions */
    ORDER_SETTLE, /* wait until plans get no better, `times` seconds at most */
    ORDER_WRITE,  /* the result to `file` */
};
struct order {
    uint32_t kind; /* enum order_kind */
    uint32_t times;
    struct problem problem;
    char file[64];
};

/* struct outcome: CLOCK_MONOTONIC: the ranks are on one machine. */
struct outcome {
    int64_t begin_ns, end_ns;
    int32_t failed; /* not 0: `text` says what */
    char text[FFT_TEXT_BYTES];
};

static inline uint64_t points_of(const struct problem *p)
{
    uint64_t points = 1;
    for (uint32_t d = 0; d < p->dimensions; d++)
        points *= p->size[d];
    return points;
}

/* value_of is number i of the input: real and imaginary parts in turn, in -1 .. 1. */
static inline double value_of(uint64_t i)
{
    uint64_t x = i * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return (double)(x >> 11) * 0x1p-52 - 1;
}

/* ---- a side: torusd or FFTW-MPI; what can fail returns NULL, or what went wrong ---- */

/* struct part: a rank's rows of the array. */
struct part {
    double *data;
    uint64_t first, count;
};

const char *side_open(uint32_t *rank, uint32_t *ranks);
void side_close(void);
const char *side_barrier(void);
/* side_prepare frees what was for the last problem and, where a plan needs it, gets memory. */
const char *side_prepare(const struct problem *problem);
const char *side_plan(const struct problem *problem);
/* side_parts tells where this rank's input and output are. */
const char *side_parts(struct part *in, struct part *out);
const char *side_run(void);
/* side_settle waits until plans get no better. */
const char *side_settle(uint32_t seconds);

#endif
