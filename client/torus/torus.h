/* SPDX-License-Identifier: Apache-2.0 */
/* torus.h: client library of torusd, the collectives service.
 *
 * A process opens a context, which is a connection to the daemon of its node. It joins a job and so
 * becomes a rank of the job's world group. Then it calls collectives on groups. All ranks of a
 * group make the same calls in the same order.
 *
 * A blocking call has a non-blocking form: `torus_allreduce` waits for the result,
 * `torus_iallreduce` starts the operation and returns a request. A request completes only inside
 * torus_dispatch, torus_test or torus_wait. The buffers belong to the service until the request
 * completes. The service uses memory from torus_alloc in place; it copies any other memory in and
 * out. Collectives have a third form, `torus_allreduce_init`, for repeated calls: see
 * torus_persistent_start.
 *
 * A function returns 0 (TORUS_OK) or a negative error; torus_last_error returns the sentence of the
 * error. The library never aborts, exits or prints. Every function accepts NULL for its context,
 * group, plan or request: it returns TORUS_ERR_INVALID, or 0, NULL or a descriptor of -1.
 *
 * Contexts are independent. One thread at a time uses a context, unless it was opened with
 * torus_open_options.threads: calls of a second thread return TORUS_ERR_INVALID while one is
 * inside. With that option any thread may call any function at any time, but torus_close
 * and torus_iclose, which come last. Calls on one group are still made in the same order on all
 * ranks, so threads that call collectives at once use groups of their own. One thread waits for a
 * request. torus_last_error returns the sentence of the calling thread. A callback runs in the
 * thread that handles the reply. */
#ifndef TORUS_TORUS_H
#define TORUS_TORUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TORUS_API __attribute__((visibility("default")))
#else
#define TORUS_API
#endif

/* Version of this header. */
#define TORUS_VERSION_MAJOR 0
#define TORUS_VERSION_MINOR 1
#define TORUS_VERSION_PATCH 0

/* TORUS_VERSION_NUMBER packs a version into one number, so that versions compare as numbers do. */
#define TORUS_VERSION_NUMBER                                                                       \
    (TORUS_VERSION_MAJOR * 0x10000 + TORUS_VERSION_MINOR * 0x100 + TORUS_VERSION_PATCH)

/* torus_version returns the TORUS_VERSION_NUMBER of the library that the program runs with; it may
 * differ from that of this header. Major: library >> 16; minor: library >> 8 & 255; patch: library
 * & 255. Before version 1.0 a new minor version may break programs; since then, only a new major.
 */
TORUS_API int torus_version(void);

/* Errors. Their numbers never change. */
enum {
    TORUS_PENDING = 1, /* torus_test, torus_wait: not complete yet. This is no error. */
    TORUS_OK = 0,
    TORUS_ERR_INVALID = -1,     /* invalid argument; the sentence names it */
    TORUS_ERR_NO_MEMORY = -2,   /* not enough memory, here or on the node that the sentence names */
    TORUS_ERR_NO_DAEMON = -3,   /* no daemon accepts connections on the socket */
    TORUS_ERR_PROTOCOL = -4,    /* the daemon sent a malformed or unexpected message */
    TORUS_ERR_VERSION = -5,     /* library and daemon use different protocol versions */
    TORUS_ERR_TIMEOUT = -6,     /* timeout; the sentence names the missing ranks, or the node that a
                                   stalled operation waited for */
    TORUS_ERR_MISMATCH = -7,    /* ranks of one group called different operations */
    TORUS_ERR_RANK_FAILED = -8, /* a rank died or left */
    TORUS_ERR_NODE_FAILED = -9, /* a node died or does not respond */
    TORUS_ERR_CANCELLED = -10,  /* a rank cancelled the operation */
    TORUS_ERR_BUSY = -11,       /* too much in flight, or memory still in use */
    TORUS_ERR_RANK_TAKEN = -12, /* another process has this rank */
    TORUS_ERR_FORKED = -13,     /* the context belongs to the parent process */
    TORUS_ERR_INTERNAL = -14,   /* a bug in the service */
    TORUS_ERR_SHUTDOWN = -15,   /* the daemon is stopping or has stopped */
    TORUS_ERR_SYSTEM = -16,     /* an operating system call failed */
    TORUS_ERR_PARTITIONED = -17, /* nodes do not hear each other: call again when they do */
    TORUS_ERR_PERMISSION = -18   /* the job or memory belongs to another user, or this user may not
                                    connect to the daemon */
};

/* Element types. */
enum {
    TORUS_OPAQUE = 0, /* known to a user-defined operator only; torus_op_create sets its size */
    TORUS_BYTE = 1,   /* moved, or combined bitwise */
    TORUS_INT32 = 2,
    TORUS_INT64 = 3,
    TORUS_FLOAT = 4,
    TORUS_DOUBLE = 5,
    TORUS_COMPLEX_FLOAT = 6, /* two floats: real, imaginary */
    TORUS_COMPLEX_DOUBLE = 7,
    TORUS_INT8 = 8,
    TORUS_INT16 = 9,
    TORUS_UINT8 = 10,
    TORUS_UINT16 = 11,
    TORUS_UINT32 = 12,
    TORUS_UINT64 = 13,
    TORUS_LONG_DOUBLE = 14, /* 16 bytes */
    TORUS_HALF = 15,        /* IEEE binary16 */
    TORUS_BFLOAT16 = 16,    /* the upper 16 bits of a float */
    TORUS_INT32_INT = 17,   /* a value and its place: struct torus_int32_int ... */
    TORUS_INT64_INT = 18,
    TORUS_FLOAT_INT = 19,
    TORUS_DOUBLE_INT = 20,
    TORUS_INT16_INT = 21,
    TORUS_LONG_DOUBLE_INT = 22,
    TORUS_BOOL = 23 /* one byte, 0 or 1: bool of C and C++ */
};

/* Elements of TORUS_MINLOC and TORUS_MAXLOC: a value and its place, such as a rank or an index. */
struct torus_int32_int {
    int32_t value;
    int32_t place;
};
struct torus_int64_int {
    int64_t value;
    int32_t place;
};
struct torus_float_int {
    float value;
    int32_t place;
};
struct torus_double_int {
    double value;
    int32_t place;
};
struct torus_int16_int {
    int16_t value;
    int32_t place;
};
struct torus_long_double_int {
    long double value;
    int32_t place;
};

/* Operators of reductions. "Numbers" are integers, floating-point and complex types; "ordered"
 * types are numbers except complex ones; "bits" are integers, TORUS_BYTE and
 * TORUS_BOOL. torus_op_create adds
 * operators. */
enum {
    TORUS_SUM = 1, /* numbers */
    TORUS_MIN = 2, /* ordered */
    TORUS_MAX = 3,
    TORUS_PROD = 4, /* numbers */
    TORUS_BAND = 5, /* bits */
    TORUS_BOR = 6,
    TORUS_BXOR = 7,
    TORUS_LAND = 8, /* bits as truth values: nonzero is true; the result is 0 or 1 */
    TORUS_LOR = 9,
    TORUS_LXOR = 10,
    TORUS_MINLOC = 11, /* values with places: the smaller value; of equal values, the lower place */
    TORUS_MAXLOC = 12
};

/* Reproducibility of floating-point reductions: torus_set_reproducible. */
enum {
    TORUS_REPRODUCIBLE_OFF = 0,
    TORUS_REPRODUCIBLE_SAME_PLACEMENT = 1, /* equal bits if ranks are on the same nodes */
    TORUS_REPRODUCIBLE_ANY_PLACEMENT = 2   /* equal bits for any placement of ranks */
};

/* Signs and scalings of transforms, as FFTW's signs and NumPy's norms. N is the product of the
 * logical sizes of the transforms. */
enum { TORUS_FORWARD = -1, TORUS_BACKWARD = 1 };
enum {
    TORUS_SCALE_NONE = 0,  /* unnormalised, as FFTW */
    TORUS_SCALE_ORTHO = 1, /* 1 / sqrt(N) */
    TORUS_SCALE_FULL = 2   /* 1 / N */
};

/* Limits and special values: the dimensions of an array or machine; a rank that the service
 * chooses; no colour, rank or index. */
enum { TORUS_DIMENSIONS_MAX = 6, TORUS_RANK_ANY = -1, TORUS_UNDEFINED = -1 };
/* The root of a broadcast between two groups, as given in the root's group: by the root itself, and
 * by the other ranks of its group. */
enum { TORUS_ROOT = -2, TORUS_NO_ROOT = -3 };

typedef struct torus_context torus_context;
typedef struct torus_group torus_group;
typedef struct torus_intergroup torus_intergroup;
typedef struct torus_request torus_request;
typedef struct torus_plan torus_plan;
typedef struct torus_persistent torus_persistent;

/* torus_callback runs when a request completes, inside torus_dispatch, torus_test or torus_wait. It
 * may call the library. The request is freed after it returns. */
typedef void torus_callback(torus_request *request, int error, void *user);
/* torus_log_function receives the sentence of every error; `level` is the error. */
typedef void torus_log_function(int level, const char *text, void *user);
/* torus_idle_function makes progress with other work of the program while a call waits. */
typedef void torus_idle_function(void *user);
/* torus_op_function combines two arrays of `count` elements: inout[i] = in[i] op inout[i]. `in`
 * comes from lower ranks. The function must not call the library. */
typedef void torus_op_function(const void *in, void *inout, size_t count, void *user);

/* struct torus_open_options: options of torus_open. Set `size` to sizeof(struct
 * torus_open_options); 0 selects the default of another field. */
struct torus_open_options {
    size_t size;
    const char *socket;   /* path; NULL: TORUS_SOCKET, else $XDG_RUNTIME_DIR/torusd/torusd.sock,
                             else /run/torusd/torusd.sock */
    size_t staging_bytes; /* least size of a piece of shared memory; 0: 1 MiB. Copies of plain
                             memory keep up to 64 MiB for later calls */
    int32_t threads;      /* nonzero: several threads use the context at once */
    int32_t timeout_ms;   /* until the daemon has answered; 0: 30 s */
};

/* struct torus_join_options: options of torus_join. An unset field (name NULL, ranks 0, rank_set 0)
 * comes from the environment: TORUS_JOB, TORUS_RANK and TORUS_SIZE, else the variables of Open MPI,
 * PMI, torchrun or Slurm's srun, in this order. Without any of them the job has one rank; TORUS_JOB
 * or TORUS_RANK without a size is refused. */
struct torus_join_options {
    size_t size; /* sizeof(struct torus_join_options) */
    const char *name;
    uint32_t ranks;     /* size of the job */
    int32_t rank;       /* TORUS_RANK_ANY or 0 .. ranks - 1; used if rank_set */
    int32_t rank_set;   /* nonzero: `rank` is set */
    int64_t timeout_ns; /* until all ranks have joined; 0 or -1: the daemon's setting */
};

/* Transforms along an axis, named as FFTW's. */
enum {
    TORUS_TRANSFORM_NONE = 0,
    TORUS_TRANSFORM_COMPLEX = 1,
    TORUS_TRANSFORM_R2C = 2,     /* n real numbers to n / 2 + 1 complex numbers; forward */
    TORUS_TRANSFORM_C2R = 3,     /* the inverse of R2C; backward */
    TORUS_TRANSFORM_REDFT00 = 4, /* real to real: DCT-I */
    TORUS_TRANSFORM_REDFT10 = 5, /* DCT-II */
    TORUS_TRANSFORM_REDFT01 = 6, /* DCT-III */
    TORUS_TRANSFORM_REDFT11 = 7, /* DCT-IV */
    TORUS_TRANSFORM_RODFT00 = 8, /* DST-I to IV */
    TORUS_TRANSFORM_RODFT10 = 9,
    TORUS_TRANSFORM_RODFT01 = 10,
    TORUS_TRANSFORM_RODFT11 = 11
};

/* struct torus_fft_desc: a transform of an array. Set `size` to sizeof(struct torus_fft_desc); 0
 * selects the default of an optional field. */
struct torus_fft_desc {
    size_t size;                          /* sizeof(struct torus_fft_desc) */
    uint32_t dimensions;                  /* 1 .. TORUS_DIMENSIONS_MAX */
    uint64_t shape[TORUS_DIMENSIONS_MAX]; /* points; along R2C and C2R, real points */
    /* TORUS_COMPLEX_FLOAT or _DOUBLE; of real-to-real transforms TORUS_FLOAT or _DOUBLE. With an
     * R2C or C2R axis, the type of either side. */
    int32_t type;
    int32_t sign;  /* TORUS_FORWARD or TORUS_BACKWARD */
    int32_t scale; /* TORUS_SCALE_* */
    /* TORUS_TRANSFORM_* of each axis; all 0: complex along every axis. The axes that are not
     * transformed form a batch of transforms. */
    int32_t transform[TORUS_DIMENSIONS_MAX];
    /* layouts of input and output, such as "(block, *)"; NULL: blocks of axis 0 over all ranks */
    const char *from, *to;
    /* grid of nodes that distributes the array between the stages: {4} for slabs, {4, 2} for
     * pencils; fewer axes than the array has. All 0, or more nodes than exist: the service chooses.
     */
    uint32_t grid[TORUS_DIMENSIONS_MAX];
    int32_t method; /* TORUS_TRANSPOSE_* */
};

/* Methods of the redistributions within a transform. */
enum {
    TORUS_TRANSPOSE_AUTO = 0,
    TORUS_TRANSPOSE_RANDOM = 1,   /* each node sends to the others in a random order of its own */
    TORUS_TRANSPOSE_PHASED = 2,   /* one dimension of the torus at a time, through relay nodes */
    TORUS_TRANSPOSE_PAIRWISE = 3, /* pairs of nodes exchange, one partner at a time */
    TORUS_TRANSPOSE_TWO_PHASE = 4 /* the longest dimension, then the others, through relay nodes */
};

/* Schedules of a redistribution. */
enum {
    TORUS_SCHEDULE_AUTO = 0,      /* circulant if it applies, else the cheapest */
    TORUS_SCHEDULE_CIRCULANT = 1, /* computed in closed form */
    TORUS_SCHEDULE_COLOURING = 2, /* the fewest steps */
    TORUS_SCHEDULE_CLASSES = 3,   /* messages of a step have equal lengths */
    TORUS_SCHEDULE_MATCHING = 4,
    TORUS_SCHEDULE_CATERPILLAR = 5 /* round robin */
};

/* struct torus_redist_desc: a move of an array from one layout to another.
 *
 * A layout gives the distribution of each axis, the grid, and the ranks of the group:
 *   "(block, cyclic(4), *) on 3x4 @0-11"   also block(b), and block+3: shifted by 3 indices
 *   "(cyclic(2), *)"                       one distributed axis, over all ranks
 *   "(*, block) order 1,0 @0-3"            axis 1 is outermost in the memory of each rank
 *   "boxes 0:10,0:5 0:10,5:9 @0,4"         one box per rank, from:to along each axis; - for no box
 * The two layouts may use the same ranks, overlapping sets of ranks, or disjoint sets. */
struct torus_redist_desc {
    size_t size;            /* sizeof(struct torus_redist_desc) */
    uint32_t dimensions;    /* 1 .. TORUS_DIMENSIONS_MAX */
    int32_t transposed;     /* nonzero: `axes` is set */
    uint64_t element_bytes; /* 1 .. 1 MiB */
    uint64_t shape[TORUS_DIMENSIONS_MAX];
    const char *from, *to;               /* NULL: blocks of axis 0 over all ranks */
    uint32_t axes[TORUS_DIMENSIONS_MAX]; /* axis d of the output is axis axes[d] of the input */
    int32_t schedule;                    /* TORUS_SCHEDULE_* */
};

/* struct torus_box: a rectangular part of an array: first index and count along each axis. */
struct torus_box {
    uint32_t dimensions;
    uint64_t begin[TORUS_DIMENSIONS_MAX];
    uint64_t count[TORUS_DIMENSIONS_MAX];
};

/* Sides of a plan: the array before and after. */
enum { TORUS_SIDE_INPUT = 0, TORUS_SIDE_OUTPUT = 1 };

/* struct torus_grid: the ranks of a group as a Cartesian grid; the last coordinate varies fastest.
 */
struct torus_grid {
    size_t size;                            /* sizeof(struct torus_grid) */
    uint32_t dimensions;                    /* 1 .. TORUS_DIMENSIONS_MAX */
    uint32_t extent[TORUS_DIMENSIONS_MAX];  /* their product is the size of the group */
    int32_t periodic[TORUS_DIMENSIONS_MAX]; /* nonzero: the last rank is a neighbour of the first */
};

/* struct torus_graph: the edges of this rank in a directed graph of the ranks of a group, as
 * MPI_Dist_graph_create_adjacent has them. Each edge is in the lists of both of its ends. Ranks may
 * repeat, and an edge may lead back to its own rank. The first edge to a rank in `destination` is
 * the first edge from this rank in the `source` of that rank, and so on. */
struct torus_graph {
    size_t size;            /* sizeof(struct torus_graph) */
    uint32_t sources;       /* edges to this rank */
    uint32_t destinations;  /* edges from this rank */
    const uint32_t *source; /* their other ends; NULL: none */
    const uint32_t *destination;
};

/* struct torus_statistics: counters of a context since torus_open. */
struct torus_statistics {
    size_t size;           /* set by the caller: sizeof(struct torus_statistics) */
    uint64_t operations;   /* started */
    uint64_t staged_bytes; /* copied because the service could not use the buffer in place */
    uint64_t region_bytes; /* shared memory now, with what is kept for copies of plain memory */
};

/* TORUS_IN_PLACE as the source: the destination holds the input. It is the address 1. */
#define TORUS_IN_PLACE ((void *)1)

/* ---- context ---- */

/* torus_open connects to the daemon of this node; options may be NULL. torus_close frees the
 * context. After TORUS_ERR_NO_MEMORY *context is NULL. After another error *context accepts
 * torus_last_error and torus_close only. TORUS_ERR_NO_DAEMON: no daemon accepts connections;
 * TORUS_ERR_PERMISSION: this user may not use its socket; TORUS_ERR_INVALID: its path has more than
 * 107 characters; TORUS_ERR_SYSTEM: this process has no descriptor left. */
TORUS_API int torus_open(torus_context **context, const struct torus_open_options *options);
/* torus_close leaves all groups and frees the context with its requests, plans and memory. If a
 * callback calls it, it takes effect when the call that ran the callback ends. NULL is accepted. */
TORUS_API void torus_close(torus_context *context);
/* torus_iclose is the non-blocking form of torus_close: it leaves all groups. When the request has
 * completed, torus_close only frees. TORUS_ERR_BUSY while operations are in flight: wait for them
 * or cancel them. */
TORUS_API int torus_iclose(torus_context *context, torus_request **request);
/* torus_disconnect leaves all groups at once, as torus_close does, and ends the connection. It does
 * not wait. Requests in flight complete with TORUS_ERR_SHUTDOWN, also those that other threads wait
 * for, and later calls return it. Memory of torus_alloc stays mapped until torus_free or
 * torus_close. */
TORUS_API int torus_disconnect(torus_context *context);

/* torus_fd returns a descriptor that is readable while torus_dispatch has work. It is an epoll
 * descriptor and stays the same for the life of the context. The context owns it. */
TORUS_API int torus_fd(const torus_context *context);
/* torus_dispatch handles all replies that have arrived and runs callbacks. It does not wait. */
TORUS_API int torus_dispatch(torus_context *context);

/* torus_strerror returns a short static text for an error. */
TORUS_API const char *torus_strerror(int error);
/* torus_last_error returns the sentence of the last error of this context: what failed, on which
 * ranks or node, and what to do. If the last error of the calling thread had no context, as after
 * torus_barrier(NULL), it returns that sentence; so does torus_last_error(NULL). Never NULL; valid
 * until the next call on the context. */
TORUS_API const char *torus_last_error(const torus_context *context);
/* torus_set_idle makes a function that waits call `idle` again and again, at least every 100 us
 * while nothing arrives; NULL: no more. It returns TORUS_ERR_INVALID unless the context was opened
 * with threads. `idle` may call the library, except: a function that waits, a call of the group
 * whose call waits, and torus_close. It runs without the lock of the context, in each thread that
 * waits. */
TORUS_API int torus_set_idle(torus_context *context, torus_idle_function *idle, void *user);
/* torus_set_log makes the context call `log` for every error; NULL: no more. It also calls `log`
 * now, with TORUS_OK, for each variable TORUS_... of the environment that torusd does not know. */
TORUS_API void torus_set_log(torus_context *context, torus_log_function *log, void *user);
/* torus_statistics fills in *statistics; the caller sets its `size`. */
TORUS_API int torus_statistics(const torus_context *context, struct torus_statistics *statistics);

/* torus_shape returns the number of dimensions of the machine and writes the size of each; wrap[d]
 * is 1 if dimension d wraps around, else 0. Either array may be NULL. torus_coords writes the
 * coordinates of this node and returns their number; torus_node returns its index. */
TORUS_API int torus_shape(const torus_context *context, uint32_t size[TORUS_DIMENSIONS_MAX],
                          int wrap[TORUS_DIMENSIONS_MAX]);
TORUS_API int torus_coords(const torus_context *context,
                           uint32_t coordinates[TORUS_DIMENSIONS_MAX]);
TORUS_API uint32_t torus_node(const torus_context *context);
/* torus_authenticated returns 1 if the daemon knows who its peers are: they have keys, or talk over
 * Unix sockets, or the machine has one node. It returns 0 if any host or user that reaches the
 * daemons' ports may send data in the name of another rank. Then do not decode data of other ranks
 * in a format that can run code. */
TORUS_API int torus_authenticated(const torus_context *context);
/* torus_incarnation returns a random number that the daemon drew when it started. Contexts with
 * equal numbers have the same daemon; another one, and the same one after a restart, has another
 * number. */
TORUS_API uint64_t torus_incarnation(const torus_context *context);

/* ---- memory ---- */

/* torus_alloc returns `bytes` of zeroed shared memory, aligned to 64 bytes, that collectives use in
 * place; `bytes` may be 0. torus_free or torus_close frees it. NULL: not enough memory, or the
 * connection to torusd has ended; torus_last_error has the reason. */
TORUS_API void *torus_alloc(torus_context *context, size_t bytes);
/* torus_free frees memory of torus_alloc. TORUS_ERR_BUSY while an operation uses it. NULL is
 * accepted. */
TORUS_API int torus_free(torus_context *context, void *memory);

/* ---- jobs ---- */

/* torus_join joins a job and waits until all its ranks have joined. options may be NULL. *world is
 * the group of all ranks; torus_leave or torus_close frees it. TORUS_ERR_RANK_TAKEN: another
 * process has the rank. TORUS_ERR_MISMATCH: the ranks give different sizes, or the daemons of their
 * nodes have different settings or methods. */
TORUS_API int torus_join(torus_context *context, const struct torus_join_options *options,
                         torus_group **world);
/* torus_ijoin is the non-blocking form of torus_join; *world is set when the request completes. */
TORUS_API int torus_ijoin(torus_context *context, const struct torus_join_options *options,
                          torus_group **world, torus_request **request);
/* torus_leave gives up this process's rank in a group and frees the group. Leaving the world group
 * also leaves and frees all groups that were created from it. TORUS_ERR_BUSY while their operations
 * are in flight. */
TORUS_API int torus_leave(torus_group *group);
/* torus_rank returns the rank of this process in the group, torus_size the number of ranks. */
TORUS_API uint32_t torus_rank(const torus_group *group);
TORUS_API uint32_t torus_size(const torus_group *group);

/* ---- groups ----
 *
 * A new group consists of ranks of an existing group. It inherits the timeout and the reproducible
 * mode. Operations of different groups are independent and may overlap. The non-blocking forms set
 * *made when the request completes. torus_group_free frees a new group. */

/* torus_split creates one group for each colour, 0 or more, from the ranks that give it. Ranks are
 * ordered by key; equal keys by old rank. A rank that gives TORUS_UNDEFINED gets *made = NULL.
 * Collective. */
TORUS_API int torus_split(torus_group *group, int32_t colour, int32_t key, torus_group **made);
TORUS_API int torus_isplit(torus_group *group, int32_t colour, int32_t key, torus_group **made,
                           torus_request **request);
/* torus_dup creates a group of the same ranks with independent operations. All ranks call it, at
 * the same position among their calls of torus_dup on this group. */
TORUS_API int torus_dup(torus_group *group, torus_group **made);
TORUS_API int torus_idup(torus_group *group, torus_group **made, torus_request **request);
/* torus_group_create creates a group of `count` ranks of `group`, in the order of the list. Exactly
 * the listed ranks call it, with the same list and `tag`, at the same position among their calls
 * with that list and tag; other creations may come in any order. If one of them never does,
 * operations of the new group end with TORUS_ERR_TIMEOUT. If a daemon is at a limit, the creation
 * ends with TORUS_ERR_BUSY on its ranks, and operations of the others with the same sentence. */
TORUS_API int torus_group_create(torus_group *group, const uint32_t *ranks, uint32_t count,
                                 uint32_t tag, torus_group **made);
TORUS_API int torus_igroup_create(torus_group *group, const uint32_t *ranks, uint32_t count,
                                  uint32_t tag, torus_group **made, torus_request **request);
/* torus_shrink creates a group of the surviving ranks, in the old order. Ranks that died, left the
 * group or were on a lost node are left out; without losses the group has all ranks. All survivors
 * call it, whatever the outcome of their operations. All of them get the same group or the same
 * error, even if more ranks are lost meanwhile. TORUS_ERR_TIMEOUT names the survivors that did not
 * call it. A node that only fell silent is left out if more than half of the machine's nodes agree,
 * or half with node 0; otherwise TORUS_ERR_PARTITIONED tells the survivors that they may call again
 * when the network works. Ranks that were left out so get TORUS_ERR_PARTITIONED always; they may
 * join a new job. The old group stays unchanged. */
TORUS_API int torus_shrink(torus_group *group, torus_group **made);
TORUS_API int torus_ishrink(torus_group *group, torus_group **made, torus_request **request);
/* torus_group_free leaves and frees a group other than the world group. The pointer is invalid from
 * then on; operations in flight complete, and the group is left after the last of them. It does not
 * wait for other ranks. A later operation of a rank that has not left fails. */
TORUS_API int torus_group_free(torus_group *group);
/* torus_translate returns the rank in `other` of the process that has `rank` in `group`. It returns
 * TORUS_UNDEFINED if `other` does not contain that process, or belongs to another job. */
TORUS_API int32_t torus_translate(const torus_group *group, uint32_t rank,
                                  const torus_group *other);

/* ---- inter-groups ----
 *
 * An inter-group connects two disjoint groups of a job. Data goes from the ranks of each group to
 * those of the other, the *remote* one. Ranks are those in their own group. All ranks of both
 * groups make the same calls in the same order. No call accepts TORUS_IN_PLACE. */

/* torus_intergroup_create connects `local` with another group, whose ranks make the same call with
 * theirs. `leader` is a rank of `local`. The two leaders are ranks of `bridge`, in which
 * `remote_leader` is the other one; the other ranks ignore these two. `tag` tells apart creations
 * between the same leaders. It waits for all ranks. TORUS_ERR_INVALID: a rank is in both groups.
 * The inter-group outlives `local` and `bridge`. torus_intergroup_free frees it as torus_group_free
 * does a group; NULL is accepted. */
TORUS_API int torus_intergroup_create(torus_group *local, uint32_t leader, torus_group *bridge,
                                      uint32_t remote_leader, uint32_t tag,
                                      torus_intergroup **made);
/* torus_intergroup_of makes an inter-group of a group: its first `first` ranks are one side, the
 * others the other one. It is local; all ranks of the group call it, with the same `first`. So
 * torus_igroup_create and this call make an inter-group without waiting, where all ranks know the
 * ranks of both sides. The inter-group takes over `all`, whose pointer is invalid once the
 * inter-group is freed. TORUS_ERR_INVALID: a side has no rank, or `all` is the world group. */
TORUS_API int torus_intergroup_of(torus_group *all, uint32_t first, torus_intergroup **made);
TORUS_API int torus_intergroup_free(torus_intergroup *intergroup);
/* torus_intergroup_rank returns the rank of this process in its own group, _size the size of that
 * group, and _remote_size that of the other one. */
TORUS_API uint32_t torus_intergroup_rank(const torus_intergroup *intergroup);
TORUS_API uint32_t torus_intergroup_size(const torus_intergroup *intergroup);
TORUS_API uint32_t torus_intergroup_remote_size(const torus_intergroup *intergroup);
/* torus_intergroup_merge makes one group of both. The ranks of the group that gives `high` come
 * last; if both groups give the same, all ranks agree on an order. All ranks of one group give the
 * same, else TORUS_ERR_MISMATCH. It waits for all ranks. */
TORUS_API int torus_intergroup_merge(torus_intergroup *intergroup, int high, torus_group **made);

/* torus_intergroup_barrier returns when all ranks of both groups have called it. */
TORUS_API int torus_intergroup_barrier(torus_intergroup *intergroup);
TORUS_API int torus_intergroup_ibarrier(torus_intergroup *intergroup, torus_request **request);
/* torus_intergroup_broadcast copies `count` elements of the root to all ranks of the other group.
 * The root gives TORUS_ROOT, the other ranks of its group TORUS_NO_ROOT, which ignore the buffer;
 * the receivers give the root's rank in its group. */
TORUS_API int torus_intergroup_broadcast(torus_intergroup *intergroup, void *buffer, size_t count,
                                         int type, int32_t root);
TORUS_API int torus_intergroup_ibroadcast(torus_intergroup *intergroup, void *buffer, size_t count,
                                          int type, int32_t root, torus_request **request);
/* torus_intergroup_allgather copies source_count elements of each rank to all ranks of the other
 * group, where block r of destination_count elements is that of remote rank r. The counts of the
 * two directions may differ. */
TORUS_API int torus_intergroup_allgather(torus_intergroup *intergroup, const void *source,
                                         size_t source_count, void *destination,
                                         size_t destination_count, int type);
TORUS_API int torus_intergroup_iallgather(torus_intergroup *intergroup, const void *source,
                                          size_t source_count, void *destination,
                                          size_t destination_count, int type,
                                          torus_request **request);
/* torus_intergroup_alltoall sends block r of the source, of source_count elements, to remote rank
 * r; block r of the destination, of destination_count elements, comes from it. */
TORUS_API int torus_intergroup_alltoall(torus_intergroup *intergroup, const void *source,
                                        size_t source_count, void *destination,
                                        size_t destination_count, int type);
TORUS_API int torus_intergroup_ialltoall(torus_intergroup *intergroup, const void *source,
                                         size_t source_count, void *destination,
                                         size_t destination_count, int type,
                                         torus_request **request);
/* torus_intergroup_allreduce reduces `count` elements of the ranks of the other group, in the order
 * of their ranks; all ranks of a group get equal bits. Types and operators are those of
 * torus_allreduce; derived types have no gaps. It uses remote size x count elements of shared
 * memory on each rank. */
TORUS_API int torus_intergroup_allreduce(torus_intergroup *intergroup, const void *source,
                                         void *destination, size_t count, int type, int op);
TORUS_API int torus_intergroup_iallreduce(torus_intergroup *intergroup, const void *source,
                                          void *destination, size_t count, int type, int op,
                                          torus_request **request);

/* ---- requests ----
 *
 * A group has at most 65,536 operations in flight. A further blocking collective waits until one of
 * them completes; a further non-blocking call returns TORUS_ERR_BUSY and does nothing. The daemon
 * has at most 256 of them, and fewer if its records are short ([limits] operations); the library
 * sends the others in torus_dispatch, torus_test and torus_wait. If the service refuses a call
 * (TORUS_ERR_INVALID, _NO_MEMORY), the call does not count: the next call takes its position. Calls
 * of that group that were started after it are refused too, with TORUS_ERR_BUSY, because they would
 * meet the wrong calls of other ranks. */

/* torus_test returns TORUS_PENDING if the operation is not complete. Else it frees the request and
 * returns the outcome. It does not wait. */
TORUS_API int torus_test(torus_request *request);
/* torus_wait waits up to timeout_ns nanoseconds (-1: no limit). It returns TORUS_PENDING at the
 * limit; the operation continues. Else it frees the request and returns the outcome. */
TORUS_API int torus_wait(torus_request *request, int64_t timeout_ns);
/* torus_peek returns TORUS_PENDING, or the outcome of a complete request, which it does not free.
 * It does not wait. torus_request_error returns the sentence of the error of a complete request, ""
 * for none; valid until the request is freed. */
TORUS_API int torus_peek(torus_request *request);
TORUS_API const char *torus_request_error(const torus_request *request);

/* These three wait for requests of one context, up to timeout_ns nanoseconds (-1: no limit; 0: they
 * only test). NULL entries are ignored. They free the complete requests of which they return the
 * outcomes, and set the entries to NULL. TORUS_PENDING: the time is over.
 *
 * torus_waitany waits for one of the requests and writes its index; it returns the outcome. Without
 * any request it returns TORUS_OK, and *index is TORUS_NO_REQUEST.
 * torus_waitsome waits for one of them, and takes all that are complete: it writes their number,
 * their indices and, unless `errors` is NULL, their outcomes; both arrays have `count` entries.
 * torus_waitall waits for all of them. errors[i], unless `errors` is NULL, is the outcome of
 * requests[i]; TORUS_PENDING if the time was over before. These two return the first error in the
 * order of the entries, with its sentence in torus_last_error. */
#define TORUS_NO_REQUEST ((size_t)-1)
TORUS_API int torus_waitany(torus_request **requests, size_t count, int64_t timeout_ns,
                            size_t *index);
TORUS_API int torus_waitsome(torus_request **requests, size_t count, int64_t timeout_ns,
                             size_t *completed, size_t *indices, int *errors);
TORUS_API int torus_waitall(torus_request **requests, size_t count, int64_t timeout_ns,
                            int *errors);
/* torus_cancel asks the service to end the operation on all ranks. The operation may still succeed:
 * wait for the request. */
TORUS_API int torus_cancel(torus_request *request);
/* torus_set_callback sets the function that runs when the request completes. The request is freed
 * after it returns. */
TORUS_API int torus_set_callback(torus_request *request, torus_callback *callback, void *user);
/* torus_set_timeout sets how long later operations of this group wait for all ranks to arrive, in
 * ns; -1: the daemon's setting. */
TORUS_API int torus_set_timeout(torus_group *group, int64_t timeout_ns);

/* ---- types ----
 *
 * A derived type describes elements whose data is not contiguous, as in MPI. Every collective that
 * takes a type takes derived types, too. A derived type belongs to its context and has a number of
 * 65536 or more. It needs no commit. Each of these calls is local.
 *
 * An element of a type has data, which consists of basic elements at offsets, and two bounds, lower
 * and upper. Their difference is the extent: the distance in bytes of two consecutive elements. The
 * lower bound is the least lower bound of the parts, the upper bound the greatest upper bound. The
 * extent is rounded up to a multiple of the greatest alignment of the basic elements, as the size
 * of a C struct is. If torus_type_resized gave bounds to some parts, only those bounds count, and
 * nothing is rounded.
 *
 * A collective moves the data of the elements in the order of the constructors, and leaves the gaps
 * of the destination as they are. Calls match if the basic elements agree in order: 100 elements of
 * TORUS_DOUBLE match one vector of 50 blocks of 2 doubles. In calls with a count for each rank, a
 * rank that has no data at all matches any type. Predefined operators combine the basic
 * elements, and need types with a single basic type. User-defined operators get elements of the
 * derived type, with zeroes in the gaps.
 *
 * A type without gaps costs nothing. The data of other types is moved without a packed copy in
 * torus_alloc memory, if 64 nested loops describe an element. Otherwise, and for user-defined
 * operators, it is copied to and from shared memory. An overlap of source and destination is not
 * checked for types with gaps. Parts of a destination must not overlap each other.
 *
 * Errors: TORUS_ERR_INVALID for an unknown type, a type of more than 2^63 - 1 bytes, and nests of
 * more than 32 loops that do not combine to fewer; TORUS_ERR_NO_MEMORY. *made is set on success. */

/* torus_type_contiguous makes a type of `count` consecutive elements of `type`. */
TORUS_API int torus_type_contiguous(torus_context *context, size_t count, int type, int *made);
/* torus_type_vector makes a type of `count` blocks of `block` elements of `type`. Two blocks begin
 * `stride` elements apart, counted in extents of `type`; the stride may be negative. */
TORUS_API int torus_type_vector(torus_context *context, size_t count, size_t block,
                                ptrdiff_t stride, int type, int *made);
/* torus_type_indexed makes a type of `count` blocks: block i has blocks[i] elements of `type` and
 * begins at places[i], counted in extents of `type`; places may be negative. */
TORUS_API int torus_type_indexed(torus_context *context, size_t count, const size_t *blocks,
                                 const ptrdiff_t *places, int type, int *made);
/* torus_type_struct makes a type of `count` blocks: block i has blocks[i] elements of types[i] and
 * begins at offsets[i], in bytes; offsets may be negative. */
TORUS_API int torus_type_struct(torus_context *context, size_t count, const size_t *blocks,
                                const ptrdiff_t *offsets, const int *types, int *made);
/* torus_type_resized makes a type with the data of `type`, the lower bound `lower` and the extent
 * `extent`, both in bytes. */
TORUS_API int torus_type_resized(torus_context *context, int type, ptrdiff_t lower, size_t extent,
                                 int *made);
/* torus_type_pair makes a type that stands for `source` in the source buffer of a call and for
 * `destination` in its destination, as the two types of MPI's calls do. The basic elements of both,
 * repeated, agree in order; else TORUS_ERR_INVALID. Counts in lists and the `count` beside a list
 * count elements of the type of their buffer. In a call with one count for all blocks, `count`
 * counts elements of `source`; the destination receives the same data, which must be a whole number
 * of elements of `destination` at ranks that receive, else TORUS_ERR_INVALID. A buffer that the
 * rank does not use has no effect. Gathers, scatters, all-to-alls, and the exchanges with
 * neighbours and of inter-groups accept a pair; other calls and the constructors of types do not.
 */
TORUS_API int torus_type_pair(torus_context *context, int source, int destination, int *made);
/* torus_type_free frees a derived type: new calls do not accept it. Requests in flight, persistent
 * calls, and types made from it keep it as long as they need it. torus_close frees the rest. */
TORUS_API int torus_type_free(torus_context *context, int type);
/* torus_type_bytes writes the size of an element's data, without gaps, of any type. */
TORUS_API int torus_type_bytes(torus_context *context, int type, size_t *bytes);
/* torus_type_extent writes the lower bound and the extent of any type, in bytes. */
TORUS_API int torus_type_extent(torus_context *context, int type, ptrdiff_t *lower, size_t *extent);

/* ---- operators ---- */

/* torus_op_create creates an operator of this context. Reductions accept *op as `op`, with type
 * TORUS_OPAQUE or any type of `bytes` bytes; bytes 0: with any type but TORUS_OPAQUE. The operator
 * must be associative; it need not be commutative. All ranks must give the same `name`, `bytes` and
 * `commutative`: the service compares them.
 *
 * The service moves the elements. The library folds them in this process, in the order of ranks,
 * when the request completes. Therefore the bits do not depend on the placement of ranks, and a
 * reduction uses up to size x count elements of shared memory (torus_reduce: at the root only). */
TORUS_API int torus_op_create(torus_context *context, const char *name, torus_op_function *function,
                              void *user, size_t bytes, int commutative, int *op);
/* torus_op_free frees an operator. Requests in flight that use it still complete. */
TORUS_API int torus_op_free(torus_context *context, int op);

/* torus_reduce_local sets inout[i] to in[i] op inout[i] for `count` elements, in this process
 * alone. `op` may be user-defined, with types as in a reduction. A derived type has no gaps. The
 * arrays must not overlap; they need no alignment, unless a user-defined operator does. */
TORUS_API int torus_reduce_local(torus_context *context, const void *in, void *inout, size_t count,
                                 int type, int op);

/* torus_set_reproducible sets the mode of later reductions of this group: TORUS_REPRODUCIBLE_*. All
 * ranks set the same mode. User-defined operators are always reproducible. */
TORUS_API int torus_set_reproducible(torus_group *group, int mode);

/* ---- persistent calls ----
 *
 * `torus_allreduce_init` and the other _init functions keep a copy of the arguments and of the
 * lists of counts. The buffers belong to the caller while no start is in flight. Each
 * torus_persistent_start makes the call once.
 *
 * Persistent calls are matched by the order in which the ranks of the group initialize them; each
 * rank may start them in any order, and between other calls of the group. A call has the time limit
 * and the reproducible mode that the group had at its initialization. Internally it has a group of
 * its own. */

/* torus_persistent_start starts the call. TORUS_ERR_BUSY while its previous start is in flight. */
TORUS_API int torus_persistent_start(torus_persistent *persistent, torus_request **request);
/* torus_persistent_free frees the call; it is local. TORUS_ERR_BUSY while a start is in flight. It
 * may outlive torus_group_free of its group; leaving the job frees the remaining calls. NULL is
 * accepted. */
TORUS_API int torus_persistent_free(torus_persistent *persistent);

/* ---- collectives ----
 *
 * P is the size of the group. Counts are in elements of `type`; 0 is allowed. torus_type_pair gives
 * the two buffers different types. "In place" means that
 * the source may be TORUS_IN_PLACE. Arguments that only the root uses are ignored on other ranks.
 *
 * Source and destination must not share bytes that the call reads or writes; else this rank's call
 * returns TORUS_ERR_INVALID. Parts of the one may lie between parts of the other. One exception:
 * for a reduction or a scan, except torus_prefix, a source equal to the destination is
 * TORUS_IN_PLACE. Parts of the destination must not overlap each other (not checked); parts of the
 * source may.
 *
 * Functions whose names end in v have one count for each rank. Every rank gives P counts; of a
 * rooted call, only the root does. places[r] is the position of the part of rank r, in elements
 * from the address of the buffer; it may be negative. places NULL: the parts are contiguous. Each
 * rank must receive exactly the number of elements that the sender sends to it. The lists must fit
 * one message of 64 KiB to the daemon, which is enough for some thousand ranks; else the call
 * returns TORUS_ERR_INVALID. */

/* torus_barrier returns when all ranks have called it. */
TORUS_API int torus_barrier(torus_group *group);
TORUS_API int torus_ibarrier(torus_group *group, torus_request **request);
TORUS_API int torus_barrier_init(torus_group *group, torus_persistent **persistent);

/* torus_broadcast copies `count` elements at `buffer` of rank `root` to `buffer` of all ranks. */
TORUS_API int torus_broadcast(torus_group *group, void *buffer, size_t count, int type,
                              uint32_t root);
TORUS_API int torus_ibroadcast(torus_group *group, void *buffer, size_t count, int type,
                               uint32_t root, torus_request **request);
TORUS_API int torus_broadcast_init(torus_group *group, void *buffer, size_t count, int type,
                                   uint32_t root, torus_persistent **persistent);

/* torus_reduce sets destination[i] of the root to source[i] of rank 0 op ... op source[i] of rank
 * P - 1, for `count` elements. In place at the root. */
TORUS_API int torus_reduce(torus_group *group, const void *source, void *destination, size_t count,
                           int type, int op, uint32_t root);
TORUS_API int torus_ireduce(torus_group *group, const void *source, void *destination, size_t count,
                            int type, int op, uint32_t root, torus_request **request);
TORUS_API int torus_reduce_init(torus_group *group, const void *source, void *destination,
                                size_t count, int type, int op, uint32_t root,
                                torus_persistent **persistent);

/* torus_allreduce does the same as torus_reduce on all ranks; all get equal bits. In place. */
TORUS_API int torus_allreduce(torus_group *group, const void *source, void *destination,
                              size_t count, int type, int op);
TORUS_API int torus_iallreduce(torus_group *group, const void *source, void *destination,
                               size_t count, int type, int op, torus_request **request);
TORUS_API int torus_allreduce_init(torus_group *group, const void *source, void *destination,
                                   size_t count, int type, int op, torus_persistent **persistent);

/* torus_reduce_scatter reduces P x count elements; rank r gets block r, of `count` elements. In
 * place: the destination holds the P blocks and receives the result at its beginning. */
TORUS_API int torus_reduce_scatter(torus_group *group, const void *source, void *destination,
                                   size_t count, int type, int op);
TORUS_API int torus_ireduce_scatter(torus_group *group, const void *source, void *destination,
                                    size_t count, int type, int op, torus_request **request);
TORUS_API int torus_reduce_scatter_init(torus_group *group, const void *source, void *destination,
                                        size_t count, int type, int op,
                                        torus_persistent **persistent);

/* torus_reduce_scatterv does the same with blocks of counts[0] ... counts[P - 1] elements; rank r
 * gets block r. In place as torus_reduce_scatter. */
TORUS_API int torus_reduce_scatterv(torus_group *group, const void *source, void *destination,
                                    const size_t *counts, int type, int op);
TORUS_API int torus_ireduce_scatterv(torus_group *group, const void *source, void *destination,
                                     const size_t *counts, int type, int op,
                                     torus_request **request);
TORUS_API int torus_reduce_scatterv_init(torus_group *group, const void *source, void *destination,
                                         const size_t *counts, int type, int op,
                                         torus_persistent **persistent);

/* torus_scan sets destination of rank r to source of rank 0 op ... op source of rank r. In place.
 */
TORUS_API int torus_scan(torus_group *group, const void *source, void *destination, size_t count,
                         int type, int op);
TORUS_API int torus_iscan(torus_group *group, const void *source, void *destination, size_t count,
                          int type, int op, torus_request **request);
TORUS_API int torus_scan_init(torus_group *group, const void *source, void *destination,
                              size_t count, int type, int op, torus_persistent **persistent);

/* torus_exscan sets destination of rank r to source of rank 0 op ... op source of rank r - 1. The
 * destination of rank 0 stays unchanged. In place. */
TORUS_API int torus_exscan(torus_group *group, const void *source, void *destination, size_t count,
                           int type, int op);
TORUS_API int torus_iexscan(torus_group *group, const void *source, void *destination, size_t count,
                            int type, int op, torus_request **request);
TORUS_API int torus_exscan_init(torus_group *group, const void *source, void *destination,
                                size_t count, int type, int op, torus_persistent **persistent);

/* torus_prefix gives all ranks all results of torus_scan: block r of destination, of `count`
 * elements, is the result of rank r. In place: the input of rank r is block r of its destination.
 */
TORUS_API int torus_prefix(torus_group *group, const void *source, void *destination, size_t count,
                           int type, int op);
TORUS_API int torus_iprefix(torus_group *group, const void *source, void *destination, size_t count,
                            int type, int op, torus_request **request);
TORUS_API int torus_prefix_init(torus_group *group, const void *source, void *destination,
                                size_t count, int type, int op, torus_persistent **persistent);

/* torus_gather copies source of rank r, of `count` elements, to block r of the root's destination.
 * In place at the root: its own block is in the destination already. */
TORUS_API int torus_gather(torus_group *group, const void *source, void *destination, size_t count,
                           int type, uint32_t root);
TORUS_API int torus_igather(torus_group *group, const void *source, void *destination, size_t count,
                            int type, uint32_t root, torus_request **request);
TORUS_API int torus_gather_init(torus_group *group, const void *source, void *destination,
                                size_t count, int type, uint32_t root,
                                torus_persistent **persistent);

/* torus_gatherv copies the `count` elements of rank r to the root's destination, at places[r];
 * counts[r] at the root equals `count` of rank r. In place as torus_gather. */
TORUS_API int torus_gatherv(torus_group *group, const void *source, size_t count, void *destination,
                            const size_t *counts, const ptrdiff_t *places, int type, uint32_t root);
TORUS_API int torus_igatherv(torus_group *group, const void *source, size_t count,
                             void *destination, const size_t *counts, const ptrdiff_t *places,
                             int type, uint32_t root, torus_request **request);
TORUS_API int torus_gatherv_init(torus_group *group, const void *source, size_t count,
                                 void *destination, const size_t *counts, const ptrdiff_t *places,
                                 int type, uint32_t root, torus_persistent **persistent);

/* torus_scatter copies block r of the root's source, of `count` elements, to rank r. The root may
 * pass TORUS_IN_PLACE as the destination: its own block stays in the source. */
TORUS_API int torus_scatter(torus_group *group, const void *source, void *destination, size_t count,
                            int type, uint32_t root);
TORUS_API int torus_iscatter(torus_group *group, const void *source, void *destination,
                             size_t count, int type, uint32_t root, torus_request **request);
TORUS_API int torus_scatter_init(torus_group *group, const void *source, void *destination,
                                 size_t count, int type, uint32_t root,
                                 torus_persistent **persistent);

/* torus_scatterv copies counts[r] elements at places[r] of the root's source to rank r, whose
 * `count` equals counts[r]. In place as torus_scatter. */
TORUS_API int torus_scatterv(torus_group *group, const void *source, const size_t *counts,
                             const ptrdiff_t *places, void *destination, size_t count, int type,
                             uint32_t root);
TORUS_API int torus_iscatterv(torus_group *group, const void *source, const size_t *counts,
                              const ptrdiff_t *places, void *destination, size_t count, int type,
                              uint32_t root, torus_request **request);
TORUS_API int torus_scatterv_init(torus_group *group, const void *source, const size_t *counts,
                                  const ptrdiff_t *places, void *destination, size_t count,
                                  int type, uint32_t root, torus_persistent **persistent);

/* torus_allgather does the same as torus_gather on all ranks. In place. */
TORUS_API int torus_allgather(torus_group *group, const void *source, void *destination,
                              size_t count, int type);
TORUS_API int torus_iallgather(torus_group *group, const void *source, void *destination,
                               size_t count, int type, torus_request **request);
TORUS_API int torus_allgather_init(torus_group *group, const void *source, void *destination,
                                   size_t count, int type, torus_persistent **persistent);

/* torus_allgatherv does the same as torus_gatherv on all ranks; all give the same counts. In place.
 */
TORUS_API int torus_allgatherv(torus_group *group, const void *source, size_t count,
                               void *destination, const size_t *counts, const ptrdiff_t *places,
                               int type);
TORUS_API int torus_iallgatherv(torus_group *group, const void *source, size_t count,
                                void *destination, const size_t *counts, const ptrdiff_t *places,
                                int type, torus_request **request);
TORUS_API int torus_allgatherv_init(torus_group *group, const void *source, size_t count,
                                    void *destination, const size_t *counts,
                                    const ptrdiff_t *places, int type,
                                    torus_persistent **persistent);

/* torus_alltoall sends block i of the source, of `count` elements, to rank i; block j of the
 * destination comes from rank j. The buffers have P x count elements. In place, with a staging
 * copy. */
TORUS_API int torus_alltoall(torus_group *group, const void *source, void *destination,
                             size_t count, int type);
TORUS_API int torus_ialltoall(torus_group *group, const void *source, void *destination,
                              size_t count, int type, torus_request **request);
TORUS_API int torus_alltoall_init(torus_group *group, const void *source, void *destination,
                                  size_t count, int type, torus_persistent **persistent);

/* torus_alltoallv sends source_counts[i] elements at source_places[i] to rank i;
 * destination_counts[j] elements at destination_places[j] come from rank j. In place, with a
 * staging copy: then the counts and places of the destination are those of the source too;
 * source_counts and source_places are ignored. */
TORUS_API int torus_alltoallv(torus_group *group, const void *source, const size_t *source_counts,
                              const ptrdiff_t *source_places, void *destination,
                              const size_t *destination_counts, const ptrdiff_t *destination_places,
                              int type);
TORUS_API int torus_ialltoallv(torus_group *group, const void *source, const size_t *source_counts,
                               const ptrdiff_t *source_places, void *destination,
                               const size_t *destination_counts,
                               const ptrdiff_t *destination_places, int type,
                               torus_request **request);
TORUS_API int torus_alltoallv_init(torus_group *group, const void *source,
                                   const size_t *source_counts, const ptrdiff_t *source_places,
                                   void *destination, const size_t *destination_counts,
                                   const ptrdiff_t *destination_places, int type,
                                   torus_persistent **persistent);

/* torus_alltoallw does the same as torus_alltoallv with a type for each part, and with places in
 * bytes, which may be negative. Both ends of a pair must give the same number of bytes; their types
 * may differ. In place as torus_alltoallv. */
TORUS_API int torus_alltoallw(torus_group *group, const void *source, const size_t *source_counts,
                              const ptrdiff_t *source_places, const int *source_types,
                              void *destination, const size_t *destination_counts,
                              const ptrdiff_t *destination_places, const int *destination_types);
TORUS_API int torus_ialltoallw(torus_group *group, const void *source, const size_t *source_counts,
                               const ptrdiff_t *source_places, const int *source_types,
                               void *destination, const size_t *destination_counts,
                               const ptrdiff_t *destination_places, const int *destination_types,
                               torus_request **request);
TORUS_API int torus_alltoallw_init(torus_group *group, const void *source,
                                   const size_t *source_counts, const ptrdiff_t *source_places,
                                   const int *source_types, void *destination,
                                   const size_t *destination_counts,
                                   const ptrdiff_t *destination_places,
                                   const int *destination_types, torus_persistent **persistent);

/* torus_neighbour_alltoall exchanges a block of `count` elements with both neighbours in each
 * dimension of a grid. The buffers have 2 x dimensions blocks: dimension 0 down and up, dimension 1
 * down and up, and so on. A block that one rank sends down is the "up" block of its receiver. A
 * missing neighbour has a block too, which is not used. */
TORUS_API int torus_neighbour_alltoall(torus_group *group, const struct torus_grid *grid,
                                       const void *source, void *destination, size_t count,
                                       int type);
TORUS_API int torus_ineighbour_alltoall(torus_group *group, const struct torus_grid *grid,
                                        const void *source, void *destination, size_t count,
                                        int type, torus_request **request);
TORUS_API int torus_neighbour_alltoall_init(torus_group *group, const struct torus_grid *grid,
                                            const void *source, void *destination, size_t count,
                                            int type, torus_persistent **persistent);

/* torus_neighbour_alltoallv does the same with 2 x dimensions counts and places. The entries of
 * missing neighbours are ignored; if places are NULL, they occupy no elements. */
TORUS_API int torus_neighbour_alltoallv(torus_group *group, const struct torus_grid *grid,
                                        const void *source, const size_t *source_counts,
                                        const ptrdiff_t *source_places, void *destination,
                                        const size_t *destination_counts,
                                        const ptrdiff_t *destination_places, int type);
TORUS_API int torus_ineighbour_alltoallv(torus_group *group, const struct torus_grid *grid,
                                         const void *source, const size_t *source_counts,
                                         const ptrdiff_t *source_places, void *destination,
                                         const size_t *destination_counts,
                                         const ptrdiff_t *destination_places, int type,
                                         torus_request **request);
TORUS_API int torus_neighbour_alltoallv_init(torus_group *group, const struct torus_grid *grid,
                                             const void *source, const size_t *source_counts,
                                             const ptrdiff_t *source_places, void *destination,
                                             const size_t *destination_counts,
                                             const ptrdiff_t *destination_places, int type,
                                             torus_persistent **persistent);

/* torus_neighbour_alltoallw does the same with a type for each block, and with places in bytes,
 * which may be negative. */
TORUS_API int torus_neighbour_alltoallw(torus_group *group, const struct torus_grid *grid,
                                        const void *source, const size_t *source_counts,
                                        const ptrdiff_t *source_places, const int *source_types,
                                        void *destination, const size_t *destination_counts,
                                        const ptrdiff_t *destination_places,
                                        const int *destination_types);
TORUS_API int torus_ineighbour_alltoallw(torus_group *group, const struct torus_grid *grid,
                                         const void *source, const size_t *source_counts,
                                         const ptrdiff_t *source_places, const int *source_types,
                                         void *destination, const size_t *destination_counts,
                                         const ptrdiff_t *destination_places,
                                         const int *destination_types, torus_request **request);
TORUS_API int torus_neighbour_alltoallw_init(
    torus_group *group, const struct torus_grid *grid, const void *source,
    const size_t *source_counts, const ptrdiff_t *source_places, const int *source_types,
    void *destination, const size_t *destination_counts, const ptrdiff_t *destination_places,
    const int *destination_types, torus_persistent **persistent);

/* torus_neighbour_allgather sends the source, of `count` elements, to both neighbours in each
 * dimension; the destination has 2 x dimensions blocks, as that of torus_neighbour_alltoall. */
TORUS_API int torus_neighbour_allgather(torus_group *group, const struct torus_grid *grid,
                                        const void *source, void *destination, size_t count,
                                        int type);
TORUS_API int torus_ineighbour_allgather(torus_group *group, const struct torus_grid *grid,
                                         const void *source, void *destination, size_t count,
                                         int type, torus_request **request);
TORUS_API int torus_neighbour_allgather_init(torus_group *group, const struct torus_grid *grid,
                                             const void *source, void *destination, size_t count,
                                             int type, torus_persistent **persistent);

/* torus_neighbour_allgatherv does the same with 2 x dimensions counts and places of blocks, as
 * torus_neighbour_alltoallv; each count equals `count` of that neighbour. */
TORUS_API int torus_neighbour_allgatherv(torus_group *group, const struct torus_grid *grid,
                                         const void *source, size_t count, void *destination,
                                         const size_t *counts, const ptrdiff_t *places, int type);
TORUS_API int torus_ineighbour_allgatherv(torus_group *group, const struct torus_grid *grid,
                                          const void *source, size_t count, void *destination,
                                          const size_t *counts, const ptrdiff_t *places, int type,
                                          torus_request **request);
TORUS_API int torus_neighbour_allgatherv_init(torus_group *group, const struct torus_grid *grid,
                                              const void *source, size_t count, void *destination,
                                              const size_t *counts, const ptrdiff_t *places,
                                              int type, torus_persistent **persistent);

/* The torus_graph functions are the same exchanges along the edges of a graph. Block i of the
 * source goes to graph->destination[i]; block j of the destination comes from graph->source[j].
 *
 * torus_graph_alltoall exchanges blocks of `count` elements along the edges of a graph. */
TORUS_API int torus_graph_alltoall(torus_group *group, const struct torus_graph *graph,
                                   const void *source, void *destination, size_t count, int type);
TORUS_API int torus_igraph_alltoall(torus_group *group, const struct torus_graph *graph,
                                    const void *source, void *destination, size_t count, int type,
                                    torus_request **request);
TORUS_API int torus_graph_alltoall_init(torus_group *group, const struct torus_graph *graph,
                                        const void *source, void *destination, size_t count,
                                        int type, torus_persistent **persistent);

/* torus_graph_alltoallv exchanges blocks along the edges, with counts and places for each; the
 * source's lists have graph->destinations entries, those of the destination graph->sources. Places
 * NULL: the blocks are contiguous. */
TORUS_API int torus_graph_alltoallv(torus_group *group, const struct torus_graph *graph,
                                    const void *source, const size_t *source_counts,
                                    const ptrdiff_t *source_places, void *destination,
                                    const size_t *destination_counts,
                                    const ptrdiff_t *destination_places, int type);
TORUS_API int torus_igraph_alltoallv(torus_group *group, const struct torus_graph *graph,
                                     const void *source, const size_t *source_counts,
                                     const ptrdiff_t *source_places, void *destination,
                                     const size_t *destination_counts,
                                     const ptrdiff_t *destination_places, int type,
                                     torus_request **request);
TORUS_API int torus_graph_alltoallv_init(torus_group *group, const struct torus_graph *graph,
                                         const void *source, const size_t *source_counts,
                                         const ptrdiff_t *source_places, void *destination,
                                         const size_t *destination_counts,
                                         const ptrdiff_t *destination_places, int type,
                                         torus_persistent **persistent);

/* torus_graph_alltoallw does the same as torus_graph_alltoallv with a type for each block, and with
 * places in bytes, which may be negative. */
TORUS_API int torus_graph_alltoallw(torus_group *group, const struct torus_graph *graph,
                                    const void *source, const size_t *source_counts,
                                    const ptrdiff_t *source_places, const int *source_types,
                                    void *destination, const size_t *destination_counts,
                                    const ptrdiff_t *destination_places,
                                    const int *destination_types);
TORUS_API int torus_igraph_alltoallw(torus_group *group, const struct torus_graph *graph,
                                     const void *source, const size_t *source_counts,
                                     const ptrdiff_t *source_places, const int *source_types,
                                     void *destination, const size_t *destination_counts,
                                     const ptrdiff_t *destination_places,
                                     const int *destination_types, torus_request **request);
TORUS_API int torus_graph_alltoallw_init(torus_group *group, const struct torus_graph *graph,
                                         const void *source, const size_t *source_counts,
                                         const ptrdiff_t *source_places, const int *source_types,
                                         void *destination, const size_t *destination_counts,
                                         const ptrdiff_t *destination_places,
                                         const int *destination_types,
                                         torus_persistent **persistent);

/* torus_graph_allgather sends the whole source, of `count` elements, along each edge. */
TORUS_API int torus_graph_allgather(torus_group *group, const struct torus_graph *graph,
                                    const void *source, void *destination, size_t count, int type);
TORUS_API int torus_igraph_allgather(torus_group *group, const struct torus_graph *graph,
                                     const void *source, void *destination, size_t count, int type,
                                     torus_request **request);
TORUS_API int torus_graph_allgather_init(torus_group *group, const struct torus_graph *graph,
                                         const void *source, void *destination, size_t count,
                                         int type, torus_persistent **persistent);

/* torus_graph_allgatherv does the same as torus_graph_allgather with counts and places of the
 * destination's blocks. */
TORUS_API int torus_graph_allgatherv(torus_group *group, const struct torus_graph *graph,
                                     const void *source, size_t count, void *destination,
                                     const size_t *counts, const ptrdiff_t *places, int type);
TORUS_API int torus_igraph_allgatherv(torus_group *group, const struct torus_graph *graph,
                                      const void *source, size_t count, void *destination,
                                      const size_t *counts, const ptrdiff_t *places, int type,
                                      torus_request **request);
TORUS_API int torus_graph_allgatherv_init(torus_group *group, const struct torus_graph *graph,
                                          const void *source, size_t count, void *destination,
                                          const size_t *counts, const ptrdiff_t *places, int type,
                                          torus_persistent **persistent);

/* ---- plans: transforms and redistributions ----
 *
 * The ranks agree on a plan once and execute it any number of times, by torus_execute or
 * torus_start. The service keeps the analysis of both layouts, so that a start costs no more than a
 * collective. */

/* torus_plan_fft creates the plan of a transform; collective, with equal descriptions on all ranks.
 * torus_plan_free or the end of the group frees it. Reference: M. Frigo and S. G. Johnson, "The
 * Design and Implementation of FFTW3", Proc. IEEE 93(2), 2005, for the conventions. */
TORUS_API int torus_plan_fft(torus_group *group, const struct torus_fft_desc *desc,
                             torus_plan **plan);
TORUS_API int torus_iplan_fft(torus_group *group, const struct torus_fft_desc *desc,
                              torus_plan **plan, torus_request **request);
/* torus_fft2 and torus_fft3 transform a complex array of two or three axes: they plan, execute and
 * free the plan; collective. Input and output have blocks of ceil(shape[0] / P) indices of axis 0
 * on each rank. The source may be TORUS_IN_PLACE. For repeated transforms, create a plan. */
TORUS_API int torus_fft2(torus_group *group, const void *source, void *destination,
                         const uint64_t shape[2], int type, int sign, int scale);
TORUS_API int torus_fft3(torus_group *group, const void *source, void *destination,
                         const uint64_t shape[3], int type, int sign, int scale);
/* torus_ifft2 and torus_ifft3 are the non-blocking forms of torus_fft2 and torus_fft3. The i does
 * not mean inverse: an inverse transform has sign TORUS_BACKWARD. Each creates a group of its own,
 * as torus_dup does, and counts as a call of torus_dup. They proceed in torus_dispatch, torus_test
 * and torus_wait of each rank.
 */
TORUS_API int torus_ifft2(torus_group *group, const void *source, void *destination,
                          const uint64_t shape[2], int type, int sign, int scale,
                          torus_request **request);
TORUS_API int torus_ifft3(torus_group *group, const void *source, void *destination,
                          const uint64_t shape[3], int type, int sign, int scale,
                          torus_request **request);
/* torus_plan_redist creates the plan of a redistribution; collective, with equal descriptions on
 * all ranks. torus_plan_free or the end of the group frees it. TORUS_ERR_INVALID: a layout is
 * malformed (the sentence names the character) or does not cover the array. */
TORUS_API int torus_plan_redist(torus_group *group, const struct torus_redist_desc *desc,
                                torus_plan **plan);
TORUS_API int torus_iplan_redist(torus_group *group, const struct torus_redist_desc *desc,
                                 torus_plan **plan, torus_request **request);
/* torus_plan_local writes this rank's part of the input or output array (TORUS_SIDE_*). If the
 * indices along an axis are not contiguous, `count` is their number and `begin` the first one. */
TORUS_API int torus_plan_local(const torus_plan *plan, int side, struct torus_box *box);
/* torus_plan_bytes returns the size of that part in bytes; 0 for an invalid side. */
TORUS_API size_t torus_plan_bytes(const torus_plan *plan, int side);
/* torus_plan_index returns the index in the whole array, along an axis, of index `i` of this rank's
 * part; TORUS_UNDEFINED if the part has no such index. */
TORUS_API int64_t torus_plan_index(const torus_plan *plan, int side, uint32_t axis, uint64_t i);
/* torus_execute executes a plan; collective. source and destination hold this rank's parts without
 * gaps, with the last axis contiguous unless the layout gives another order. The source may be
 * TORUS_IN_PLACE or equal to the destination; then the destination must have room for the larger of
 * the two parts. Other overlaps: TORUS_ERR_INVALID. torus_start is the non-blocking form. */
TORUS_API int torus_execute(torus_plan *plan, const void *source, void *destination);
TORUS_API int torus_start(torus_plan *plan, const void *source, void *destination,
                          torus_request **request);
/* torus_plan_free frees a plan. It is local: each rank frees its own. NULL is accepted. */
TORUS_API int torus_plan_free(torus_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
