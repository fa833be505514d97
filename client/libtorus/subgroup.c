/* SPDX-License-Identifier: Apache-2.0 */
#include "subgroup.h"

#include <stdlib.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "letters.h"
#include "segment.h"
#include "socket.h"
#include "system/limits.h"
#include "wait.h"
#include "lock.h"

/* First value in the hash of a creation number. */
enum { BY_SPLIT = 1, BY_LIST = 2, BY_DUP = 3, BY_PERSISTENT = 4 };

/* ---- a group under creation ---- */

torus_group *tl_subgroup_new(const torus_group *from, const uint64_t *ranks, uint32_t count,
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
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent_rank = ranks ? (uint32_t)ranks[i] : i;
        g->member[i] = from->member ? from->member[parent_rank] : parent_rank;
    }
    return g;
}

/* leave_again leaves a new group for whose segment this process has no descriptor: each call of the
 * group would wait for this rank's request. */
static int leave_again(torus_request *r, uint32_t number)
{
    torus_group *g = r->new_group;
    uint32_t rank = g->rank;
    char why[TD_LIMIT_TEXT];
    r->new_group = NULL;
    tl_group_link(g, number);
    g->freed = true;
    tl_group_release(g);
    return tl_fail(r->context, TORUS_ERR_SYSTEM,
                   "rank %u left the new group at once, because it cannot take the memory that the "
                   "ranks of this node share: %s",
                   rank, td_limit_why(EMFILE, why, sizeof why));
}

int tl_subgroup_reply(torus_request *r, const struct td_reply *reply, bool *again)
{
    torus_group *g = r->new_group;
    torus_context *c = r->context;
    (void)again;
    if (reply->u.joined.size != g->size || reply->u.joined.rank != g->rank)
        return tl_malformed(c, "rank %u of a group of size %u, where %u of %u was due",
                            reply->u.joined.rank, reply->u.joined.size, g->rank, g->size);
    for (const torus_group *other = c->groups; other; other = other->next)
        if (other->number == reply->u.joined.group)
            return tl_malformed(c, "a new group with number %u, which another one has",
                                other->number);
    if (reply->u.joined.has_segment && c->passed < 0) /* the kernel found no number for it */
        return leave_again(r, reply->u.joined.group);
    int error = TORUS_OK;
    if (reply->u.joined.has_letters)
        error = tl_letters_adopt(c);
    else if (reply->u.joined.has_segment)
        error = tl_segment_adopt(g);
    if (error != TORUS_OK)
        return error;
    r->new_group = NULL;
    tl_group_link(g, reply->u.joined.group);
    *r->new_group_out = g;
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

struct split_choice {
    int32_t colour, key;
};

/* struct member: sort key of a member of the new group. */
struct member {
    int32_t key;
    uint32_t rank;
};

static int by_key(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

/* list_colour lists the ranks that gave the colour of this rank, ordered by key, and returns their
 * number. *own is the index of this rank. */
static uint32_t list_colour(const torus_group *g, const struct split_choice *all,
                            struct member *member, uint64_t *ranks, uint32_t *own)
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

/* split_reply creates the group of this rank's colour from the choices of all ranks. */
static int split_reply(torus_request *r, const struct td_reply *reply, bool *again)
{
    const torus_group *g = r->group;
    torus_context *c = r->context;
    const struct split_choice *all = (const struct split_choice *)(const void *)r->binding[1].copy;
    (void)reply;
    if (all[g->rank].colour == TORUS_UNDEFINED)
        return TORUS_OK;
    struct member *member = calloc(g->size, sizeof *member);
    uint64_t *ranks = calloc(g->size, sizeof *ranks);
    uint32_t own = 0, count = member && ranks ? list_colour(g, all, member, ranks, &own) : 0;
    r->new_group = count ? tl_subgroup_new(g, ranks, count, own) : NULL;
    free(member);
    int error =
        r->new_group ? TORUS_OK : tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the group");
    if (error == TORUS_OK) {
        struct td_request q = group_request(
            g, td_hash_add(td_hash_add(TD_HASH_START, BY_SPLIT), r->sequence), ranks, count);
        r->on_reply = tl_subgroup_reply;
        r->id = q.id = c->next_id++;
        r->expected = tl_reply_to(&q);
        error = tl_send(c, &q, -1);
        *again = error == TORUS_OK;
    }
    free(ranks);
    if (*again)
        tl_request_unbind(r);
    return error;
}

int torus_isplit(torus_group *g, int32_t colour, int32_t key, torus_group **made,
                 torus_request **request)
{
    TL_GUARD(g ? g->context : NULL);
    torus_request *r = NULL;
    if (!g || !made)
        return g ? tl_null(g->context, "torus_split", "made") : tl_no_group("torus_split");
    *made = NULL;
    if (colour < 0 && colour != TORUS_UNDEFINED)
        return tl_fail(g->context, TORUS_ERR_INVALID,
                       "split: colour %d must be 0 or more, or TORUS_UNDEFINED", colour);
    static const struct tl_role role = {"split", "buffer"};
    struct split_choice own = {colour, key};
    const struct tl_buffer from = {.pointer = (uint8_t *)&own,
                                   .bytes = sizeof own,
                                   .end = sizeof own,
                                   .copy_in = true,
                                   .must_stage = true};
    const struct tl_buffer to = {.bytes = g->size * sizeof own, .scratch = true};
    bool staged = false;
    int error = tl_request_begin(g, request, &r);
    if (error != TORUS_OK)
        return error;
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.group = g->number;
    q.u.operation.timeout_ns = g->timeout_ns;
    q.u.operation.call = (struct td_call){.kind = TD_KIND_ALLGATHER,
                                          .type = TD_TYPE_INT32,
                                          .count = 2,
                                          .digest = td_call_digest(TD_DIGEST_SPLIT, 0)};
    r->on_reply = split_reply;
    r->new_group_out = made;
    error =
        tl_buffer_bind(g->context, &role, &from, 1, &r->binding[0], &q.u.operation.source, &staged);
    if (error == TORUS_OK)
        error = tl_buffer_bind(g->context, &role, &to, 1, &r->binding[1],
                               &q.u.operation.destination, &staged);
    if (error == TORUS_OK)
        return tl_request_submit(r, &q, request);
    tl_request_free(r);
    return error;
}

int torus_split(torus_group *g, int32_t colour, int32_t key, torus_group **made)
{
    TL_GUARD(g ? g->context : NULL);
    torus_request *r = NULL;
    return tl_request_wait(torus_isplit(g, colour, key, made, &r), &r);
}

/* ---- by a list ---- */

/* count_creation writes how many groups this list of ranks of g has created before with this tag,
 * and counts one more. */
static int count_creation(torus_group *g, const uint64_t *ranks, uint32_t count, uint32_t tag,
                          uint64_t *count_before)
{
    uint64_t list = td_hash_add(td_hash_add(TD_HASH_START, tag), count);
    for (uint32_t i = 0; i < count; i++)
        list = td_hash_add(list, ranks[i]);
    struct tl_creations *b = g->creations;
    while (b && b->list != list)
        b = b->next;
    if (!b && (b = calloc(1, sizeof *b))) {
        b->list = list;
        b->next = g->creations;
        g->creations = b;
    }
    if (b)
        *count_before = b->count++;
    return b ? TORUS_OK : TORUS_ERR_NO_MEMORY;
}

/* copy_list copies a list of ranks (NULL: all of the group) and finds the index of this rank. */
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
                           "rank %u is not in the group, which has size %u", (uint32_t)list[i],
                           g->size);
    }
    return *own != UINT32_MAX
               ? TORUS_OK
               : tl_fail(g->context, TORUS_ERR_INVALID,
                         "rank %u must be in the list of the group that it creates", g->rank);
}

/* send_list starts the creation of a group with the creation number `number`; `own` is the index of
 * this rank in the list. */
static int send_list(torus_group *g, uint64_t number, const uint64_t *list, uint32_t count,
                     uint32_t own, torus_group **made, torus_request **request)
{
    torus_request *r = tl_request_new(g->context, NULL);
    if (r)
        r->new_group = tl_subgroup_new(g, list, count, own);
    if (!r || !r->new_group) {
        tl_request_free(r);
        return tl_fail(g->context, TORUS_ERR_NO_MEMORY, "no memory for the group");
    }
    struct td_request q = group_request(g, number, list, count);
    r->on_reply = tl_subgroup_reply;
    r->new_group_out = made;
    return tl_request_submit(r, &q, request);
}

int tl_subgroup_begin(const torus_group *g, const char *function, torus_group **made,
                      torus_request **request)
{
    if (!g || !made)
        return g ? tl_null(g->context, function, "made") : tl_no_group(function);
    *made = NULL;
    if (!request)
        return tl_fail(g->context, TORUS_ERR_INVALID, "request is NULL");
    *request = NULL;
    return tl_ready(g->context);
}

int torus_igroup_create(torus_group *g, const uint32_t *ranks, uint32_t count, uint32_t tag,
                        torus_group **made, torus_request **request)
{
    TL_GUARD(g ? g->context : NULL);
    int error = tl_subgroup_begin(g, "torus_group_create", made, request);
    if (error != TORUS_OK)
        return error;
    torus_context *c = g->context;
    if (!ranks)
        return tl_fail(c, TORUS_ERR_INVALID, "torus_group_create: ranks is NULL");
    if (count == 0 || count > g->size)
        return tl_fail(c, TORUS_ERR_INVALID, "cannot create a group of %u ranks: expected 1 to %u",
                       count, g->size);
    uint32_t own = 0;
    uint64_t before = 0, *list = calloc(count, sizeof *list);
    if (!list)
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the list of ranks");
    error = copy_list(g, ranks, count, list, &own);
    if (error == TORUS_OK && count_creation(g, list, count, tag, &before) != TORUS_OK)
        error = tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the group");
    uint64_t number = td_hash_add(td_hash_add(td_hash_add(TD_HASH_START, BY_LIST), tag), before);
    if (error == TORUS_OK)
        error = send_list(g, number, list, count, own, made, request);
    free(list);
    return error;
}

int torus_group_create(torus_group *g, const uint32_t *ranks, uint32_t count, uint32_t tag,
                       torus_group **made)
{
    TL_GUARD(g ? g->context : NULL);
    torus_request *r = NULL;
    return tl_request_wait(torus_igroup_create(g, ranks, count, tag, made, &r), &r);
}

/* ---- of all ranks ---- */

/* copy_group starts a group of all ranks; `number` of those that are made in this way. */
static int copy_group(torus_group *g, unsigned way, uint64_t number, torus_group **made,
                      torus_request **request)
{
    uint64_t *list = calloc(g->size, sizeof *list);
    if (!list)
        return tl_fail(g->context, TORUS_ERR_NO_MEMORY, "no memory for the list of ranks");
    for (uint32_t i = 0; i < g->size; i++)
        list[i] = i;
    int error = send_list(g, td_hash_add(td_hash_add(TD_HASH_START, way), number), list, g->size,
                          g->rank, made, request);
    free(list);
    return error;
}

int torus_idup(torus_group *g, torus_group **made, torus_request **request)
{
    TL_GUARD(g ? g->context : NULL);
    int error = tl_subgroup_begin(g, "torus_dup", made, request);
    return error == TORUS_OK ? copy_group(g, BY_DUP, g->dups++, made, request) : error;
}

int torus_dup(torus_group *g, torus_group **made)
{
    TL_GUARD(g ? g->context : NULL);
    torus_request *r = NULL;
    return tl_request_wait(torus_idup(g, made, &r), &r);
}

int tl_subgroup_persistent(torus_group *g, torus_group **made)
{
    torus_request *r = NULL;
    int error = tl_ready(g->context);
    if (error != TORUS_OK)
        return error;
    error = copy_group(g, BY_PERSISTENT, g->persistents++, made, &r);
    return tl_request_wait(error, &r);
}

/* ---- release ---- */

int torus_group_free(torus_group *g)
{
    TL_GUARD(g ? g->context : NULL);
    if (!g)
        return tl_no_group("torus_group_free");
    if (!g->member)
        return tl_fail(g->context, TORUS_ERR_INVALID,
                       "torus_group_free cannot free the world group: call torus_leave");
    int error = tl_ready(g->context);
    if (error != TORUS_OK)
        return error;
    if (g->freed)
        return tl_fail(g->context, TORUS_ERR_INVALID, "the group is already freed");
    g->freed = true;
    tl_group_release(g);
    return TORUS_OK;
}
