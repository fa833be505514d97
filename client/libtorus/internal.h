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
};

struct torus_plan {
    torus_group *group;
    struct torus_plan *next;
    uint64_t number;
    struct td_fft fft;
    struct td_box source, destination;
};

enum request_kind { REQUEST_SIMPLE, REQUEST_JOIN, REQUEST_PLAN, REQUEST_CLOSE };

/* struct staged: a plain pointer's stand-in in shared memory. */
struct staged {
    uint8_t *memory; /* NULL: the pointer was used in place */
    void *out;       /* where to copy it at the end; NULL: nowhere */
    size_t bytes;
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
    struct staged staged[2];
    struct block *held[2]; /* blocks of torus_alloc in use */
    torus_group **world;   /* JOIN */
    torus_plan **plan;     /* PLAN */
    struct td_fft fft;
    uint32_t replies_due; /* CLOSE: leaves not yet answered */
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
/* tl_poll waits until a reply can be read, until `deadline_ns` (CLOCK_MONOTONIC; -1: for ever).
 * TORUS_PENDING when time is up. */
int tl_poll(torus_context *c, int64_t deadline_ns);
/* tl_call sends and waits for the reply of a request of its own, up to `deadline_ns` as tl_poll;
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
/* tl_request_place makes a place of a pointer: in place where torus_alloc's, else staged (a copy is
 * made now if `copy_in`, and back at the end if `copy_out`). slot is 0 or 1; what is
 * not aligned for the daemon's arithmetic is staged too. */
int tl_request_place(torus_request *r, int slot, void *pointer, size_t bytes, size_t alignment,
                     bool copy_in, bool copy_out, struct td_place *place);

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

/* ---- job.c, plan.c ---- */

int tl_joined(torus_request *r, const struct td_reply *reply);
int tl_planned(torus_request *r, const struct td_reply *reply);
void tl_group_free(torus_group *g);

#endif
