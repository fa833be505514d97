/* SPDX-License-Identifier: Apache-2.0 */
/* fft_options: the options of torus-array fft, and the description of the transform for the array
 * of a file. */
#ifndef TORUSCTL_FFT_OPTIONS_H
#define TORUSCTL_FFT_OPTIONS_H

#include "npy.h"
#include "torus/torus.h"

enum { FFT_NORM_BACKWARD, FFT_NORM_ORTHO, FFT_NORM_FORWARD };

struct fft_options {
    const char *in, *out;
    const char *layout[2]; /* NULL: default */
    bool inverse, real, real_part, timing, as_json, check;
    int norm, method;
    unsigned precision; /* bytes of a number; 0: as in the file */
    uint64_t last;      /* length of the real axis; 0: default */
    int axes;           /* number of axes to transform; 0: all */
    int axis[TORUS_DIMENSIONS_MAX];
    int kinds; /* number of real-to-real kinds (TORUS_TRANSFORM_*): 1 for all axes, or one each */
    int kind[TORUS_DIMENSIONS_MAX];
    uint32_t grid[TORUS_DIMENSIONS_MAX];
};

/* fft_options_parse reads the command line. It returns NULL or the error. */
const char *fft_options_parse(int argc, char **argv, struct fft_options *options);

/* struct fft_job: description of the transform, and number formats before and after. */
struct fft_job {
    struct torus_fft_desc desc;
    struct npy_form form[2];
    struct npy after; /* the output array */
    char text[200];   /* the error */
};

/* fft_options_describe fills in *job for the array `in`. It returns false with job->text. */
bool fft_options_describe(const struct fft_options *options, const struct npy *in,
                          struct fft_job *job);
/* fft_options_back returns the description of the inverse transform. */
struct torus_fft_desc fft_options_back(const struct torus_fft_desc *desc);

#endif
