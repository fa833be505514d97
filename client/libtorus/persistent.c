/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent.h"

#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "start.h"
#include "subgroup.h"
#include "lock.h"

struct torus_persistent {
    struct tl_attachment attachment; /* first: the group of the call frees it */
    struct tl_collective what;       /* in a group of its own */
    struct torus_grid grid;
    size_t *counts;           /* lists that `what` points to */
    torus_request *in_flight; /* of the last start; NULL: completed */
    struct tl_op *op;         /* user-defined operator; NULL: none */
};

/* copy_counts copies the lists of a call, of n numbers each, to one array. It returns false if
 * memory runs out. */
static bool copy_counts(torus_persistent *p, size_t n)
{
    const size_t **list[] = {&p->what.from.count, &p->what.from.at, &p->what.to.count,
                             &p->what.to.at};
    enum { LISTS = sizeof list / sizeof list[0] };
    p->counts = calloc(LISTS * n, sizeof *p->counts);
    for (size_t i = 0; p->counts && i < LISTS; i++) {
        if (!*list[i])
            continue;
        memcpy(p->counts + i * n, *list[i], n * sizeof *p->counts);
        *list[i] = p->counts + i * n;
    }
    return p->counts != NULL;
}

static void destroy(struct tl_attachment *a)
{
    torus_persistent *p = (torus_persistent *)a;
    if (p->in_flight)
        p->in_flight->slot = NULL;
    if (p->op)
        tl_op_unuse(p->op);
    if (p->what.derived)
        tl_type_unuse(p->what.derived);
    free(p->counts);
    free(p);
}

int tl_persistent_new(const struct tl_collective *what, torus_persistent **persistent)
{
    TL_GUARD(what->group ? what->group->context : NULL);
    struct tl_work w;
    if (persistent)
        *persistent = NULL;
    int error = tl_start_check(&w, what);
    if (error != TORUS_OK)
        return error;
    tl_buffers_free(&w);
    torus_group *g = what->group;
    if (!persistent)
        return tl_fail(g->context, TORUS_ERR_INVALID, "persistent is NULL");
    torus_persistent *p = calloc(1, sizeof *p);
    if (p) {
        p->what = w.what; /* only with the lists that this rank uses */
        p->what.source = what->source;
        p->what.destination = what->destination;
        if (what->grid) {
            p->grid = *what->grid;
            p->what.grid = &p->grid;
        }
    }
    if (!p || !copy_counts(p, what->grid ? 2 * (size_t)what->grid->dimensions : g->size)) {
        free(p);
        return tl_fail(g->context, TORUS_ERR_NO_MEMORY, "no memory for the persistent call");
    }
    error = tl_subgroup_persistent(g, &p->what.group);
    if (error != TORUS_OK) {
        free(p->counts);
        free(p);
        return error;
    }
    if ((p->op = w.op))
        tl_op_use(p->op);
    if ((p->what.derived = w.type))
        tl_type_use(w.type);
    p->attachment.destroy = destroy;
    tl_group_attach(p->what.group, &p->attachment);
    *persistent = p;
    return TORUS_OK;
}

int torus_persistent_start(torus_persistent *p, torus_request **request)
{
    TL_GUARD(p ? p->what.group->context : NULL);
    if (!p)
        return TORUS_ERR_INVALID;
    if (p->in_flight)
        return tl_fail(p->what.group->context, TORUS_ERR_BUSY,
                       "%s: the previous start of this persistent call is still in flight",
                       td_kind_name(p->what.kind));
    int error = tl_start(&p->what, request);
    if (error == TORUS_OK) {
        p->in_flight = *request;
        p->in_flight->slot = &p->in_flight;
    }
    return error;
}

int torus_persistent_free(torus_persistent *p)
{
    TL_GUARD(p ? p->what.group->context : NULL);
    if (!p)
        return TORUS_OK;
    if (p->in_flight)
        return tl_fail(p->what.group->context, TORUS_ERR_BUSY,
                       "%s: the persistent call is in flight: wait for it first",
                       td_kind_name(p->what.kind));
    return torus_group_free(p->what.group);
}
