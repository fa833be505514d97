/* SPDX-License-Identifier: Apache-2.0 */
/* fft_driver: declarations that the files of the driver share. */
#ifndef BENCH_FFT_DRIVER_H
#define BENCH_FFT_DRIVER_H

#include <stdio.h>
#include <sys/types.h>

#include "fft.h"
#include "running.h"

enum { RANKS_MAX = RUNNING_RANKS_MAX, SAMPLES_MAX = 64 };
enum side { TORUSD, FFTW_MPI, SIDES };

struct setting {
    const char *name;
    uint32_t nodes, ranks_per_node;
    bool hosts; /* the nodes are hosts with links of limited rate */
};

/* ---- fft_side.c ---- */

/* side_start starts a side and waits until all its ranks have connected. It returns false after a
 * message. `folder` has the ranks' programs and torusctl. */
bool side_start(struct running *r, enum side side, const struct setting *setting,
                const char *folder);
/* side_order returns the seconds from the first rank's begin to the last rank's end; below 0 after
 * an error and its message. *memory_bytes, unless NULL, is the peak memory of the side's processes;
 * shared memory counts once. */
double side_order(const struct running *r, const struct order *order, uint64_t *memory_bytes);
const char *side_name(enum side side);

/* ---- fft_reference.c ---- */

/* struct errors: relative errors of a result against FFTW in one process: largest difference over
 * largest value, and in the L2 norm. */
struct errors {
    double most, norm;
};

/* reference_make returns the transform of the problem's input, for fftw_free; NULL: no memory. */
double *reference_make(const struct problem *problem);
/* result_file creates the file that the ranks write. */
bool result_file(const char *path, const struct problem *problem);
bool result_errors(const char *path, const struct problem *problem, const double *reference,
                   struct errors *errors);

/* ---- fft_print.c ---- */

/* struct figures: results of one side, in seconds; below 0: unknown. */
struct figures {
    double plan_s, first_s, settle_s;
    double steady_s, lower_s, upper_s; /* median and quartiles */
    uint64_t memory_bytes;
    struct errors errors;
};

struct result {
    const struct setting *setting;
    struct problem problem;
    uint32_t samples;
    double others;  /* processors busy with other programs just before */
    double limit_s; /* least time in which the hosts' links can carry the data; 0: no hosts */
    struct figures side[SIDES];
};

/* gflops_of returns 5 N log2 N / t / 1e9. */
double gflops_of(const struct problem *problem, double seconds);
void problem_text(const struct problem *problem, char *text, size_t size);
void print_table(const struct result *results, size_t count);
/* print_json returns false if it cannot write the file. */
bool print_json(const char *path, const struct result *results, size_t count, bool quick);

#endif
