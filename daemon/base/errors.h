/* SPDX-License-Identifier: Apache-2.0 */
/* errors: the outcomes of requests, numbered as in torus/torus.h (libtorus asserts that they
 * agree). The numbers are on the wire and never change. */
#ifndef TD_BASE_ERRORS_H
#define TD_BASE_ERRORS_H

typedef enum {
    TD_OK = 0,
    TD_ERR_INVALID = -1,      /* an argument is out of range */
    TD_ERR_NO_MEMORY = -2,    /* no room for the request, here or on a node that is named */
    TD_ERR_NO_DAEMON = -3,    /* nothing listens on the socket */
    TD_ERR_PROTOCOL = -4,     /* the other side sent what it must not */
    TD_ERR_VERSION = -5,      /* another major version of the protocol */
    TD_ERR_TIMEOUT = -6,      /* a limit passed; the sentence says who is missing */
    TD_ERR_MISMATCH = -7,     /* ranks of one group called different operations */
    TD_ERR_RANK_FAILED = -8,  /* a rank died or left */
    TD_ERR_NODE_FAILED = -9,  /* a node died or fell silent */
    TD_ERR_CANCELLED = -10,   /* a rank cancelled the operation */
    TD_ERR_BUSY = -11,        /* too much in flight, or memory still in use */
    TD_ERR_RANK_TAKEN = -12,  /* another process has this rank */
    TD_ERR_FORKED = -13,      /* the context belongs to the parent process */
    TD_ERR_INTERNAL = -14,    /* a bug of the service */
    TD_ERR_SHUTDOWN = -15,    /* the daemon is stopping */
    TD_ERR_SYSTEM = -16,      /* the operating system refused */
    TD_ERR_PARTITIONED = -17, /* this node is cut off from the majority */
    TD_ERR_PERMISSION = -18,  /* the job or memory belongs to another user */
} td_err;

#endif
