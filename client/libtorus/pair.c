/* SPDX-License-Identifier: Apache-2.0 */
/* pair: types that describe the source and the destination of a call in two ways. */
#include <stdlib.h>

#include "lock.h"
#include "type.h"

static const char FUNCTION[] = "torus_type_pair";

/* find_single finds a derived type for one side of a pair. A basic type becomes a derived one of
 * one element, which sets *number: the caller frees it. */
static int find_single(torus_context *c, int type, int *number, struct tl_type **found)
{
    struct tl_type basic;
    *found = tl_type_find(c, type, &basic);
    if (!*found || (*found)->pair[0])
        return tl_fail(c, TORUS_ERR_INVALID, "%s: %s", FUNCTION,
                       *found ? "a pair cannot be part of a pair"
                              : "one of the types is unknown or was freed");
    if (*found != &basic)
        return TORUS_OK;
    int error = torus_type_contiguous(c, 1, type, number);
    *found = error == TORUS_OK ? tl_type_find(c, *number, &basic) : NULL;
    return error;
}

/* make makes the pair of two derived types. */
static int make(torus_context *c, struct tl_type *source, struct tl_type *destination, int *made)
{
    struct tl_type *t = tl_type_new(c);
    if (!t)
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "%s: %s", FUNCTION, TL_NO_MEMORY);
    t->pair[0] = source;
    t->pair[1] = destination;
    const char *wrong = NULL;
    if (!tl_type_keep(t, source) || !tl_type_keep(t, destination))
        wrong = TL_NO_MEMORY;
    else if (c->next_type > INT32_MAX - TL_TYPE_FIRST)
        wrong = "the context has no more numbers of types";
    else if (!tl_signature_same_root(&source->signature, &destination->signature))
        wrong = "the basic elements of source and destination do not agree in order";
    return tl_type_publish(t, wrong, FUNCTION, made);
}

int torus_type_pair(torus_context *c, int source, int destination, int *made)
{
    TL_GUARD(c);
    if (!c)
        return tl_null(NULL, FUNCTION, "context");
    if (!made)
        return tl_fail(c, TORUS_ERR_INVALID, "%s: made is NULL", FUNCTION);
    struct tl_type *from = NULL, *to = NULL;
    int number[2] = {0, 0}, error = find_single(c, source, &number[0], &from);
    if (error == TORUS_OK)
        error = find_single(c, destination, &number[1], &to);
    if (error == TORUS_OK)
        error = make(c, from, to, made);
    for (int i = 0; i < 2; i++)
        if (number[i])
            (void)torus_type_free(c, number[i]);
    return error;
}
