/* SPDX-License-Identifier: Apache-2.0 */
/* shrink: creation of the group of the surviving ranks. The daemons agree on the survivors. */
#include "subgroup.h"
#include "wait.h"
#include "lock.h"

static bool is_lost(const uint8_t *lost, uint32_t rank)
{
    return lost[rank / 8] >> rank % 8 & 1;
}

/* remove_lost removes lost ranks, by a bitmap, from a group under creation. */
static void remove_lost(torus_group *g, const uint8_t *lost)
{
    uint32_t left = 0, rank = g->rank;
    for (uint32_t i = 0; i < g->size; i++) {
        if (is_lost(lost, i))
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
    const torus_group *g = r->new_group;
    const uint8_t *lost = reply->u.joined.lost.bits;
    uint32_t bytes = reply->u.joined.lost.bytes;
    if (bytes && (bytes != (g->size + 7) / 8 || is_lost(lost, g->rank)))
        return tl_malformed(r->context,
                            "%u bytes of lost ranks of a group of size %u, with or without rank %u",
                            bytes, g->size, g->rank);
    if (bytes)
        remove_lost(r->new_group, lost);
    return tl_subgroup_reply(r, reply, again);
}

int torus_ishrink(torus_group *g, torus_group **made, torus_request **request)
{
    TL_GUARD(g ? g->context : NULL);
    int error = tl_subgroup_begin(g, "torus_shrink", made, request);
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
