/* SPDX-License-Identifier: Apache-2.0 */
/* reductions: every reduction and scan, in all forms, with predefined and user-defined operators,
 * and in place. The expected results come from MPI_Reduce_local, rank by rank. */
#include "check.h"

#include <complex.h>
#include <stdint.h>

static MPI_Comm comm;
static int me, size;

enum { COUNT = 3, ROOM = 64, PLACED = 20 }; /* a packed long double and its place */

/* struct kind: a type of elements, and how rank r's element i is made. */
struct kind {
    const char *name;
    MPI_Datatype type;
    size_t extent; /* of an element in memory */
    void (*fill)(void *to, int r, int i);
    int real; /* size of the numbers that an element consists of; 0: compare bytes */
};

#define FILL(name, ctype, value)                                                                   \
    static void name(void *to, int r, int i)                                                       \
    {                                                                                              \
        ctype v = (ctype)(value);                                                                  \
        memcpy(to, &v, sizeof v);                                                                  \
    }
FILL(fill_int8, int8_t, (r + i) % 3 + 1)
FILL(fill_int16, int16_t, (r * 7 + i) % 5 - 2)
FILL(fill_int, int, (r * 7 + i) % 5 - 2)
FILL(fill_long, long, (r * 7 + i) % 5 - 2)
FILL(fill_uint8, uint8_t, (r + i) % 4)
FILL(fill_uint16, uint16_t, (r + i) % 4)
FILL(fill_uint, uint32_t, (r * 3 + i) % 4)
FILL(fill_ulong, uint64_t, (r * 3 + i) % 4)
FILL(fill_float, float, (r * 5 + i) % 4 - 1)
FILL(fill_double, double, (r * 5 + i) % 4 - 1)
FILL(fill_long_double, long double, (r * 5 + i) % 4 - 1)
FILL(fill_bool, _Bool, (r + i) % 2)
FILL(fill_complex, float _Complex, (r + i) % 3 - 1 + 2.0 * ((r + 2 * i) % 2) * I)
FILL(fill_double_complex, double _Complex, (r + i) % 3 - 1 + 2.0 * ((r + 2 * i) % 2) * I)
FILL(fill_long_complex, long double _Complex, (r + i) % 3 - 1 + 2.0 * ((r + 2 * i) % 2) * I)

#define FILL_PAIR(name, ctype)                                                                     \
    static void name(void *to, int r, int i)                                                       \
    {                                                                                              \
        struct {                                                                                   \
            ctype value;                                                                           \
            int place;                                                                             \
        } v;                                                                                       \
        memset(&v, 0, sizeof v);                                                                   \
        v.value = (ctype)((r * 5 + i) % 3);                                                        \
        v.place = (size - r) * 10 + i;                                                             \
        memcpy(to, &v, sizeof v);                                                                  \
    }
FILL_PAIR(fill_int_int, int)
FILL_PAIR(fill_float_int, float)
FILL_PAIR(fill_double_int, double)
FILL_PAIR(fill_long_int, long)
FILL_PAIR(fill_short_int, short)
FILL_PAIR(fill_long_double_int, long double)

static void fill_two_doubles(void *to, int r, int i)
{
    const double v[2] = {(r * 5 + i) % 3, (size - r) * 10 + i};
    memcpy(to, v, sizeof v);
}

static const struct kind integers[] = {
    {"int8", MPI_INT8_T, 1, fill_int8, 0},
    {"short", MPI_SHORT, 2, fill_int16, 0},
    {"int", MPI_INT, 4, fill_int, 0},
    {"long", MPI_LONG, 8, fill_long, 0},
    {"long long", MPI_LONG_LONG, 8, fill_long, 0},
    {"uint8", MPI_UINT8_T, 1, fill_uint8, 0},
    {"unsigned short", MPI_UNSIGNED_SHORT, 2, fill_uint16, 0},
    {"unsigned", MPI_UNSIGNED, 4, fill_uint, 0},
    {"unsigned long", MPI_UNSIGNED_LONG, 8, fill_ulong, 0},
    {"offset", MPI_OFFSET, 8, fill_ulong, 0},
    {"aint", MPI_AINT, 8, fill_long, 0},
    {"count", MPI_COUNT, 8, fill_long, 0},
};
static const struct kind numbers[] = {
    {"float", MPI_FLOAT, 4, fill_float, 4},
    {"double", MPI_DOUBLE, 8, fill_double, 8},
    {"long double", MPI_LONG_DOUBLE, 16, fill_long_double, 16},
    {"real", MPI_REAL, 4, fill_float, 4},
    {"double precision", MPI_DOUBLE_PRECISION, 8, fill_double, 8},
    {"integer", MPI_INTEGER, 4, fill_int, 0},
};
static const struct kind complexes[] = {
    {"complex", MPI_C_FLOAT_COMPLEX, 8, fill_complex, 4},
    {"double complex", MPI_C_DOUBLE_COMPLEX, 16, fill_double_complex, 8},
    {"long double complex", MPI_C_LONG_DOUBLE_COMPLEX, 32, fill_long_complex, 16},
    {"Fortran complex", MPI_COMPLEX, 8, fill_complex, 4},
    {"Fortran double complex", MPI_DOUBLE_COMPLEX, 16, fill_double_complex, 8},
};
static const struct kind truths[] = {
    {"bool", MPI_C_BOOL, 1, fill_bool, 0},
    {"logical", MPI_LOGICAL, 4, fill_uint, 0},
};
static const struct kind octets[] = {{"byte", MPI_BYTE, 1, fill_uint8, 0}};
static const struct kind pairs[] = {
    {"2int", MPI_2INT, 8, fill_int_int, 0},
    {"float int", MPI_FLOAT_INT, 8, fill_float_int, 0},
    {"double int", MPI_DOUBLE_INT, 16, fill_double_int, 0},
    {"long int", MPI_LONG_INT, 16, fill_long_int, 0},
    {"short int", MPI_SHORT_INT, 8, fill_short_int, 0},
    {"long double int", MPI_LONG_DOUBLE_INT, 32, fill_long_double_int, PLACED},
    {"2 double precision", MPI_2DOUBLE_PRECISION, 16, fill_two_doubles, 0},
};

/* ---- one reduction ---- */

/* struct trial: the elements of all ranks, and what a call should give. */
struct trial {
    const struct kind *kind;
    MPI_Op op;
    int count; /* elements of each rank */
    char *own, *got, *want;
    size_t bytes; /* of `count` elements */
};

/* fill writes the elements of rank r. */
static void fill(const struct trial *t, char *to, int r)
{
    memset(to, 0, t->bytes);
    for (int i = 0; i < t->count; i++)
        t->kind->fill(to + (size_t)i * t->kind->extent, r, i);
}

/* fold combines the elements of ranks 0 .. until - 1 in want. */
static void fold(struct trial *t, int until)
{
    char *next = calloc(1, t->bytes + 1), *sum = calloc(1, t->bytes + 1), *swap = NULL;
    CHECK(next && sum);
    fill(t, sum, 0);
    for (int r = 1; r < until; r++) {
        fill(t, next, r);
        WELL(MPI_Reduce_local(sum, next, t->count, t->kind->type, t->op));
        swap = sum;
        sum = next;
        next = swap;
    }
    memcpy(t->want, sum, t->bytes);
    free(next);
    free(sum);
}

/* real_at returns a number of `bytes` bytes. */
static long double real_at(const char *from, int bytes)
{
    float f;
    double d;
    long double l;
    memcpy(&f, from, sizeof f);
    if (bytes == sizeof f)
        return f;
    memcpy(&d, from, sizeof d);
    if (bytes == sizeof d)
        return d;
    memcpy(&l, from, sizeof l);
    return l;
}

/* same compares the data of elements; padding may differ. */
static int same(const struct trial *t, const char *a, const char *b, int count)
{
    char left[4096], right[4096];
    int i = 0, j = 0;
    WELL(MPI_Pack(a, count, t->kind->type, left, sizeof left, &i, MPI_COMM_SELF));
    WELL(MPI_Pack(b, count, t->kind->type, right, sizeof right, &j, MPI_COMM_SELF));
    int equal = i == j;
    if (t->kind->real == 0)
        return equal && memcmp(left, right, (size_t)i) == 0;
    for (int at = 0; at < i && equal; at += t->kind->real) { /* -0 equals 0 */
        equal = real_at(left + at, t->kind->real) == real_at(right + at, t->kind->real);
        if (t->kind->real == PLACED)
            equal = equal && memcmp(left + at + 16, right + at + 16, 4) == 0;
    }
    return equal;
}

static void begin_trial(struct trial *t, const struct kind *kind, MPI_Op op, int count,
                        int in_place)
{
    *t = (struct trial){.kind = kind, .op = op, .count = count};
    t->bytes = (size_t)count * kind->extent;
    t->own = calloc(1, t->bytes + 1);
    t->got = calloc(1, t->bytes + 1);
    t->want = calloc(1, t->bytes + 1);
    CHECK(t->own && t->got && t->want);
    fill(t, in_place ? t->got : t->own, me);
}

static void end_trial(struct trial *t)
{
    free(t->own);
    free(t->got);
    free(t->want);
}

static void reduce(int form, const struct kind *k, MPI_Op op, int in_place)
{
    struct trial t;
    int root = size - 1;
    begin_trial(&t, k, op, COUNT, in_place && me == root);
    CALL(form, Reduce, Ireduce, comm, in_place && me == root ? MPI_IN_PLACE : (void *)t.own, t.got,
         COUNT, k->type, op, root);
    fold(&t, size);
    CHECK(me != root || same(&t, t.got, t.want, COUNT));
    end_trial(&t);
}

static void allreduce(int form, const struct kind *k, MPI_Op op, int in_place)
{
    struct trial t;
    begin_trial(&t, k, op, COUNT, in_place);
    CALL(form, Allreduce, Iallreduce, comm, in_place ? MPI_IN_PLACE : (void *)t.own, t.got, COUNT,
         k->type, op);
    fold(&t, size);
    CHECK(same(&t, t.got, t.want, COUNT));
    end_trial(&t);
}

static void scans(int form, const struct kind *k, MPI_Op op, int in_place)
{
    struct trial t;
    begin_trial(&t, k, op, COUNT, in_place);
    CALL(form, Scan, Iscan, comm, in_place ? MPI_IN_PLACE : (void *)t.own, t.got, COUNT, k->type,
         op);
    fold(&t, me + 1);
    CHECK(same(&t, t.got, t.want, COUNT));
    end_trial(&t);
    begin_trial(&t, k, op, COUNT, in_place);
    CALL(form, Exscan, Iexscan, comm, in_place ? MPI_IN_PLACE : (void *)t.own, t.got, COUNT,
         k->type, op);
    fold(&t, me);
    CHECK(me == 0 || same(&t, t.got, t.want, COUNT));
    end_trial(&t);
}

static void scatters(int form, const struct kind *k, MPI_Op op, int in_place)
{
    struct trial t;
    int counts[ROOM], before = 0, all = 0;
    CHECK(size <= ROOM);
    begin_trial(&t, k, op, COUNT * size, in_place);
    CALL(form, Reduce_scatter_block, Ireduce_scatter_block, comm,
         in_place ? MPI_IN_PLACE : (void *)t.own, t.got, COUNT, k->type, op);
    fold(&t, size);
    CHECK(same(&t, t.got, t.want + (size_t)(me * COUNT) * k->extent, COUNT));
    end_trial(&t);
    for (int r = 0; r < size; r++) {
        counts[r] = (r + 1) % 3;
        before += r < me ? counts[r] : 0;
        all += counts[r];
    }
    begin_trial(&t, k, op, all, in_place);
    CALL(form, Reduce_scatter, Ireduce_scatter, comm, in_place ? MPI_IN_PLACE : (void *)t.own,
         t.got, counts, k->type, op);
    fold(&t, size);
    CHECK(same(&t, t.got, t.want + (size_t)before * k->extent, counts[me]));
    end_trial(&t);
}

static void all_calls(const struct kind *k, MPI_Op op, const char *op_name)
{
    static char text[128];
    for (int form = 0; form < FORMS; form++)
        for (int in_place = 0; in_place < 2; in_place++) {
            snprintf(text, sizeof text, "%s of %s, form %d%s", op_name, k->name, form,
                     in_place ? ", in place" : "");
            now = text;
            reduce(form, k, op, in_place);
            allreduce(form, k, op, in_place);
            scans(form, k, op, in_place);
            scatters(form, k, op, in_place);
        }
}

/* ---- operators of the program ---- */

/* multiply multiplies 2x2 matrices of integers modulo 97: associative, not commutative. The type
 * says how the matrices lie in memory. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lb = 0, extent = 0;
    MPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i < *count; i++) {
        int a[4], b[4], c[4], position = 0;
        char *left = (char *)in + i * extent, *right = (char *)inout + i * extent;
        MPI_Pack(left, 1, *type, a, sizeof a, &position, MPI_COMM_SELF);
        position = 0;
        MPI_Pack(right, 1, *type, b, sizeof b, &position, MPI_COMM_SELF);
        for (int j = 0; j < 4; j++)
            c[j] = (a[j / 2 * 2] * b[j % 2] + a[j / 2 * 2 + 1] * b[2 + j % 2]) % 97;
        position = 0;
        MPI_Unpack(c, sizeof c, &position, right, 1, *type, MPI_COMM_SELF);
    }
}

static void fill_matrix(void *to, int r, int i)
{
    const int m[4] = {r + 1, i + 2, r * i + 1, 3};
    memcpy(to, m, sizeof m);
}

/* The same matrices with gaps: the elements lie at 0, 2, 4 and 6. */
static void fill_sparse(void *to, int r, int i)
{
    const int m[4] = {r + 1, i + 2, r * i + 1, 3};
    for (int j = 0; j < 4; j++)
        memcpy((char *)to + 8 * j, &m[j], sizeof m[j]);
}

/* add_ints is for predefined types, with which operators of programs work, too. */
static void add_ints(void *in, void *inout, int *count, MPI_Datatype *type)
{
    if (*type != MPI_INT)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void own_operators(void)
{
    MPI_Datatype dense, vector, sparse;
    MPI_Op product, sum;
    WELL(MPI_Type_contiguous(4, MPI_INT, &dense));
    WELL(MPI_Type_commit(&dense));
    WELL(MPI_Type_vector(4, 1, 2, MPI_INT, &vector));
    WELL(MPI_Type_create_resized(vector, 0, 32, &sparse));
    WELL(MPI_Type_commit(&sparse));
    WELL(MPI_Op_create(multiply, 0, &product));
    WELL(MPI_Op_create(add_ints, 1, &sum));
    all_calls(&(struct kind){"matrix", dense, 16, fill_matrix, 0}, product, "product");
    all_calls(&(struct kind){"matrix with gaps", sparse, 32, fill_sparse, 0}, product, "product");
    all_calls(&integers[2], sum, "the program's sum");
    WELL(MPI_Op_free(&product));
    WELL(MPI_Op_free(&sum));
    WELL(MPI_Type_free(&dense));
    WELL(MPI_Type_free(&vector));
    WELL(MPI_Type_free(&sparse));
}

/* ---- all of them ---- */

struct op {
    const char *name;
    MPI_Op op;
};

static void each(const struct kind *k, size_t kinds, const struct op *op, size_t ops)
{
    for (size_t i = 0; i < kinds; i++)
        for (size_t j = 0; j < ops; j++)
            all_calls(&k[i], op[j].op, op[j].name);
}
#define EACH(kinds, ops) each(kinds, sizeof kinds / sizeof *kinds, ops, sizeof ops / sizeof *ops)

static void all_operators(MPI_Comm of)
{
    const struct op sums[] = {{"sum", MPI_SUM}, {"product", MPI_PROD}};
    const struct op extremes[] = {{"max", MPI_MAX}, {"min", MPI_MIN}};
    const struct op bits[] = {{"band", MPI_BAND}, {"bor", MPI_BOR}, {"bxor", MPI_BXOR}};
    const struct op logic[] = {{"land", MPI_LAND}, {"lor", MPI_LOR}, {"lxor", MPI_LXOR}};
    const struct op places[] = {{"maxloc", MPI_MAXLOC}, {"minloc", MPI_MINLOC}};
    comm = of;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    EACH(integers, sums);
    EACH(integers, extremes);
    EACH(integers, bits);
    EACH(integers, logic);
    EACH(numbers, sums);
    EACH(numbers, extremes);
    EACH(complexes, sums);
    EACH(truths, logic);
    EACH(octets, bits);
    EACH(pairs, places);
    own_operators();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    all_operators(MPI_COMM_WORLD);
    return end();
}
