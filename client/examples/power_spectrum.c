/* SPDX-License-Identifier: Apache-2.0 */
/* power_spectrum: power of a real field in a volume by wavenumber: white noise and one wave.
 *
 * The plan computes half of the spectrum; the other half is its mirror image. The output stays
 * distributed along axis 1, which saves a transpose. Run it with
 *   torusctl emulate 2x2x2 -- ./power_spectrum
 */
#include <math.h>
#include <stdio.h>
#include <torus/torus.h>

enum { N0 = 64, N1 = 48, N2 = 50, HALF = N2 / 2 + 1, SHELLS = 60 };
static const int wave[3] = {3, 4, 12}; /* of length 13 */

/* field returns the wave plus noise. */
static double field(uint64_t i, uint64_t j, uint64_t k)
{
    uint64_t noise = (i * N1 + j) * N2 + k + 1;
    for (int turn = 0; turn < 3; turn++)
        noise = (noise ^ noise >> 29) * 0x9e3779b97f4a7c15u;
    double phase = wave[0] * (double)i / N0 + wave[1] * (double)j / N1 + wave[2] * (double)k / N2;
    return (double)(noise >> 40) * 0x1p-24 - 0.5 + 0.1 * cos(6.283185307179586 * phase);
}

/* fill writes this rank's part of the field and returns its power. */
static double fill(const struct torus_box *part, double *to)
{
    double power = 0;
    for (uint64_t i = 0; i < part->count[0]; i++)
        for (uint64_t j = 0; j < N1; j++)
            for (uint64_t k = 0; k < N2; k++, to++) {
                *to = field(part->begin[0] + i, j, k);
                power += *to * *to;
            }
    return power;
}

/* distance returns the distance of bin i of n from wavenumber 0. */
static double distance(uint64_t i, uint64_t n)
{
    return (double)(i <= n / 2 ? i : n - i);
}

/* add adds the power of this rank's part of the spectrum to shells of equal wavenumber. */
static void add(const struct torus_box *part, const double *z, double *shell)
{
    for (uint64_t i = 0; i < N0; i++)
        for (uint64_t j = 0; j < part->count[1]; j++)
            for (uint64_t k = 0; k < HALF; k++, z += 2) {
                double x = distance(i, N0), y = distance(part->begin[1] + j, N1);
                double mirrored = k == 0 || 2 * k == N2 ? 1 : 2;
                shell[lround(sqrt(x * x + y * y + (double)(k * k)))] +=
                    mirrored * (z[0] * z[0] + z[1] * z[1]);
            }
}

static int power_spectrum(torus_context *context, torus_group *world)
{
    struct torus_fft_desc d = {
        .size = sizeof d,
        .dimensions = 3,
        .shape = {N0, N1, N2},
        .type = TORUS_COMPLEX_DOUBLE,
        .sign = TORUS_FORWARD,
        .scale = TORUS_SCALE_ORTHO, /* keeps the power */
        .transform = {TORUS_TRANSFORM_COMPLEX, TORUS_TRANSFORM_COMPLEX, TORUS_TRANSFORM_R2C},
        .from = "(block, *, *)",
        .to = "(*, block, *)",
    };
    struct torus_box before, after;
    torus_plan *plan = NULL;
    int error = torus_plan_fft(world, &d, &plan);
    if (error != TORUS_OK)
        return error;
    torus_plan_local(plan, TORUS_SIDE_INPUT, &before);
    torus_plan_local(plan, TORUS_SIDE_OUTPUT, &after);
    double *a = torus_alloc(context, torus_plan_bytes(plan, TORUS_SIDE_INPUT));
    double *spectrum = torus_alloc(context, torus_plan_bytes(plan, TORUS_SIDE_OUTPUT));
    double shell[SHELLS + 1] = {0}, sum = 0;
    if (!a || !spectrum)
        return TORUS_ERR_NO_MEMORY;
    shell[SHELLS] = fill(&before, a); /* after the shells: the power of the field itself */
    error = torus_execute(plan, a, spectrum);
    add(&after, spectrum, shell);
    if (error == TORUS_OK)
        error = torus_allreduce(world, TORUS_IN_PLACE, shell, SHELLS + 1, TORUS_DOUBLE, TORUS_SUM);
    if (error != TORUS_OK)
        return error;
    int fullest = 0;
    for (int s = 0; s < SHELLS; s++) {
        sum += shell[s];
        double area = s ? 12.566 * s * s : 1; /* number of wavenumbers in the shell */
        double most = fullest ? 12.566 * fullest * fullest : 1;
        fullest = shell[s] / area > shell[fullest] / most ? s : fullest;
        if (torus_rank(world) == 0 && s >= 8 && s < 18)
            printf("wavenumber %2d: %9.2f %.*s\n", s, shell[s], (int)(shell[s] / area * 20),
                   "************************************************************");
    }
    double off = fabs(sum / shell[SHELLS] - 1); /* Parseval: both powers are equal */
    if (torus_rank(world) == 0)
        printf("strongest wavenumber %d; total power equals that of the field within %.1g\n",
               fullest, off);
    return fullest == 13 && off < 1e-13 ? TORUS_OK : TORUS_ERR_INTERNAL;
}

int main(void)
{
    torus_context *context = NULL;
    torus_group *world = NULL;
    int error = torus_open(&context, NULL);
    if (error == TORUS_OK)
        error = torus_join(context, NULL, &world);
    if (error == TORUS_OK)
        error = power_spectrum(context, world);
    if (error != TORUS_OK)
        fprintf(stderr, "%s: %s\n", torus_strerror(error), torus_last_error(context));
    torus_close(context);
    return error == TORUS_OK ? 0 : 1;
}
