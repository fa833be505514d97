/* SPDX-License-Identifier: Apache-2.0 */
/* torus-array compare: relative errors between two arrays; with --fft, between A and the transform
 * of B by FFTW in this process. */
#include <complex.h>
#include <fftw3.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"
#include "torus_array.h"

static void transform(double *data, const struct npy *n)
{
    fftw_complex *z = (fftw_complex *)(void *)data;
    int size[TORUS_DIMENSIONS_MAX];
    for (int d = 0; d < n->axes; d++)
        size[d] = (int)n->size[d];
    fftw_plan p = fftw_plan_dft(n->axes, size, z, z, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_execute(p);
    fftw_destroy_plan(p);
}

/* complain prints the shapes and memory orders of the two arrays. */
static void complain(const char *const names[2], const struct npy *a, const struct npy *b)
{
    fputs(
        "torus-array compare: the two arrays must have the same axes, the same memory order and at "
        "least one element",
        stderr);
    for (int i = 0; i < 2; i++) {
        const struct npy *n = i ? b : a;
        fprintf(stderr, "; %s has shape (", names[i]);
        for (int d = 0; d < n->axes; d++)
            fprintf(stderr, "%s%llu", d ? ", " : "", (unsigned long long)n->shape[d]);
        fprintf(stderr, ") in %s order", n->fortran ? "Fortran" : "C");
    }
    fputc('\n', stderr);
}

static int run_compare(int argc, char **argv)
{
    const char *names[2] = {NULL, NULL};
    bool fft = false;
    int given = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--fft") == 0)
            fft = true;
        else if (argv[i][0] == '-' || given == 2)
            return tool_usage("compare", "expected two arrays and optionally --fft");
        else
            names[given++] = argv[i];
    }
    if (given != 2)
        return tool_usage("compare", "missing array: expected A.npy and B.npy");
    struct npy a, b;
    double *x = npy_load(names[0], &a), *y = x ? npy_load(names[1], &b) : NULL;
    if (!y) {
        fprintf(stderr, "torus-array compare: %s\n", x ? b.text : a.text);
        free(x);
        return EXIT_FAILED;
    }
    if (a.axes != b.axes || memcmp(a.shape, b.shape, sizeof a.shape) != 0 ||
        a.fortran != b.fortran || a.count == 0) {
        complain(names, &a, &b);
        free(x);
        free(y);
        return EXIT_FAILED;
    }
    if (fft)
        transform(y, &b);
    double apart = 0, norm = 0, most = 0, largest = 0;
    for (uint64_t i = 0; i < a.count; i++) {
        double re = x[2 * i] - y[2 * i], im = x[2 * i + 1] - y[2 * i + 1];
        apart += re * re + im * im;
        norm += y[2 * i] * y[2 * i] + y[2 * i + 1] * y[2 * i + 1];
        most = fmax(most, hypot(re, im));
        largest = fmax(largest, hypot(y[2 * i], y[2 * i + 1]));
    }
    double epsilon = npy_is_single(&a) ? FLT_EPSILON : DBL_EPSILON;
    double error = norm > 0 ? sqrt(apart / norm) : sqrt(apart);
    double bound = 4 * epsilon * sqrt(log2(a.count > 2 ? (double)a.count : 2));
    printf("relative L2 error %.3g (bound %.3g), relative maximum error %.3g\n", error, bound,
           largest > 0 ? most / largest : most);
    free(x);
    free(y);
    return error <= bound ? EXIT_WELL : EXIT_FAILED;
}

const struct tool_command array_command_compare = {
    .name = "compare",
    .arguments = "A.npy B.npy [--fft]",
    .what = "print the relative errors of A against B, or against the transform of B",
    .options = "  --fft                compare A against the transform of B by FFTW\n",
    .run = run_compare,
};
