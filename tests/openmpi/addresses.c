/* SPDX-License-Identifier: Apache-2.0 */
/* addresses: buffers at MPI_BOTTOM, whose types or displacements hold addresses, and operators that
 * copy elements with their padding. */
#include "check.h"

#include <stddef.h>

static int out[RANKS_MAX], in[RANKS_MAX], counts[RANKS_MAX], zeroes[RANKS_MAX];

/* at returns a type of `ints` integers at an address; bounds: its extent is that of an integer. */
static MPI_Datatype at(const void *address, int ints, int bounds)
{
    MPI_Aint place = 0;
    MPI_Datatype type, made;
    WELL(MPI_Get_address(address, &place));
    WELL(MPI_Type_create_hindexed(1, &ints, &place, MPI_INT, &type));
    if (!bounds) {
        WELL(MPI_Type_commit(&type));
        return type;
    }
    WELL(MPI_Type_create_resized(type, 0, sizeof(int), &made));
    WELL(MPI_Type_free(&type));
    WELL(MPI_Type_commit(&made));
    return made;
}

static void fill(void)
{
    for (int i = 0; i < RANKS_MAX; i++) {
        out[i] = 100 * rank + i;
        in[i] = -1;
        counts[i] = 1;
        zeroes[i] = 0;
    }
}

static void lists(int form)
{
    MPI_Datatype from[RANKS_MAX], to[RANKS_MAX], all = at(in, 1, 1);
    int places[RANKS_MAX];
    now = "alltoallw at MPI_BOTTOM";
    fill();
    for (int i = 0; i < ranks; i++) {
        from[i] = at(&out[i], 1, 0);
        to[i] = at(&in[i], 1, 0);
        places[i] = i;
    }
    counts[0] = rank == 0; /* ranks exchange nothing with rank 0, but rank 0 with itself */
    for (int i = 1; i < ranks; i++)
        counts[i] = rank != 0;
    CALL(form, Alltoallw, Ialltoallw, MPI_COMM_WORLD, MPI_BOTTOM, counts, zeroes, from, MPI_BOTTOM,
         counts, zeroes, to);
    for (int i = 0; i < ranks; i++)
        CHECK(in[i] == ((i == 0) == (rank == 0) ? 100 * i + rank : -1));
    now = "allgatherv at MPI_BOTTOM";
    fill();
    CALL(form, Allgatherv, Iallgatherv, MPI_COMM_WORLD, &rank, 1, MPI_INT, MPI_BOTTOM, counts,
         places, all);
    for (int i = 0; i < ranks; i++)
        CHECK(in[i] == i);
    for (int i = 0; i < ranks; i++) {
        WELL(MPI_Type_free(&from[i]));
        WELL(MPI_Type_free(&to[i]));
    }
    WELL(MPI_Type_free(&all));
}

static void neighbours(int form)
{
    const int periodic = 1, up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Aint from[2], to[2];
    MPI_Comm ring;
    now = "neighbor_alltoallw at MPI_BOTTOM";
    fill();
    WELL(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring));
    for (int i = 0; i < 2; i++) {
        WELL(MPI_Get_address(&out[i], &from[i]));
        WELL(MPI_Get_address(&in[i], &to[i]));
    }
    CALL(form, Neighbor_alltoallw, Ineighbor_alltoallw, ring, MPI_BOTTOM, counts, from, types,
         MPI_BOTTOM, counts, to, types);
    CHECK(in[0] == 100 * down + 1 && in[1] == 100 * up);
    WELL(MPI_Comm_free(&ring));
}

/* add adds pairs of integers wherever they lie. */
static void add(void *left, void *right, int *count, MPI_Datatype *type)
{
    MPI_Aint lb = 0, extent = 0, first = 0, bytes = 0;
    MPI_Type_get_extent(*type, &lb, &extent);
    MPI_Type_get_true_extent(*type, &first, &bytes);
    for (int i = 0; i < 2 * *count; i++) {
        int own = 0, other = 0;
        MPI_Aint place = first + i / 2 * extent + i % 2 * (MPI_Aint)sizeof own;
        memcpy(&other, (char *)left + place, sizeof other);
        memcpy(&own, (char *)right + place, sizeof own);
        own += other;
        memcpy((char *)right + place, &own, sizeof own);
    }
}

static void reductions(int form)
{
    static int data[2];
    MPI_Datatype type = at(data, 2, 0);
    MPI_Op op;
    now = "allreduce in place at MPI_BOTTOM";
    data[0] = rank;
    data[1] = 1;
    WELL(MPI_Op_create(add, 1, &op));
    CALL(form, Allreduce, Iallreduce, MPI_COMM_WORLD, MPI_IN_PLACE, MPI_BOTTOM, 1, type, op);
    CHECK(data[0] == ranks * (ranks - 1) / 2 && data[1] == ranks);
    WELL(MPI_Op_free(&op));
    WELL(MPI_Type_free(&type));
}

struct element {
    double value;
    int place; /* padding follows */
};

/* larger copies whole elements, and writes to the padding. */
static void larger(void *left, void *right, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        struct element best, *own = (struct element *)right + i;
        const struct element *other = (const struct element *)left + i;
        memcpy(&best, own->value < other->value ? other : own, sizeof best);
        memset((char *)&best + sizeof(double) + sizeof(int), 0x55,
               sizeof best - sizeof(double) - sizeof(int));
        memcpy(own, &best, sizeof best);
    }
}

static void padding(int form, int count)
{
    const int ones[2] = {1, 1};
    const MPI_Aint places[2] = {0, offsetof(struct element, place)};
    const MPI_Datatype basic[2] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype fields, type;
    MPI_Op op;
    struct element own[2] = {{0}}, got[2] = {{0}};
    now = "elements with padding";
    WELL(MPI_Type_create_struct(2, ones, places, basic, &fields));
    WELL(MPI_Type_create_resized(fields, 0, sizeof(struct element), &type));
    WELL(MPI_Type_commit(&type));
    WELL(MPI_Op_create(larger, 1, &op));
    for (int i = 0; i < count; i++)
        own[i] = (struct element){(rank * 5 + i) % ranks + 1 / 3.0, rank};
    CALL(form, Allreduce, Iallreduce, MPI_COMM_WORLD, own, got, count, type, op);
    for (int i = 0; i < count; i++) {
        double most = 0;
        int place = -1;
        for (int r = 0; r < ranks; r++)
            if ((r * 5 + i) % ranks + 1 / 3.0 > most) {
                most = (r * 5 + i) % ranks + 1 / 3.0;
                place = r;
            }
        CHECK(got[i].value == most && (ranks % 5 == 0 || got[i].place == place));
    }
    WELL(MPI_Op_free(&op));
    WELL(MPI_Type_free(&fields));
    WELL(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int form = 0; form < FORMS; form++) {
        lists(form);
        neighbours(form);
        reductions(form);
        padding(form, 1);
        padding(form, 2);
    }
    return end();
}
