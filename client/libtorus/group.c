/* SPDX-License-Identifier: Apache-2.0 */
/* Groups made of ranks of a group. Each member tells its daemon the list of members, and a number
 * that is new for that list and the same at all of them. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* What the number is made of, besides. */
enum { BY_SPLIT = 1, BY_LIST = 2 };

/* struct made_before: how often groups of the same ranks were made of this group, by a list. */
struct made_before {
    struct made_before *next;
    uint64_t list; /* its hash */
    uint64_t times;
};

/* ---- a group that is being made ---- */

/* prepare returns a group of ranks of `from`, which the daemon has yet to number. `rank` is where
 * this process is in the list. */
static torus_group *prepare(const torus_group *from, const uint64_t *ranks, uint32_t count,
                            uint32_t rank)
{
    torus_group *g = calloc(1, sizeof *g);
    if (g)
        g->member = calloc(count, sizeof *g->member);
    if (!g || !g->member) {
        free(g);
        return NULL;
    }
    g->context = from->context;
    g->world = from->world;
    g->size = count;
    g->rank = rank;
    g->timeout_ns = from->timeout_ns;
    g->mode = from->mode;
    for (uint32_t i = 0; i < count; i++)
        g->member[i] = from->member ? from->member[ranks[i]] : (uint32_t)ranks[i];
    return g;
}

void tl_group_drop(torus_group *g)
{
    if (!g)
        return;
    while (g->before) {
        struct made_before *b = g->before;
        g->before = b->next;
        free(b);
    }
    free(g->member);
    free(g);
}

int tl_group_made(torus_request *r, const struct td_reply *reply)
{
    torus_group *g = r->made;
    if (reply->kind == TD_REPLY_JOINED && reply->u.joined.lost_bytes)
        tl_group_leave_out(g, reply->u.joined.lost, reply->u.joined.lost_bytes);
    if (reply->kind != TD_REPLY_JOINED || reply->u.joined.size != g->size ||
        reply->u.joined.rank != g->rank)
        return TORUS_ERR_PROTOCOL;
    r->made = NULL;
    g->number = reply->u.joined.group;
    g->next = r->context->groups;
    r->context->groups = g;
    *r->world = g;
    return TORUS_OK;
}

static struct td_request group_request(const torus_group *from, uint64_t number,
                                       const uint64_t *ranks, uint32_t count)
{
    struct td_request q = {.kind = TD_REQUEST_GROUP};
    q.u.make.group = from->number;
    q.u.make.number = number;
    q.u.make.member = ranks;
    q.u.make.members = count;
    return q;
}

/* ---- split ---- */

struct choice {
    int32_t colour, key;
};

/* struct member: of the new group, to be sorted. */
struct member {
    int32_t key;
    uint32_t rank;
};

int torus_isplit(torus_group *g, int32_t colour, int32_t key, torus_group **made,
                 torus_request **request)
{
    torus_request *r = NULL;
    if (!g || !made)
        return TORUS_ERR_INVALID;
    *made = NULL;
    if (colour < 0 && colour != TORUS_UNDEFINED)
        return tl_fail(g->context, TORUS_ERR_INVALID,
                       "split: a colour is 0 or more, or TORUS_UNDEFINED");
    struct choice own = {colour, key};
    const struct tl_side from = {.pointer = (uint8_t *)&own,
                                 .bytes = sizeof own,
                                 .extent = sizeof own,
                                 .in = true,
                                 .stage = true};
    const struct tl_side to = {.bytes = g->size * sizeof own, .scratch = true};
    bool staged = false;
    int error = tl_request_begin(g, REQUEST_SPLIT, request, &r);
    if (error != TORUS_OK)
        return error;
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.group = g->number;
    q.u.operation.timeout_ns = g->timeout_ns;
    q.u.operation.call = (struct td_call){.kind = TD_KIND_ALLGATHER,
                                          .type = TD_TYPE_INT32,
                                          .count = 2,
                                          .digest = td_call_digest(TD_DIGEST_SPLIT, 0)};
    r->world = made;
    error = tl_request_place(r, 0, &from, 1, &q.u.operation.source, &staged);
    if (error == TORUS_OK)
        error = tl_request_place(r, 1, &to, 1, &q.u.operation.destination, &staged);
    if (error == TORUS_OK)
        return tl_request_submit(r, &q, request);
    tl_request_free(r);
    return error;
}

int torus_split(torus_group *g, int32_t colour, int32_t key, torus_group **made)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_isplit(g, colour, key, made, &r), &r);
}

static int by_key(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

/* sort_out lists the ranks of this one's colour; returns how many there are. */
static uint32_t sort_out(const torus_group *g, const struct choice *all, struct member *member,
                         uint64_t *ranks, uint32_t *own)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < g->size; rank++)
        if (all[rank].colour == all[g->rank].colour)
            member[count++] = (struct member){all[rank].key, rank};
    qsort(member, count, sizeof *member, by_key);
    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = member[i].rank;
        if (member[i].rank == g->rank)
            *own = i;
    }
    return count;
}

int tl_split_next(torus_request *r, bool *again)
{
    const torus_group *g = r->group;
    torus_context *c = r->context;
    const struct choice *all = (const struct choice *)(const void *)r->held[1].memory;
    *again = false;
    if (all[g->rank].colour == TORUS_UNDEFINED)
        return TORUS_OK;
    struct member *member = calloc(g->size, sizeof *member);
    uint64_t *ranks = calloc(g->size, sizeof *ranks);
    uint32_t own = 0, count = member && ranks ? sort_out(g, all, member, ranks, &own) : 0;
    r->made = count ? prepare(g, ranks, count, own) : NULL;
    free(member);
    int error = r->made ? TORUS_OK : TORUS_ERR_NO_MEMORY;
    if (error == TORUS_OK) {
        struct td_request q =
            group_request(g, tl_hash(tl_hash(TL_HASH_START, BY_SPLIT), r->sequence), ranks, count);
        r->kind = REQUEST_GROUP;
        r->id = q.id = c->next_id++;
        error = tl_send(c, &q, -1);
        *again = error == TORUS_OK;
    }
    free(ranks);
    return error;
}

/* ---- by a list ---- */

/* count_list returns how often a group of these ranks was made of g before. */
static int count_list(torus_group *g, const uint64_t *ranks, uint32_t count, uint64_t *times)
{
    uint64_t list = tl_hash(TL_HASH_START, count);
    for (uint32_t i = 0; i < count; i++)
        list = tl_hash(list, ranks[i]);
    struct made_before *b = g->before;
    while (b && b->list != list)
        b = b->next;
    if (!b && (b = calloc(1, sizeof *b))) {
        b->list = list;
        b->next = g->before;
        g->before = b;
    }
    if (b)
        *times = b->times++;
    return b ? TORUS_OK : TORUS_ERR_NO_MEMORY;
}

/* copy_list copies a list of ranks (NULL: all of the group) and looks where this one is. */
static int copy_list(const torus_group *g, const uint32_t *ranks, uint32_t count, uint64_t *list,
                     uint32_t *own)
{
    *own = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        list[i] = ranks ? ranks[i] : i;
        if (list[i] == g->rank)
            *own = i;
        if (list[i] >= g->size)
            return tl_fail(g->context, TORUS_ERR_INVALID,
                           "rank %u is not one of the group, which has %u", (uint32_t)list[i],
                           g->size);
    }
    return *own != UINT32_MAX ? TORUS_OK
                              : tl_fail(g->context, TORUS_ERR_INVALID,
                                        "rank %u asks for a group that it is not in", g->rank);
}

/* send_list starts a group of the listed ranks, where this one is number `own`. */
static int send_list(torus_group *g, const uint64_t *list, uint32_t count, uint32_t own,
                     torus_group **made, torus_request **request)
{
    uint64_t times = 0;
    torus_request *r = tl_request_new(g->context, NULL, REQUEST_GROUP);
    if (r)
        r->made = prepare(g, list, count, own);
    if (!r || !r->made || count_list(g, list, count, &times) != TORUS_OK) {
        tl_request_free(r);
        return tl_fail(g->context, TORUS_ERR_NO_MEMORY, "no memory");
    }
    struct td_request q =
        group_request(g, tl_hash(tl_hash(TL_HASH_START, BY_LIST), times), list, count);
    r->world = made;
    return tl_request_submit(r, &q, request);
}

int tl_group_begin(const torus_group *g, torus_group **made, torus_request **request)
{
    if (!g || !made)
        return TORUS_ERR_INVALID;
    *made = NULL;
    if (!request)
        return tl_fail(g->context, TORUS_ERR_INVALID, "request is NULL");
    *request = NULL;
    return tl_ready(g->context);
}

/* make starts a group; ranks NULL: of all. */
static int make(torus_group *g, const uint32_t *ranks, uint32_t count, torus_group **made,
                torus_request **request)
{
    int error = tl_group_begin(g, made, request);
    if (error != TORUS_OK)
        return error;
    torus_context *c = g->context;
    if (count == 0 || count > g->size)
        return tl_fail(c, TORUS_ERR_INVALID, "a group is made of 1 to %u ranks", g->size);
    uint32_t own = 0;
    uint64_t *list = calloc(count, sizeof *list);
    if (!list)
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory");
    error = copy_list(g, ranks, count, list, &own);
    if (error == TORUS_OK)
        error = send_list(g, list, count, own, made, request);
    free(list);
    return error;
}

int torus_igroup_create(torus_group *g, const uint32_t *ranks, uint32_t count, torus_group **made,
                        torus_request **request)
{
    if (g && made && !ranks)
        return tl_fail(g->context, TORUS_ERR_INVALID, "the list of ranks is NULL");
    return make(g, ranks, count, made, request);
}

int torus_group_create(torus_group *g, const uint32_t *ranks, uint32_t count, torus_group **made)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_igroup_create(g, ranks, count, made, &r), &r);
}

int torus_idup(torus_group *g, torus_group **made, torus_request **request)
{
    return make(g, NULL, g ? g->size : 0, made, request);
}

int torus_dup(torus_group *g, torus_group **made)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_idup(g, made, &r), &r);
}

/* ---- afterwards ---- */

int torus_group_free(torus_group *g)
{
    if (!g)
        return TORUS_ERR_INVALID;
    if (!g->member)
        return tl_fail(g->context, TORUS_ERR_INVALID,
                       "the group is that of the job: torus_leave leaves it");
    return torus_leave(g);
}

int32_t torus_translate(const torus_group *g, uint32_t rank, const torus_group *other)
{
    if (!g || !other || rank >= g->size || g->context != other->context || g->world != other->world)
        return TORUS_UNDEFINED;
    uint32_t world = g->member ? g->member[rank] : rank;
    if (!other->member)
        return (int32_t)world;
    for (uint32_t i = 0; i < other->size; i++)
        if (other->member[i] == world)
            return (int32_t)i;
    return TORUS_UNDEFINED;
}
