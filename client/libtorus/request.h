/* SPDX-License-Identifier: Apache-2.0 */
/* request: a call on its way, from submission until the caller has its outcome.
 *
 * A request is in one of two lists of its context: pending (no reply yet) or finished (outcome not
 * yet returned). Replies are handled inside torus_dispatch, torus_test, torus_wait and blocking
 * calls only.
 * Owns: the requests, their bindings, and new groups and plans that are not yet agreed on. */
#ifndef TORUS_REQUEST_H
#define TORUS_REQUEST_H

#include "operator.h"
#include "staging.h"

/* struct tl_datagram: a request to the daemon, encoded. */
struct tl_datagram {
    size_t size;
    uint8_t bytes[];
};

struct torus_request {
    torus_context *context;
    struct torus_request *next;
    uint64_t id;                 /* as in the reply */
    enum td_reply_kind expected; /* kind of the reply, unless the request fails */
    uint32_t replies_due;        /* replies until it is complete: 1, but for torus_iclose */
    torus_group *group;          /* counts the request as in flight; NULL: none */
    uint64_t sequence, turn;     /* of the call: struct torus_group */
    bool sent;                   /* the group counts it as sent */
    bool is_long;                /* the context counts it as long */
    bool cancelled;              /* by torus_cancel */
    bool waits;                  /* in the group's list of unsent requests */
    torus_request *next_unsent;
    /* of a call of a group, until the reply: the daemon may refuse the call for lack of room */
    struct tl_datagram *datagram;
    uint32_t refused_by;    /* number of the group whose daemon refused the call; else 0 */
    int error;              /* TORUS_PENDING until finished */
    char text[TD_TEXT_MAX]; /* the sentence of the error */
    torus_callback *callback;
    void *user;
    struct tl_binding binding[2]; /* source, destination */
    struct tl_fold fold;
    torus_request **slot; /* pointer to this request that completion sets to NULL; or NULL */

    /* group or plan that the request creates; the caller's pointer to it */
    torus_group *new_group, **new_group_out;
    torus_plan *new_plan, **new_plan_out;

    /* on_reply handles a successful reply and returns TORUS_OK, or an error after tl_fail. *again:
     * it has sent another request under this one, whose reply is pending. NULL: nothing to do. */
    int (*on_reply)(torus_request *r, const struct td_reply *reply, bool *again);
    /* dispose frees `state`. `concluded`: the request has completed, else it must send nothing. */
    void (*dispose)(torus_request *r, bool concluded);
    void *state;
};

/* tl_request_new returns a request, counted in `group` unless that is NULL; NULL: no memory. */
torus_request *tl_request_new(torus_context *c, torus_group *group);

enum { TL_GROUP_CALLS_MAX = 65536 /* calls of one group in flight */ };

/* tl_request_begin makes the request of a call of a group and sets *out, the caller's pointer, to
 * NULL. It returns TORUS_ERR_BUSY if TL_GROUP_CALLS_MAX calls are in flight. */
int tl_request_begin(torus_group *g, torus_request **out, torus_request **r);

/* tl_request_room waits until a call of the group can be started without TORUS_ERR_BUSY. */
void tl_request_room(torus_group *g);

/* tl_request_submit sends q for r and sets *out to r. While the daemon has TD_GROUP_OPERATIONS_MAX
 * calls of the group, or no room for them, the request waits, and is sent when one of them
 * completes, or when the daemon has room. On an error it frees r. */
int tl_request_submit(torus_request *r, struct td_request *q, torus_request **out);

/* tl_request_list adds a request to the pending ones of its context. */
void tl_request_list(torus_request *r);

/* tl_request_unbind ends the request's part in its group and releases its memory; results are not
 * copied out. The request itself stays. */
void tl_request_unbind(torus_request *r);

/* tl_request_free frees a request that is in no list. NULL is accepted. */
void tl_request_free(torus_request *r);

/* tl_request_withdraw removes a request from its list and frees it. */
void tl_request_withdraw(torus_request *r);

/* tl_request_conclude frees a finished request, after its callback if it has one, and returns the
 * outcome. */
int tl_request_conclude(torus_request *r);

/* tl_request_reply handles a reply: struct tl_upcalls. */
void tl_request_reply(torus_context *c, const struct td_reply *reply);

/* tl_request_finish_all completes all pending requests with an error: struct tl_upcalls. */
void tl_request_finish_all(torus_context *c, int error, const char *text);

/* tl_request_callbacks runs the callbacks of finished requests. */
void tl_request_callbacks(torus_context *c);

#endif
