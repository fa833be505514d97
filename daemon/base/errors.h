/* SPDX-License-Identifier: Apache-2.0 */
/* errors: the results of requests. The numbers equal those in torus/torus.h (libtorus asserts it).
 * They are on the wire and never change. */
#ifndef TD_BASE_ERRORS_H
#define TD_BASE_ERRORS_H

typedef enum {
    TD_OK = 0,
    TD_ERR_INVALID = -1, /* an argument is out of range */
    TD_ERR_NO_MEMORY =
        -2, /* no memory for the request, here or on the node that the sentence names */
    TD_ERR_NO_DAEMON = -3,    /* no daemon listens on the socket */
    TD_ERR_PROTOCOL = -4,     /* the other side violated the protocol */
    TD_ERR_VERSION = -5,      /* another major version of the protocol */
    TD_ERR_TIMEOUT = -6,      /* a timeout expired; the sentence names the missing ranks */
    TD_ERR_MISMATCH = -7,     /* ranks of one group called different operations */
    TD_ERR_RANK_FAILED = -8,  /* a rank died or left */
    TD_ERR_NODE_FAILED = -9,  /* a node died or fell silent */
    TD_ERR_CANCELLED = -10,   /* a rank cancelled the operation */
    TD_ERR_BUSY = -11,        /* too many operations in flight, or memory still in use */
    TD_ERR_RANK_TAKEN = -12,  /* another process has this rank */
    TD_ERR_FORKED = -13,      /* the context belongs to the parent process */
    TD_ERR_INTERNAL = -14,    /* a bug in the service */
    TD_ERR_SHUTDOWN = -15,    /* the daemon is stopping */
    TD_ERR_SYSTEM = -16,      /* the operating system refused */
    TD_ERR_PARTITIONED = -17, /* nodes of the group do not hear each other */
    TD_ERR_PERMISSION = -18,  /* the job or memory belongs to another user */
} td_err;

#endif
