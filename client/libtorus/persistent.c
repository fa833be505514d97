/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent.h"

#include <stdlib.h>
#include <string.h>

#include "parts.h"
#include "request.h"
#include "start.h"
#include "subgroup.h"
#include "lock.h"

struct torus_persistent {
    struct tl_attachment attachment; /* first: the group of the call frees it */
    struct tl_collective what;       /* in a group of its own */
    struct torus_grid grid;
    struct torus_graph graph;
    void *lists;              /* memory of the lists that `what` and `graph` point to */
    torus_request *in_flight; /* of the last start; NULL: completed */
    struct tl_op *op;         /* user-defined operator; NULL: none */
};

/* keep copies a list to *at, sets the list to the copy, and advances *at. */
static void keep(uint8_t **at, const void *list, size_t bytes, void *pointer)
{
    if (!list || bytes == 0)
        return;
    memcpy(*at, list, bytes);
    memcpy(pointer, at, sizeof *at);
    *at += (bytes + 7) / 8 * 8;
}

/* keep_types returns a list of the derived types of the parts, at *at, which it advances. The call
 * is a user of each. */
static struct tl_type **keep_types(const torus_persistent *p, const int *type, size_t parts,
                                   uint8_t **at)
{
    struct tl_type **derived = (struct tl_type **)(void *)*at;
    for (size_t i = 0; i < parts; i++) {
        if (type[i] >= TL_TYPE_FIRST) /* NULL: unknown, and of no neighbour */
            derived[i] = tl_type_find(p->what.group->context, type[i], NULL);
        if (derived[i])
            tl_type_use(derived[i]);
    }
    *at += parts * sizeof *derived;
    return derived;
}

/* drop_lists frees the copies of the lists. */
static void drop_lists(torus_persistent *p)
{
    const struct tl_counts *c[2] = {&p->what.from, &p->what.to};
    for (int i = 0; i < 2 && p->lists; i++)
        for (size_t k = 0; c[i]->derived && k < tl_parts_count(&p->what, i); k++)
            if (c[i]->derived[k])
                tl_type_unuse(c[i]->derived[k]);
    free(p->lists);
}

/* keep_lists copies the lists of a call to one block of memory. It returns false if memory runs
 * out. */
static bool keep_lists(torus_persistent *p)
{
    struct tl_counts *c[2] = {&p->what.from, &p->what.to};
    size_t parts[2], bytes = 0;
    for (int i = 0; i < 2; i++) {
        parts[i] = tl_parts_count(&p->what, i);
        bytes += 6 * (parts[i] + 1) * sizeof(size_t); /* at most six lists */
    }
    uint8_t *at = p->lists = calloc(bytes, 1);
    if (!at)
        return false;
    for (int i = 0; i < 2; i++) {
        keep(&at, c[i]->count, parts[i] * sizeof *c[i]->count, &c[i]->count);
        keep(&at, c[i]->at, parts[i] * sizeof *c[i]->at, &c[i]->at);
        keep(&at, c[i]->byte_at, parts[i] * sizeof *c[i]->byte_at, &c[i]->byte_at);
        keep(&at, c[i]->type, parts[i] * sizeof *c[i]->type, &c[i]->type);
        c[i]->derived = p->what.typed ? keep_types(p, c[i]->type, parts[i], &at) : NULL;
    }
    if (p->what.neighbours.graph) {
        struct torus_graph *g = &p->graph;
        keep(&at, g->destination, parts[0] * sizeof *g->destination, &g->destination);
        keep(&at, g->source, parts[1] * sizeof *g->source, &g->source);
    }
    return true;
}

/* keep_what copies the arguments. It returns false if memory runs out. */
static bool keep_what(torus_persistent *p, const struct tl_collective *what)
{
    p->what = *what;
    if (what->neighbours.grid) {
        p->grid = *what->neighbours.grid;
        p->what.neighbours.grid = &p->grid;
    }
    if (what->neighbours.graph) {
        p->graph = *what->neighbours.graph;
        p->what.neighbours.graph = &p->graph;
    }
    return keep_lists(p);
}

/* drop frees a call that is not in flight. */
static void drop(torus_persistent *p)
{
    if (p->op)
        tl_op_unuse(p->op);
    if (p->what.derived)
        tl_type_unuse(p->what.derived);
    drop_lists(p);
    free(p);
}

static void destroy(struct tl_attachment *a)
{
    torus_persistent *p = (torus_persistent *)a;
    if (p->in_flight)
        p->in_flight->slot = NULL;
    drop(p);
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
    error = tl_start_check_memory(&w); /* as a start would */
    tl_buffers_free(&w);
    if (error != TORUS_OK)
        return error;
    torus_group *g = what->group, *own = NULL;
    if (!persistent)
        return tl_fail(g->context, TORUS_ERR_INVALID, "persistent is NULL");
    torus_persistent *p = calloc(1, sizeof *p);
    w.what.source = what->source;
    w.what.destination = what->destination;
    if (!p || !keep_what(p, &w.what)) { /* only the lists that this rank uses */
        free(p);
        return tl_fail(g->context, TORUS_ERR_NO_MEMORY, "no memory for the persistent call");
    }
    /* other threads may free both while this one waits for the group */
    if ((p->op = w.op))
        tl_op_use(p->op);
    if ((p->what.derived = w.given))
        tl_type_use(w.given);
    error = tl_subgroup_persistent(g, &own);
    if (error != TORUS_OK) {
        drop(p);
        return error;
    }
    p->what.group = own;
    p->attachment.destroy = destroy;
    tl_group_attach(p->what.group, &p->attachment);
    *persistent = p;
    return TORUS_OK;
}

int torus_persistent_start(torus_persistent *p, torus_request **request)
{
    TL_GUARD(p ? p->what.group->context : NULL);
    if (!p)
        return tl_null(NULL, "torus_persistent_start", "persistent");
    if (p->in_flight)
        return tl_fail(p->what.group->context, TORUS_ERR_BUSY,
                       "%s: the previous start of this persistent call is still in flight",
                       p->what.name);
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
                       "%s: the persistent call is in flight: wait for it first", p->what.name);
    return torus_group_free(p->what.group);
}
