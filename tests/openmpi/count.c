/* SPDX-License-Identifier: Apache-2.0 */
/* count: a library to preload that counts the collectives of an MPI program on intracommunicators
 * of two ranks or more, and how many of them went through torusd. It is no part of the component:
 * it reads the component's counter through MPI_T before and after each call.
 *
 * C programs call MPI_X, Open MPI's Fortran library PMPI_X; both are here. A broadcast or reduction
 * of no elements is not counted: Open MPI returns from it before it calls any component. At the end
 * each rank prints one line. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;
static int reads; /* the counter exists */
static unsigned long long calls, through;

static void find_counter(void)
{
    int level = 0, count = 0, values = 0;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &level) != MPI_SUCCESS ||
        MPI_T_pvar_get_num(&count) != MPI_SUCCESS ||
        MPI_T_pvar_session_create(&session) != MPI_SUCCESS)
        return;
    for (int i = 0; i < count && !reads; i++) {
        char name[256], text[256];
        int name_size = sizeof name, text_size = sizeof text, verbosity, class, bind, readonly,
            continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum list;
        if (MPI_T_pvar_get_info(i, name, &name_size, &verbosity, &class, &type, &list, text,
                                &text_size, &bind, &readonly, &continuous,
                                &atomic) == MPI_SUCCESS &&
            strcmp(name, "coll_torus_taken") == 0)
            reads = MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &values) == MPI_SUCCESS;
    }
}

static unsigned long long counter(void)
{
    unsigned long long value = 0;
    if (reads)
        MPI_T_pvar_read(session, handle, &value);
    return value;
}

/* counts returns 1 if a call on this communicator counts. */
static int counts(MPI_Comm comm)
{
    int inter = 0, size = 0;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_size(comm, &size);
    return !inter && size > 1;
}

static void note(MPI_Comm comm, int elements, unsigned long long before)
{
    if (!counts(comm) || elements == 0)
        return;
    calls++;
    through += counter() > before;
}

/* real returns Open MPI's function. */
static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function)
        fprintf(stderr, "count: there is no %s\n", name);
    return function;
}

#define VALUES(...) __VA_ARGS__

/* WRAP defines MPI_NAME and PMPI_NAME. */
#define WRAP_AS(symbol, Name, elements, PARAMETERS, ARGUMENTS)                                     \
    int symbol PARAMETERS;                                                                         \
    int symbol PARAMETERS                                                                          \
    {                                                                                              \
        static int(*next) PARAMETERS;                                                              \
        if (!next) {                                                                               \
            void *found = real("PMPI_" #Name);                                                     \
            memcpy(&next, &found, sizeof next);                                                    \
        }                                                                                          \
        unsigned long long before = counter();                                                     \
        int error = next ARGUMENTS;                                                                \
        note(comm, elements, before);                                                              \
        return error;                                                                              \
    }
#define WRAP(Name, elements, PARAMETERS, ARGUMENTS)                                                \
    WRAP_AS(MPI_##Name, Name, elements, PARAMETERS, ARGUMENTS)                                     \
    WRAP_AS(PMPI_##Name, Name, elements, PARAMETERS, ARGUMENTS)
#define BOTH_OF(Name, Iname, elements, PARAMETERS, ARGUMENTS)                                      \
    WRAP(Name, elements, (VALUES PARAMETERS, MPI_Comm comm), (VALUES ARGUMENTS, comm))             \
    WRAP(Iname, elements, (VALUES PARAMETERS, MPI_Comm comm, MPI_Request * request),               \
         (VALUES ARGUMENTS, comm, request))
#define BOTH(Name, Iname, PARAMETERS, ARGUMENTS) BOTH_OF(Name, Iname, 1, PARAMETERS, ARGUMENTS)

#define DATA (const void *sb, int sc, MPI_Datatype st, void *rb, int rc, MPI_Datatype rt)
#define DATA_V                                                                                     \
    (const void *sb, int sc, MPI_Datatype st, void *rb, const int rc[], const int rd[],            \
     MPI_Datatype rt)
#define LISTS                                                                                      \
    (const void *sb, const int sc[], const int sd[], MPI_Datatype st, void *rb, const int rc[],    \
     const int rd[], MPI_Datatype rt)

WRAP(Barrier, 1, (MPI_Comm comm), (comm))
WRAP(Ibarrier, 1, (MPI_Comm comm, MPI_Request *request), (comm, request))
BOTH_OF(Bcast, Ibcast, c, (void *b, int c, MPI_Datatype t, int root), (b, c, t, root))
BOTH_OF(Reduce, Ireduce, c, (const void *sb, void *rb, int c, MPI_Datatype t, MPI_Op op, int root),
        (sb, rb, c, t, op, root))
BOTH_OF(Allreduce, Iallreduce, c, (const void *sb, void *rb, int c, MPI_Datatype t, MPI_Op op),
        (sb, rb, c, t, op))
BOTH(Scan, Iscan, (const void *sb, void *rb, int c, MPI_Datatype t, MPI_Op op), (sb, rb, c, t, op))
BOTH(Exscan, Iexscan, (const void *sb, void *rb, int c, MPI_Datatype t, MPI_Op op),
     (sb, rb, c, t, op))
BOTH(Reduce_scatter_block, Ireduce_scatter_block,
     (const void *sb, void *rb, int c, MPI_Datatype t, MPI_Op op), (sb, rb, c, t, op))
BOTH(Reduce_scatter, Ireduce_scatter,
     (const void *sb, void *rb, const int c[], MPI_Datatype t, MPI_Op op), (sb, rb, c, t, op))
BOTH(Gather, Igather,
     (const void *sb, int sc, MPI_Datatype st, void *rb, int rc, MPI_Datatype rt, int root),
     (sb, sc, st, rb, rc, rt, root))
BOTH(Scatter, Iscatter,
     (const void *sb, int sc, MPI_Datatype st, void *rb, int rc, MPI_Datatype rt, int root),
     (sb, sc, st, rb, rc, rt, root))
BOTH(Gatherv, Igatherv,
     (const void *sb, int sc, MPI_Datatype st, void *rb, const int rc[], const int rd[],
      MPI_Datatype rt, int root),
     (sb, sc, st, rb, rc, rd, rt, root))
BOTH(Scatterv, Iscatterv,
     (const void *sb, const int sc[], const int sd[], MPI_Datatype st, void *rb, int rc,
      MPI_Datatype rt, int root),
     (sb, sc, sd, st, rb, rc, rt, root))
BOTH(Allgather, Iallgather, DATA, (sb, sc, st, rb, rc, rt))
BOTH(Allgatherv, Iallgatherv, DATA_V, (sb, sc, st, rb, rc, rd, rt))
BOTH(Alltoall, Ialltoall, DATA, (sb, sc, st, rb, rc, rt))
BOTH(Alltoallv, Ialltoallv, LISTS, (sb, sc, sd, st, rb, rc, rd, rt))
BOTH(Alltoallw, Ialltoallw,
     (const void *sb, const int sc[], const int sd[], const MPI_Datatype st[], void *rb,
      const int rc[], const int rd[], const MPI_Datatype rt[]),
     (sb, sc, sd, st, rb, rc, rd, rt))
BOTH(Neighbor_allgather, Ineighbor_allgather, DATA, (sb, sc, st, rb, rc, rt))
BOTH(Neighbor_allgatherv, Ineighbor_allgatherv, DATA_V, (sb, sc, st, rb, rc, rd, rt))
BOTH(Neighbor_alltoall, Ineighbor_alltoall, DATA, (sb, sc, st, rb, rc, rt))
BOTH(Neighbor_alltoallv, Ineighbor_alltoallv, LISTS, (sb, sc, sd, st, rb, rc, rd, rt))
BOTH(Neighbor_alltoallw, Ineighbor_alltoallw,
     (const void *sb, const int sc[], const MPI_Aint sd[], const MPI_Datatype st[], void *rb,
      const int rc[], const MPI_Aint rd[], const MPI_Datatype rt[]),
     (sb, sc, sd, st, rb, rc, rd, rt))

/* ---- begin and end ---- */

static int init(int *argc, char ***argv)
{
    static int (*next)(int *, char ***);
    void *found = real("PMPI_Init");
    memcpy(&next, &found, sizeof next);
    int error = next(argc, argv);
    find_counter();
    return error;
}

static int init_thread(int *argc, char ***argv, int wanted, int *level)
{
    static int (*next)(int *, char ***, int, int *);
    void *found = real("PMPI_Init_thread");
    memcpy(&next, &found, sizeof next);
    int error = next(argc, argv, wanted, level);
    find_counter();
    return error;
}

static int finalize(void)
{
    static int (*next)(void);
    void *found = real("PMPI_Finalize");
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "count: rank %d: %llu collectives, %llu through torusd\n", rank, calls,
            through);
    memcpy(&next, &found, sizeof next);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize(); /* else the components stay open */
    return next();
}

int MPI_Init(int *argc, char ***argv)
{
    return init(argc, argv);
}
int PMPI_Init(int *argc, char ***argv)
{
    return init(argc, argv);
}
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *level)
{
    return init_thread(argc, argv, wanted, level);
}
int PMPI_Init_thread(int *argc, char ***argv, int wanted, int *level)
{
    return init_thread(argc, argv, wanted, level);
}
int MPI_Finalize(void)
{
    return finalize();
}
int PMPI_Finalize(void)
{
    return finalize();
}
