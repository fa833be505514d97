/* SPDX-License-Identifier: Apache-2.0 */
#include "intergroup.h"

#include <stdlib.h>
#include <string.h>

#include "compute/combine.h"
#include "lock.h"
#include "memory.h"
#include "operator.h"
#include "request.h"
#include "start.h"
#include "wait.h"

/* ---- creation ---- */

/* struct offer: what the leaders tell each other, and then their ranks. */
struct offer {
    int32_t error; /* the leader cannot go on */
    uint32_t size; /* of its group */
};

static torus_group *world_of(const torus_group *g)
{
    torus_group *world = g->context->groups;
    while (world && world->number != g->world)
        world = world->next;
    return world;
}

static uint32_t world_rank(const torus_group *g, uint32_t rank)
{
    return g->member ? g->member[rank] : rank;
}

/* check_offer checks what the other leader, or the leader of this group, has told. */
static int check_offer(const torus_group *local, const struct offer *theirs)
{
    if (theirs->error > TORUS_OK || theirs->error < TORUS_ERR_PERMISSION ||
        (theirs->error == TORUS_OK && (theirs->size == 0 || theirs->size > TD_JOB_RANKS_MAX)))
        return tl_malformed(local->context, "an offer of %u ranks with error %d", theirs->size,
                            (int)theirs->error);
    return TORUS_OK;
}

/* swap_members exchanges the sizes and the members of both groups in the group of the leaders. */
static int swap_members(torus_group *local, torus_group *pair, struct offer *theirs,
                        uint32_t **members)
{
    const struct offer ours = {TORUS_OK, local->size};
    struct offer both[2];
    int error = torus_allgather(pair, &ours, both, sizeof ours, TORUS_BYTE);
    if (error != TORUS_OK)
        return error;
    uint32_t other = 1 - pair->rank;
    error = check_offer(local, &both[other]);
    if (error == TORUS_OK && both[pair->rank].size != local->size)
        error = tl_malformed(local->context, "another offer of this rank than it has made");
    if (error != TORUS_OK)
        return error;
    const size_t counts[2] = {both[0].size, both[1].size};
    uint32_t *list = calloc(counts[0] + counts[1], sizeof *list);
    uint32_t *own = calloc(local->size, sizeof *own);
    if (!list || !own) {
        free(list);
        free(own);
        return tl_fail(local->context, TORUS_ERR_NO_MEMORY,
                       "no memory for the ranks of the groups");
    }
    for (uint32_t i = 0; i < local->size; i++)
        own[i] = world_rank(local, i);
    error = torus_allgatherv(pair, own, local->size, list, counts, NULL, TORUS_INT32);
    free(own);
    *theirs = both[other];
    if (other == 1)
        memmove(list, list + counts[0], counts[1] * sizeof *list);
    *members = list;
    return error;
}

/* meet exchanges the members of both groups between the leaders: `theirs` receives the offer of the
 * other one, and *members its ranks of the world, which the caller frees. */
static int meet(torus_group *local, torus_group *bridge, uint32_t remote_leader, uint32_t tag,
                struct offer *theirs, uint32_t **members)
{
    torus_context *c = local->context;
    torus_group *pair = NULL;
    if (!bridge || bridge->context != c || bridge->world != local->world)
        return tl_fail(c, TORUS_ERR_INVALID,
                       "intergroup: the leader must give a bridge group of the same job");
    if (remote_leader >= bridge->size || remote_leader == bridge->rank)
        return tl_fail(c, TORUS_ERR_INVALID,
                       "intergroup: rank %u is not another rank of the bridge group, which has "
                       "size %u",
                       remote_leader, bridge->size);
    uint32_t low = bridge->rank < remote_leader ? bridge->rank : remote_leader;
    const uint32_t leaders[2] = {low, bridge->rank + remote_leader - low};
    int error = torus_group_create(bridge, leaders, 2, tag, &pair);
    if (error != TORUS_OK)
        return error;
    error = swap_members(local, pair, theirs, members);
    (void)torus_group_free(pair);
    return error;
}

/* share passes what the leader has learnt to all ranks of its group. *members of the others is
 * allocated here. */
static int share(torus_group *local, uint32_t leader, struct offer *theirs, uint32_t **members)
{
    torus_context *c = local->context;
    int error = torus_broadcast(local, theirs, sizeof *theirs, TORUS_BYTE, leader);
    if (error == TORUS_OK)
        error = check_offer(local, theirs);
    if (error != TORUS_OK)
        return error;
    if (theirs->error != TORUS_OK)
        return local->rank == leader ? theirs->error
                                     : tl_fail(c, theirs->error,
                                               "intergroup: rank %u, the leader, cannot reach the "
                                               "leader of the other group: see its error",
                                               leader);
    if (!*members && !(*members = calloc(theirs->size, sizeof **members)))
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the ranks of the other group");
    return torus_broadcast(local, *members, theirs->size, TORUS_INT32, leader);
}

/* list_sides lists the ranks of both sides, in the order of `all`. */
static int list_sides(const torus_group *local, const torus_intergroup *made,
                      const uint32_t *theirs, uint32_t *list)
{
    uint32_t count = made->size[1 - made->side];
    uint32_t *own_part = list + (made->side ? count : 0);
    uint32_t *other_part = list + (made->side ? 0 : local->size);
    for (uint32_t i = 0; i < local->size; i++)
        own_part[i] = world_rank(local, i);
    for (uint32_t i = 0; i < count; i++) {
        other_part[i] = theirs[i];
        for (uint32_t k = 0; k < local->size; k++)
            if (own_part[k] == theirs[i])
                return tl_fail(local->context, TORUS_ERR_INVALID,
                               "intergroup: rank %u of this group is in the other group too", k);
    }
    return TORUS_OK;
}

/* join_sides makes the group of both sides. */
static int join_sides(torus_group *local, uint32_t tag, const uint32_t *theirs, uint32_t count,
                      torus_intergroup *made)
{
    torus_context *c = local->context;
    torus_group *world = world_of(local);
    uint32_t size = local->size + count, *list = calloc(size, sizeof *list);
    made->side = world_rank(local, 0) > theirs[0];
    made->size[made->side] = local->size;
    made->size[1 - made->side] = count;
    if (!list || !world) {
        free(list);
        return world ? tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the ranks of both groups")
                     : tl_fail(c, TORUS_ERR_INVALID, "intergroup: this process has left the job");
    }
    int error = list_sides(local, made, theirs, list);
    if (error == TORUS_OK)
        error = torus_group_create(world, list, size, tag, &made->all);
    free(list);
    if (error == TORUS_OK)
        made->all->timeout_ns = local->timeout_ns;
    return error;
}

int torus_intergroup_create(torus_group *local, uint32_t leader, torus_group *bridge,
                            uint32_t remote_leader, uint32_t tag, torus_intergroup **made)
{
    TL_GUARD(local ? local->context : NULL);
    if (!local || !made)
        return local ? tl_null(local->context, "torus_intergroup_create", "made")
                     : tl_no_group("torus_intergroup_create");
    torus_context *c = local->context;
    *made = NULL;
    if (leader >= local->size)
        return tl_fail(c, TORUS_ERR_INVALID,
                       "intergroup: leader %u is not a rank of the group, which has size %u",
                       leader, local->size);
    struct offer theirs = {TORUS_OK, 0};
    uint32_t *members = NULL;
    torus_intergroup *g = calloc(1, sizeof *g);
    if (local->rank == leader)
        theirs.error = g ? meet(local, bridge, remote_leader, tag, &theirs, &members)
                         : tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the inter-group");
    int error = share(local, leader, &theirs, &members);
    if (error == TORUS_OK && !g)
        error = tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the inter-group");
    if (error == TORUS_OK)
        error = join_sides(local, tag, members, theirs.size, g);
    free(members);
    if (error == TORUS_OK)
        *made = g;
    else
        free(g);
    return error;
}

int torus_intergroup_of(torus_group *all, uint32_t first, torus_intergroup **made)
{
    TL_GUARD(all ? all->context : NULL);
    if (!all || !made)
        return all ? tl_null(all->context, "torus_intergroup_of", "made")
                   : tl_no_group("torus_intergroup_of");
    *made = NULL;
    if (!all->member || all->freed)
        return tl_fail(all->context, TORUS_ERR_INVALID,
                       "intergroup: the group is %s: make one of all ranks by torus_dup",
                       all->freed ? "freed" : "the world group, which torus_leave frees");
    if (first == 0 || first >= all->size)
        return tl_fail(all->context, TORUS_ERR_INVALID,
                       "intergroup: %u of %u ranks are on the first side: each side needs a rank",
                       first, all->size);
    torus_intergroup *g = calloc(1, sizeof *g);
    if (!g)
        return tl_fail(all->context, TORUS_ERR_NO_MEMORY, "no memory for the inter-group");
    g->all = all;
    g->size[0] = first;
    g->size[1] = all->size - first;
    g->side = all->rank >= first;
    *made = g;
    return TORUS_OK;
}

int torus_intergroup_free(torus_intergroup *g)
{
    TL_GUARD(g ? g->all->context : NULL);
    if (!g)
        return TORUS_OK;
    int error = torus_group_free(g->all);
    free(g);
    return error;
}

uint32_t torus_intergroup_rank(const torus_intergroup *g)
{
    return g ? g->all->rank - (g->side ? g->size[0] : 0) : 0;
}

uint32_t torus_intergroup_size(const torus_intergroup *g)
{
    return g ? g->size[g->side] : 0;
}

uint32_t torus_intergroup_remote_size(const torus_intergroup *g)
{
    return g ? g->size[1 - g->side] : 0;
}

/* order lists the ranks of `all` in the order of the merged group, from what each gave as `high`.
 */
static int order(const torus_intergroup *g, const int32_t *high, uint32_t *list)
{
    uint32_t size = g->all->size;
    bool turned = high[0] && !high[size - 1];
    for (uint32_t i = 0; i < size; i++) {
        if (high[i] != high[i < g->size[0] ? 0 : size - 1])
            return tl_fail(g->all->context, TORUS_ERR_MISMATCH,
                           "merge: ranks of one group differ on whether it is the high one");
        list[i] = turned ? (i + g->size[0]) % size : i;
    }
    return TORUS_OK;
}

int torus_intergroup_merge(torus_intergroup *g, int high, torus_group **made)
{
    TL_GUARD(g ? g->all->context : NULL);
    if (!g || !made)
        return tl_null(g ? g->all->context : NULL, "torus_intergroup_merge",
                       g ? "made" : "intergroup");
    *made = NULL;
    torus_context *c = g->all->context;
    const int32_t own = high != 0;
    uint32_t size = g->all->size, *list = calloc(size, sizeof *list);
    int32_t *all = calloc(size, sizeof *all);
    if (!list || !all) {
        free(list);
        free(all);
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the ranks");
    }
    int error = torus_allgather(g->all, &own, all, 1, TORUS_INT32);
    if (error == TORUS_OK)
        error = order(g, all, list);
    if (error == TORUS_OK)
        error = torus_group_create(g->all, list, size, 0, made);
    free(list);
    free(all);
    return error;
}

/* ---- collectives ---- */

/* struct exchange: an all-to-all of both sides. The parts of the source are contiguous, or all at
 * its beginning; those of the destination are contiguous. */
struct exchange {
    size_t *count[2];     /* of the source, of the destination */
    ptrdiff_t *beginning; /* zeros */
};

static void free_exchange(struct exchange *x)
{
    free(x->count[0]);
    free(x->beginning);
}

/* make_exchange sets all counts to 0. It returns false without memory. */
static bool make_exchange(const torus_intergroup *g, struct exchange *x)
{
    size_t size = g->all->size;
    x->count[0] = calloc(2 * size, sizeof *x->count[0]);
    x->beginning = calloc(size, sizeof *x->beginning);
    if (!x->count[0] || !x->beginning) {
        free_exchange(x);
        return false;
    }
    x->count[1] = x->count[0] + size;
    return true;
}

/* first_remote returns the rank in `all` of rank 0 of the other side. */
static uint32_t first_remote(const torus_intergroup *g)
{
    return g->side ? 0 : g->size[0];
}

/* start_exchange starts the all-to-all and frees the counts. own_part: each rank receives a part of
 * the source, else all of it. */
static int start_exchange(torus_intergroup *g, struct exchange *x, bool own_part,
                          const void *source, void *destination, int type, torus_request **request)
{
    if (source == TORUS_IN_PLACE || destination == TORUS_IN_PLACE) {
        free_exchange(x);
        return tl_fail(g->all->context, TORUS_ERR_INVALID,
                       "a call of an inter-group does not accept TORUS_IN_PLACE: what a rank sends "
                       "goes to the other group");
    }
    const struct tl_collective what = {.name = "intergroup exchange",
                                       .group = g->all,
                                       .kind = TD_KIND_ALLTOALLV,
                                       .source = source,
                                       .destination = destination,
                                       .from = {x->count[0], own_part ? NULL : x->beginning},
                                       .to = {.count = x->count[1]},
                                       .type = type};
    int error = tl_start(&what, request);
    free_exchange(x);
    return error;
}

static int no_memory(const torus_intergroup *g)
{
    return tl_fail(g->all->context, TORUS_ERR_NO_MEMORY, "no memory for the counts");
}

int torus_intergroup_ibarrier(torus_intergroup *g, torus_request **request)
{
    return g ? torus_ibarrier(g->all, request)
             : tl_null(NULL, "torus_intergroup_barrier", "intergroup");
}

int torus_intergroup_ibroadcast(torus_intergroup *g, void *buffer, size_t count, int type,
                                int32_t root, torus_request **request)
{
    TL_GUARD(g ? g->all->context : NULL);
    if (!g)
        return tl_null(NULL, "torus_intergroup_broadcast", "intergroup");
    struct exchange x;
    uint32_t remote = g->size[1 - g->side], first = first_remote(g);
    if (root != TORUS_ROOT && root != TORUS_NO_ROOT && (root < 0 || (uint32_t)root >= remote))
        return tl_fail(g->all->context, TORUS_ERR_INVALID,
                       "broadcast: root %d is neither a rank of the other group, which has size "
                       "%u, nor TORUS_ROOT, nor TORUS_NO_ROOT",
                       root, remote);
    const struct tl_type *derived =
        type >= TL_TYPE_FIRST ? tl_type_find(g->all->context, type, NULL) : NULL;
    if (derived && derived->pair[0])
        return tl_fail(g->all->context, TORUS_ERR_INVALID, "broadcast: " TL_PAIR);
    if (!make_exchange(g, &x))
        return no_memory(g);
    for (uint32_t i = 0; root == TORUS_ROOT && i < remote; i++)
        x.count[0][first + i] = count;
    if (root >= 0)
        x.count[1][first + (uint32_t)root] = count;
    return start_exchange(g, &x, false, root == TORUS_ROOT ? buffer : NULL,
                          root >= 0 ? buffer : NULL, type, request);
}

/* allgather starts an exchange in which every rank sends `sent` elements to each rank of the other
 * side, and receives `received` from each. */
static int allgather(torus_intergroup *g, const void *source, size_t sent, void *destination,
                     size_t received, bool own_part, int type, torus_request **request)
{
    struct exchange x;
    if (!make_exchange(g, &x))
        return no_memory(g);
    for (uint32_t i = 0, at = first_remote(g); i < g->size[1 - g->side]; i++, at++) {
        x.count[0][at] = sent;
        x.count[1][at] = received;
    }
    return start_exchange(g, &x, own_part, source, destination, type, request);
}

int torus_intergroup_iallgather(torus_intergroup *g, const void *source, size_t source_count,
                                void *destination, size_t destination_count, int type,
                                torus_request **request)
{
    TL_GUARD(g ? g->all->context : NULL);
    return g ? allgather(g, source, source_count, destination, destination_count, false, type,
                         request)
             : tl_null(NULL, "torus_intergroup_allgather", "intergroup");
}

int torus_intergroup_ialltoall(torus_intergroup *g, const void *source, size_t source_count,
                               void *destination, size_t destination_count, int type,
                               torus_request **request)
{
    TL_GUARD(g ? g->all->context : NULL);
    return g ? allgather(g, source, source_count, destination, destination_count, true, type,
                         request)
             : tl_null(NULL, "torus_intergroup_alltoall", "intergroup");
}

/* struct reduction: the blocks of the other side, which this rank folds. */
struct reduction {
    struct td_call call;
    struct tl_op *op; /* user-defined operator; NULL: none */
    torus_context *context;
    uint8_t *blocks;
    size_t bytes, element; /* of a block; of an element */
    ptrdiff_t first;       /* offset of the data in an element */
    uint32_t count;        /* blocks */
    void *out;
    struct tl_block *block_out; /* pinned block of torus_alloc that contains `out`; or NULL */
};

static void fold(const struct reduction *f)
{
    uint8_t *result = f->blocks;
    for (uint32_t i = 1; i < f->count && f->bytes > 0; i++) {
        uint8_t *block = f->blocks + i * f->bytes;
        if (f->op) {
            f->op->function(result - f->first, block - f->first, f->bytes / f->element,
                            f->op->user);
            result = block;
        } else {
            td_combine_array(f->call.type, f->call.op, result, block, f->call.count);
        }
    }
    if (f->bytes > 0)
        memcpy(f->out, result, f->bytes);
}

/* fold_predefined folds the blocks when they have arrived. A user's operator runs later, when the
 * request completes for the caller. */
static int fold_predefined(torus_request *r, const struct td_reply *reply, bool *again)
{
    const struct reduction *f = r->state;
    (void)reply;
    (void)again;
    if (!f->op)
        fold(f);
    return TORUS_OK;
}

static void free_reduction(struct reduction *f)
{
    if (f->op)
        tl_op_unuse(f->op);
    if (f->block_out)
        tl_memory_unpin(f->block_out);
    if (f->blocks)
        tl_memory_free(f->context, f->blocks);
    free(f);
}

static void dispose(torus_request *r, bool concluded)
{
    struct reduction *f = r->state;
    r->dispose = NULL;
    if (concluded && r->error == TORUS_OK && f->op)
        fold(f);
    free_reduction(f);
}

/* pin_result keeps the memory that the fold writes. */
static int pin_result(struct reduction *f)
{
    static const struct tl_role role = {"allreduce of an inter-group", "destination"};
    struct td_place place;
    struct tl_block *block = NULL;
    int error =
        f->bytes ? tl_memory_find(f->context, &role, f->out, f->bytes, &place, &block) : TORUS_OK;
    if (error == TORUS_OK && block)
        tl_memory_pin(f->block_out = block);
    return error;
}

/* new_reduction checks the arguments and makes room for the blocks. */
static int new_reduction(torus_intergroup *g, void *destination, size_t count, int type, int op,
                         struct reduction **made)
{
    torus_context *c = g->all->context;
    struct reduction *f = calloc(1, sizeof *f);
    if (!f)
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the reduction");
    *made = f;
    f->context = c;
    f->call = (struct td_call){.kind = TD_KIND_ALLREDUCE, .op = tl_narrow(op), .count = count};
    f->count = g->size[1 - g->side];
    f->out = destination;
    struct tl_op *own = tl_op_find(c, op);
    const char *wrong = tl_op_types(c, own, type, &f->call, &f->element, &f->first);
    size_t total = 0;
    if (!wrong && (__builtin_mul_overflow(count, f->element, &f->bytes) ||
                   __builtin_mul_overflow(f->bytes, f->count, &total)))
        wrong = "the count overflows";
    if (!wrong && count > 0 && !destination)
        wrong = "the destination is NULL";
    else if (!wrong && destination)
        f->out = (uint8_t *)destination + f->first;
    if (wrong)
        return tl_fail(c, TORUS_ERR_INVALID, "allreduce of an inter-group: %s", wrong);
    if (own)
        tl_op_use(f->op = own);
    int error = pin_result(f);
    if (error != TORUS_OK)
        return error;
    return tl_memory_allocate(c, total ? total : 1, &f->blocks);
}

int torus_intergroup_iallreduce(torus_intergroup *g, const void *source, void *destination,
                                size_t count, int type, int op, torus_request **request)
{
    TL_GUARD(g ? g->all->context : NULL);
    struct reduction *f = NULL;
    if (!g)
        return tl_null(NULL, "torus_intergroup_allreduce", "intergroup");
    int error = new_reduction(g, destination, count, type, op, &f);
    if (error == TORUS_OK && source && source != TORUS_IN_PLACE)
        source = (const uint8_t *)source + f->first;
    if (error == TORUS_OK)
        error = allgather(g, source, f->bytes, f->blocks, f->bytes, false, TORUS_BYTE, request);
    if (error != TORUS_OK) {
        if (f)
            free_reduction(f);
        return error;
    }
    (*request)->on_reply = fold_predefined;
    (*request)->dispose = dispose;
    (*request)->state = f;
    return TORUS_OK;
}

/* ---- blocking forms ---- */

int torus_intergroup_barrier(torus_intergroup *g)
{
    return g ? torus_barrier(g->all) : tl_null(NULL, "torus_intergroup_barrier", "intergroup");
}

int torus_intergroup_broadcast(torus_intergroup *g, void *buffer, size_t count, int type,
                               int32_t root)
{
    TL_GUARD(g ? g->all->context : NULL);
    torus_request *r = NULL;
    return tl_request_wait(torus_intergroup_ibroadcast(g, buffer, count, type, root, &r), &r);
}

int torus_intergroup_allgather(torus_intergroup *g, const void *source, size_t source_count,
                               void *destination, size_t destination_count, int type)
{
    TL_GUARD(g ? g->all->context : NULL);
    torus_request *r = NULL;
    return tl_request_wait(torus_intergroup_iallgather(g, source, source_count, destination,
                                                       destination_count, type, &r),
                           &r);
}

int torus_intergroup_alltoall(torus_intergroup *g, const void *source, size_t source_count,
                              void *destination, size_t destination_count, int type)
{
    TL_GUARD(g ? g->all->context : NULL);
    torus_request *r = NULL;
    return tl_request_wait(torus_intergroup_ialltoall(g, source, source_count, destination,
                                                      destination_count, type, &r),
                           &r);
}

int torus_intergroup_allreduce(torus_intergroup *g, const void *source, void *destination,
                               size_t count, int type, int op)
{
    TL_GUARD(g ? g->all->context : NULL);
    torus_request *r = NULL;
    return tl_request_wait(torus_intergroup_iallreduce(g, source, destination, count, type, op, &r),
                           &r);
}
