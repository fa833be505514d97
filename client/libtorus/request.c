/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "group.h"
#include "segment.h"
#include "socket.h"
#include "lock.h"

torus_request *tl_request_new(torus_context *c, torus_group *group)
{
    torus_request *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->context = c;
    r->group = group;
    r->replies_due = 1;
    r->expected = TD_REPLY_DONE;
    r->error = TORUS_PENDING;
    if (group)
        group->in_flight++;
    return r;
}

int tl_request_begin(torus_group *g, torus_request **out, torus_request **r)
{
    if (!g)
        return tl_no_group("torus_start");
    torus_context *c = g->context;
    tl_segment_await(g);
    int error = tl_ready(c);
    if (error != TORUS_OK)
        return error;
    if (!out)
        return tl_fail(c, TORUS_ERR_INVALID, "request is NULL");
    *out = NULL;
    if (g->in_flight >= TL_GROUP_CALLS_MAX)
        return tl_fail(c, TORUS_ERR_BUSY,
                       "rank %u has %u calls of this group in flight, the maximum: wait for one of "
                       "them",
                       g->rank, g->in_flight);
    *r = tl_request_new(c, g);
    return *r ? TORUS_OK : tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the request");
}

/* release unbinds the buffers of the operation. `results`: it runs the fold and copies results to
 * the caller first. */
static void release(torus_request *r, bool results)
{
    struct tl_fold *f = &r->fold;
    if (f->op && results)
        tl_fold_run(f);
    if (f->op && f->block_out)
        tl_memory_unpin(f->block_out);
    if (f->op)
        tl_fold_unuse(f);
    f->op = NULL;
    for (int i = 0; i < 2; i++)
        tl_binding_release(r->context, &r->binding[i], results);
}

/* ---- pending requests ---- */

void tl_request_list(torus_request *r)
{
    torus_context *c = r->context;
    r->next = NULL;
    *c->requests_last = r;
    c->requests_last = &r->next;
}

/* unlist removes the request at *link from the pending ones. */
static void unlist(torus_context *c, torus_request **link)
{
    torus_request *r = *link;
    *link = r->next;
    if (!r->next)
        c->requests_last = link;
}

/* find_pending returns the place of a pending request in its list; *place is NULL if none exists
 * with this id. Replies come nearly in the order of the list. */
static torus_request **find_pending(torus_context *c, uint64_t id)
{
    torus_request **link = &c->requests;
    while (*link && (*link)->id != id)
        link = &(*link)->next;
    return link;
}

/* ---- requests that wait to be sent ---- */

/* keep_datagram encodes the request of a call of a group. */
static int keep_datagram(torus_request *r, const struct td_request *q)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;
    int error = tl_encode(r->context, q, &bytes, &size);
    if (error != TORUS_OK)
        return error;
    if (!(r->datagram = malloc(sizeof *r->datagram + size)))
        return tl_fail(r->context, TORUS_ERR_NO_MEMORY, "no memory for the call");
    r->datagram->size = size;
    memcpy(r->datagram->bytes, bytes, size);
    return TORUS_OK;
}

/* push_unsent adds a request to those of its group that wait to be sent: a new call at the end, one
 * that the daemon has refused before later calls. */
static void push_unsent(torus_request *r, bool is_new)
{
    torus_group *g = r->group;
    torus_request **link = is_new && g->unsent ? g->unsent_last : &g->unsent;
    while (*link && (*link)->sequence < r->sequence)
        link = &(*link)->next_unsent;
    r->next_unsent = *link;
    *link = r;
    if (!r->next_unsent)
        g->unsent_last = &r->next_unsent;
    r->waits = true;
}

/* remove_unsent takes a request out of those of its group that wait to be sent. */
static void remove_unsent(torus_request *r)
{
    torus_group *g = r->group;
    torus_request **link = &g->unsent;
    while (*link != r)
        link = &(*link)->next_unsent;
    *link = r->next_unsent;
    if (!r->next_unsent)
        g->unsent_last = link;
    r->waits = false;
}

/* detach ends the request's part in its group. */
static void detach(torus_request *r)
{
    torus_group *g = r->group;
    if (r->slot)
        *r->slot = NULL;
    r->slot = NULL;
    if (r->is_long)
        r->context->long_calls--;
    r->is_long = false;
    if (!g)
        return;
    g->in_flight--;
    if (r->waits)
        remove_unsent(r);
    free(r->datagram);
    r->datagram = NULL;
    if (r->sent)
        g->sent--;
    r->group = NULL;
}

/* complete records the outcome of a request and makes torus_fd readable. */
static void complete(torus_request *r, int error, const char *text)
{
    torus_context *c = r->context;
    r->error = error;
    td_text_show(text ? text : "", r->text, sizeof r->text);
    detach(r);
    if (!r->fold.op) /* a user's operator runs later, when the request completes for the caller */
        release(r, error == TORUS_OK);
    r->next = NULL;
    *c->finished_last = r;
    c->finished_last = &r->next;
    tl_event_set(c);
}

/* send_unsent sends the oldest waiting request of a group, unless an earlier call of the group was
 * refused: then it must not take the place of another call. */
static void send_unsent(torus_group *g)
{
    torus_request *r = g->unsent;
    torus_context *c = g->context;
    if (r->turn != g->turn) {
        unlist(c, find_pending(c, r->id));
        complete(r, TORUS_ERR_BUSY,
                 "an earlier call of this group was refused: make this call again");
        return;
    }
    remove_unsent(r);
    r->sent = true;
    g->sent++;
    bool cancelled = r->cancelled;
    const struct tl_datagram *datagram = r->datagram;
    /* if the connection is lost, r may be gone */
    if (tl_send_bytes(c, datagram->bytes, datagram->size, -1) == TORUS_OK && cancelled)
        torus_cancel(r);
}

static bool may_send(const torus_group *g)
{
    return !g->full && g->sent + g->held_back < TD_GROUP_OPERATIONS_MAX;
}

/* go_on sends waiting requests of a group (NULL: none) after one of its requests has ended, and
 * ends the group if that was the last one of a freed group. */
static void go_on(torus_group *g)
{
    if (!g)
        return;
    g->in_flight++; /* keeps the group: sending may find the connection lost, which ends all
                       requests */
    while (g->unsent && may_send(g) && !g->context->lost)
        send_unsent(g);
    g->in_flight--;
    tl_group_release(g);
}

/* drop_plan frees the plan that a request was to create. */
static void drop_plan(torus_request *r)
{
    struct tl_attachment *a = (struct tl_attachment *)r->new_plan;
    r->new_plan = NULL;
    if (a)
        a->destroy(a);
}

void tl_request_free(torus_request *r)
{
    if (!r)
        return;
    torus_group *g = r->group;
    release(r, false);
    detach(r);
    tl_group_destroy(r->new_group);
    drop_plan(r);
    if (r->dispose)
        r->dispose(r, false);
    free(r);
    go_on(g);
}

void tl_request_unbind(torus_request *r)
{
    torus_group *g = r->group;
    release(r, false);
    detach(r);
    go_on(g);
}

void tl_request_room(torus_group *g)
{
    while (g && g->in_flight >= TL_GROUP_CALLS_MAX && tl_ready(g->context) == TORUS_OK)
        tl_await(g->context, -1);
}

int tl_request_submit(torus_request *r, struct td_request *q, torus_request **out)
{
    torus_context *c = r->context;
    torus_group *g = r->group;
    r->id = q->id = c->next_id++;
    r->expected = tl_reply_to(q);
    if (g) {
        r->sequence = q->u.operation.sequence = g->sequence;
        q->u.operation.by_segment = g->by_segment;
        r->turn = g->turn;
    }
    bool waits = g && (g->unsent || !may_send(g));
    int error = g ? keep_datagram(r, q) : tl_send(c, q, -1);
    if (error == TORUS_OK && g && !waits)
        error = tl_send_bytes(c, r->datagram->bytes, r->datagram->size, -1);
    if (error != TORUS_OK) {
        tl_request_free(r);
        return error;
    }
    if (g) {
        g->sequence++;
        r->sent = !waits;
        g->sent += r->sent;
        r->is_long =
            q->u.operation.source.bytes + q->u.operation.destination.bytes > TD_AWAKE_BYTES;
        c->long_calls += r->is_long;
        if (waits)
            push_unsent(r, true);
    }
    c->operations++;
    tl_request_list(r);
    *out = r;
    return TORUS_OK;
}

/* ---- outcomes ---- */

/* finish completes a request, and lets its group go on. */
static void finish(torus_request *r, int error, const char *text)
{
    torus_group *g = r->group;
    complete(r, error, text);
    go_on(g);
}

void tl_request_finish_all(torus_context *c, int error, const char *text)
{
    char copy[TD_TEXT_MAX];
    snprintf(copy, sizeof copy, "%s", text);
    tl_handle_kept(c); /* these have their outcome */
    while (c->requests) {
        torus_request *r = c->requests;
        unlist(c, &c->requests);
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

/* send_later keeps a call that the daemon refused for lack of room, or because it came after such a
 * call. Only the former waits until the daemon has room. */
static void send_later(torus_request *r, bool waits_for_room)
{
    torus_group *g = r->group;
    if (waits_for_room) {
        g->full = true;
        g->held_back = TD_GROUP_OPERATIONS_MAX - 1;
    }
    r->sent = false;
    g->sent--;
    push_unsent(r, false);
    go_on(g);
}

/* has_room sends the calls that wait until the daemon has room. */
static void has_room(torus_context *c)
{
    for (torus_group *g = c->groups; g;) {
        if (!g->full) {
            g = g->next;
            continue;
        }
        g->full = false;
        go_on(g);
        g = c->groups; /* sending may find the connection lost, which ends groups */
    }
}

/* is_fit returns true if a reply may be the one to a pending request. */
static bool is_fit(const torus_request *r, const struct td_reply *reply)
{
    bool fails = reply->kind == TD_REPLY_ERROR || reply->kind == TD_REPLY_NO_ROOM;
    return !r->waits && fails == (reply->error != TD_OK) &&
           (fails ? !reply->refused || r->group : !reply->refused && reply->kind == r->expected);
}

void tl_request_reply(torus_context *c, const struct td_reply *reply)
{
    if (reply->kind == TD_REPLY_ROOM) {
        has_room(c);
        return;
    }
    torus_request **link = find_pending(c, reply->id), *r = *link;
    if (r && !is_fit(r, reply)) {
        tl_malformed(c, "kind %d with error %d%s to a request%s that expects kind %d",
                     (int)reply->kind, (int)reply->error, reply->refused ? ", refused," : "",
                     r->waits ? " that is not sent and" : "", (int)r->expected);
        return;
    }
    if (!r || (r->replies_due > 1 && r->replies_due--))
        return;
    torus_group *g = r->group;
    if (reply->refused && (int)reply->error == TORUS_ERR_BUSY && g && r->sent && !g->refused &&
        r->turn == g->turn) {
        send_later(r, reply->kind == TD_REPLY_NO_ROOM);
        return;
    }
    unlist(c, link);
    if (g && g->held_back > 0)
        g->held_back--;
    if (reply->refused)
        note_refusal(r);
    int error = reply->error;
    const char *text = reply->text;
    bool again = false;
    if (error == TORUS_OK && r->on_reply) {
        error = r->on_reply(r, reply, &again);
        text = tl_error_text(c);
    }
    if (again)
        tl_request_list(r);
    else
        finish(r, error, text);
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
        unlist(r->context, link);
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

int tl_request_conclude(torus_request *r)
{
    torus_context *c = r->context;
    int error = r->error;
    remove_finished(c, r);
    release(r, error == TORUS_OK);
    tl_group_destroy(r->new_group);
    drop_plan(r);
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
        tl_request_conclude(r);
        r = c->finished; /* a callback may have changed the list */
    }
}

int torus_cancel(torus_request *r)
{
    TL_GUARD(r ? r->context : NULL);
    if (!r)
        return tl_null(NULL, "torus_cancel", "request");
    torus_context *c = r->context;
    int error = tl_ready(c);
    if (error != TORUS_OK || r->error != TORUS_PENDING)
        return error;
    r->cancelled = true;
    if (r->waits) /* the cancellation follows the call */
        return TORUS_OK;
    struct td_request q = {.kind = TD_REQUEST_CANCEL};
    q.u.cancel.request = r->id;
    return tl_send(c, &q, -1);
}

int torus_set_callback(torus_request *r, torus_callback *callback, void *user)
{
    TL_GUARD(r ? r->context : NULL);
    if (!r)
        return tl_null(NULL, "torus_set_callback", "request");
    r->callback = callback;
    r->user = user;
    return TORUS_OK;
}

const char *torus_request_error(const torus_request *r)
{
    TL_GUARD_ELSE(r ? r->context : NULL, tl_lock_text());
    return r && r->error < 0 ? r->text : "";
}
