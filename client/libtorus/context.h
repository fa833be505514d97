/* SPDX-License-Identifier: Apache-2.0 */
/* context: state of one connection to the node's daemon, and the sentence of its last error.
 *
 * The files of libtorus form layers. A file calls only files of lower layers:
 *
 *   open                                    torus_open, torus_close, torus_dispatch
 *   collectives persistent transform intergroup   public forms of the calls
 *   start plan job subgroup shrink          requests of one kind each
 *   wait                                    waits for replies to requests
 *   buffers request local                   one call: its buffers; its way to the reply; no reply
 *   parts                                   buffers with counts by rank or neighbour
 *   pieces overlap neighbours               pieces and shared bytes of buffers; ranks beside a rank
 *   segment                                 calls of a group on one node, without a request
 *   rounds                                  a rank's part in such a call, if it is long
 *   peers cma moves                         memory of the other ranks of a group, mapped, and not;
 *                                           what a rank reads there in a redistribution
 *   staging                                 memory of one buffer
 *   memory operator group status            what calls use
 *   pair                                    types of both buffers
 *   type                                    what data consists of
 *   signature                               which basic elements a type has
 *   socket                                  one request out, one reply in
 *   letters                                 the same in memory, without a system call
 *   passed                                  files that come with replies
 *   context                                 this file
 *   lock                                    threads
 *   deadline                                time; waits for descriptors
 *
 * A call in the other direction goes through struct tl_upcalls or a function pointer of a request.
 * Owns: nothing; each list belongs to the file that its comment names.
 * Invariant: one thread at a time uses a context: the one that holds its lock, if it has one. */
#ifndef TORUS_CONTEXT_H
#define TORUS_CONTEXT_H

#include <sys/types.h>

#include "deadline.h"
#include "base/awake.h"
#include "lock.h"
#include "segment/letter.h"
#include "torus/torus.h"
#include "wire/wire.h"

struct tl_op;
struct tl_region;
struct tl_type;

/* struct tl_upcalls: calls from a lower layer to a higher one. */
struct tl_upcalls {
    /* reply handles a reply to an earlier request (request.c). */
    void (*reply)(torus_context *c, const struct td_reply *reply);
    /* lost completes all pending requests: the connection has ended (request.c). */
    void (*lost)(torus_context *c, int error, const char *text);
    /* close runs the torus_close that a callback deferred (open.c). */
    void (*close)(torus_context *c);
};

/* struct tl_kept: a datagram of the daemon. */
struct tl_kept {
    struct tl_kept *next;
    int passed; /* as in struct torus_context */
    size_t size;
    uint8_t bytes[];
};

struct torus_context {
    const struct tl_upcalls *upcalls;
    int fd;       /* socket to the daemon; -1: not connected */
    int epoll;    /* returned by torus_fd; watches `fd` and `event` */
    int event;    /* eventfd, readable while `kept` or `finished` is not empty, */
    bool watched; /* once the caller has asked for torus_fd */
    pid_t pid;    /* process that opened the context */
    /* a page that the kernel clears in a child process; NULL: the kernel cannot */
    const volatile uint8_t *own_page;
    bool lost;               /* the connection has ended */
    int lost_by;             /* the error that ended it */
    struct tl_use use;       /* by threads (lock.h) */
    char error[TD_TEXT_MAX]; /* with a lock: each thread has its own (lock.h) */
    torus_log_function *log;
    void *log_user;
    torus_idle_function *idle; /* runs while a call waits; NULL: none. Needs the lock */
    void *idle_user;
    uint32_t node;        /* index of this node */
    uint64_t incarnation; /* of the daemon */
    bool peers_known;     /* the daemons know each other: torus_authenticated */
    struct td_topology topology;
    uint64_t operations, staged_bytes, region_bytes; /* as in struct torus_statistics */

    /* socket.c */
    uint64_t next_id;                  /* of the next request */
    int passed;                        /* descriptor that came with the reply; -1: none */
    struct tl_kept *kept, **kept_last; /* replies that are read and not handled; oldest first */
    uint8_t outgoing[TD_DATAGRAM_MAX], datagram[TD_DATAGRAM_MAX];
    struct td_wire_memory decoded;
    int64_t quiet_since_ns;  /* begin of the wait without a reply so far; 0: no wait */
    bool asked;              /* the daemon was asked to reply, and has sent nothing since */
    uint64_t sent, received; /* datagrams of the socket */
    uint64_t requests_sent, replies_received; /* of the socket and in letters */
    struct td_awake awake;                    /* how this process waits for replies */

    /* letters.c */
    struct td_letters *letters; /* NULL: everything takes the socket */
    uint8_t letter[TD_LETTER_BYTES];

    /* request.c */
    torus_request *requests, **requests_last; /* pending; oldest first */
    torus_request *finished, **finished_last; /* complete, outcome not returned; oldest first */
    uint32_t long_calls; /* pending: a process that waits for them sleeps at once */

    /* open.c */
    uint32_t holds; /* callbacks that run now; torus_close waits for them */
    bool closing;   /* a callback called torus_close */

    torus_group *groups; /* group.c */

    /* operator.c */
    struct tl_op *ops;
    int next_op;

    /* type.c */
    struct tl_type *types;
    int next_type;
    uint32_t form_loops_max; /* that the daemon accepts; 0: it moves contiguous bytes only */

    /* memory.c */
    struct tl_region *regions;
    uint32_t next_region;
    uint64_t region_bytes_max; /* limit on the regions of all processes of this user */
    size_t staging_bytes;      /* size of a region for small blocks */
    uint32_t regions_dropped;  /* how many regions have been dropped */
    bool peer_regions;         /* the daemon passes on regions of other ranks (peers.c) */
};

/* tl_fail records the sentence of an error as plain text (base/text.h), passes it to the log
 * function, and returns `error`. It keeps errno. `c` may be NULL: then the sentence is the calling
 * thread's. */
int tl_fail(torus_context *c, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* tl_sentence formats a part of a sentence for tl_fail; valid until the calling thread's next one.
 */
const char *tl_sentence(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* tl_no_group, tl_null and tl_intruder record the sentence of a refused call and return
 * TORUS_ERR_INVALID: `function` has no group; its argument `what` is NULL; another thread is inside
 * a context that has no lock. In a forked child tl_intruder returns TORUS_ERR_FORKED. */
int tl_no_group(const char *function);
int tl_null(torus_context *c, const char *function, const char *what);
int tl_intruder(const torus_context *c);

/* tl_wrong_size records that the size of a structure is not `size`; it returns TORUS_ERR_INVALID.
 */
int tl_wrong_size(torus_context *c, const char *name, size_t given, size_t size);

/* tl_error_text returns the sentence of the last error, TD_TEXT_MAX bytes: of the context, or of
 * the calling thread. */
char *tl_error_text(const torus_context *c);

/* tl_context_watch_fork makes own_page, which costs a call less than getpid;
 * tl_context_unwatch_fork frees it. */
void tl_context_watch_fork(torus_context *c);
void tl_context_unwatch_fork(torus_context *c);

/* what a process is told whose connection has ended; it may find out long after that */
#define TL_CONNECTION_LOST                                                                         \
    "lost the connection to torusd: the daemon has stopped, or was restarted; when it runs, call " \
    "torus_open again"

/* tl_ready returns TORUS_OK if calls may be made: this process opened the context, and the
 * connection stands. Else: TORUS_ERR_FORKED, _NO_DAEMON or _SHUTDOWN, with the sentence. */
int tl_ready(torus_context *c);

/* tl_lost returns TORUS_ERR_SHUTDOWN or another error of an ended connection: it marks the context
 * as lost and completes all pending requests with `error` and `text`. */
int tl_lost(torus_context *c, int error, const char *text);

/* tl_malformed ends the connection to a daemon whose reply breaks the protocol; the format says in
 * which way. It returns TORUS_ERR_PROTOCOL. */
int tl_malformed(torus_context *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* tl_hold keeps the context alive while a callback runs. tl_unhold ends one hold; the last one runs
 * the torus_close that a callback called meanwhile. */
void tl_hold(torus_context *c);
void tl_unhold(torus_context *c);

/* tl_is_own returns true if this process opened the context. */
bool tl_is_own(const torus_context *c);

/* tl_event_set makes torus_fd readable, and wakes threads that wait; tl_event_clear ends that if
 * nothing is left to be handled. tl_event_watch begins that.
 */
void tl_event_watch(torus_context *c);
void tl_event_set(torus_context *c);
void tl_event_clear(torus_context *c);

#endif
