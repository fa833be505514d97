/* SPDX-License-Identifier: Apache-2.0 */
/* torus-array picture: an array as a PNG, with magnitudes in a perceptual colour map, or as a
 * relief lit from the north-west. */
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"
#include "torus_array.h"
#include "system/limits.h"
#include "system/written.h"

/* Ten colours from dark violet over green to yellow, with equal steps in lightness. */
static const unsigned char stations[][3] = {
    {68, 1, 84},    {72, 40, 120},  {62, 74, 137},  {49, 104, 142}, {38, 130, 142},
    {31, 158, 137}, {53, 183, 121}, {109, 205, 89}, {180, 222, 44}, {253, 231, 37}};
/* Land: valleys green, slopes brown, tops light. */
static const unsigned char land[][3] = {{60, 110, 90},   {95, 140, 95},   {150, 165, 105},
                                        {190, 170, 120}, {175, 140, 105}, {205, 190, 175},
                                        {245, 242, 238}};

static void colour(const unsigned char (*map)[3], size_t count, double x, double light,
                   unsigned char out[3])
{
    x = fmin(fmax(x, 0), 1) * (double)(count - 1);
    size_t at = (size_t)x < count - 1 ? (size_t)x : count - 2;
    double part = x - (double)at;
    for (int i = 0; i < 3; i++) {
        double v = (map[at][i] * (1 - part) + map[at + 1][i] * part) * light;
        out[i] = (unsigned char)fmin(fmax(v, 0), 255);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* stretch maps values to 0 .. 1 and clips the lowest and highest 0.5 %. */
static void stretch(double *v, uint64_t count)
{
    double *sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        return;
    memcpy(sorted, v, count * sizeof *v);
    qsort(sorted, count, sizeof *sorted, ascending);
    double low = sorted[count / 200], high = sorted[count - 1 - count / 200];
    free(sorted);
    for (uint64_t i = 0; i < count; i++)
        v[i] = high > low ? (v[i] - low) / (high - low) : 0.5;
}

/* shade returns the brightness of a slope; the light is in the north-west at 45 degrees. */
static double shade(const double *v, uint64_t rows, uint64_t columns, uint64_t r, uint64_t c,
                    double steep)
{
    uint64_t up = r ? r - 1 : r, down = r + 1 < rows ? r + 1 : r;
    uint64_t left = c ? c - 1 : c, right = c + 1 < columns ? c + 1 : c;
    double dy = (v[down * columns + c] - v[up * columns + c]) * steep;
    double dx = (v[r * columns + right] - v[r * columns + left]) * steep;
    double light = (dx + dy + 1.414) / sqrt(dx * dx + dy * dy + 1) / 1.414;
    return 0.35 + 0.65 * fmax(light, 0);
}

static bool write_png(const char *path, const unsigned char *pixels, uint64_t rows,
                      uint64_t columns)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)columns,
                       .height = (png_uint_32)rows,
                       .format = PNG_FORMAT_RGB};
    /* png_image_write_to_file would remove the file after an error, whatever it is */
    FILE *f = fopen(path, "wbe");
    bool drawn = f && png_image_write_to_stdio(&image, f, 0, pixels, 0, NULL) != 0;
    bool written = td_written_close(f, "torus-array picture", path);
    if (written && !drawn)
        fprintf(stderr, "torus-array picture: %s: %s\n", path, image.message);
    return written && drawn;
}

static double *magnitudes(const double *z, const struct npy *n, bool relief, bool log, bool shift)
{
    uint64_t rows = n->size[0], columns = n->size[1];
    double *v = malloc(n->count * sizeof *v);
    for (uint64_t r = 0; v && r < rows; r++)
        for (uint64_t c = 0; c < columns; c++) {
            uint64_t from = r * columns + c;
            uint64_t to =
                shift ? (r + rows / 2) % rows * columns + (c + columns / 2) % columns : from;
            double x = relief || n->kind != 'c' ? z[2 * from] : hypot(z[2 * from], z[2 * from + 1]);
            v[to] = log ? log10(fmax(x, 1e-300)) : x;
        }
    return v;
}

static unsigned char *paint(double *v, uint64_t rows, uint64_t columns, bool relief)
{
    unsigned char *pixels = malloc(rows * columns * 3);
    stretch(v, rows * columns);
    double steep = (double)(rows < columns ? rows : columns) / 16;
    for (uint64_t r = 0; pixels && r < rows; r++)
        for (uint64_t c = 0; c < columns; c++) {
            unsigned char *pixel = pixels + 3 * (r * columns + c);
            double x = v[r * columns + c];
            if (relief)
                colour(land, sizeof land / sizeof land[0], x, shade(v, rows, columns, r, c, steep),
                       pixel);
            else
                colour(stations, sizeof stations / sizeof stations[0], x, 1, pixel);
        }
    return pixels;
}

static int run_picture(int argc, char **argv)
{
    const char *names[2] = {NULL, NULL};
    bool log = false, shift = false, relief = false;
    int given = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--log") == 0)
            log = true;
        else if (strcmp(argv[i], "--shift") == 0)
            shift = true;
        else if (strcmp(argv[i], "--relief") == 0)
            relief = true;
        else if (argv[i][0] == '-' || given == 2)
            return tool_usage("picture", "expected an input and an output");
        else
            names[given++] = argv[i];
    }
    if (given != 2)
        return tool_usage("picture", "missing input or output: expected IN.npy OUT.png");
    struct npy n;
    double *z = npy_load(names[0], &n);
    if (!z || n.axes != 2 || n.count == 0) {
        fprintf(stderr, "torus-array picture: %s\n",
                z ? "the array must have two axes and at least one element" : n.text);
        free(z);
        return EXIT_FAILED;
    }
    double *v = magnitudes(z, &n, relief, log, shift);
    unsigned char *pixels = v ? paint(v, n.size[0], n.size[1], relief) : NULL;
    bool good = pixels && write_png(names[1], pixels, n.size[0], n.size[1]);
    if (!pixels)
        fprintf(stderr, "torus-array picture: %s\n", td_limit_no_memory("the picture"));
    free(pixels);
    free(v);
    free(z);
    return good ? EXIT_WELL : EXIT_FAILED;
}

const struct tool_command array_command_picture = {
    .name = "picture",
    .arguments = "IN.npy OUT.png [--log] [--shift] [--relief]",
    .what = "draw an array of two axes as PNG",
    .options = "  --log                colours by the logarithm of the magnitude\n"
               "  --shift              wavenumber 0 in the middle\n"
               "  --relief             a landscape lit from the north-west\n",
    .run = run_picture,
};
