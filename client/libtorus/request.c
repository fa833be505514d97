/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

torus_request *tl_request_new(torus_context *c, torus_group *group, enum request_kind kind)
{
    torus_request *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->context = c;
    r->group = group;
    r->kind = kind;
    r->error = TORUS_PENDING;
    if (group)
        group->in_flight++;
    return r;
}

int tl_request_begin(torus_group *g, enum request_kind kind, torus_request **out, torus_request **r)
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
                       "%u calls of rank %u in this group are in flight, and no more may be: wait "
                       "for one of them",
                       g->in_flight, g->rank);
    *r = tl_request_new(c, g, kind);
    return *r ? TORUS_OK : tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory");
}

/* copy_pieces copies a side to its stand-in, where pieces are one after the other, or back. */
static void copy_pieces(const struct tl_piece *piece, uint32_t pieces, uint8_t *caller,
                        uint8_t *memory, bool back)
{
    for (uint32_t i = 0; i < pieces; memory += piece[i++].bytes)
        if (back)
            memcpy(caller + piece[i].at, memory, piece[i].bytes);
        else
            memcpy(memory, caller + piece[i].at, piece[i].bytes);
}

/* let_go gives back the memory of one side; results are copied out first. */
static void let_go(torus_context *c, struct tl_held *h, bool results)
{
    const struct tl_piece all = {0, 0, h->bytes}, *piece = h->piece ? h->piece : &all;
    if (h->memory && h->out && results)
        copy_pieces(piece, h->piece ? h->pieces : 1, h->out, h->memory, true);
    if (h->memory)
        tl_memory_give(c, h->memory);
    if (h->block)
        tl_memory_let_go(h->block);
    free(h->piece);
    *h = (struct tl_held){0};
}

/* release gives back the memory that the operation used, folded before. */
static void release(torus_request *r, bool results)
{
    struct tl_fold *f = &r->fold;
    if (f->op && results)
        tl_fold(f);
    if (f->op)
        f->op->holders--;
    if (f->op && f->block_out)
        tl_memory_let_go(f->block_out);
    f->op = NULL;
    for (int i = 0; i < 2; i++)
        let_go(r->context, &r->held[i], results);
}

/* leave_group: the operation is none of the group's in flight any more. */
static void leave_group(torus_request *r)
{
    if (r->group)
        r->group->in_flight--;
    r->group = NULL;
    if (r->persistent)
        r->persistent->in_flight = NULL;
    r->persistent = NULL;
}

void tl_request_free(torus_request *r)
{
    if (!r)
        return;
    release(r, false);
    leave_group(r);
    tl_group_drop(r->made);
    free(r->planned);
    if (r->transform)
        r->transform->parent->in_flight--;
    free(r->transform);
    free(r);
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

static void finish(torus_request *r, int error, const char *text)
{
    torus_context *c = r->context;
    uint64_t one = 1;
    r->error = error;
    snprintf(r->text, sizeof r->text, "%s", text ? text : "");
    leave_group(r);
    if (!r->fold.op) /* the caller's function runs where the request completes */
        release(r, error == TORUS_OK);
    r->next = NULL;
    *c->finished_last = r;
    c->finished_last = &r->next;
    int saved = errno;
    if (write(c->event, &one, sizeof one) < 0)
        errno = saved; /* the counter is full: it is readable all the same */
}

void tl_request_finish_all(torus_context *c, int error, const char *text)
{
    char copy[TD_TEXT_MAX];
    snprintf(copy, sizeof copy, "%s", text);
    while (c->requests) {
        torus_request *r = c->requests;
        c->requests = r->next;
        finish(r, error, copy);
    }
}

void tl_request_reply(torus_context *c, const struct td_reply *reply)
{
    torus_request **link = &c->requests;
    while (*link && (*link)->id != reply->id)
        link = &(*link)->next;
    torus_request *r = *link;
    if (!r || (r->kind == REQUEST_CLOSE && --r->replies_due > 0))
        return;
    *link = r->next;
    if (reply->refused && r->group && r->turn == r->group->turn) {
        r->refused_by = r->group->number;
        if (!r->group->refused)
            r->group->resume = r->sequence;
        r->group->refused = true;
    }
    const int replied = reply->error;
    int error = replied;
    const char *text = reply->text;
    bool again = false;
    if (error == TORUS_OK && r->kind == REQUEST_JOIN)
        error = tl_joined(r, reply);
    else if (error == TORUS_OK && r->kind == REQUEST_PLAN)
        error = tl_planned(r, reply);
    else if (error == TORUS_OK && r->kind == REQUEST_GROUP)
        error = tl_group_made(r, reply);
    else if (error == TORUS_OK && r->kind == REQUEST_SPLIT)
        error = tl_split_next(r, &again);
    if (error == TORUS_OK && r->transform && r->kind != REQUEST_SIMPLE)
        error = tl_transform_next(r, &again);
    if (again) {
        if (!r->transform) {
            release(r, false);
            leave_group(r);
        }
        r->next = c->requests;
        c->requests = r;
        return;
    }
    if (error != replied)
        text = c->lost ? c->error : "the daemon's answer is of the wrong kind, or memory ran out";
    finish(r, error, text);
}

/* take_finished removes a request from the list of finished ones. */
static void take_finished(torus_context *c, torus_request *r)
{
    torus_request **link = &c->finished;
    uint64_t count = 0;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    if (!*link)
        c->finished_last = link;
    int saved = errno;
    if (!c->finished && read(c->event, &count, sizeof count) < 0)
        errno = saved; /* it was empty already */
}

void tl_request_withdraw(torus_request *r)
{
    torus_request **link = &r->context->requests;
    while (*link && *link != r)
        link = &(*link)->next;
    if (*link)
        *link = r->next;
    else
        take_finished(r->context, r);
    tl_request_free(r);
}

/* refusal_seen: the caller learns that its calls since then were not made. */
static void refusal_seen(torus_context *c, const torus_request *r)
{
    torus_group *g = c->groups;
    while (g && g->number != r->refused_by)
        g = g->next;
    if (!g || g->turn != r->turn)
        return;
    g->sequence = g->resume;
    g->refused = false;
    g->turn++;
}

/* conclude hands the outcome over and frees the request. */
static int conclude(torus_request *r)
{
    torus_context *c = r->context;
    int error = r->error;
    take_finished(c, r);
    release(r, error == TORUS_OK);
    tl_group_drop(r->made);
    free(r->planned);
    r->planned = NULL;
    if (r->refused_by)
        refusal_seen(c, r);
    if (r->transform)
        tl_transform_end(r);
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

/* keep_pieces notes where to copy the results; false without memory. */
static bool keep_pieces(struct tl_held *h, const struct tl_side *side)
{
    if (!side->piece || !side->out)
        return true;
    h->piece = malloc((side->pieces ? side->pieces : 1) * sizeof *h->piece);
    h->pieces = side->pieces;
    if (h->piece)
        memcpy(h->piece, side->piece, side->pieces * sizeof *h->piece);
    return h->piece != NULL;
}

/* stand_in takes memory for a side and copies what is wanted there. */
static int stand_in(torus_request *r, struct tl_held *h, const struct tl_side *side,
                    struct td_place *place)
{
    torus_context *c = r->context;
    struct block *block = NULL;
    if (!keep_pieces(h, side))
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory");
    if (!(h->memory = tl_memory_take(c, side->bytes)))
        return TORUS_ERR_NO_MEMORY;
    h->bytes = side->bytes;
    h->out = side->out && !side->scratch ? side->pointer : NULL;
    const struct tl_piece all = {0, 0, side->bytes}, *piece = side->piece ? side->piece : &all;
    if (side->in)
        copy_pieces(piece, side->piece ? side->pieces : 1, side->pointer, h->memory, false);
    if (!side->scratch)
        c->staged_bytes += side->bytes;
    return tl_memory_find(c, h->memory, side->bytes, place, &block);
}

int tl_request_place(torus_request *r, int which, const struct tl_side *side, size_t alignment,
                     struct td_place *place, bool *staged)
{
    torus_context *c = r->context;
    struct tl_held *h = &r->held[which];
    *place = (struct td_place){0};
    *staged = false;
    if (side->bytes == 0)
        return TORUS_OK;
    if (!side->pointer && !side->scratch)
        return tl_fail(c, TORUS_ERR_INVALID, "a buffer of %zu bytes is NULL", side->bytes);
    struct block *block = NULL;
    int error =
        side->scratch ? TORUS_OK : tl_memory_find(c, side->pointer, side->extent, place, &block);
    if (error != TORUS_OK)
        return error;
    h->block = block;
    if (block)
        tl_memory_hold(block);
    if (block && !side->stage && (uintptr_t)side->pointer % alignment == 0)
        return TORUS_OK;
    *staged = true;
    return stand_in(r, h, side, place);
}
