/* SPDX-License-Identifier: Apache-2.0 */
/* histogram: distributed histogram of random values.
 *
 * Every rank counts its own values in all bins. A reduce-scatter adds the counts and leaves each
 * rank with its share of the bins, of which it prints the fullest. Run it with torusctl emulate 3x3
 * -- ./histogram
 */
#include <stdio.h>
#include <stdlib.h>
#include <torus/torus.h>

enum { VALUES = 1 << 20, BINS = 1000 };

/* draw returns the sum of four dice with 250 sides: the middle bins are the fullest. */
static unsigned draw(uint64_t *seed)
{
    unsigned sum = 0;
    for (int i = 0; i < 4; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        sum += (unsigned)(*seed >> 33) % 250;
    }
    return sum;
}

static int histogram(torus_context *context, torus_group *world)
{
    uint32_t rank = torus_rank(world), size = torus_size(world);
    uint64_t seed = rank + 1, first = 0, total = 0;
    int64_t *all = torus_alloc(context, BINS * sizeof *all), *own = NULL;
    if (!all)
        return TORUS_ERR_NO_MEMORY;
    size_t *share = calloc(size, sizeof *share);
    if (!share)
        return TORUS_ERR_NO_MEMORY;
    for (uint32_t r = 0; r < size; r++) /* shares differ by at most one bin */
        share[r] = BINS * (r + 1) / size - BINS * r / size;
    for (uint32_t r = 0; r < rank; r++)
        first += share[r];
    for (int i = 0; i < VALUES; i++)
        all[draw(&seed)]++;
    own = torus_alloc(context, share[rank] * sizeof *own);
    int error = own ? torus_reduce_scatterv(world, all, own, share, TORUS_INT64, TORUS_SUM)
                    : TORUS_ERR_NO_MEMORY;
    struct torus_int64_int fullest = {-1, 0}, most;
    for (size_t i = 0; error == TORUS_OK && i < share[rank]; i++) {
        total += (uint64_t)own[i];
        if (own[i] > fullest.value)
            fullest = (struct torus_int64_int){own[i], (int32_t)(first + i)};
    }
    free(share);
    if (error == TORUS_OK)
        error = torus_allreduce(world, &fullest, &most, 1, TORUS_INT64_INT, TORUS_MAXLOC);
    if (error == TORUS_OK)
        error = torus_allreduce(world, TORUS_IN_PLACE, &total, 1, TORUS_UINT64, TORUS_SUM);
    if (error != TORUS_OK)
        return error;
    if (rank == 0)
        printf("%llu values; the fullest bin is %d, with %lld\n", (unsigned long long)total,
               (int)most.place, (long long)most.value);
    return total == (uint64_t)VALUES * size ? TORUS_OK : TORUS_ERR_INTERNAL;
}

int main(void)
{
    torus_context *context = NULL;
    torus_group *world = NULL;
    int error = torus_open(&context, NULL);
    if (error == TORUS_OK)
        error = torus_join(context, NULL, &world);
    if (error == TORUS_OK)
        error = histogram(context, world);
    if (error != TORUS_OK)
        fprintf(stderr, "%s: %s\n", torus_strerror(error), torus_last_error(context));
    torus_close(context);
    return error == TORUS_OK ? 0 : 1;
}
