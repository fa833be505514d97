/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of transforms that are too large for a reference: linearity, shift and impulse. After
 * FFTW's own tests (Ergun, Testing multivariate linear functions, 1995). */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "ranks.h"

enum { AXES = 3, LINE_MAX = 256, ARRAYS = 3 };
static const uint64_t cube[AXES] = {256, 256, 64};
static const uint64_t place[AXES] = {3, 101,
                                     17}; /* position of the impulse; distance of the shift */
static const double complex weight = 2 - 3 * I;

/* struct piece: one rank's parts of some arrays. */
struct piece {
    torus_plan *plan;
    torus_request *request;
    uint64_t count[2][AXES], index[2][AXES][LINE_MAX];
    double complex *array[ARRAYS]; /* each with room for input and output */
};
static struct piece piece[RANKS_MAX];

/* value returns the element of an array at an index; both parts are between -1 and 1. */
static double complex value(const uint64_t *index, uint64_t seed)
{
    uint64_t h = seed;
    for (int d = 0; d < AXES; d++)
        h = (h ^ index[d]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    double re = (double)(uint32_t)h, im = (double)(uint32_t)(h >> 32);
    return (re + I * im) / 0x1p31 - (1 + I);
}

static double complex first(const uint64_t *index)
{
    return value(index, 1);
}

static double complex second(const uint64_t *index)
{
    return value(index, 2);
}

static double complex sum(const uint64_t *index)
{
    return first(index) + weight * second(index);
}

static double complex shifted(const uint64_t *index)
{
    uint64_t from[AXES];
    for (int d = 0; d < AXES; d++)
        from[d] = (index[d] + cube[d] - place[d]) % cube[d];
    return first(from);
}

static double complex impulse(const uint64_t *index)
{
    return memcmp(index, place, sizeof place) == 0;
}

/* each calls a function for every element of a rank's part, in memory order. */
static void each(const struct piece *p, unsigned side,
                 void (*call)(void *me, uint64_t at, const uint64_t *index), void *me)
{
    const uint64_t *n = p->count[side];
    uint64_t at = 0;
    for (uint64_t i = 0; i < n[0]; i++)
        for (uint64_t j = 0; j < n[1]; j++)
            for (uint64_t k = 0; k < n[2]; k++)
                call(me, at++,
                     (uint64_t[AXES]){p->index[side][0][i], p->index[side][1][j],
                                      p->index[side][2][k]});
}

struct filling {
    double complex *to;
    double complex (*is)(const uint64_t *index);
};

static void put_one(void *me, uint64_t at, const uint64_t *index)
{
    const struct filling *f = me;
    f->to[at] = f->is(index);
}

/* spectrum sets array `a` of all ranks to the transform of the function `is`. */
static void spectrum(unsigned a, double complex (*is)(const uint64_t *index))
{
    for (uint32_t r = 0; r < size; r++) {
        struct filling f = {piece[r].array[a], is};
        each(&piece[r], 0, put_one, &f);
    }
    for (uint32_t r = 0; r < size; r++)
        must(r, torus_start(piece[r].plan, TORUS_IN_PLACE, piece[r].array[a], &piece[r].request));
    for (uint32_t r = 0; r < size; r++)
        finish(r, piece[r].request);
}

/* struct comparing: sums of squares of the differences from the property. */
struct comparing {
    double complex *const *array;
    double complex turn[AXES][LINE_MAX]; /* phases of a shift by `place` */
    double difference, length;
};

static double square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

static void compare_sum(void *me, uint64_t at, const uint64_t *index)
{
    struct comparing *c = me;
    double complex a = c->array[0][at], b = weight * c->array[1][at], ab = c->array[2][at];
    (void)index;
    c->difference += square(ab - (a + b));
    c->length += square(a) + square(b) + square(ab);
}

static void compare_shift(void *me, uint64_t at, const uint64_t *index)
{
    struct comparing *c = me;
    double complex want = c->array[0][at];
    for (int d = 0; d < AXES; d++)
        want *= c->turn[d][index[d]];
    c->difference += square(c->array[1][at] - want);
    c->length += 2 * square(want);
}

static void compare_impulse(void *me, uint64_t at, const uint64_t *index)
{
    struct comparing *c = me;
    double complex want = 1;
    for (int d = 0; d < AXES; d++)
        want *= c->turn[d][index[d]];
    c->difference += square(c->array[2][at] - want);
    c->length += square(want);
}

static void expect_close(const char *what, void (*compare)(void *, uint64_t, const uint64_t *))
{
    static struct comparing c;
    double points = 1;
    c.difference = c.length = 0;
    for (int d = 0; d < AXES; d++) {
        points *= (double)cube[d];
        for (uint64_t k = 0; k < cube[d]; k++)
            c.turn[d][k] =
                cexp(-2 * acos(-1) * I * (double)(k * place[d] % cube[d]) / (double)cube[d]);
    }
    for (uint32_t r = 0; r < size; r++) {
        c.array = piece[r].array;
        each(&piece[r], 1, compare, &c);
    }
    double error = sqrt(c.difference), most = 4 * 0x1p-52 * sqrt(log2(points)) * sqrt(c.length);
    if (!(error <= most) || c.length == 0)
        fail_msg("%s: off by %g, more than %g", what, error, most);
}

/* obtain_piece reads the elements of a rank from the plan. */
static void obtain_piece(uint32_t rank, struct piece *p)
{
    uint64_t bytes = torus_plan_bytes(p->plan, 0), after = torus_plan_bytes(p->plan, 1);
    for (int side = 0; side < 2; side++) {
        struct torus_box box;
        must(rank, torus_plan_local(p->plan, side, &box));
        for (uint32_t d = 0; d < AXES; d++) {
            p->count[side][d] = box.count[d];
            for (uint64_t i = 0; i < box.count[d]; i++)
                p->index[side][d][i] = (uint64_t)torus_plan_index(p->plan, side, d, i);
        }
    }
    for (unsigned a = 0; a < ARRAYS; a++) {
        p->array[a] = torus_alloc(context[rank], bytes > after ? bytes : after);
        must(rank, p->array[a] ? TORUS_OK : TORUS_ERR_NO_MEMORY);
    }
}

static void has_the_properties(struct torus_fft_desc d)
{
    d.size = sizeof d;
    d.dimensions = AXES;
    d.type = TORUS_COMPLEX_DOUBLE;
    d.sign = TORUS_FORWARD;
    memcpy(d.shape, cube, sizeof cube);
    for (uint32_t r = 0; r < size; r++)
        must(r, torus_iplan_fft(world[r], &d, &piece[r].plan, &piece[r].request));
    for (uint32_t r = 0; r < size; r++)
        finish(r, piece[r].request);
    for (uint32_t r = 0; r < size; r++)
        obtain_piece(r, &piece[r]);
    spectrum(0, first);
    spectrum(1, second);
    spectrum(2, sum);
    expect_close("of a sum", compare_sum);
    spectrum(1, shifted);
    expect_close("of a shifted array", compare_shift);
    spectrum(2, impulse);
    expect_close("of an impulse", compare_impulse);
    close_all(context, size);
}

static void large_arrays_have_the_properties_on_few_nodes(void **state)
{
    (void)state;
    start(4, "");
    join_ranks(6, true);
    has_the_properties((struct torus_fft_desc){.to = "(*, block, *)"});
    stop();
}

static void large_arrays_have_the_properties_on_the_routed_fabric(void **state)
{
    (void)state;
    columns = 3;
    prepare(9);
    start_all("[torus]\nfabric = routed\n");
    join_ranks(9, false);
    has_the_properties((struct torus_fft_desc){
        .from = "(cyclic, block, *) on 3x3", .to = "(*, block, cyclic(5)) on 3x3", .grid = {3, 3}});
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(large_arrays_have_the_properties_on_few_nodes, clean_up),
        cmocka_unit_test_teardown(large_arrays_have_the_properties_on_the_routed_fabric, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
