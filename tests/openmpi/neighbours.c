/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours: exchanges on grids, graphs and distributed graphs, in all forms. On grids also where
 * both neighbours of a dimension are the same rank, and where none is there. */
#include "check.h"

enum { EDGES_MAX = 32, INTS = 4 };

/* struct edges: the neighbours in the order of MPI, and what each sends on its edge. `tag` names
 * the edge alike at both ends; an absent neighbour is MPI_PROC_NULL. */
struct edges {
    int ins, outs;
    int in[EDGES_MAX], out[EDGES_MAX];
    int in_tag[EDGES_MAX], out_tag[EDGES_MAX];
};

/* ints_of returns the integers on an edge in calls with lists. */
static int ints_of(int sender, int tag)
{
    return 2 * ((sender + tag) % 3);
}

static void check_same(struct room *got, struct room *want)
{
    CHECK(room_same(got, want));
    room_free(got);
    room_free(want);
}

static void allgathers(MPI_Comm comm, int form, const struct edges *e, const struct layout *l,
                       int me)
{
    int data[INTS], counts[EDGES_MAX] = {0}, places[EDGES_MAX] = {0};
    struct room from = room_new(l, INTS / l->ints), got = room_new(l, e->ins * INTS / l->ints + 1),
                want = room_new(l, e->ins * INTS / l->ints + 1);
    values(data, me, 0, INTS);
    room_put(&from, 0, data, INTS);
    for (int i = 0; i < e->ins; i++) {
        counts[i] = INTS / l->ints;
        places[i] = (e->ins - 1 - i) * INTS / l->ints;
        values(data, e->in[i], 0, INTS);
        if (e->in[i] != MPI_PROC_NULL)
            room_put(&want, i * INTS / l->ints, data, INTS);
    }
    CALL(form, Neighbor_allgather, Ineighbor_allgather, comm, from.base, INTS / l->ints, l->type,
         got.base, INTS / l->ints, l->type);
    check_same(&got, &want);
    got = room_new(l, e->ins * INTS / l->ints + 1);
    want = room_new(l, e->ins * INTS / l->ints + 1);
    for (int i = 0; i < e->ins; i++) {
        values(data, e->in[i], 0, INTS);
        if (e->in[i] != MPI_PROC_NULL)
            room_put(&want, places[i], data, INTS);
    }
    CALL(form, Neighbor_allgatherv, Ineighbor_allgatherv, comm, from.base, INTS / l->ints, l->type,
         got.base, counts, places, l->type);
    check_same(&got, &want);
    room_free(&from);
}

static void alltoall(MPI_Comm comm, int form, const struct edges *e, const struct layout *s,
                     const struct layout *r, int me)
{
    int data[INTS];
    struct room from = room_new(s, e->outs * INTS / s->ints + 1),
                got = room_new(r, e->ins * INTS / r->ints + 1),
                want = room_new(r, e->ins * INTS / r->ints + 1);
    for (int i = 0; i < e->outs; i++) {
        values(data, me, e->out_tag[i], INTS);
        room_put(&from, i * INTS / s->ints, data, INTS);
    }
    for (int i = 0; i < e->ins; i++) {
        values(data, e->in[i], e->in_tag[i], INTS);
        if (e->in[i] != MPI_PROC_NULL)
            room_put(&want, i * INTS / r->ints, data, INTS);
    }
    CALL(form, Neighbor_alltoall, Ineighbor_alltoall, comm, from.base, INTS / s->ints, s->type,
         got.base, INTS / r->ints, r->type);
    check_same(&got, &want);
    room_free(&from);
}

/* alltoalls tests neighbor_alltoallv and neighbor_alltoallw. */
static void alltoalls(MPI_Comm comm, int form, int w, const struct edges *e, const struct layout *s,
                      const struct layout *r, int me)
{
    int data[INTS], scounts[EDGES_MAX] = {0}, splaces[EDGES_MAX] = {0};
    int rcounts[EDGES_MAX] = {0}, rplaces[EDGES_MAX] = {0};
    MPI_Aint soffsets[EDGES_MAX] = {0}, roffsets[EDGES_MAX] = {0};
    MPI_Datatype stypes[EDGES_MAX], rtypes[EDGES_MAX];
    struct room from = room_new(s, (e->outs + 1) * INTS), got = room_new(r, (e->ins + 1) * INTS),
                want = room_new(r, (e->ins + 1) * INTS);
    for (int i = 0; i < e->outs; i++) {
        int ints = ints_of(me, e->out_tag[i]);
        scounts[i] = ints / s->ints;
        splaces[i] = i * INTS;
        soffsets[i] = splaces[i] * s->extent;
        stypes[i] = s->type;
        values(data, me, e->out_tag[i], ints);
        room_put(&from, splaces[i], data, ints);
    }
    for (int i = 0; i < e->ins; i++) {
        int ints = e->in[i] == MPI_PROC_NULL ? 0 : ints_of(e->in[i], e->in_tag[i]);
        rcounts[i] = ints / r->ints;
        rplaces[i] = i * INTS;
        roffsets[i] = rplaces[i] * r->extent;
        rtypes[i] = r->type;
        values(data, e->in[i], e->in_tag[i], ints);
        room_put(&want, rplaces[i], data, ints);
    }
    if (w)
        CALL(form, Neighbor_alltoallw, Ineighbor_alltoallw, comm, from.base, scounts, soffsets,
             stypes, got.base, rcounts, roffsets, rtypes);
    else
        CALL(form, Neighbor_alltoallv, Ineighbor_alltoallv, comm, from.base, scounts, splaces,
             s->type, got.base, rcounts, rplaces, r->type);
    check_same(&got, &want);
    room_free(&from);
}

static void all_calls(MPI_Comm comm, const struct edges *e)
{
    int me = 0;
    MPI_Comm_rank(comm, &me);
    for (int form = 0; form < FORMS; form++)
        for (int s = 0; s < LAYOUTS; s++) {
            const struct layout *r = &layouts[(s + form) % LAYOUTS];
            allgathers(comm, form, e, &layouts[s], me);
            alltoall(comm, form, e, &layouts[s], r, me);
            alltoalls(comm, form, 0, e, &layouts[s], r, me);
            alltoalls(comm, form, 1, e, &layouts[s], r, me);
        }
}

/* beyond: also grids in which both neighbours of a dimension are the same rank. The standard says
 * that a block that goes down arrives as the "up" block, but Open MPI 4.1 mixes them up. */
static int beyond;

/* grid tests a Cartesian communicator. */
static void grid(const char *name, int dimensions, const int *extent, const int *periodic)
{
    MPI_Comm comm = MPI_COMM_NULL;
    struct edges e = {.ins = 2 * dimensions, .outs = 2 * dimensions};
    now = name;
    for (int d = 0; d < dimensions; d++)
        if (periodic[d] && extent[d] <= 2 && !beyond)
            return;
    WELL(MPI_Cart_create(MPI_COMM_WORLD, dimensions, extent, periodic, 0, &comm));
    if (comm == MPI_COMM_NULL)
        return;
    for (int d = 0; d < dimensions; d++) {
        int down = 0, up = 0;
        WELL(MPI_Cart_shift(comm, d, 1, &down, &up));
        e.in[2 * d] = e.out[2 * d] = down;
        e.in[2 * d + 1] = e.out[2 * d + 1] = up;
        e.out_tag[2 * d] = e.in_tag[2 * d + 1] = 2 * d;
        e.out_tag[2 * d + 1] = e.in_tag[2 * d] = 2 * d + 1;
    }
    all_calls(comm, &e);
    WELL(MPI_Comm_free(&comm));
}

/* graph tests a ring with a chord from rank 0 to all. Edges go both ways. */
static void graph(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int index[RANKS_MAX] = {0}, list[4 * RANKS_MAX] = {0}, count = 0;
    struct edges e = {0};
    now = "graph";
    for (int r = 0; r < ranks; r++) {
        for (int other = 0; other < ranks; other++)
            if (other != r && (r == 0 || other == 0 || other == r - 1 || other == r + 1))
                list[count++] = other;
        index[r] = count;
    }
    WELL(MPI_Graph_create(MPI_COMM_WORLD, ranks, index, list, 0, &comm));
    for (int i = rank > 0 ? index[rank - 1] : 0; i < index[rank]; i++) {
        e.in[e.ins] = e.out[e.outs] = list[i];
        e.in_tag[e.ins++] = rank;
        e.out_tag[e.outs++] = list[i];
    }
    all_calls(comm, &e);
    WELL(MPI_Comm_free(&comm));
}

/* directed tests a distributed graph: each rank sends to the next one twice, to itself, and to all
 * lower ranks. */
static void directed(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    struct edges e = {0};
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    now = "distributed graph";
    for (int twice = 0; twice < 2; twice++) {
        e.in[e.ins] = previous;
        e.in_tag[e.ins++] = twice;
        e.out[e.outs] = next;
        e.out_tag[e.outs++] = twice;
    }
    e.in[e.ins] = e.out[e.outs] = rank;
    e.in_tag[e.ins++] = e.out_tag[e.outs++] = 2;
    for (int other = 0; other < ranks; other++) {
        if (other < rank && other != next) {
            e.out[e.outs] = other;
            e.out_tag[e.outs++] = 3;
        }
        if (other > rank && other != previous) {
            e.in[e.ins] = other;
            e.in_tag[e.ins++] = 3;
        }
    }
    WELL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, e.ins, e.in, e.in_tag, e.outs, e.out,
                                        e.out_tag, MPI_INFO_NULL, 0, &comm));
    all_calls(comm, &e);
    WELL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    CHECK(ranks <= RANKS_MAX);
    beyond = argc > 1;
    grid("line", 1, (const int[]){ranks}, (const int[]){0});
    grid("ring", 1, (const int[]){ranks}, (const int[]){1});
    grid("ring of two", 1, (const int[]){2}, (const int[]){1});
    grid("ring of one", 2, (const int[]){ranks, 1}, (const int[]){0, 1});
    grid("plane", 2, (const int[]){ranks / 2, 2}, (const int[]){0, 0});
    grid("grid", 2, (const int[]){2, ranks / 2}, (const int[]){1, 0});
    grid("flat torus", 3, (const int[]){1, ranks / 2, 2}, (const int[]){1, 1, 1});
    graph();
    directed();
    return end();
}
