/* SPDX-License-Identifier: Apache-2.0 */
/* quicksort: parallel quicksort.
 *
 * In every round the ranks of a group agree on a pivot, and each partitions its elements. One
 * parallel prefix over the sizes of both parts gives every rank the positions of its elements in
 * the partitioned whole, and the total sizes. An all-to-all moves the elements, and the group
 * splits in two, one group for each part. A group of one rank sorts alone. Run it with torusctl
 * emulate 3x3 -- ./quicksort
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <torus/torus.h>

enum { EACH = 100000 };

static torus_context *context;
static uint64_t *mine; /* elements of this rank */
static size_t count;

static void must(int error)
{
    if (error == TORUS_OK)
        return;
    fprintf(stderr, "%s: %s\n", torus_strerror(error), torus_last_error(context));
    exit(1);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* partition moves elements below the pivot to the front and returns their number. */
static size_t partition(uint64_t pivot)
{
    size_t below = 0;
    for (size_t i = 0; i < count; i++)
        if (mine[i] < pivot) {
            uint64_t swapped = mine[i];
            mine[i] = mine[below];
            mine[below++] = swapped;
        }
    return below;
}

/* distribute counts the elements [begin, begin + length) of a part of `total` elements that go to
 * each of `ranks` ranks, which share the part in equal blocks. */
static void distribute(uint64_t begin, uint64_t length, uint64_t total, uint32_t ranks, size_t *to)
{
    for (uint32_t r = 0; r < ranks; r++) {
        uint64_t first = total * r / ranks, end = total * (r + 1) / ranks;
        first = first > begin ? first : begin;
        end = end < begin + length ? end : begin + length;
        to[r] = end > first ? end - first : 0;
    }
}

/* exchange sends each rank its elements of both parts. */
static void exchange(torus_group *group, const size_t *give)
{
    uint32_t size = torus_size(group);
    size_t *take = calloc(size, sizeof *take), all = 0;
    must(torus_alltoall(group, give, take, 1, TORUS_UINT64));
    for (uint32_t r = 0; r < size; r++)
        all += take[r];
    uint64_t *taken = malloc((all + 1) * sizeof *taken);
    must(torus_alltoallv(group, mine, give, NULL, taken, take, NULL, TORUS_UINT64));
    free(mine);
    free(take);
    mine = taken;
    count = all;
}

/* round_of partitions the elements of a group and returns the group of this rank's part. */
static torus_group *round_of(torus_group *group)
{
    uint32_t rank = torus_rank(group), size = torus_size(group);
    /* the mean of the middle elements of all ranks is near the median */
    uint64_t middle = count ? mine[count / 2] / size : 0, pivot = 0;
    must(torus_allreduce(group, &middle, &pivot, 1, TORUS_UINT64, TORUS_SUM));
    uint64_t own[2] = {partition(pivot), 0}, (*upto)[2] = calloc(size, sizeof *upto);
    own[1] = count - own[0];
    must(torus_prefix(group, own, upto, 2, TORUS_UINT64, TORUS_SUM));
    uint64_t *total = upto[size - 1], whole = total[0] + total[1];
    uint32_t lower = whole ? (uint32_t)(size * total[0] / whole) : 1; /* ranks of the lower part */
    lower = lower < 1 ? 1 : lower > size - 1 ? size - 1 : lower;
    size_t *give = calloc(size, sizeof *give);
    distribute(upto[rank][0] - own[0], own[0], total[0], lower, give);
    distribute(upto[rank][1] - own[1], own[1], total[1], size - lower, give + lower);
    exchange(group, give);
    free(give);
    free(upto);
    torus_group *side = NULL;
    must(torus_split(group, rank >= lower, (int32_t)rank, &side));
    return side;
}

/* check verifies the order within and between ranks, and that no element is missing. */
static void check(torus_group *world, uint64_t sum)
{
    uint64_t last = count ? mine[count - 1] : 0, before = 0, totals[2] = {sum, EACH};
    for (size_t i = 0; i < count; i++)
        totals[0] -= mine[i];
    totals[1] -= count;
    must(torus_exscan(world, &last, &before, 1, TORUS_UINT64, TORUS_MAX));
    must(torus_allreduce(world, TORUS_IN_PLACE, totals, 2, TORUS_UINT64, TORUS_SUM));
    if (totals[0] || totals[1] || (count && mine[0] < before)) {
        fprintf(stderr, "rank %u: the elements are not sorted\n", torus_rank(world));
        exit(1);
    }
    printf("rank %u: %zu elements from %llx on\n", torus_rank(world), count,
           (unsigned long long)(count ? mine[0] : 0));
}

int main(void)
{
    torus_group *world = NULL, *group = NULL;
    must(torus_open(&context, NULL));
    must(torus_join(context, NULL, &world));
    uint64_t seed = torus_rank(world) + 1, sum = 0;
    mine = malloc(EACH * sizeof *mine);
    for (count = 0; mine && count < EACH; count++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        sum += mine[count] = seed ^ seed >> 29;
    }
    for (group = world; torus_size(group) > 1;) {
        torus_group *side = round_of(group);
        if (group != world)
            must(torus_group_free(group));
        group = side;
    }
    qsort(mine, count, sizeof *mine, compare);
    check(world, sum);
    must(torus_barrier(world));
    free(mine);
    torus_close(context);
    return 0;
}
