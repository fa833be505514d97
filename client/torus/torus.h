/* SPDX-License-Identifier: Apache-2.0 */
/* torus.h: the client library of torusd, the collectives service.
 *
 * A process opens a context (its node's daemon), joins a job, which makes it a rank of the job's
 * world group, and calls collectives on groups. Every rank of a group makes the same calls in the
 * same order.
 *
 * Calls that wait come in two forms: `torus_iallreduce` starts and gives a request,
 * `torus_allreduce` waits for it. A request completes inside torus_dispatch, torus_test or
 * torus_wait only. Buffers belong to the service until the request completes. Memory from
 * torus_alloc is used in place; any other pointer works too and is copied in and out. Collectives
 * have a third form, `torus_allreduce_init`, for a call that is made again and again: see
 * torus_persistent_start.
 *
 * Functions return 0 (TORUS_OK) or a negative error; torus_last_error has the sentence. Nothing
 * aborts, exits or prints. A context belongs to one thread at a time; contexts are independent. */
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

/* Errors. The numbers never change. */
enum {
    TORUS_PENDING = 1, /* torus_test, torus_wait: not complete yet; no error */
    TORUS_OK = 0,
    TORUS_ERR_INVALID = -1,      /* an argument is out of range */
    TORUS_ERR_NO_MEMORY = -2,    /* no room, here or on the node that is named */
    TORUS_ERR_NO_DAEMON = -3,    /* nothing listens on the socket */
    TORUS_ERR_PROTOCOL = -4,     /* the other side sent what it must not */
    TORUS_ERR_VERSION = -5,      /* library and daemon speak different versions */
    TORUS_ERR_TIMEOUT = -6,      /* a limit passed; the sentence says who is missing */
    TORUS_ERR_MISMATCH = -7,     /* ranks of one group called different operations */
    TORUS_ERR_RANK_FAILED = -8,  /* a rank died or left */
    TORUS_ERR_NODE_FAILED = -9,  /* a node died or fell silent */
    TORUS_ERR_CANCELLED = -10,   /* a rank cancelled the operation */
    TORUS_ERR_BUSY = -11,        /* too much in flight, or memory still in use */
    TORUS_ERR_RANK_TAKEN = -12,  /* another process has this rank */
    TORUS_ERR_FORKED = -13,      /* the context belongs to the parent process */
    TORUS_ERR_INTERNAL = -14,    /* a bug of the service */
    TORUS_ERR_SHUTDOWN = -15,    /* the daemon is stopping, or was lost */
    TORUS_ERR_SYSTEM = -16,      /* the operating system refused */
    TORUS_ERR_PARTITIONED = -17, /* this node is cut off from the majority */
    TORUS_ERR_PERMISSION = -18   /* the job or memory belongs to another user */
};

/* Element types. */
enum {
    TORUS_OPAQUE = 0, /* what only a user-defined operator knows: torus_op_create says its size */
    TORUS_BYTE = 1,   /* moved, and combined bit by bit */
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
    TORUS_BFLOAT16 = 16,    /* the upper half of a float */
    TORUS_INT32_INT = 17,   /* a value and its place: struct torus_int32_int ... */
    TORUS_INT64_INT = 18,
    TORUS_FLOAT_INT = 19,
    TORUS_DOUBLE_INT = 20
};

/* What TORUS_MINLOC and TORUS_MAXLOC combine: a value, and where it is, say a rank or an index. */
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

/* Operators of reductions. Numbers are integers, floating point and complex; what has an order is
 * those but complex; bits are integers and TORUS_BYTE. torus_op_create makes more. */
enum {
    TORUS_SUM = 1, /* of numbers */
    TORUS_MIN = 2, /* of what has an order */
    TORUS_MAX = 3,
    TORUS_PROD = 4, /* of numbers */
    TORUS_BAND = 5, /* of bits */
    TORUS_BOR = 6,
    TORUS_BXOR = 7,
    TORUS_LAND = 8, /* of truth values in integers: not 0 is true; the result is 0 or 1 */
    TORUS_LOR = 9,
    TORUS_LXOR = 10,
    TORUS_MINLOC = 11, /* of values with places: the lesser; of equal ones the lower place */
    TORUS_MAXLOC = 12
};

/* How reductions may be bracketed: torus_set_reproducible. */
enum {
    TORUS_REPRODUCIBLE_OFF = 0,
    TORUS_REPRODUCIBLE_SAME_PLACEMENT = 1, /* the same bits whenever ranks are on the same nodes */
    TORUS_REPRODUCIBLE_ANY_PLACEMENT = 2   /* the same bits wherever they are */
};

/* Signs and scalings of transforms, as FFTW's signs and NumPy's norms. */
enum { TORUS_FORWARD = -1, TORUS_BACKWARD = 1 };
enum {
    TORUS_SCALE_NONE = 0,  /* unnormalised, as FFTW */
    TORUS_SCALE_ORTHO = 1, /* 1 / sqrt(N) */
    TORUS_SCALE_FULL = 2   /* 1 / N */
};

enum { TORUS_DIMENSIONS_MAX = 6, TORUS_RANK_ANY = -1, TORUS_UNDEFINED = -1 };

typedef struct torus_context torus_context;
typedef struct torus_group torus_group;
typedef struct torus_request torus_request;
typedef struct torus_plan torus_plan;
typedef struct torus_persistent torus_persistent;

/* torus_callback is called when a request completes, inside torus_dispatch, torus_test or
 * torus_wait; it may call the library, and the request is freed after it returns. */
typedef void torus_callback(torus_request *request, int error, void *user);
typedef void torus_log_function(int level, const char *text, void *user);
/* torus_op_function combines two arrays: inout[i] = in[i] op inout[i] for `count` elements, where
 * `in` comes from lower ranks. It must not call the library. */
typedef void torus_op_function(const void *in, void *inout, size_t count, void *user);

/* struct torus_open_options: set `size` to sizeof(struct torus_open_options), the rest to zero or
 * what is wanted. */
struct torus_open_options {
    size_t size;
    const char *socket;   /* path; NULL: TORUS_SOCKET, $XDG_RUNTIME_DIR/torusd/torusd.sock,
                             /run/torusd/torusd.sock */
    size_t staging_bytes; /* shared memory kept for plain pointers; 0: 1 MiB at first */
};

/* struct torus_join_options: unset fields (name NULL, ranks 0, rank_set 0) come from the
 * environment: TORUS_JOB, TORUS_RANK, TORUS_SIZE, else what Slurm, PMI, Open MPI or a torchrun-like
 * launcher set. Without any of them: a job of one rank. */
struct torus_join_options {
    size_t size; /* sizeof(struct torus_join_options) */
    const char *name;
    uint32_t ranks;     /* how many the job has */
    int32_t rank;       /* TORUS_RANK_ANY or 0 .. ranks - 1; looked at when rank_set */
    int32_t rank_set;   /* not 0: `rank` counts */
    int64_t timeout_ns; /* 0 or -1: the daemon's setting */
};

/* Transforms along an axis, named as FFTW's. */
enum {
    TORUS_TRANSFORM_NONE = 0,
    TORUS_TRANSFORM_COMPLEX = 1,
    TORUS_TRANSFORM_R2C = 2,     /* n real numbers to n / 2 + 1 complex ones: forward */
    TORUS_TRANSFORM_C2R = 3,     /* the way back */
    TORUS_TRANSFORM_REDFT00 = 4, /* real to real: DCT-I */
    TORUS_TRANSFORM_REDFT10 = 5, /* DCT-II */
    TORUS_TRANSFORM_REDFT01 = 6, /* DCT-III */
    TORUS_TRANSFORM_REDFT11 = 7, /* DCT-IV */
    TORUS_TRANSFORM_RODFT00 = 8, /* DST-I to IV */
    TORUS_TRANSFORM_RODFT10 = 9,
    TORUS_TRANSFORM_RODFT01 = 10,
    TORUS_TRANSFORM_RODFT11 = 11
};

/* struct torus_fft_desc: a transform of an array. Set `size` to sizeof(struct torus_fft_desc), the
 * rest to zero or what is wanted. */
struct torus_fft_desc {
    size_t size;                          /* sizeof(struct torus_fft_desc) */
    uint32_t dimensions;                  /* 1 .. TORUS_DIMENSIONS_MAX */
    uint64_t shape[TORUS_DIMENSIONS_MAX]; /* points; along R2C and C2R, those of the real side */
    int32_t type;  /* TORUS_COMPLEX_FLOAT, _DOUBLE; of real transforms TORUS_FLOAT, TORUS_DOUBLE */
    int32_t sign;  /* TORUS_FORWARD or TORUS_BACKWARD */
    int32_t scale; /* TORUS_SCALE_*; N is the product of the transforms' logical sizes */
    /* TORUS_TRANSFORM_* by axis; all zero: complex along every axis. Axes that are not transformed
     * make a batch of transforms */
    int32_t transform[TORUS_DIMENSIONS_MAX];
    /* layouts before and after, e.g. "(block, *)"; NULL: blocks of axis 0 over all ranks */
    const char *from, *to;
    /* what the nodes deal out between, e.g. {4} for slabs, {4, 2} for pencils: fewer axes than the
     * array has; all zero, or more than there are nodes: as the service finds best */
    uint32_t grid[TORUS_DIMENSIONS_MAX];
    int32_t method; /* TORUS_TRANSPOSE_* */
};
enum {
    TORUS_TRANSPOSE_AUTO = 0,
    TORUS_TRANSPOSE_RANDOM = 1,   /* every node visits the others in an order of its own */
    TORUS_TRANSPOSE_PHASED = 2,   /* a dimension of the torus at a time, by way of other nodes */
    TORUS_TRANSPOSE_PAIRWISE = 3, /* one partner after the other */
    TORUS_TRANSPOSE_TWO_PHASE = 4 /* along its longest dimension, then the others, likewise */
};

/* How a redistribution is scheduled. */
enum {
    TORUS_SCHEDULE_AUTO = 0,      /* circulant where that is possible, else the cheapest */
    TORUS_SCHEDULE_CIRCULANT = 1, /* in closed form */
    TORUS_SCHEDULE_COLOURING = 2, /* as few steps as there can be */
    TORUS_SCHEDULE_CLASSES = 3,   /* messages of one step are equally long */
    TORUS_SCHEDULE_MATCHING = 4,
    TORUS_SCHEDULE_CATERPILLAR = 5 /* round robin */
};

/* struct torus_redist_desc: an array that goes from one layout to another.
 *
 * A layout says how each axis is dealt out, over what grid, to which ranks of the group:
 *   "(block, cyclic(4), *) on 3x4 @0-11"   also block(b), and block+3: as if shifted by 3 indices
 *   "(cyclic(2), *)"                       over all ranks, since one axis is dealt out
 *   "(*, block) order 1,0 @0-3"            axis 1 outermost in each rank's memory
 *   "boxes 0:10,0:5 0:10,5:9 @0,4"         from:to along each axis, a box for each rank; - for none
 * The ranks before and after may be the same, overlap, or be different ones. */
struct torus_redist_desc {
    size_t size;            /* sizeof(struct torus_redist_desc) */
    uint32_t dimensions;    /* 1 .. TORUS_DIMENSIONS_MAX */
    int32_t transposed;     /* not 0: `axes` counts */
    uint64_t element_bytes; /* 1 .. 1 MiB */
    uint64_t shape[TORUS_DIMENSIONS_MAX];
    const char *from, *to;               /* NULL: blocks of axis 0 over all ranks */
    uint32_t axes[TORUS_DIMENSIONS_MAX]; /* axis d of the result is axis axes[d] of the source */
    int32_t schedule;                    /* TORUS_SCHEDULE_* */
};

/* struct torus_box: part of an array: begin and count per axis. */
struct torus_box {
    uint32_t dimensions;
    uint64_t begin[TORUS_DIMENSIONS_MAX];
    uint64_t count[TORUS_DIMENSIONS_MAX];
};
enum { TORUS_SIDE_INPUT = 0, TORUS_SIDE_OUTPUT = 1 };

/* struct torus_grid: the ranks of a group as a Cartesian grid, the last coordinate fastest. */
struct torus_grid {
    size_t size;                            /* sizeof(struct torus_grid) */
    uint32_t dimensions;                    /* 1 .. TORUS_DIMENSIONS_MAX */
    uint32_t extent[TORUS_DIMENSIONS_MAX];  /* their product is the group's size */
    int32_t periodic[TORUS_DIMENSIONS_MAX]; /* not 0: the last is a neighbour of the first */
};

struct torus_statistics {
    size_t size;           /* set by the caller: sizeof(struct torus_statistics) */
    uint64_t operations;   /* started */
    uint64_t staged_bytes; /* copied because a pointer was not from torus_alloc */
    uint64_t region_bytes; /* shared memory held */
};

/* TORUS_IN_PLACE as a source: the destination has the input. (The address 1.) */
#define TORUS_IN_PLACE ((void *)1)

/* ---- context ---- */

/* torus_open connects to the node's daemon; options may be NULL. On an error *context is NULL when
 * memory ran out, else a context good only for torus_last_error and torus_close. */
TORUS_API int torus_open(torus_context **context, const struct torus_open_options *options);
/* torus_close leaves every group and frees all of the context: its requests, plans and memory.
 * Called by a callback, it happens after the call that ran the callback. NULL is accepted. */
TORUS_API void torus_close(torus_context *context);
/* torus_iclose is the form that does not wait: the service is told now, torus_close afterwards
 * only frees. TORUS_ERR_BUSY while operations are in flight: wait for them, or cancel them. */
TORUS_API int torus_iclose(torus_context *context, torus_request **request);

/* torus_fd returns a descriptor that is readable when torus_dispatch has something to do. It is an
 * epoll descriptor, the same for the life of the context. */
TORUS_API int torus_fd(const torus_context *context);
/* torus_dispatch completes what has come, without waiting. */
TORUS_API int torus_dispatch(torus_context *context);

TORUS_API const char *torus_strerror(int error);
/* torus_last_error returns the sentence of the last error of this context: what, which ranks or
 * node, what to do. Never NULL; valid until the next call. */
TORUS_API const char *torus_last_error(const torus_context *context);
TORUS_API void torus_set_log(torus_context *context, torus_log_function *log, void *user);
TORUS_API int torus_statistics(const torus_context *context, struct torus_statistics *statistics);

/* torus_shape writes the machine's shape (sizes, and 1 for each dimension that wraps around) and
 * returns the number of dimensions; torus_coords the coordinates of this node. */
TORUS_API int torus_shape(const torus_context *context, uint32_t size[TORUS_DIMENSIONS_MAX],
                          int wrap[TORUS_DIMENSIONS_MAX]);
TORUS_API int torus_coords(const torus_context *context,
                           uint32_t coordinates[TORUS_DIMENSIONS_MAX]);
TORUS_API uint32_t torus_node(const torus_context *context);

/* ---- memory ---- */

/* torus_alloc returns zeroed shared memory, aligned to 64 bytes, that collectives use in place;
 * NULL when there is none (torus_last_error says why). Freed by torus_free or torus_close. */
TORUS_API void *torus_alloc(torus_context *context, size_t bytes);
/* torus_free returns TORUS_ERR_BUSY while an operation uses the memory. NULL is accepted. */
TORUS_API int torus_free(torus_context *context, void *memory);

/* ---- jobs ---- */

TORUS_API int torus_join(torus_context *context, const struct torus_join_options *options,
                         torus_group **world);
/* torus_ijoin: *world is set when the request completes. */
TORUS_API int torus_ijoin(torus_context *context, const struct torus_join_options *options,
                          torus_group **world, torus_request **request);
/* torus_leave gives the rank up. The group is freed, and so are the groups made of its ranks, in
 * which this rank can take no part any more. TORUS_ERR_BUSY while operations of them are in flight.
 */
TORUS_API int torus_leave(torus_group *group);
TORUS_API uint32_t torus_rank(const torus_group *group);
TORUS_API uint32_t torus_size(const torus_group *group);

/* ---- groups ----
 *
 * New groups are made of ranks of a group; they have its time limit and reproducible mode at first.
 * Operations of different groups overlap in any order. In the forms that do not wait *made is set
 * when the request completes. */

/* torus_split makes a group of the ranks that give the same colour, in the order of their keys and,
 * of equal keys, of their ranks; *made is NULL for those that give TORUS_UNDEFINED. Collective. */
TORUS_API int torus_split(torus_group *group, int32_t colour, int32_t key, torus_group **made);
TORUS_API int torus_isplit(torus_group *group, int32_t colour, int32_t key, torus_group **made,
                           torus_request **request);
/* torus_dup makes a group of the same ranks, with operations of its own. All ranks call it, at the
 * same place among their calls to torus_dup and torus_group_create. */
TORUS_API int torus_dup(torus_group *group, torus_group **made);
TORUS_API int torus_idup(torus_group *group, torus_group **made, torus_request **request);
/* torus_group_create makes a group of `count` ranks of `group` in the order of the list. These call
 * it, with the same list, and nobody else. When one of them never does, operations of the new group
 * end by their time limit. */
TORUS_API int torus_group_create(torus_group *group, const uint32_t *ranks, uint32_t count,
                                 torus_group **made);
TORUS_API int torus_igroup_create(torus_group *group, const uint32_t *ranks, uint32_t count,
                                  torus_group **made, torus_request **request);
/* torus_shrink makes a group of the ranks that are left, in the old order, after some died, left
 * the group, or were lost with their node; when none was, of all. All that are left call it,
 * whatever their operations came to. All are told of the same group, or of the same error, also
 * when more ranks are lost meanwhile; one that does not call it is named when the time limit has
 * passed. The old group stays as it is. */
TORUS_API int torus_shrink(torus_group *group, torus_group **made);
TORUS_API int torus_ishrink(torus_group *group, torus_group **made, torus_request **request);
/* torus_group_free leaves a group that was made; nobody is waited for. A later operation of a rank
 * that has not left fails. TORUS_ERR_BUSY while operations of it are in flight. */
TORUS_API int torus_group_free(torus_group *group);
/* torus_translate returns which rank in `other` a rank of `group` is, or TORUS_UNDEFINED: it is not
 * in it, or the groups are of different jobs. */
TORUS_API int32_t torus_translate(const torus_group *group, uint32_t rank,
                                  const torus_group *other);

/* ---- requests ----
 *
 * A group may have 256 operations in flight; the call after that returns TORUS_ERR_BUSY and does
 * nothing. When the service refuses a call (TORUS_ERR_INVALID, _NO_MEMORY, _BUSY) it was not made:
 * the next call takes its place. Calls of that group that had been started after it are refused
 * too, with TORUS_ERR_BUSY, since they would meet the wrong calls of the other ranks. */

/* torus_test returns TORUS_PENDING, or the outcome, and then frees the request. */
TORUS_API int torus_test(torus_request *request);
/* torus_wait waits up to timeout_ns (-1: for ever) and returns TORUS_PENDING when that was too
 * short, which cancels nothing; else the outcome, and the request is freed. */
TORUS_API int torus_wait(torus_request *request, int64_t timeout_ns);
/* torus_cancel asks to end the operation on every rank. It may complete all the same: wait for it.
 */
TORUS_API int torus_cancel(torus_request *request);
/* torus_set_callback: when the request completes, call; the request is freed after that. */
TORUS_API int torus_set_callback(torus_request *request, torus_callback *callback, void *user);
/* torus_set_timeout sets for the operations started next on this group how long to wait for all
 * ranks to arrive, in ns; -1: the daemon's setting. */
TORUS_API int torus_set_timeout(torus_group *group, int64_t timeout_ns);

/* ---- operators ---- */

/* torus_op_create makes an operator of this context, a number that reductions take as `op` with
 * TORUS_OPAQUE, or any type of `bytes` bytes, as type. The operator is associative; it need not be
 * commutative. `name` stands for it in what all ranks must agree on, with `bytes` and
 * `commutative`: give it the same name everywhere.
 *
 * The service moves the elements; they are folded here, from rank 0 to the last, one by one, when
 * the request completes. So the bits never depend on where ranks are, and a reduction holds up to
 * size x count elements of shared memory. (Of torus_reduce that is at the root alone.) */
TORUS_API int torus_op_create(torus_context *context, const char *name, torus_op_function *function,
                              void *user, size_t bytes, int commutative, int *op);
/* torus_op_free returns TORUS_ERR_BUSY while requests use the operator. */
TORUS_API int torus_op_free(torus_context *context, int op);

/* torus_set_reproducible sets how the reductions started next on this group are bracketed:
 * TORUS_REPRODUCIBLE_*. All ranks set the same. User-defined operators are always reproducible. */
TORUS_API int torus_set_reproducible(torus_group *group, int mode);

/* ---- persistent calls ----
 *
 * `torus_allreduce_init` and its like keep the arguments of a call, lists of counts included; the
 * buffers stay the caller's while none is in flight. Each torus_persistent_start makes the call
 * once, in its place among the calls of the group, with what the buffers hold then. */

/* torus_persistent_start: TORUS_ERR_BUSY while the start before is in flight. */
TORUS_API int torus_persistent_start(torus_persistent *persistent, torus_request **request);
/* torus_persistent_free is local; TORUS_ERR_BUSY while it is in flight. What is not freed goes with
 * its group. NULL is accepted. */
TORUS_API int torus_persistent_free(torus_persistent *persistent);

/* ---- collectives ----
 *
 * P is the group's size. Counts are elements of `type`, and zero is a count. Source and destination
 * do not overlap; where it says "in place" the source may be TORUS_IN_PLACE. What only the root
 * looks at may be anything at the others.
 *
 * Where counts differ by rank (names that end in v), every rank gives P of them, or, where rooted,
 * the root does; places say where a rank's part begins, and may be NULL: one after the other. Every
 * rank must take what the others have for it. The lists travel to the daemon in one message of 64
 * KiB, which is enough for some thousand ranks; beyond, the call is refused. */

/* torus_barrier ends when all ranks have called it. */
TORUS_API int torus_barrier(torus_group *group);
TORUS_API int torus_ibarrier(torus_group *group, torus_request **request);
TORUS_API int torus_barrier_init(torus_group *group, torus_persistent **persistent);

/* torus_broadcast: `count` elements at `buffer` of rank `root`, to the buffers of all. */
TORUS_API int torus_broadcast(torus_group *group, void *buffer, size_t count, int type,
                              uint32_t root);
TORUS_API int torus_ibroadcast(torus_group *group, void *buffer, size_t count, int type,
                               uint32_t root, torus_request **request);
TORUS_API int torus_broadcast_init(torus_group *group, void *buffer, size_t count, int type,
                                   uint32_t root, torus_persistent **persistent);

/* torus_reduce: destination[i] of the root = source[i] of rank 0 op ... op that of the last
 * rank. In place at the root. */
TORUS_API int torus_reduce(torus_group *group, const void *source, void *destination, size_t count,
                           int type, int op, uint32_t root);
TORUS_API int torus_ireduce(torus_group *group, const void *source, void *destination, size_t count,
                            int type, int op, uint32_t root, torus_request **request);
TORUS_API int torus_reduce_init(torus_group *group, const void *source, void *destination,
                                size_t count, int type, int op, uint32_t root,
                                torus_persistent **persistent);

/* torus_allreduce: as torus_reduce, to all ranks, with the same bits. In place. */
TORUS_API int torus_allreduce(torus_group *group, const void *source, void *destination,
                              size_t count, int type, int op);
TORUS_API int torus_iallreduce(torus_group *group, const void *source, void *destination,
                               size_t count, int type, int op, torus_request **request);
TORUS_API int torus_allreduce_init(torus_group *group, const void *source, void *destination,
                                   size_t count, int type, int op, torus_persistent **persistent);

/* torus_reduce_scatter: of the reduction of P x count elements, rank r gets block r of `count`.
 * In place: destination has the P blocks, and gets the result at its begin. */
TORUS_API int torus_reduce_scatter(torus_group *group, const void *source, void *destination,
                                   size_t count, int type, int op);
TORUS_API int torus_ireduce_scatter(torus_group *group, const void *source, void *destination,
                                    size_t count, int type, int op, torus_request **request);
TORUS_API int torus_reduce_scatter_init(torus_group *group, const void *source, void *destination,
                                        size_t count, int type, int op,
                                        torus_persistent **persistent);

/* torus_reduce_scatterv: blocks of counts[0] ... counts[P - 1] elements; rank r gets block r. In
 * place: as torus_reduce_scatter. */
TORUS_API int torus_reduce_scatterv(torus_group *group, const void *source, void *destination,
                                    const size_t *counts, int type, int op);
TORUS_API int torus_ireduce_scatterv(torus_group *group, const void *source, void *destination,
                                     const size_t *counts, int type, int op,
                                     torus_request **request);
TORUS_API int torus_reduce_scatterv_init(torus_group *group, const void *source, void *destination,
                                         const size_t *counts, int type, int op,
                                         torus_persistent **persistent);

/* torus_scan: rank r gets source of rank 0 op ... op that of rank r. In place. */
TORUS_API int torus_scan(torus_group *group, const void *source, void *destination, size_t count,
                         int type, int op);
TORUS_API int torus_iscan(torus_group *group, const void *source, void *destination, size_t count,
                          int type, int op, torus_request **request);
TORUS_API int torus_scan_init(torus_group *group, const void *source, void *destination,
                              size_t count, int type, int op, torus_persistent **persistent);

/* torus_exscan: rank r gets source of rank 0 op ... op that of rank r - 1; the destination of
 * rank 0 is left as it is. In place. */
TORUS_API int torus_exscan(torus_group *group, const void *source, void *destination, size_t count,
                           int type, int op);
TORUS_API int torus_iexscan(torus_group *group, const void *source, void *destination, size_t count,
                            int type, int op, torus_request **request);
TORUS_API int torus_exscan_init(torus_group *group, const void *source, void *destination,
                                size_t count, int type, int op, torus_persistent **persistent);

/* torus_prefix: every rank gets all results of torus_scan: block r of destination, of `count`
 * elements, is that of rank r. In place: the input is block r at rank r. */
TORUS_API int torus_prefix(torus_group *group, const void *source, void *destination, size_t count,
                           int type, int op);
TORUS_API int torus_iprefix(torus_group *group, const void *source, void *destination, size_t count,
                            int type, int op, torus_request **request);
TORUS_API int torus_prefix_init(torus_group *group, const void *source, void *destination,
                                size_t count, int type, int op, torus_persistent **persistent);

/* torus_gather: block r of the root's destination, of `count` elements, is the source of rank r.
 * In place at the root: its block is where it belongs. */
TORUS_API int torus_gather(torus_group *group, const void *source, void *destination, size_t count,
                           int type, uint32_t root);
TORUS_API int torus_igather(torus_group *group, const void *source, void *destination, size_t count,
                            int type, uint32_t root, torus_request **request);
TORUS_API int torus_gather_init(torus_group *group, const void *source, void *destination,
                                size_t count, int type, uint32_t root,
                                torus_persistent **persistent);

/* torus_gatherv: `count` elements of rank r to places[r], counts[r] of them, of the root's
 * destination. In place as torus_gather. */
TORUS_API int torus_gatherv(torus_group *group, const void *source, size_t count, void *destination,
                            const size_t *counts, const size_t *places, int type, uint32_t root);
TORUS_API int torus_igatherv(torus_group *group, const void *source, size_t count,
                             void *destination, const size_t *counts, const size_t *places,
                             int type, uint32_t root, torus_request **request);
TORUS_API int torus_gatherv_init(torus_group *group, const void *source, size_t count,
                                 void *destination, const size_t *counts, const size_t *places,
                                 int type, uint32_t root, torus_persistent **persistent);

/* torus_scatter: block r of the root's source, of `count` elements, to rank r. TORUS_IN_PLACE as
 * the destination of the root: its block stays where it is. */
TORUS_API int torus_scatter(torus_group *group, const void *source, void *destination, size_t count,
                            int type, uint32_t root);
TORUS_API int torus_iscatter(torus_group *group, const void *source, void *destination,
                             size_t count, int type, uint32_t root, torus_request **request);
TORUS_API int torus_scatter_init(torus_group *group, const void *source, void *destination,
                                 size_t count, int type, uint32_t root,
                                 torus_persistent **persistent);

/* torus_scatterv: counts[r] elements at places[r] of the root's source to rank r, which takes
 * `count`. In place as torus_scatter. */
TORUS_API int torus_scatterv(torus_group *group, const void *source, const size_t *counts,
                             const size_t *places, void *destination, size_t count, int type,
                             uint32_t root);
TORUS_API int torus_iscatterv(torus_group *group, const void *source, const size_t *counts,
                              const size_t *places, void *destination, size_t count, int type,
                              uint32_t root, torus_request **request);
TORUS_API int torus_scatterv_init(torus_group *group, const void *source, const size_t *counts,
                                  const size_t *places, void *destination, size_t count, int type,
                                  uint32_t root, torus_persistent **persistent);

/* torus_allgather: as torus_gather, to all ranks. In place. */
TORUS_API int torus_allgather(torus_group *group, const void *source, void *destination,
                              size_t count, int type);
TORUS_API int torus_iallgather(torus_group *group, const void *source, void *destination,
                               size_t count, int type, torus_request **request);
TORUS_API int torus_allgather_init(torus_group *group, const void *source, void *destination,
                                   size_t count, int type, torus_persistent **persistent);

/* torus_allgatherv: as torus_gatherv, to all ranks, which give the same counts. In place. */
TORUS_API int torus_allgatherv(torus_group *group, const void *source, size_t count,
                               void *destination, const size_t *counts, const size_t *places,
                               int type);
TORUS_API int torus_iallgatherv(torus_group *group, const void *source, size_t count,
                                void *destination, const size_t *counts, const size_t *places,
                                int type, torus_request **request);
TORUS_API int torus_allgatherv_init(torus_group *group, const void *source, size_t count,
                                    void *destination, const size_t *counts, const size_t *places,
                                    int type, torus_persistent **persistent);

/* torus_alltoall: block i of `count` elements of source goes to rank i; block j of destination
 * comes from rank j. The buffers have P x count elements. In place, by way of a copy. */
TORUS_API int torus_alltoall(torus_group *group, const void *source, void *destination,
                             size_t count, int type);
TORUS_API int torus_ialltoall(torus_group *group, const void *source, void *destination,
                              size_t count, int type, torus_request **request);
TORUS_API int torus_alltoall_init(torus_group *group, const void *source, void *destination,
                                  size_t count, int type, torus_persistent **persistent);

/* torus_alltoallv: source_counts[i] elements at source_places[i] go to rank i;
 * destination_counts[j] at destination_places[j] come from rank j. In place, by way of a copy:
 * what there is for a rank is then as long as what comes from it, and source_counts and
 * source_places are not looked at. */
TORUS_API int torus_alltoallv(torus_group *group, const void *source, const size_t *source_counts,
                              const size_t *source_places, void *destination,
                              const size_t *destination_counts, const size_t *destination_places,
                              int type);
TORUS_API int torus_ialltoallv(torus_group *group, const void *source, const size_t *source_counts,
                               const size_t *source_places, void *destination,
                               const size_t *destination_counts, const size_t *destination_places,
                               int type, torus_request **request);
TORUS_API int torus_alltoallv_init(torus_group *group, const void *source,
                                   const size_t *source_counts, const size_t *source_places,
                                   void *destination, const size_t *destination_counts,
                                   const size_t *destination_places, int type,
                                   torus_persistent **persistent);

/* torus_neighbour_alltoall: each rank of a grid exchanges a block of `count` elements with the
 * neighbour on either side in each dimension. The buffers have 2 x dimensions blocks: those of
 * dimension 0, down and up, of dimension 1, down and up, ... What goes down comes from above at
 * the other end. A rank without neighbour on a side has a block for it all the same, which is
 * not touched. */
TORUS_API int torus_neighbour_alltoall(torus_group *group, const struct torus_grid *grid,
                                       const void *source, void *destination, size_t count,
                                       int type);
TORUS_API int torus_ineighbour_alltoall(torus_group *group, const struct torus_grid *grid,
                                        const void *source, void *destination, size_t count,
                                        int type, torus_request **request);
TORUS_API int torus_neighbour_alltoall_init(torus_group *group, const struct torus_grid *grid,
                                            const void *source, void *destination, size_t count,
                                            int type, torus_persistent **persistent);

/* torus_neighbour_alltoallv: the same with 2 x dimensions counts and places; those of sides
 * without neighbour are not looked at, and take no room where places are NULL. */
TORUS_API int torus_neighbour_alltoallv(torus_group *group, const struct torus_grid *grid,
                                        const void *source, const size_t *source_counts,
                                        const size_t *source_places, void *destination,
                                        const size_t *destination_counts,
                                        const size_t *destination_places, int type);
TORUS_API int torus_ineighbour_alltoallv(torus_group *group, const struct torus_grid *grid,
                                         const void *source, const size_t *source_counts,
                                         const size_t *source_places, void *destination,
                                         const size_t *destination_counts,
                                         const size_t *destination_places, int type,
                                         torus_request **request);
TORUS_API int torus_neighbour_alltoallv_init(torus_group *group, const struct torus_grid *grid,
                                             const void *source, const size_t *source_counts,
                                             const size_t *source_places, void *destination,
                                             const size_t *destination_counts,
                                             const size_t *destination_places, int type,
                                             torus_persistent **persistent);

/* ---- plans: transforms and redistributions ----
 *
 * A plan is agreed on once and executed any number of times, by torus_execute or torus_start. The
 * service keeps what it knows of the two layouts, so that a start costs no more than a call. */

/* torus_plan_fft agrees on a transform with all ranks of the group; collective. */
TORUS_API int torus_plan_fft(torus_group *group, const struct torus_fft_desc *desc,
                             torus_plan **plan);
TORUS_API int torus_iplan_fft(torus_group *group, const struct torus_fft_desc *desc,
                              torus_plan **plan, torus_request **request);
/* torus_fft2 and torus_fft3 plan a transform of a complex array of two or three axes, execute it
 * and free the plan; collective. Blocks of ceil(shape[0] / ranks) of axis 0 are dealt out over all
 * ranks, before and after; source may be TORUS_IN_PLACE. What is transformed again and again is
 * better planned once. */
TORUS_API int torus_fft2(torus_group *group, const void *source, void *destination,
                         const uint64_t shape[2], int type, int sign, int scale);
TORUS_API int torus_fft3(torus_group *group, const void *source, void *destination,
                         const uint64_t shape[3], int type, int sign, int scale);
/* torus_ifft2 and torus_ifft3 are the forms that do not wait; the i is not that of an inverse,
 * which is sign TORUS_BACKWARD. They have a group of their own, as torus_dup would make it, and
 * count among the calls of torus_dup. They go on in torus_dispatch, torus_test and torus_wait of
 * each rank. */
TORUS_API int torus_ifft2(torus_group *group, const void *source, void *destination,
                          const uint64_t shape[2], int type, int sign, int scale,
                          torus_request **request);
TORUS_API int torus_ifft3(torus_group *group, const void *source, void *destination,
                          const uint64_t shape[3], int type, int sign, int scale,
                          torus_request **request);
/* torus_plan_redist agrees on a redistribution; collective. TORUS_ERR_INVALID: a layout cannot be
 * read (the sentence names the character), or does not cover the array. */
TORUS_API int torus_plan_redist(torus_group *group, const struct torus_redist_desc *desc,
                                torus_plan **plan);
TORUS_API int torus_iplan_redist(torus_group *group, const struct torus_redist_desc *desc,
                                 torus_plan **plan, torus_request **request);
/* torus_plan_local tells this rank's part of the array, on the input or output side. Along an axis
 * that is not dealt out in one piece, `count` is how many indices it has, and `begin` the first. */
TORUS_API int torus_plan_local(const torus_plan *plan, int side, struct torus_box *box);
/* torus_plan_bytes returns how large that part is. */
TORUS_API size_t torus_plan_bytes(const torus_plan *plan, int side);
/* torus_plan_index returns which index of the whole array index `i` of this rank's part is along an
 * axis; TORUS_UNDEFINED: there is no such index. */
TORUS_API int64_t torus_plan_index(const torus_plan *plan, int side, uint32_t axis, uint64_t i);
/* torus_execute is collective. source and destination hold this rank's parts, without gaps, the
 * last axis contiguous unless its layout has another order. source may be TORUS_IN_PLACE: the
 * destination, which must then be large enough for both. */
TORUS_API int torus_execute(torus_plan *plan, const void *source, void *destination);
TORUS_API int torus_start(torus_plan *plan, const void *source, void *destination,
                          torus_request **request);
/* torus_plan_free is local: each rank frees its own. */
TORUS_API int torus_plan_free(torus_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
