/* SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <stdlib.h>

#include "socket.h"
#include "lock.h"

void tl_group_link(torus_group *g, uint32_t number)
{
    g->number = number;
    g->next = g->context->groups;
    g->context->groups = g;
}

void tl_group_free(torus_group *g)
{
    torus_group **link = &g->context->groups;
    while (*link != g)
        link = &(*link)->next;
    *link = g->next;
    while (g->attachments) {
        struct tl_attachment *a = g->attachments;
        g->attachments = a->next;
        a->destroy(a);
    }
    tl_group_destroy(g);
}

void tl_group_release(torus_group *g)
{
    if (!g->freed || g->in_flight > 0)
        return;
    struct td_request q = {.kind = TD_REQUEST_LEAVE};
    q.u.leave.group = g->number;
    if (!g->context->lost)
        tl_send(g->context, &q, -1); /* its reply needs no handler */
    tl_group_free(g);
}

void tl_group_destroy(torus_group *g)
{
    if (!g)
        return;
    while (g->creations) {
        struct tl_creations *b = g->creations;
        g->creations = b->next;
        free(b);
    }
    free(g->member);
    free(g);
}

void tl_group_attach(torus_group *g, struct tl_attachment *a)
{
    a->group = g;
    a->next = g->attachments;
    g->attachments = a;
}

void tl_group_detach(struct tl_attachment *a)
{
    struct tl_attachment **link = &a->group->attachments;
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
}

/* ---- public queries and settings ---- */

uint32_t torus_rank(const torus_group *g)
{
    return g ? g->rank : 0;
}

uint32_t torus_size(const torus_group *g)
{
    return g ? g->size : 0;
}

int torus_set_timeout(torus_group *g, int64_t timeout_ns)
{
    TL_GUARD(g ? g->context : NULL);
    if (!g)
        return tl_no_group("torus_set_timeout");
    g->timeout_ns = timeout_ns < 0 ? -1 : timeout_ns;
    return TORUS_OK;
}

int torus_set_reproducible(torus_group *g, int mode)
{
    TL_GUARD(g ? g->context : NULL);
    if (!g)
        return tl_no_group("torus_set_reproducible");
    if (mode < TORUS_REPRODUCIBLE_OFF || mode > TORUS_REPRODUCIBLE_ANY_PLACEMENT)
        return tl_fail(
            g->context, TORUS_ERR_INVALID,
            "reproducible mode %d does not exist: use TORUS_REPRODUCIBLE_OFF, _SAME_PLACEMENT or "
            "_ANY_PLACEMENT",
            mode);
    g->mode = (uint8_t)mode;
    return TORUS_OK;
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
