/* SPDX-License-Identifier: Apache-2.0 */
/* moves: every collective that moves data, in all forms, with types that have gaps, different types
 * at both ends, and in place. Gaps stay as they are. */
#include "check.h"

enum { INTS_MAX = 64 };

static MPI_Comm comm;
static int me, size;

/* block returns the number of integers of a block in calls with lists. */
static int block(int sender, int receiver)
{
    return UNIT * ((sender + 2 * receiver) % 3);
}

static void bcast(int form, const struct layout *mine, int root, int ints)
{
    int data[INTS_MAX];
    struct room got = room_new(mine, ints / mine->ints), want = room_new(mine, ints / mine->ints);
    values(data, root, 0, ints);
    room_put(&want, 0, data, ints);
    if (me == root)
        room_put(&got, 0, data, ints);
    CALL(form, Bcast, Ibcast, comm, got.base, ints / mine->ints, mine->type, root);
    CHECK(room_same(&got, &want));
    room_free(&got);
    room_free(&want);
}

/* gathers tests gather (root >= 0) and allgather (root -1). */
static void gathers(int form, const struct layout *s, const struct layout *r, int root,
                    int in_place, int ints)
{
    int data[INTS_MAX], receives = root < 0 || me == root;
    struct room from = room_new(s, ints / s->ints), got = room_new(r, size * ints / r->ints),
                want = room_new(r, size * ints / r->ints);
    in_place = in_place && receives;
    values(data, me, 0, ints);
    room_put(&from, 0, data, ints);
    if (in_place)
        room_put(&got, me * ints / r->ints, data, ints);
    for (int i = 0; i < size && receives; i++) {
        values(data, i, 0, ints);
        room_put(&want, i * ints / r->ints, data, ints);
    }
    const void *sbuf = in_place ? MPI_IN_PLACE : from.base;
    if (root >= 0)
        CALL(form, Gather, Igather, comm, sbuf, ints / s->ints, s->type, got.base, ints / r->ints,
             r->type, root);
    else
        CALL(form, Allgather, Iallgather, comm, sbuf, ints / s->ints, s->type, got.base,
             ints / r->ints, r->type);
    CHECK(room_same(&got, &want));
    room_free(&from);
    room_free(&got);
    room_free(&want);
}

static void scatter(int form, const struct layout *s, const struct layout *r, int root,
                    int in_place, int ints)
{
    int data[INTS_MAX];
    struct room from = room_new(s, size * ints / s->ints), got = room_new(r, ints / r->ints),
                want = room_new(r, ints / r->ints);
    in_place = in_place && me == root;
    for (int i = 0; i < size && me == root; i++) {
        values(data, root, i, ints);
        room_put(&from, i * ints / s->ints, data, ints);
    }
    values(data, root, me, ints);
    if (!in_place)
        room_put(&want, 0, data, ints);
    CALL(form, Scatter, Iscatter, comm, from.base, ints / s->ints, s->type,
         in_place ? MPI_IN_PLACE : (void *)got.base, ints / r->ints, r->type, root);
    CHECK(room_same(&got, &want));
    room_free(&from);
    room_free(&got);
    room_free(&want);
}

static void alltoall(int form, const struct layout *s, const struct layout *r, int in_place,
                     int ints)
{
    int data[INTS_MAX];
    struct room from = room_new(s, size * ints / s->ints), got = room_new(r, size * ints / r->ints),
                want = room_new(r, size * ints / r->ints);
    for (int i = 0; i < size; i++) {
        values(data, me, i, ints);
        room_put(&from, i * ints / s->ints, data, ints);
        if (in_place)
            room_put(&got, i * ints / r->ints, data, ints);
        values(data, i, me, ints);
        room_put(&want, i * ints / r->ints, data, ints);
    }
    CALL(form, Alltoall, Ialltoall, comm, in_place ? MPI_IN_PLACE : (void *)from.base,
         ints / s->ints, s->type, got.base, ints / r->ints, r->type);
    CHECK(room_same(&got, &want));
    room_free(&from);
    room_free(&got);
    room_free(&want);
}

/* lay writes the counts of a layout's elements and places with gaps of an element between blocks.
 * It returns the number of elements in all. */
static int lay(const struct layout *l, const int *ints, int *counts, int *places)
{
    int at = 1;
    for (int i = 0; i < size; i++) {
        counts[i] = ints[i] / l->ints;
        places[i] = at;
        at += counts[i] + 1;
    }
    return at;
}

/* gathervs tests gatherv (root >= 0) and allgatherv (root -1). */
static void gathervs(int form, const struct layout *s, const struct layout *r, int root,
                     int in_place)
{
    int data[INTS_MAX], ints[RANKS_MAX] = {0}, counts[RANKS_MAX] = {0}, places[RANKS_MAX] = {0},
                        receives = root < 0 || me == root;
    for (int i = 0; i < size; i++)
        ints[i] = block(i, 0);
    int all = lay(r, ints, counts, places);
    struct room from = room_new(s, ints[me] / s->ints), got = room_new(r, all),
                want = room_new(r, all);
    in_place = in_place && receives;
    values(data, me, 0, ints[me]);
    room_put(&from, 0, data, ints[me]);
    if (in_place)
        room_put(&got, places[me], data, ints[me]);
    for (int i = 0; i < size && receives; i++) {
        values(data, i, 0, ints[i]);
        room_put(&want, places[i], data, ints[i]);
    }
    const void *sbuf = in_place ? MPI_IN_PLACE : from.base;
    if (root >= 0)
        CALL(form, Gatherv, Igatherv, comm, sbuf, ints[me] / s->ints, s->type, got.base, counts,
             places, r->type, root);
    else
        CALL(form, Allgatherv, Iallgatherv, comm, sbuf, ints[me] / s->ints, s->type, got.base,
             counts, places, r->type);
    CHECK(room_same(&got, &want));
    room_free(&from);
    room_free(&got);
    room_free(&want);
}

static void scatterv(int form, const struct layout *s, const struct layout *r, int root,
                     int in_place)
{
    int data[INTS_MAX], ints[RANKS_MAX] = {0}, counts[RANKS_MAX] = {0}, places[RANKS_MAX] = {0};
    for (int i = 0; i < size; i++)
        ints[i] = block(root, i);
    int all = lay(s, ints, counts, places);
    struct room from = room_new(s, all), got = room_new(r, ints[me] / r->ints),
                want = room_new(r, ints[me] / r->ints);
    in_place = in_place && me == root;
    for (int i = 0; i < size && me == root; i++) {
        values(data, root, i, ints[i]);
        room_put(&from, places[i], data, ints[i]);
    }
    values(data, root, me, ints[me]);
    if (!in_place)
        room_put(&want, 0, data, ints[me]);
    CALL(form, Scatterv, Iscatterv, comm, from.base, counts, places, s->type,
         in_place ? MPI_IN_PLACE : (void *)got.base, ints[me] / r->ints, r->type, root);
    CHECK(room_same(&got, &want));
    room_free(&from);
    room_free(&got);
    room_free(&want);
}

/* both returns the integers between two ranks; in place, a pair exchanges equal numbers. */
static int both(int a, int b, int in_place)
{
    return in_place && a > b ? block(b, a) : block(a, b);
}

/* alltoalls tests alltoallv, and alltoallw with the layouts in turn. */
static void alltoalls(int form, int w, const struct layout *s, const struct layout *r, int in_place)
{
    int data[INTS_MAX], out[RANKS_MAX] = {0}, in[RANKS_MAX] = {0};
    int scounts[RANKS_MAX] = {0}, splaces[RANKS_MAX] = {0}, rcounts[RANKS_MAX] = {0},
        rplaces[RANKS_MAX] = {0};
    MPI_Datatype stypes[RANKS_MAX], rtypes[RANKS_MAX];
    for (int i = 0; i < size; i++) {
        out[i] = both(me, i, in_place);
        in[i] = both(i, me, in_place);
        stypes[i] = s->type;
        rtypes[i] = r->type;
    }
    int sall = lay(s, out, scounts, splaces), rall = lay(r, in, rcounts, rplaces);
    struct room from = room_new(s, sall), got = room_new(r, rall), want = room_new(r, rall);
    for (int i = 0; i < size; i++) {
        values(data, me, i, out[i]);
        room_put(&from, splaces[i], data, out[i]);
        if (in_place)
            room_put(&got, rplaces[i], data, out[i]);
        values(data, i, me, in[i]);
        room_put(&want, rplaces[i], data, in[i]);
    }
    for (int i = 0; i < size && w; i++) {
        splaces[i] *= (int)s->extent;
        rplaces[i] *= (int)r->extent;
    }
    const void *sbuf = in_place ? MPI_IN_PLACE : from.base;
    if (w)
        CALL(form, Alltoallw, Ialltoallw, comm, sbuf, scounts, splaces, stypes, got.base, rcounts,
             rplaces, rtypes);
    else
        CALL(form, Alltoallv, Ialltoallv, comm, sbuf, scounts, splaces, s->type, got.base, rcounts,
             rplaces, r->type);
    CHECK(room_same(&got, &want));
    room_free(&from);
    room_free(&got);
    room_free(&want);
}

static void all_forms(const struct layout *s, const struct layout *r, int ints)
{
    for (int form = 0; form < FORMS; form++) {
        now = "bcast";
        bcast(form, me % 2 ? s : r, ints % size, ints);
        for (int in_place = 0; in_place < 2; in_place++) {
            now = in_place ? "gather in place" : "gather";
            gathers(form, s, r, size - 1, in_place, ints);
            now = in_place ? "allgather in place" : "allgather";
            gathers(form, s, r, -1, in_place, ints);
            now = in_place ? "scatter in place" : "scatter";
            scatter(form, s, r, size / 2, in_place, ints);
            now = in_place ? "gatherv in place" : "gatherv";
            gathervs(form, s, r, size / 2, in_place);
            now = in_place ? "allgatherv in place" : "allgatherv";
            gathervs(form, s, r, -1, in_place);
            now = in_place ? "scatterv in place" : "scatterv";
            scatterv(form, s, r, 0, in_place);
            now = in_place ? "alltoall in place" : "alltoall";
            alltoall(form, s, r, in_place, ints);
            now = in_place ? "alltoallv in place" : "alltoallv";
            alltoalls(form, 0, s, r, in_place);
            now = in_place ? "alltoallw in place" : "alltoallw";
            alltoalls(form, 1, s, r, in_place);
        }
        now = "barrier";
        if (form == BLOCKING) {
            WELL(MPI_Barrier(comm));
        } else {
            MPI_Request request = MPI_REQUEST_NULL;
            if (form == NONBLOCKING)
                WELL(MPI_Ibarrier(comm, &request));
            else
                WELL(MPIX_Barrier_init(comm, MPI_INFO_NULL, &request));
            if (form == PERSISTENT)
                WELL(MPI_Start(&request));
            finish(&request);
            if (form == PERSISTENT)
                WELL(MPI_Request_free(&request));
        }
    }
}

static void all_layouts(MPI_Comm of)
{
    comm = of;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    CHECK(size <= RANKS_MAX);
    for (int s = 0; s < LAYOUTS; s++)
        for (int r = 0; r < LAYOUTS; r++)
            all_forms(&layouts[s], &layouts[r], (s + r) % 3 * UNIT);
}

int main(int argc, char **argv)
{
    MPI_Comm half, reversed;
    begin(&argc, &argv);
    all_layouts(MPI_COMM_WORLD);
    WELL(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    all_layouts(half);
    WELL(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed));
    comm = reversed;
    MPI_Comm_rank(comm, &me);
    size = ranks;
    all_forms(&layouts[1], &layouts[0], UNIT);
    WELL(MPI_Comm_free(&half));
    WELL(MPI_Comm_free(&reversed));
    return end();
}
