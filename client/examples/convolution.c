/* SPDX-License-Identifier: Apache-2.0 */
/* convolution: multiplication of two integers of almost 100,000 digits.
 *
 * The digits of the product are the convolution of the digits of both numbers, before carries. The
 * spectrum of a convolution is the product of the spectra. One number is the real part of the
 * signal and the other the imaginary part; then the imaginary part of the squared signal is twice
 * the convolution. All nodes transform the one axis together. Run it with torusctl emulate 3x3 --
 * ./convolution
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <torus/torus.h>

/* Digits of base 1000: the sums are far below 2^53, so rounding is exact. */
enum { DIGITS = 32768, BASE = 1000, LENGTH = 2 * DIGITS };
static const uint64_t prime = 1000000007;

/* digit returns digit i of number `which`. */
static unsigned digit(unsigned which, uint64_t i)
{
    uint64_t x = (i << 1 | which) + 1;
    for (int turn = 0; turn < 3; turn++)
        x = (x ^ x >> 29) * 0x9e3779b97f4a7c15u;
    return i < DIGITS ? (unsigned)(x >> 32) % BASE : 0;
}

/* is_product checks the product modulo several primes. */
static int is_product(const double *z)
{
    uint64_t a = 0, b = 0, ab = 0, carry = 0;
    unsigned *product = malloc(LENGTH * sizeof *product);
    for (int i = 0; product && i < LENGTH; i++) {
        uint64_t value = (uint64_t)llround(z[2 * i + 1] / 2) + carry;
        product[i] = (unsigned)(value % BASE);
        carry = value / BASE;
    }
    for (int i = LENGTH; product && i-- > 0;) {
        a = (a * BASE + digit(0, (uint64_t)i)) % prime;
        b = (b * BASE + digit(1, (uint64_t)i)) % prime;
        ab = (ab * BASE + product[i]) % prime;
    }
    if (product)
        printf("%u%03u%03u ... %03u%03u, modulo %llu: %llu x %llu = %llu\n", product[LENGTH - 1],
               product[LENGTH - 2], product[LENGTH - 3], product[1], product[0],
               (unsigned long long)prime, (unsigned long long)a, (unsigned long long)b,
               (unsigned long long)ab);
    free(product);
    return product && carry == 0 && a * b % prime == ab;
}

static int convolution(torus_context *context, torus_group *world)
{
    struct torus_fft_desc d = {.size = sizeof d,
                               .dimensions = 1,
                               .shape = {LENGTH},
                               .type = TORUS_COMPLEX_DOUBLE,
                               .sign = TORUS_FORWARD};
    struct torus_box part;
    torus_plan *forward = NULL, *inverse = NULL;
    int error = torus_plan_fft(world, &d, &forward);
    d.sign = TORUS_BACKWARD;
    d.scale = TORUS_SCALE_FULL;
    d.to = "(block) @0"; /* carries are sequential: rank 0 receives all digits */
    if (error == TORUS_OK)
        error = torus_plan_fft(world, &d, &inverse);
    if (error != TORUS_OK)
        return error;
    torus_plan_local(forward, TORUS_SIDE_INPUT, &part);
    double *z = torus_alloc(context, torus_plan_bytes(forward, TORUS_SIDE_INPUT));
    double *product = torus_alloc(context, torus_plan_bytes(inverse, TORUS_SIDE_OUTPUT));
    if (!z || !product)
        return TORUS_ERR_NO_MEMORY;
    for (uint64_t i = 0; i < part.count[0]; i++) {
        z[2 * i] = digit(0, part.begin[0] + i);
        z[2 * i + 1] = digit(1, part.begin[0] + i);
    }
    error = torus_execute(forward, TORUS_IN_PLACE, z);
    for (uint64_t i = 0; i < part.count[0]; i++) {
        double re = z[2 * i], im = z[2 * i + 1];
        z[2 * i] = re * re - im * im;
        z[2 * i + 1] = 2 * re * im;
    }
    if (error == TORUS_OK)
        error = torus_execute(inverse, z, product);
    if (error != TORUS_OK || torus_rank(world) != 0)
        return error;
    return is_product(product) ? TORUS_OK : TORUS_ERR_INTERNAL;
}

int main(void)
{
    torus_context *context = NULL;
    torus_group *world = NULL;
    int error = torus_open(&context, NULL);
    if (error == TORUS_OK)
        error = torus_join(context, NULL, &world);
    if (error == TORUS_OK)
        error = convolution(context, world);
    if (error != TORUS_OK)
        fprintf(stderr, "%s: %s\n", torus_strerror(error), torus_last_error(context));
    torus_close(context);
    return error == TORUS_OK ? 0 : 1;
}
