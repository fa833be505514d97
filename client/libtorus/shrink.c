/* SPDX-License-Identifier: Apache-2.0 */
/* A group of those that are left of a group. The daemons find out who that is. */
#include <stdlib.h>

#include "internal.h"

/* prepare returns the group as if nobody were lost. */
static torus_group *prepare(const torus_group *from)
{
    torus_group *g = calloc(1, sizeof *g);
    if (g)
        g->member = calloc(from->size, sizeof *g->member);
    if (!g || !g->member) {
        free(g);
        return NULL;
    }
    g->context = from->context;
    g->world = from->world;
    g->size = from->size;
    g->rank = from->rank;
    g->timeout_ns = from->timeout_ns;
    g->mode = from->mode;
    for (uint32_t i = 0; i < g->size; i++)
        g->member[i] = from->member ? from->member[i] : i;
    return g;
}

void tl_group_leave_out(torus_group *g, const uint8_t *lost, uint32_t bytes)
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

int torus_ishrink(torus_group *g, torus_group **made, torus_request **request)
{
    int error = tl_group_begin(g, made, request);
    if (error != TORUS_OK)
        return error;
    torus_context *c = g->context;
    torus_request *r = tl_request_new(c, NULL, REQUEST_GROUP);
    if (r)
        r->made = prepare(g);
    if (!r || !r->made) {
        tl_request_free(r);
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory");
    }
    struct td_request q = {.kind = TD_REQUEST_SHRINK};
    q.u.shrink.group = g->number;
    q.u.shrink.timeout_ns = g->timeout_ns;
    r->world = made;
    return tl_request_submit(r, &q, request);
}

int torus_shrink(torus_group *g, torus_group **made)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_ishrink(g, made, &r), &r);
}
