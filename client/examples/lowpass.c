/* SPDX-License-Identifier: Apache-2.0 */
/* lowpass: removal of details finer than a wavelength from an image.
 *
 * A detail of that wavelength, in pixels, keeps half of its amplitude. Every rank reads the image
 * and keeps its rows; rank 0 gathers them in the end. The three colours are an axis without a
 * transform: a batch. Run it with torusctl emulate 3x3 -- ./lowpass IN.png OUT.png PIXELS
 */
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <torus/torus.h>

enum { COLOURS = 3 };

/* wavenumber returns the wavenumber of bin i of n, in cycles per pixel. */
static double wavenumber(uint64_t i, uint64_t n)
{
    return (double)(i <= n / 2 ? i : n - i) / (double)n;
}

/* dampen multiplies this rank's part of the half spectrum by a Gaussian. */
static void dampen(const torus_plan *plan, const uint64_t *shape, double pixels, float *z)
{
    struct torus_box part;
    torus_plan_local(plan, TORUS_SIDE_OUTPUT, &part);
    for (uint64_t i = 0; i < part.count[0]; i++)
        for (uint64_t j = 0; j < part.count[1]; j++) {
            double y = wavenumber(part.begin[0] + i, shape[0]);
            double x = wavenumber(part.begin[1] + j, shape[1]);
            float factor = (float)exp2(-pixels * pixels * (x * x + y * y));
            for (int c = 0; c < 2 * COLOURS; c++)
                *z++ *= factor;
        }
}

/* pass transforms, filters and transforms back; `all` is the whole image on rank 0. */
static int pass(torus_context *context, torus_group *world, const uint64_t *shape, double pixels,
                const unsigned char *image, float **all)
{
    struct torus_fft_desc d = {
        .size = sizeof d,
        .dimensions = 3,
        .shape = {shape[0], shape[1], COLOURS},
        .type = TORUS_COMPLEX_FLOAT,
        .sign = TORUS_FORWARD,
        .transform = {TORUS_TRANSFORM_COMPLEX, TORUS_TRANSFORM_R2C, TORUS_TRANSFORM_NONE},
        .from = "(block, *, *)",
        .to = "(*, block, *)",
    };
    struct torus_box rows;
    torus_plan *forward = NULL, *inverse = NULL;
    int error = torus_plan_fft(world, &d, &forward);
    d.sign = TORUS_BACKWARD;
    d.scale = TORUS_SCALE_FULL;
    d.transform[1] = TORUS_TRANSFORM_C2R;
    d.from = "(*, block, *)";
    d.to = "(block, *, *) @0";
    if (error == TORUS_OK)
        error = torus_plan_fft(world, &d, &inverse);
    if (error != TORUS_OK)
        return error;
    torus_plan_local(forward, TORUS_SIDE_INPUT, &rows);
    float *part = torus_alloc(context, torus_plan_bytes(forward, TORUS_SIDE_INPUT));
    float *half = torus_alloc(context, torus_plan_bytes(forward, TORUS_SIDE_OUTPUT));
    *all = torus_alloc(context, torus_plan_bytes(inverse, TORUS_SIDE_OUTPUT));
    if (!part || !half || !*all)
        return TORUS_ERR_NO_MEMORY;
    uint64_t first = rows.begin[0] * shape[1] * COLOURS;
    for (uint64_t i = 0; i < rows.count[0] * shape[1] * COLOURS; i++)
        part[i] = image[first + i];
    error = torus_execute(forward, part, half);
    dampen(forward, shape, pixels, half);
    return error == TORUS_OK ? torus_execute(inverse, half, *all) : error;
}

/* finish rounds and writes the image. Its mean, wavenumber 0, is unchanged. */
static int finish(png_image *png, const char *path, unsigned char *image, const float *all)
{
    size_t count = (size_t)png->width * png->height * COLOURS;
    double before = 0, after = 0;
    for (size_t i = 0; i < count; i++) {
        before += image[i];
        after += (double)all[i];
        image[i] = (unsigned char)fmin(fmax((double)all[i] + 0.5, 0), 255);
    }
    printf("mean %.4f before, %.4f after\n", before / (double)count, after / (double)count);
    if (fabs(before - after) > 1e-4 * (double)count)
        return TORUS_ERR_INTERNAL;
    if (png_image_write_to_file(png, path, 0, image, 0, NULL))
        return TORUS_OK;
    fprintf(stderr, "%s: %s\n", path, png->message);
    return TORUS_ERR_SYSTEM;
}

static int lowpass(torus_context *context, torus_group *world, char **argument)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    unsigned char *image = NULL;
    if (png_image_begin_read_from_file(&png, argument[1])) {
        png.format = PNG_FORMAT_RGB;
        image = malloc(PNG_IMAGE_SIZE(png));
    }
    if (!image || !png_image_finish_read(&png, NULL, image, 0, NULL)) {
        fprintf(stderr, "%s: %s\n", argument[1], png.message);
        free(image);
        return TORUS_ERR_SYSTEM;
    }
    const uint64_t shape[2] = {png.height, png.width};
    float *all = NULL;
    int error = pass(context, world, shape, strtod(argument[3], NULL), image, &all);
    if (error == TORUS_OK && torus_rank(world) == 0)
        error = finish(&png, argument[2], image, all);
    free(image);
    return error;
}

int main(int argc, char **argv)
{
    torus_context *context = NULL;
    torus_group *world = NULL;
    if (argc != 4) {
        fprintf(stderr, "usage: lowpass IN.png OUT.png PIXELS\n");
        return 2;
    }
    int error = torus_open(&context, NULL);
    if (error == TORUS_OK)
        error = torus_join(context, NULL, &world);
    if (error == TORUS_OK)
        error = lowpass(context, world, argv);
    if (error != TORUS_OK && error != TORUS_ERR_SYSTEM) /* already reported */
        fprintf(stderr, "%s: %s\n", torus_strerror(error), torus_last_error(context));
    torus_close(context);
    return error == TORUS_OK ? 0 : 1;
}
