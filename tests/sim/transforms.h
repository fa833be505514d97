/* SPDX-License-Identifier: Apache-2.0 */
/* transforms: transforms of arrays for tests: random ones, the elements of each rank before, and a
 * comparison of the results with FFTW on the whole array in one process. */
#ifndef TD_TESTS_SIM_TRANSFORMS_H
#define TD_TESTS_SIM_TRANSFORMS_H

#include "layouts.h"
#include "model/plan.h"

struct td_arena;
enum { TRANSFORM_TEXT = LAYOUT_TEXT };

/* struct transform: a request, and the whole arrays in doubles, two per complex element. */
struct transform {
    struct td_fft fft;
    char text[2][TRANSFORM_TEXT];
    struct td_layout layout[2];
    uint64_t size[2][TD_DIMENSIONS_MAX], elements[2];
    bool is_complex[2], is_float;
    bool returns;    /* the layout after is that before, if possible */
    double *data[2]; /* NULL after: no reference */
};

/* transforms_random draws a transform of an array of up to four axes. */
void transforms_random(struct transform *t);
/* transforms_read reads the layouts, or draws them if there is no text, and values; with `refers`
 * it computes the reference. It returns false with a sentence in `why`, of TRANSFORM_TEXT bytes. */
bool transforms_read(struct transform *t, struct td_arena *arena, uint32_t ranks, bool refers,
                     char *why);
void transforms_free(struct transform *t);
/* transforms_most_bytes returns the size of the largest part of any rank on either side. */
uint64_t transforms_most_bytes(const struct transform *t);
/* transforms_fill writes the elements of a rank before, and returns their bytes. */
uint64_t transforms_fill(const struct transform *t, uint32_t rank, uint8_t *to);

/* struct transform_error: sums of squares, and largest magnitudes, of the differences from the
 * reference and of the reference. */
struct transform_error {
    double difference, length, worst, most;
};
/* transforms_compare adds the result of a rank, and returns its bytes. */
uint64_t transforms_compare(const struct transform *t, uint32_t rank, const uint8_t *has,
                            struct transform_error *error);
/* transforms_within returns true if the error of all ranks together is within the bounds of the
 * FFT: relative L2 at most 4 eps sqrt(log2 N), relative maximum at most 5 eps log2 N. Otherwise
 * `why` has a sentence. */
bool transforms_within(const struct transform *t, const struct transform_error *error, char *why);

#endif
