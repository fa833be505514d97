/* SPDX-License-Identifier: Apache-2.0 */
/* shrink: creation of the group of the surviving ranks. The daemons agree on the survivors. */
#include "subgroup.h"
#include "wait.h"
#include "lock.h"

/* remove_lost removes lost ranks, a bitmap of `bytes` bytes, from a group under creation. */
static void remove_lost(torus_group *g, const uint8_t *lost, uint32_t bytes)
{
    uint32_t left = 0, rank = g->rank;
    for (uint32_t i = 0; i < g->size; i++) {
        if (i / 8 < bytes && lost[i / 8] >> i % 8 & 1)
            continue;
        if (i == g->rank)
            rank = left;
        g->member[left++] = g->member[i];
    }
    g->size = left;
    g->rank = rank;
}

static int shrink_reply(torus_request *r, const struct td_reply *reply, bool *again)
{
    if (reply->kind == TD_REPLY_JOINED && reply->u.joined.lost_bytes)
        remove_lost(r->new_group, reply->u.joined.lost, reply->u.joined.lost_bytes);
    return tl_subgroup_reply(r, reply, again);
}

int torus_ishrink(torus_group *g, torus_group **made, torus_request **request)
{
    TL_GUARD(g ? g->context : NULL);
    int error = tl_subgroup_begin(g, made, request);
    if (error != TORUS_OK)
        return error;
    torus_context *c = g->context;
    torus_request *r = tl_request_new(c, NULL);
    if (r)
        r->new_group = tl_subgroup_new(g, NULL, g->size, g->rank);
    if (!r || !r->new_group) {
        tl_request_free(r);
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the group");
    }
    struct td_request q = {.kind = TD_REQUEST_SHRINK};
    q.u.shrink.group = g->number;
    q.u.shrink.timeout_ns = g->timeout_ns;
    r->on_reply = shrink_reply;
    r->new_group_out = made;
    error = tl_request_submit(r, &q, request);
    if (error == TORUS_OK) { /* torus_group_free leaves the group when the shrink has ended */
        r->group = g;
        g->in_flight++;
    }
    return error;
}

int torus_shrink(torus_group *g, torus_group **made)
{
    TL_GUARD(g ? g->context : NULL);
    torus_request *r = NULL;
    return tl_request_wait(torus_ishrink(g, made, &r), &r);
}
