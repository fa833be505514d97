/* SPDX-License-Identifier: Apache-2.0 */
/* fft: messages between the driver of the comparison with FFTW-MPI and its ranks, and the functions
 * that each side provides. The messages travel over a Unix socket whose path is in FFT_SOCKET.
 *
 * The program of the ranks is the same for both sides; only the side_ functions differ. A side that
 * is not measured waits in a system call, so that it uses no CPU time. */
#ifndef BENCH_FFT_H
#define BENCH_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "running.h"
#include "side.h"

enum { FFT_DIMENSIONS = 3, FFT_TEXT_BYTES = 160 };

/* struct problem: a forward transform, complex to complex, double, unscaled. Out of place, the
 * input is preserved. Rows of axis 0 are distributed before and after. */
struct problem {
    uint32_t dimensions;
    uint64_t size[FFT_DIMENSIONS];
};

enum order_kind {
    ORDER_PLAN,   /* drop the last problem and plan this one; measures the planner */
    ORDER_RUN,    /* `times` executions */
    ORDER_SETTLE, /* wait for final plans, at most `times` seconds */
    ORDER_WRITE,  /* write the result to `file` */
};
struct order {
    uint32_t kind; /* enum order_kind */
    uint32_t times;
    struct problem problem;
    char file[64];
};

/* struct outcome: times are CLOCK_MONOTONIC, as the ranks are on one machine. */
struct outcome {
    int64_t begin_ns, end_ns;
    int32_t failed; /* nonzero: `text` is the error */
    char text[FFT_TEXT_BYTES];
};

static inline uint64_t points_of(const struct problem *p)
{
    uint64_t points = 1;
    for (uint32_t d = 0; d < p->dimensions; d++)
        points *= p->size[d];
    return points;
}

/* value_of returns number i of the input, in -1 .. 1: real and imaginary parts alternate. */
static inline double value_of(uint64_t i)
{
    uint64_t x = i * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return (double)(x >> 11) * 0x1p-52 - 1;
}

/* ---- a side: torusd or FFTW-MPI; a function that can fail returns NULL or the error ---- */

/* struct part: a rank's rows of the array. */
struct part {
    double *data;
    uint64_t first, count;
};

/* side_prepare frees the last problem and allocates memory if planning needs it. */
const char *side_prepare(const struct problem *problem);
const char *side_plan(const struct problem *problem);
/* side_parts returns the addresses of this rank's input and output. */
const char *side_parts(struct part *in, struct part *out);
const char *side_run(void);
/* side_settle waits until all used plans are measured. */
const char *side_settle(uint32_t seconds);

#endif
