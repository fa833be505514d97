/* SPDX-License-Identifier: Apache-2.0 */
/* internal: what the files of libtorus share.
 *
 * A context has one socket. A call sends a request and keeps a torus_request until its reply has
 * come; replies are read in dispatch, test and wait alone. Memory that the daemon maps is in
 * regions (memory.c), from which torus_alloc and the staging of plain pointers both take. */
#ifndef TORUS_INTERNAL_H
#define TORUS_INTERNAL_H

#include <sys/types.h>

#include "torus/torus.h"
#include "wire/wire.h"

struct region;
struct block;
struct made_before;

/* struct tl_op: a user-defined operator. */
struct tl_op {
    struct tl_op *next;
    int number;
    torus_op_function *function;
    void *user;
    size_t bytes;    /* of an element */
    uint64_t digest; /* of what must be the same on all ranks */
    uint32_t holders;
};

struct torus_context {
    int fd;    /* the socket, -1: none */
    int epoll; /* what torus_fd gives */
    int event; /* readable when `finished` is not empty */
    pid_t pid;
    bool lost; /* the daemon is gone */
    char error[TD_TEXT_MAX];
    uint64_t next_id;
    uint64_t region_bytes_max;                /* of this user's processes together */
    bool draining;                            /* replies are being read within a send */
    uint32_t calls_out;                       /* callbacks running, and what must outlive them */
    bool closing;                             /* torus_close was called by a callback */
    torus_request *requests;                  /* waiting for a reply */
    torus_request *finished, **finished_last; /* replied, not yet seen by the caller */
    torus_group *groups;
    struct tl_op *ops;
    int next_op;
    struct region *regions;
    uint32_t next_region;
    size_t staging_bytes;
    uint32_t node;
    struct td_topology topology;
    uint64_t operations, staged_bytes, region_bytes;
    torus_log_function *log;
    void *log_user;
    uint8_t bytes[TD_DATAGRAM_MAX];
    struct td_wire_memory memory;
};

struct torus_group {
    torus_context *context;
    struct torus_group *next;
    uint32_t number, rank, size;
    int64_t timeout_ns;
    uint32_t in_flight;
    uint64_t sequence; /* of the next call: those made, without the refused */
    /* A refusal that the caller has not seen yet: until then the calls it starts are refused too.
     * Then the sequence goes back to `resume`, once for all calls of the turn. */
    bool refused;
    uint64_t resume, turn;
    torus_plan *plans;
    torus_persistent *persistents;
    uint8_t mode;               /* enum td_reproducible of the next reduction */
    uint32_t world;             /* number of the job's world group */
    uint32_t *member;           /* of a made group: its ranks' ranks in the world; else NULL */
    struct made_before *before; /* lists of ranks that groups were made of here */
};

struct torus_plan {
    torus_group *group;
    struct torus_plan *next;
    uint64_t number;
    uint8_t kind; /* of the calls that execute it */
    bool apart;   /* what comes must not meet what is still to go */
    size_t alignment;
    /* this rank's part, before and after */
    size_t bytes[2];
    struct td_box box[2];
    struct td_owned owned[2][TD_DIMENSIONS_MAX];
};

/* struct tl_counts: how much, and where, of each part of a buffer, in elements. */
struct tl_counts {
    const size_t *count, *at; /* at NULL: one after the other */
};

/* struct tl_collective: a collective as the caller asks for it. */
struct tl_collective {
    torus_group *group;
    enum td_kind kind;
    const void *source;
    void *destination;
    size_t count;
    int type, op;
    uint32_t root;
    struct tl_counts from, to; /* of the source, of the destination, where they differ by rank */
    const struct torus_grid *grid;
    bool uniform; /* with a grid: `count` elements in all directions */
};

struct torus_persistent {
    torus_persistent *next; /* of the group */
    struct tl_collective what;
    struct torus_grid grid;
    size_t *counts;           /* what `what` points to */
    torus_request *in_flight; /* not yet completed */
};

/* struct tl_piece: bytes of a buffer, and of the daemon's view of it, for or from a rank. */
struct tl_piece {
    uint32_t rank;
    size_t at, bytes;
};

/* struct tl_side: the source or the destination of an operation. */
struct tl_side {
    uint8_t *pointer;       /* NULL, and `scratch`: memory of the library's own */
    struct tl_piece *piece; /* by rank; NULL: one, at 0, of all bytes */
    uint32_t pieces;
    size_t bytes;  /* of all pieces, which are staged one after the other */
    size_t extent; /* up to the end of the last piece */
    bool in, out;  /* if staged: whether the caller's bytes are copied in, and out */
    bool stage;    /* the caller's memory must not be used itself */
    bool scratch;
};

/* struct tl_held: memory that an operation uses: the caller's, held, or a stand-in. */
struct tl_held {
    struct block *block;    /* of torus_alloc, used in place */
    uint8_t *memory;        /* the stand-in; NULL: none */
    uint8_t *out;           /* where to copy it at the end; NULL: nowhere */
    struct tl_piece *piece; /* its own, as of struct tl_side */
    uint32_t pieces;
    size_t bytes;
};

/* struct tl_fold: what is left to do when the blocks of all ranks are here: block k becomes the
 * result up to rank k, and the last of them is copied out. */
struct tl_fold {
    struct tl_op *op; /* NULL: nothing */
    uint8_t *memory;
    size_t block; /* bytes */
    uint32_t blocks;
    void *out;               /* NULL: nowhere */
    struct block *block_out; /* that has it, if it is of torus_alloc */
};

enum request_kind {
    REQUEST_SIMPLE,
    REQUEST_JOIN,
    REQUEST_PLAN,
    REQUEST_CLOSE,
    REQUEST_SPLIT, /* who is in which group; REQUEST_GROUP follows */
    REQUEST_GROUP,
};

/* struct tl_transform: a transform in one call that does not wait. It has a group of its own, so
 * that calls of the group that were started after it need not wait until it is planned. */
struct tl_transform {
    torus_group *parent, *group; /* group NULL: not made yet */
    torus_plan *plan;            /* NULL: not agreed on yet */
    struct td_request describe, execute;
};

struct torus_request {
    torus_context *context;
    struct torus_request *next;
    enum request_kind kind;
    uint64_t id;
    torus_group *group;
    uint64_t sequence, turn; /* of a call in the group */
    uint32_t refused_by;     /* the group's number, when it was refused; else 0 */
    int error;               /* TORUS_PENDING until replied */
    char text[TD_TEXT_MAX];
    torus_callback *callback;
    void *user;
    struct tl_held held[2]; /* of the source, of the destination */
    struct tl_fold fold;
    torus_persistent *persistent;
    torus_group **world;  /* JOIN, SPLIT, GROUP: where the caller wants the group */
    torus_group *made;    /* GROUP: not yet numbered */
    torus_plan **plan;    /* PLAN */
    torus_plan *planned;  /* PLAN: not yet agreed on */
    uint32_t replies_due; /* CLOSE: leaves not yet answered */
    /* else NULL: of a request that is GROUP first, then PLAN, then SIMPLE */
    struct tl_transform *transform;
};

/* ---- context.c ---- */

/* tl_fail records the sentence and returns the error. */
int tl_fail(torus_context *c, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* tl_ready returns TORUS_OK when calls may be made: same process, daemon there. */
int tl_ready(torus_context *c);
/* tl_send sends a request, with a descriptor unless fd is -1. */
int tl_send(torus_context *c, const struct td_request *q, int fd);
/* tl_receive reads one reply and handles it; TORUS_PENDING when there is none now. */
int tl_receive(torus_context *c);
/* tl_await waits for a reply, until `deadline_ns` (CLOCK_MONOTONIC; -1: for ever). TORUS_OK:
 * something came, and may have been handled; TORUS_PENDING when time is up. */
int tl_await(torus_context *c, int64_t deadline_ns);
/* tl_call sends and waits for the reply of a request of its own, up to `deadline_ns` as tl_await;
 * other replies are handled meanwhile. reply is valid until the next receive. */
int tl_call(torus_context *c, struct td_request *q, int fd, int64_t deadline_ns,
            struct td_reply *reply);
/* tl_hold keeps the context alive while callbacks run; tl_unhold ends that, and closes it if one of
 * them asked for it. */
void tl_hold(torus_context *c);
void tl_unhold(torus_context *c);
int64_t tl_now_ns(void);

/* ---- request.c ---- */

torus_request *tl_request_new(torus_context *c, torus_group *group, enum request_kind kind);
/* tl_request_begin makes the request of a call in a group, of which there may be
 * TD_GROUP_OPERATIONS_MAX in flight. `out` is where the caller wants it in the end. */
int tl_request_begin(torus_group *g, enum request_kind kind, torus_request **out,
                     torus_request **r);
/* tl_request_submit sends q for r; on an error r is freed. */
int tl_request_submit(torus_request *r, struct td_request *q, torus_request **out);
void tl_request_reply(torus_context *c, const struct td_reply *reply);
/* tl_request_finish_all ends all that wait, since the daemon is gone. */
void tl_request_finish_all(torus_context *c, int error, const char *text);
void tl_request_free(torus_request *r);
/* tl_request_withdraw frees a request that was on its way, whatever has become of it. */
void tl_request_withdraw(torus_request *r);
/* tl_request_wait waits for *r and frees it: the blocking forms. A pointer, since what starts the
 * request stands among the arguments. */
int tl_request_wait(int started, torus_request **r);
/* tl_request_callbacks runs callbacks of what has finished. */
void tl_request_callbacks(torus_context *c);
/* tl_request_place makes a place of a side of the operation (0: source, 1: destination): in place
 * where the memory is torus_alloc's, aligned for the daemon's arithmetic and may be used, else by a
 * stand-in. In the latter, pieces are one after the other, and *staged is set. */
int tl_request_place(torus_request *r, int which, const struct tl_side *side, size_t alignment,
                     struct td_place *place, bool *staged);

/* ---- memory.c ---- */

/* tl_memory_take returns shared memory and its block; NULL with the sentence set. */
uint8_t *tl_memory_take(torus_context *c, size_t bytes);
void tl_memory_give(torus_context *c, uint8_t *memory);
/* tl_memory_find names the place of an address in shared memory, with its block, which is NULL for
 * a plain pointer. TORUS_ERR_INVALID: the buffer begins in shared memory, but is not all allocated.
 */
int tl_memory_find(torus_context *c, const void *pointer, size_t bytes, struct td_place *place,
                   struct block **block);
void tl_memory_hold(struct block *b);
void tl_memory_let_go(struct block *b);
void tl_memory_fini(torus_context *c);

/* ---- start.c ---- */

int tl_start(const struct tl_collective *what, torus_request **request);
int tl_run(const struct tl_collective *what);
int tl_keep(const struct tl_collective *what, torus_persistent **persistent);
/* tl_persistent_drop frees it, whatever it is doing. */
void tl_persistent_drop(torus_persistent *p);

/* ---- sides.c ---- */

/* struct tl_work: a collective on its way from the caller's words to the daemon's. */
struct tl_work {
    struct tl_collective what;
    struct td_call call;
    size_t element; /* bytes */
    struct tl_op *op;
    struct tl_side side[2];
    bool same;  /* one buffer, read and written */
    int within; /* this side is a piece of the other: 0 the source, 1 the destination; -1 none */
    struct tl_piece inner; /* that piece, in the caller's buffer, */
    size_t inner_staged;   /* and where it is in a stand-in */
    int whole;             /* this side is one place for all ranks; -1 none */
    struct tl_fold fold;   /* but for its memory */
};

/* tl_sides fills in the rest of *w for w->what. Returns NULL or what is wrong with it. The pieces
 * are to be freed by tl_sides_free, also then. */
const char *tl_sides(struct tl_work *w);
void tl_sides_free(struct tl_work *w);

/* ---- operator.c ---- */

struct tl_op *tl_op_find(const torus_context *c, int number);
/* tl_op_digest returns the digest of a reduction of the kind by the operator. */
uint64_t tl_op_digest(const struct tl_op *op, enum td_kind kind);
void tl_fold(const struct tl_fold *fold);
uint64_t tl_hash(uint64_t h, uint64_t value);
#define TL_HASH_START 0xcbf29ce484222325u

/* ---- job.c, plan.c, group.c ---- */

int tl_joined(torus_request *r, const struct td_reply *reply);
int tl_planned(torus_request *r, const struct td_reply *reply);
/* tl_transform_next plans what has a group now, or executes what is planned. *again: the request
 * goes on its way once more. tl_transform_end frees plan and group. */
int tl_transform_next(torus_request *r, bool *again);
void tl_transform_end(torus_request *r);
void tl_group_free(torus_group *g);
/* tl_group_begin: what every call that makes a group of another begins with. */
int tl_group_begin(const torus_group *g, torus_group **made, torus_request **request);
/* tl_group_drop frees a group that has not come to be. */
void tl_group_drop(torus_group *g);
/* tl_group_leave_out takes ranks, a bitmap of them, out of a group that is being made. */
void tl_group_leave_out(torus_group *g, const uint8_t *lost, uint32_t bytes);
/* tl_group_made links the group that the daemon has numbered. */
int tl_group_made(torus_request *r, const struct td_reply *reply);
/* tl_split_next takes what all ranks of a split have said. *again: the request goes on its way once
 * more, to make the group. */
int tl_split_next(torus_request *r, bool *again);

#endif
