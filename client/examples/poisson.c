/* SPDX-License-Identifier: Apache-2.0 */
/* poisson: solution of -u_xx - u_yy = f on a square, with u = 0 on the boundary.
 *
 * Sines are the eigenvectors of the five-point Laplacian. A sine transform (DST-I) of f, divided by
 * the eigenvalues and transformed back, is therefore u. The spectrum stays distributed by columns,
 * the layout that the transform of the columns leaves; this saves two transposes. Run it with
 *   torusctl emulate 3x3 -- ./poisson
 */
#include <math.h>
#include <stdio.h>
#include <torus/torus.h>

enum { ROWS = 300, COLUMNS = 211 };
static const double pi = 3.14159265358979323846;

/* solution is 0 on the boundary; i and j count points from there. */
static double solution(uint64_t i, uint64_t j)
{
    double x = (double)i / (ROWS + 1), y = (double)j / (COLUMNS + 1);
    return x * (1 - x) * y * (1 - y) * exp(2 * x - y);
}

/* load returns the five-point Laplacian of the solution. */
static double load(uint64_t i, uint64_t j)
{
    double dx = 1. / (ROWS + 1), dy = 1. / (COLUMNS + 1), u = solution(i, j);
    return (2 * u - solution(i - 1, j) - solution(i + 1, j)) / (dx * dx) +
           (2 * u - solution(i, j - 1) - solution(i, j + 1)) / (dy * dy);
}

/* eigenvalue returns the eigenvalue of the second difference of n points for the sine with k + 1
 * half waves. */
static double eigenvalue(uint64_t k, uint64_t n)
{
    double s = 2 * (double)(n + 1) * sin(pi * (double)(k + 1) / (double)(2 * (n + 1)));
    return s * s;
}

static int poisson(torus_context *context, torus_group *world)
{
    struct torus_fft_desc d = {
        .size = sizeof d,
        .dimensions = 2,
        .shape = {ROWS, COLUMNS},
        .type = TORUS_DOUBLE,
        .sign = TORUS_FORWARD,
        .transform = {TORUS_TRANSFORM_RODFT00, TORUS_TRANSFORM_RODFT00},
        .from = "(block, *)",
        .to = "(*, block)",
    };
    struct torus_box rows, columns;
    torus_plan *forward = NULL, *inverse = NULL;
    int error = torus_plan_fft(world, &d, &forward);
    d.from = "(*, block)";
    d.to = "(block, *)";
    d.scale = TORUS_SCALE_FULL; /* a DST-I is its own inverse except for this factor */
    if (error == TORUS_OK)
        error = torus_plan_fft(world, &d, &inverse);
    if (error != TORUS_OK)
        return error;
    torus_plan_local(forward, TORUS_SIDE_INPUT, &rows);
    torus_plan_local(forward, TORUS_SIDE_OUTPUT, &columns);
    double *u = torus_alloc(context, torus_plan_bytes(forward, TORUS_SIDE_INPUT));
    double *spectrum = torus_alloc(context, torus_plan_bytes(forward, TORUS_SIDE_OUTPUT));
    if (!u || !spectrum)
        return TORUS_ERR_NO_MEMORY;

    for (uint64_t i = 0; i < rows.count[0]; i++)
        for (uint64_t j = 0; j < COLUMNS; j++)
            u[i * COLUMNS + j] = load(rows.begin[0] + i + 1, j + 1);
    error = torus_execute(forward, u, spectrum);
    for (uint64_t k = 0; k < ROWS; k++)
        for (uint64_t l = 0; l < columns.count[1]; l++)
            spectrum[k * columns.count[1] + l] /=
                eigenvalue(k, ROWS) + eigenvalue(columns.begin[1] + l, COLUMNS);
    if (error == TORUS_OK)
        error = torus_execute(inverse, spectrum, u);

    double worst = 0;
    for (uint64_t i = 0; i < rows.count[0]; i++)
        for (uint64_t j = 0; j < COLUMNS; j++)
            worst = fmax(worst, fabs(u[i * COLUMNS + j] - solution(rows.begin[0] + i + 1, j + 1)));
    if (error == TORUS_OK)
        error = torus_allreduce(world, TORUS_IN_PLACE, &worst, 1, TORUS_DOUBLE, TORUS_MAX);
    if (error != TORUS_OK)
        return error;
    if (torus_rank(world) == 0)
        printf("%d x %d points, largest error %.2g\n", ROWS, COLUMNS, worst);
    return worst < 1e-12 ? TORUS_OK : TORUS_ERR_INTERNAL;
}

int main(void)
{
    torus_context *context = NULL;
    torus_group *world = NULL;
    int error = torus_open(&context, NULL);
    if (error == TORUS_OK)
        error = torus_join(context, NULL, &world);
    if (error == TORUS_OK)
        error = poisson(context, world);
    if (error != TORUS_OK)
        fprintf(stderr, "%s: %s\n", torus_strerror(error), torus_last_error(context));
    torus_close(context);
    return error == TORUS_OK ? 0 : 1;
}
