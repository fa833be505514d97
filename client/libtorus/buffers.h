/* SPDX-License-Identifier: Apache-2.0 */
/* buffers: the source and destination of a collective, from the arguments of the caller.
 *
 * It translates derived types, TORUS_IN_PLACE, counts by rank, grids and user-defined operators to
 * a call of the daemon with two buffers of pieces. It accesses no memory of the caller but the
 * lists of counts.
 */
#ifndef TORUS_BUFFERS_H
#define TORUS_BUFFERS_H

#include "group.h"
#include "operator.h"
#include "staging.h"

/* struct tl_counts: length and position of each rank's part of a buffer, in elements. */
struct tl_counts {
    const size_t *count, *at; /* `at` NULL: the parts are contiguous */
};

/* struct tl_collective: the arguments of a collective. */
struct tl_collective {
    torus_group *group;
    enum td_kind kind;
    const void *source;
    void *destination;
    size_t count;
    int type, op;
    struct tl_type *derived; /* the derived type of a persistent call, which `type` may no longer
                                name; NULL: `type` names the type */
    uint32_t root;
    struct tl_counts from, to; /* of source and destination, if lengths differ by rank */
    const struct torus_grid *grid;
    bool uniform; /* with a grid: `count` elements in every direction */
};

/* struct tl_work: a collective, translated for the daemon. Index 0 of a buffer is the source, 1 the
 * destination. */
struct tl_work {
    struct tl_collective what;
    struct td_call call;
    struct tl_type *type; /* derived type of the elements; NULL: a basic type or TORUS_OPAQUE */
    bool gaps;            /* the type has gaps: both buffers are packed */
    size_t element;       /* bytes of data */
    struct tl_op *op;     /* user-defined operator; NULL: none */
    struct tl_buffer buffer[2];
    bool same;             /* source and destination are one buffer */
    int inner_buffer;      /* index of the buffer that is one piece of the other; -1: none */
    struct tl_piece inner; /* that piece, in the other buffer */
    size_t inner_in_copy;  /* its position in a staging copy of the other buffer */
    int whole_buffer;      /* index of the buffer that all ranks use as one piece at 0; -1: none */
    struct tl_fold fold;   /* without its memory */
};

/* tl_buffers_make fills in the rest of *w from w->what. It returns NULL or the sentence of the
 * error. tl_buffers_free frees the pieces, also after an error. */
const char *tl_buffers_make(struct tl_work *w);
void tl_buffers_free(struct tl_work *w);

#endif
