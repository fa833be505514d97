/* SPDX-License-Identifier: Apache-2.0 */
/* torus-array filter: multiplication of a full 2-D spectrum by a Gaussian of the wavenumbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npy.h"
#include "torus_array.h"

/* frequency returns the wavenumber of bin i of n, in cycles per sample. */
static double frequency(uint64_t i, uint64_t n)
{
    return (i <= n / 2 ? (double)i : (double)i - (double)n) / (double)n;
}

static void lowpass(double *z, const struct npy *n, double samples)
{
    /* exp(-a f^2) is 1/2 at f = 1 / samples */
    double a = log(2) * samples * samples;
    for (uint64_t r = 0; r < n->size[0]; r++)
        for (uint64_t c = 0; c < n->size[1]; c++) {
            double fr = frequency(r, n->size[0]), fc = frequency(c, n->size[1]);
            double factor = exp(-a * (fr * fr + fc * fc));
            z[2 * (r * n->size[1] + c)] *= factor;
            z[2 * (r * n->size[1] + c) + 1] *= factor;
        }
}

static int run_filter(int argc, char **argv)
{
    const char *names[2] = {NULL, NULL};
    double samples = 0;
    int given = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--lowpass") == 0 && i + 1 < argc) {
            char *end = NULL;
            samples = strtod(argv[++i], &end);
            if (*end || !isfinite(samples) || !(samples > 0))
                return tool_usage("filter", "--lowpass needs a wavelength in samples, above 0");
        } else if (argv[i][0] == '-' || given == 2)
            return tool_usage("filter", "expected an input, an output and --lowpass SAMPLES");
        else
            names[given++] = argv[i];
    }
    if (given != 2 || !(samples > 0))
        return tool_usage("filter", "expected an input, an output and --lowpass SAMPLES");
    struct npy n;
    double *z = npy_load(names[0], &n);
    if (!z || n.axes != 2) {
        fprintf(stderr, "torus-array filter: %s\n", z ? "the array must have two axes" : n.text);
        free(z);
        return EXIT_FAILED;
    }
    lowpass(z, &n, samples);
    npy_become(&n, (struct npy_form){0});
    int fd = npy_create(names[1], &n);
    bool good = fd >= 0 && npy_write(fd, &n, 0, n.count, false, z);
    if (!good)
        fprintf(stderr, "torus-array filter: %s\n", n.text);
    if (fd >= 0 && close(fd) != 0 && good) {
        perror("torus-array filter: closing the output");
        good = false;
    }
    free(z);
    return good ? EXIT_WELL : EXIT_FAILED;
}

const struct tool_command array_command_filter = {
    .name = "filter",
    .arguments = "IN.npy OUT.npy --lowpass SAMPLES",
    .what = "multiply a spectrum by a Gaussian that is 1/2 at a wavelength of SAMPLES",
    .run = run_filter,
};
