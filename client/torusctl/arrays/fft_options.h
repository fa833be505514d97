/* SPDX-License-Identifier: Apache-2.0 */
/* fft_options: what a transform of a file is asked for, and the description of it for the array
 * that the file has. */
#ifndef TORUSCTL_FFT_OPTIONS_H
#define TORUSCTL_FFT_OPTIONS_H

#include "npy.h"
#include "torus/torus.h"

enum { FFT_NORM_BACKWARD, FFT_NORM_ORTHO, FFT_NORM_FORWARD };

struct fft_options {
    const char *in, *out;
    const char *layout[2]; /* NULL: as the file is dealt out best */
    bool inverse, real, real_part, timing, as_json, check;
    int norm, method;
    unsigned precision; /* bytes of a number; 0: as in the file */
    uint64_t last;      /* how long the real axis is; 0: not told */
    int axes;           /* that are transformed; 0: all */
    int axis[TORUS_DIMENSIONS_MAX];
    int kinds; /* TORUS_TRANSFORM_* of real numbers to real ones: of all axes, or one each */
    int kind[TORUS_DIMENSIONS_MAX];
    uint32_t grid[TORUS_DIMENSIONS_MAX];
};

/* fft_options_parse returns NULL, or what is wrong. */
const char *fft_options_parse(int argc, char **argv, struct fft_options *options);

/* struct fft_job: the description, and the numbers before and after. */
struct fft_job {
    struct torus_fft_desc desc;
    struct npy_form form[2];
    struct npy after; /* the array that comes out */
    char text[200];   /* what is wrong */
};

/* fft_options_describe: false: job->text. */
bool fft_options_describe(const struct fft_options *options, const struct npy *in,
                          struct fft_job *job);
/* fft_options_back describes the way back. */
struct torus_fft_desc fft_options_back(const struct torus_fft_desc *desc);

#endif
