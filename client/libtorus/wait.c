/* SPDX-License-Identifier: Apache-2.0 */
#include "wait.h"

#include <stdio.h>

#include "socket.h"
#include "lock.h"

/* deadline_after returns the time when a timeout ends, in ns of CLOCK_MONOTONIC; -1: never. */
static int64_t deadline_after(int64_t timeout_ns)
{
    int64_t deadline = -1;
    if (timeout_ns < 0 || __builtin_add_overflow(tl_now_ns(), timeout_ns, &deadline))
        return -1;
    return deadline;
}

/* ---- one request ---- */

/* progress handles all replies that have arrived, unless the request is complete already. */
static int progress(torus_request *r)
{
    torus_context *c = r->context;
    if (!tl_is_own(c))
        return tl_ready(c);
    while (r->error == TORUS_PENDING && tl_receive(c) == TORUS_OK)
        continue;
    return TORUS_OK;
}

int torus_test(torus_request *r)
{
    TL_GUARD(r ? r->context : NULL);
    if (!r)
        return tl_null(NULL, "torus_test", "request");
    int error = progress(r);
    if (error != TORUS_OK)
        return error;
    return r->error == TORUS_PENDING ? TORUS_PENDING : tl_request_conclude(r);
}

int torus_peek(torus_request *r)
{
    TL_GUARD(r ? r->context : NULL);
    if (!r)
        return tl_null(NULL, "torus_peek", "request");
    int error = progress(r);
    return error != TORUS_OK ? error : r->error;
}

int torus_wait(torus_request *r, int64_t timeout_ns)
{
    TL_GUARD(r ? r->context : NULL);
    if (!r)
        return tl_null(NULL, "torus_wait", "request");
    torus_context *c = r->context;
    int64_t deadline = deadline_after(timeout_ns);
    if (!tl_is_own(c))
        return tl_ready(c);
    while (r->error == TORUS_PENDING) {
        int got = tl_await(c, deadline);
        if (got == TORUS_PENDING || got == TORUS_ERR_SYSTEM)
            return got;
    }
    return tl_request_conclude(r);
}

int tl_request_wait(int started, torus_request **r)
{
    return started == TORUS_OK ? torus_wait(*r, -1) : started;
}

/* ---- several requests ---- */

/* context_of returns the context of the first request that is not NULL, or NULL. */
static torus_context *context_of(torus_request *const *requests, size_t count)
{
    for (size_t i = 0; requests && i < count; i++)
        if (requests[i])
            return requests[i]->context;
    return NULL;
}

/* check returns TORUS_OK if the requests that are not NULL belong to one context of this process,
 * which it writes to *context: NULL if all are. */
static int check(const char *function, torus_request *const *requests, size_t count,
                 torus_context **context)
{
    *context = NULL;
    if (!requests && count > 0)
        return tl_null(NULL, function, "requests");
    for (size_t i = 0; i < count; i++) {
        if (!requests[i])
            continue;
        if (*context && requests[i]->context != *context)
            return tl_fail(
                *context, TORUS_ERR_INVALID,
                "request %zu belongs to another context: wait for it in a call of its own", i);
        *context = requests[i]->context;
    }
    return *context && !tl_is_own(*context) ? tl_ready(*context) : TORUS_OK;
}

/* first_complete returns the index of the first complete request from `from` on; `count`: none. */
static size_t first_complete(torus_request *const *requests, size_t count, size_t from)
{
    while (from < count && (!requests[from] || requests[from]->error == TORUS_PENDING))
        from++;
    return from;
}

/* await_one waits until a request is complete, and returns TORUS_OK; or TORUS_PENDING at the
 * deadline. At least one is not NULL. */
static int await_one(torus_context *c, torus_request *const *requests, size_t count,
                     int64_t deadline)
{
    while (first_complete(requests, count, 0) == count) {
        int got = tl_await(c, deadline);
        if (got == TORUS_PENDING || got == TORUS_ERR_SYSTEM)
            return got;
    }
    return TORUS_OK;
}

/* conclude frees request i and returns its outcome. The entry is NULL before a callback runs. */
static int conclude(torus_request **requests, size_t i)
{
    torus_request *r = requests[i];
    requests[i] = NULL;
    return tl_request_conclude(r);
}

int torus_waitany(torus_request **requests, size_t count, int64_t timeout_ns, size_t *index)
{
    TL_GUARD(context_of(requests, count));
    torus_context *c = NULL;
    int error = check("torus_waitany", requests, count, &c);
    if (!index)
        return tl_null(c, "torus_waitany", "index");
    *index = TORUS_NO_REQUEST;
    if (error != TORUS_OK || !c)
        return error;
    error = await_one(c, requests, count, deadline_after(timeout_ns));
    if (error != TORUS_OK)
        return error;
    *index = first_complete(requests, count, 0);
    return conclude(requests, *index);
}

/* struct outcome: the first error of several requests. */
struct outcome {
    int error;
    char text[TD_TEXT_MAX];
};

/* conclude_complete frees all complete requests, in order, and notes the first error. It writes the
 * index and the error of each to the next entries of indices and errors, which may be NULL. */
static size_t conclude_complete(torus_context *c, torus_request **requests, size_t count,
                                size_t *indices, int *errors, struct outcome *first)
{
    size_t completed = 0;
    for (size_t i = 0; (i = first_complete(requests, count, i)) < count; i++) {
        int error = conclude(requests, i);
        if (error != TORUS_OK && first->error == TORUS_OK) {
            first->error = error;
            snprintf(first->text, sizeof first->text, "%s", tl_error_text(c));
        }
        if (indices)
            indices[completed] = i;
        if (errors)
            errors[indices ? completed : i] = error;
        completed++;
    }
    return completed;
}

/* report leaves the first error's sentence as the last one of the context. */
static int report(torus_context *c, const struct outcome *first)
{
    if (first->error != TORUS_OK)
        snprintf(tl_error_text(c), TD_TEXT_MAX, "%s", first->text);
    return first->error;
}

int torus_waitsome(torus_request **requests, size_t count, int64_t timeout_ns, size_t *completed,
                   size_t *indices, int *errors)
{
    TL_GUARD(context_of(requests, count));
    torus_context *c = NULL;
    struct outcome first = {.error = TORUS_OK};
    int error = check("torus_waitsome", requests, count, &c);
    if (!completed || !indices)
        return tl_null(c, "torus_waitsome", completed ? "indices" : "completed");
    *completed = 0;
    if (error != TORUS_OK || !c)
        return error;
    error = await_one(c, requests, count, deadline_after(timeout_ns));
    if (error != TORUS_OK)
        return error;
    tl_hold(c);
    *completed = conclude_complete(c, requests, count, indices, errors, &first);
    error = report(c, &first);
    tl_unhold(c);
    return error;
}

int torus_waitall(torus_request **requests, size_t count, int64_t timeout_ns, int *errors)
{
    TL_GUARD(context_of(requests, count));
    torus_context *c = NULL;
    struct outcome first = {.error = TORUS_OK};
    int64_t deadline = deadline_after(timeout_ns);
    int error = check("torus_waitall", requests, count, &c), got = TORUS_OK;
    if (error != TORUS_OK)
        return error;
    for (size_t i = 0; errors && i < count; i++)
        errors[i] = requests[i] ? TORUS_PENDING : TORUS_OK;
    if (!c)
        return TORUS_OK;
    tl_hold(c); /* a callback may close the context */
    for (size_t i = 0; i < count && got == TORUS_OK; i++)
        while (got == TORUS_OK && requests[i] && requests[i]->error == TORUS_PENDING) {
            got = tl_await(c, deadline);
            got = got == TORUS_PENDING || got == TORUS_ERR_SYSTEM ? got : TORUS_OK;
        }
    conclude_complete(c, requests, count, NULL, errors, &first);
    error = report(c, &first);
    tl_unhold(c);
    return got != TORUS_OK ? got : error;
}
