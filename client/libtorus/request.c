/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group.h"
#include "socket.h"

torus_request *tl_request_new(torus_context *c, torus_group *group)
{
    torus_request *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->context = c;
    r->group = group;
    r->replies_due = 1;
    r->error = TORUS_PENDING;
    if (group)
        group->in_flight++;
    return r;
}

int tl_request_begin(torus_group *g, torus_request **out, torus_request **r)
{
    if (!g)
        return TORUS_ERR_INVALID;
    torus_context *c = g->context;
    int error = tl_ready(c);
    if (error != TORUS_OK)
        return error;
    if (!out)
        return tl_fail(c, TORUS_ERR_INVALID, "request is NULL");
    *out = NULL;
    if (g->in_flight >= TD_GROUP_OPERATIONS_MAX)
        return tl_fail(c, TORUS_ERR_BUSY,
                       "rank %u has %u calls of this group in flight, the maximum: wait for one of "
                       "them",
                       g->rank, g->in_flight);
    *r = tl_request_new(c, g);
    return *r ? TORUS_OK : tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory");
}

/* release unbinds the buffers of the operation. `results`: it runs the fold and copies results to
 * the caller first. */
static void release(torus_request *r, bool results)
{
    struct tl_fold *f = &r->fold;
    if (f->op && results)
        tl_fold_run(f);
    if (f->op)
        f->op->users--;
    if (f->op && f->block_out)
        tl_memory_unpin(f->block_out);
    f->op = NULL;
    for (int i = 0; i < 2; i++)
        tl_binding_release(r->context, &r->binding[i], results);
}

/* leave_group removes the request from the operations in flight of its group. */
static void leave_group(torus_request *r)
{
    if (r->group)
        r->group->in_flight--;
    r->group = NULL;
    if (r->slot)
        *r->slot = NULL;
    r->slot = NULL;
}

void tl_request_free(torus_request *r)
{
    if (!r)
        return;
    release(r, false);
    leave_group(r);
    tl_group_destroy(r->new_group);
    free(r->new_plan);
    if (r->dispose)
        r->dispose(r, false);
    free(r);
}

void tl_request_unbind(torus_request *r)
{
    release(r, false);
    leave_group(r);
}

int tl_request_submit(torus_request *r, struct td_request *q, torus_request **out)
{
    torus_context *c = r->context;
    r->id = q->id = c->next_id++;
    if (r->group) {
        r->sequence = q->u.operation.sequence = r->group->sequence;
        r->turn = r->group->turn;
    }
    int error = tl_send(c, q, -1);
    if (error != TORUS_OK) {
        tl_request_free(r);
        return error;
    }
    if (r->group)
        r->group->sequence++;
    c->operations++;
    r->next = c->requests;
    c->requests = r;
    *out = r;
    return TORUS_OK;
}

/* finish records the outcome of a request and makes torus_fd readable. */
static void finish(torus_request *r, int error, const char *text)
{
    torus_context *c = r->context;
    r->error = error;
    snprintf(r->text, sizeof r->text, "%s", text ? text : "");
    leave_group(r);
    if (!r->fold.op) /* a user's operator runs later, when the request completes for the caller */
        release(r, error == TORUS_OK);
    r->next = NULL;
    *c->finished_last = r;
    c->finished_last = &r->next;
    tl_event_set(c);
}

void tl_request_finish_all(torus_context *c, int error, const char *text)
{
    char copy[TD_TEXT_MAX];
    snprintf(copy, sizeof copy, "%s", text);
    tl_handle_kept(c); /* these have their outcome */
    while (c->requests) {
        torus_request *r = c->requests;
        c->requests = r->next;
        finish(r, error, copy);
    }
}

/* note_refusal records that the daemon refused a call: it refuses the later calls of the group too,
 * until the caller has seen the first refusal. */
static void note_refusal(torus_request *r)
{
    torus_group *g = r->group;
    if (!g || r->turn != g->turn)
        return;
    r->refused_by = g->number;
    if (!g->refused)
        g->refused_from = r->sequence;
    g->refused = true;
}

void tl_request_reply(torus_context *c, const struct td_reply *reply)
{
    torus_request **link = &c->requests;
    while (*link && (*link)->id != reply->id)
        link = &(*link)->next;
    torus_request *r = *link;
    if (!r || (r->replies_due > 1 && r->replies_due--))
        return;
    *link = r->next;
    if (reply->refused)
        note_refusal(r);
    int error = reply->error;
    const char *text = reply->text;
    bool again = false;
    if (error == TORUS_OK && r->on_reply) {
        error = r->on_reply(r, reply, &again);
        text = c->error;
    }
    if (again) {
        r->next = c->requests;
        c->requests = r;
    } else {
        finish(r, error, text);
    }
}

/* remove_finished removes a request from the list of finished ones. */
static void remove_finished(torus_context *c, torus_request *r)
{
    torus_request **link = &c->finished;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    if (!*link)
        c->finished_last = link;
    tl_event_clear(c);
}

void tl_request_withdraw(torus_request *r)
{
    torus_request **link = &r->context->requests;
    while (*link && *link != r)
        link = &(*link)->next;
    if (*link)
        *link = r->next;
    else
        remove_finished(r->context, r);
    tl_request_free(r);
}

/* reset_sequence ends the refusals of a group once the caller learns of the first one: the next
 * call takes the sequence number of the first refused call. */
static void reset_sequence(torus_context *c, const torus_request *r)
{
    torus_group *g = c->groups;
    while (g && g->number != r->refused_by)
        g = g->next;
    if (!g || g->turn != r->turn)
        return;
    g->sequence = g->refused_from;
    g->refused = false;
    g->turn++;
}

/* conclude frees a finished request, after its callback if it has one, and returns the outcome. */
static int conclude(torus_request *r)
{
    torus_context *c = r->context;
    int error = r->error;
    remove_finished(c, r);
    release(r, error == TORUS_OK);
    tl_group_destroy(r->new_group);
    free(r->new_plan);
    r->new_plan = NULL;
    if (r->refused_by)
        reset_sequence(c, r);
    if (r->dispose)
        r->dispose(r, true);
    if (error != TORUS_OK)
        tl_fail(c, error, "%s", r->text);
    if (r->callback) {
        tl_hold(c);
        r->callback(r, error, r->user);
        free(r);
        tl_unhold(c);
    } else {
        free(r);
    }
    return error;
}

void tl_request_callbacks(torus_context *c)
{
    torus_request *r = c->finished;
    while (r && !c->closing) {
        if (!r->callback) {
            r = r->next;
            continue;
        }
        conclude(r);
        r = c->finished; /* a callback may have changed the list */
    }
}

int torus_test(torus_request *r)
{
    if (!r)
        return TORUS_ERR_INVALID;
    torus_context *c = r->context;
    if (c->pid != getpid())
        return tl_ready(c);
    while (r->error == TORUS_PENDING && tl_receive(c) == TORUS_OK)
        continue;
    return r->error == TORUS_PENDING ? TORUS_PENDING : conclude(r);
}

int torus_wait(torus_request *r, int64_t timeout_ns)
{
    if (!r)
        return TORUS_ERR_INVALID;
    torus_context *c = r->context;
    int64_t deadline = -1;
    if (timeout_ns >= 0 && __builtin_add_overflow(tl_now_ns(), timeout_ns, &deadline))
        deadline = -1;
    if (c->pid != getpid())
        return tl_ready(c);
    while (r->error == TORUS_PENDING) {
        int got = tl_await(c, deadline);
        if (got == TORUS_PENDING || got == TORUS_ERR_SYSTEM)
            return got;
    }
    return conclude(r);
}

int tl_request_wait(int started, torus_request **r)
{
    return started == TORUS_OK ? torus_wait(*r, -1) : started;
}

int torus_cancel(torus_request *r)
{
    if (!r)
        return TORUS_ERR_INVALID;
    torus_context *c = r->context;
    int error = tl_ready(c);
    if (error != TORUS_OK || r->error != TORUS_PENDING)
        return error;
    struct td_request q = {.kind = TD_REQUEST_CANCEL};
    q.u.cancel.request = r->id;
    return tl_send(c, &q, -1);
}

int torus_set_callback(torus_request *r, torus_callback *callback, void *user)
{
    if (!r)
        return TORUS_ERR_INVALID;
    r->callback = callback;
    r->user = user;
    return TORUS_OK;
}
