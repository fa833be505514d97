/* SPDX-License-Identifier: Apache-2.0 */
/* torus.h: the client library of torusd, the collectives service.
 *
 * A process opens a context (its node's daemon), joins a job, which makes it a rank of the job's
 * world group, and calls collectives on groups. Every rank of a group makes the same calls in the
 * same order.
 *
 * Calls that wait come in two forms: `torus_iallreduce` starts and gives a request, `torus_allreduce`
 * waits for it. A request completes inside torus_dispatch, torus_test or torus_wait only. Buffers
 * belong to the service until the request completes. Memory from torus_alloc is used in place; any
 * other pointer works too and is copied in and out.
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
    TORUS_BYTE = 1,
    TORUS_INT32 = 2,
    TORUS_INT64 = 3,
    TORUS_FLOAT = 4,
    TORUS_DOUBLE = 5,
    TORUS_COMPLEX_FLOAT = 6, /* two floats: real, imaginary */
    TORUS_COMPLEX_DOUBLE = 7
};

/* Operators of reductions. */
enum { TORUS_SUM = 1, TORUS_MIN = 2, TORUS_MAX = 3 };

/* Signs and scalings of transforms, as FFTW's signs and NumPy's norms. */
enum { TORUS_FORWARD = -1, TORUS_BACKWARD = 1 };
enum {
    TORUS_SCALE_NONE = 0,  /* unnormalised, as FFTW */
    TORUS_SCALE_ORTHO = 1, /* 1 / sqrt(N) */
    TORUS_SCALE_FULL = 2   /* 1 / N */
};

enum { TORUS_DIMENSIONS_MAX = 6, TORUS_RANK_ANY = -1 };

typedef struct torus_context torus_context;
typedef struct torus_group torus_group;
typedef struct torus_request torus_request;
typedef struct torus_plan torus_plan;

/* torus_callback is called when a request completes, inside torus_dispatch, torus_test or
 * torus_wait; it may call the library, and the request is freed after it returns. */
typedef void torus_callback(torus_request *request, int error, void *user);
typedef void torus_log_function(int level, const char *text, void *user);

/* struct torus_open_options: set `size` to sizeof(struct torus_open_options), the rest to zero or
 * what is wanted. */
struct torus_open_options {
    size_t size;
    const char *socket;       /* path; NULL: TORUS_SOCKET, $XDG_RUNTIME_DIR/torusd/torusd.sock,
                                 /run/torusd/torusd.sock */
    size_t staging_bytes;     /* shared memory kept for plain pointers; 0: 1 MiB at first */
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

/* struct torus_fft_desc: a complex transform of a 2-D array, `shape` rows x columns, spread over the
 * group in blocks of ceil(rows / ranks) rows (trailing ranks may have none). */
struct torus_fft_desc {
    size_t size;         /* sizeof(struct torus_fft_desc) */
    uint32_t dimensions; /* 2 */
    uint64_t shape[TORUS_DIMENSIONS_MAX];
    int32_t type;  /* TORUS_COMPLEX_FLOAT or TORUS_COMPLEX_DOUBLE */
    int32_t sign;  /* TORUS_FORWARD or TORUS_BACKWARD */
    int32_t scale; /* TORUS_SCALE_* */
};

/* struct torus_box: part of an array: begin and count per axis. */
struct torus_box {
    uint32_t dimensions;
    uint64_t begin[TORUS_DIMENSIONS_MAX];
    uint64_t count[TORUS_DIMENSIONS_MAX];
};
enum { TORUS_SIDE_INPUT = 0, TORUS_SIDE_OUTPUT = 1 };

struct torus_statistics {
    size_t size; /* set by the caller: sizeof(struct torus_statistics) */
    uint64_t operations;   /* started */
    uint64_t staged_bytes; /* copied because a pointer was not from torus_alloc */
    uint64_t region_bytes; /* shared memory held */
};

/* TORUS_IN_PLACE as a source: the destination has the input. */
#define TORUS_IN_PLACE ((const void *)1)

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

/* torus_alloc returns zeroed shared memory, aligned to 64 bytes, that collectives use in place; NULL
 * when there is none (torus_last_error says why). Freed by torus_free or torus_close. */
TORUS_API void *torus_alloc(torus_context *context, size_t bytes);
/* torus_free returns TORUS_ERR_BUSY while an operation uses the memory. NULL is accepted. */
TORUS_API int torus_free(torus_context *context, void *memory);

/* ---- jobs ---- */

TORUS_API int torus_join(torus_context *context, const struct torus_join_options *options,
                         torus_group **world);
/* torus_ijoin: *world is set when the request completes. */
TORUS_API int torus_ijoin(torus_context *context, const struct torus_join_options *options,
                          torus_group **world, torus_request **request);
/* torus_leave gives the rank up. The group is freed. TORUS_ERR_BUSY while operations of it are in
 * flight. */
TORUS_API int torus_leave(torus_group *group);
TORUS_API uint32_t torus_rank(const torus_group *group);
TORUS_API uint32_t torus_size(const torus_group *group);

/* ---- requests ----
 *
 * A group may have 256 operations in flight; the call after that returns TORUS_ERR_BUSY and does
 * nothing. When the service refuses a call (TORUS_ERR_INVALID, _NO_MEMORY, _BUSY) it was not made:
 * the next call takes its place. Calls of that group that had been started after it are refused too,
 * with TORUS_ERR_BUSY, since they would meet the wrong calls of the other ranks. */

/* torus_test returns TORUS_PENDING, or the outcome, and then frees the request. */
TORUS_API int torus_test(torus_request *request);
/* torus_wait waits up to timeout_ns (-1: for ever) and returns TORUS_PENDING when that was too
 * short, which cancels nothing; else the outcome, and the request is freed. */
TORUS_API int torus_wait(torus_request *request, int64_t timeout_ns);
/* torus_cancel asks to end the operation on every rank. It may complete all the same: wait for it. */
TORUS_API int torus_cancel(torus_request *request);
/* torus_set_callback: when the request completes, call; the request is freed after that. */
TORUS_API int torus_set_callback(torus_request *request, torus_callback *callback, void *user);
/* torus_set_timeout sets for the operations started next on this group how long to wait for all
 * ranks to arrive, in ns; -1: the daemon's setting. */
TORUS_API int torus_set_timeout(torus_group *group, int64_t timeout_ns);

/* ---- collectives ---- */

TORUS_API int torus_barrier(torus_group *group);
TORUS_API int torus_ibarrier(torus_group *group, torus_request **request);

/* torus_broadcast: `count` elements at `buffer` of rank `root`, to the buffers of all. */
TORUS_API int torus_broadcast(torus_group *group, void *buffer, size_t count, int type,
                              uint32_t root);
TORUS_API int torus_ibroadcast(torus_group *group, void *buffer, size_t count, int type,
                               uint32_t root, torus_request **request);

/* torus_allreduce: destination[i] = source[i] of rank 0 op ... op that of the last rank, the same
 * bits on all ranks. source may be TORUS_IN_PLACE. Types int32, int64, float, double. */
TORUS_API int torus_allreduce(torus_group *group, const void *source, void *destination,
                              size_t count, int type, int op);
TORUS_API int torus_iallreduce(torus_group *group, const void *source, void *destination,
                               size_t count, int type, int op, torus_request **request);

/* torus_alltoall: block i of `count` elements of source goes to rank i; block j of destination comes
 * from rank j. The buffers have size x count elements and do not overlap. */
TORUS_API int torus_alltoall(torus_group *group, const void *source, void *destination,
                             size_t count, int type);
TORUS_API int torus_ialltoall(torus_group *group, const void *source, void *destination,
                              size_t count, int type, torus_request **request);

/* ---- transforms ---- */

/* torus_plan_fft agrees on a transform with all ranks of the group; collective. */
TORUS_API int torus_plan_fft(torus_group *group, const struct torus_fft_desc *desc,
                             torus_plan **plan);
TORUS_API int torus_iplan_fft(torus_group *group, const struct torus_fft_desc *desc,
                              torus_plan **plan, torus_request **request);
/* torus_plan_local tells this rank's part of the array, on the input or output side. */
TORUS_API int torus_plan_local(const torus_plan *plan, int side, struct torus_box *box);
/* torus_execute transforms; collective. source and destination hold this rank's parts, rows
 * contiguous; source may be TORUS_IN_PLACE. */
TORUS_API int torus_execute(torus_plan *plan, const void *source, void *destination);
TORUS_API int torus_start(torus_plan *plan, const void *source, void *destination,
                          torus_request **request);
/* torus_plan_free is local: each rank frees its own. */
TORUS_API int torus_plan_free(torus_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
