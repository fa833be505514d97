/* SPDX-License-Identifier: Apache-2.0 */
/* transforms: transforms of arrays for tests: random ones, what each rank has of them before, and
 * whether what it has afterwards is what FFTW makes of the whole array in one piece. */
#ifndef TD_TESTS_SIM_TRANSFORMS_H
#define TD_TESTS_SIM_TRANSFORMS_H

#include "layouts.h"
#include "model/plan.h"

struct td_arena;
enum { TRANSFORM_TEXT = LAYOUT_TEXT };

/* struct transform: what is asked for, and the whole arrays, in doubles: a pair of them per element
 * where elements are complex. */
struct transform {
    struct td_fft fft;
    char text[2][TRANSFORM_TEXT];
    struct td_layout layout[2];
    uint64_t size[2][TD_DIMENSIONS_MAX], elements[2];
    bool is_complex[2], is_float;
    bool returns;    /* the layout after is to be as the one before, if it can be */
    double *data[2]; /* NULL after: there is no reference */
};

/* transforms_random makes up a transform of an array of up to four axes. */
void transforms_random(struct transform *t);
/* transforms_read reads the layouts, or makes some up where there is no text, and values, and with
 * `refers` the reference. False: `why`, of TRANSFORM_TEXT bytes. */
bool transforms_read(struct transform *t, struct td_arena *arena, uint32_t ranks, bool refers,
                     char *why);
void transforms_free(struct transform *t);
/* transforms_most_bytes returns how large the largest part is, of any rank on either side. */
uint64_t transforms_most_bytes(const struct transform *t);
/* transforms_fill writes what a rank has before; returns the bytes. */
uint64_t transforms_fill(const struct transform *t, uint32_t rank, uint8_t *to);

/* struct transform_error: sums of squares and the largest magnitudes, of the differences from the
 * reference and of the reference. */
struct transform_error {
    double difference, length, worst, most;
};
/* transforms_compare adds what a rank has afterwards; returns the bytes. */
uint64_t transforms_compare(const struct transform *t, uint32_t rank, const uint8_t *has,
                            struct transform_error *error);
/* transforms_within: the error, of all ranks together, is within the bounds of the FFT: relative L2
 * at most 4 eps sqrt(log2 N), relative maximum at most 5 eps log2 N. False: `why`. */
bool transforms_within(const struct transform *t, const struct transform_error *error, char *why);

#endif
