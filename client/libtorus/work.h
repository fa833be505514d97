/* SPDX-License-Identifier: Apache-2.0 */
/* work: a collective between the arguments of the caller and the call of the daemon. */
#ifndef TORUS_WORK_H
#define TORUS_WORK_H

#include "neighbours.h"
#include "operator.h"
#include "staging.h"

/* struct tl_counts: length and position of each part of a buffer, in elements. */
struct tl_counts {
    const size_t *count;
    const ptrdiff_t *at; /* NULL: the parts are contiguous */
    /* of a call with a type for each part: */
    const int *type;
    const ptrdiff_t *byte_at; /* used for `at`: position in bytes; NULL: the parts are contiguous */
    struct tl_type **derived; /* of a persistent call: the derived types, which `type` may no longer
                                 name; NULL for basic ones */
};

/* struct tl_collective: the arguments of a collective. */
struct tl_collective {
    const char *name; /* of the public function */
    torus_group *group;
    enum td_kind kind;
    uint8_t digest_kind; /* TD_DIGEST_*: the call that this one serves; 0: itself */
    const void *source;
    void *destination;
    size_t count;
    int type, op;
    struct tl_type *derived; /* the derived type of a persistent call, which `type` may no longer
                                name; NULL: `type` names the type */
    uint32_t root;
    struct tl_counts from, to; /* of source and destination, if lengths differ by rank */
    struct tl_neighbours neighbours;
    bool uniform; /* with neighbours: `count` elements in every block */
    bool shared;  /* with neighbours: all of them receive the whole source, of `count` elements */
    bool typed;   /* each part has a type of its own; the daemon moves bytes */
};

/* struct tl_work: a collective, translated for the daemon. Index 0 of a buffer is the source, 1 the
 * destination. */
struct tl_work {
    struct tl_collective what;
    struct td_call call;
    struct tl_type *given;   /* derived type of the call; NULL: a basic type or TORUS_OPAQUE */
    struct tl_type *type[2]; /* of the elements of each buffer: `given`, or those of the pair */
    bool gaps[2];            /* the type has gaps: a staging copy is packed */
    bool gaps_in_parts;      /* the type of some part has gaps */
    size_t element[2];       /* bytes of data */
    struct tl_op *op;        /* user-defined operator; NULL: none */
    struct tl_buffer buffer[2];
    bool same;             /* source and destination are one buffer */
    int inner_buffer;      /* index of the buffer that is one piece of the other; -1: none */
    struct tl_piece inner; /* that piece, in the other buffer */
    size_t inner_in_copy;  /* its position in a staging copy of the other buffer */
    int whole_buffer;      /* index of the buffer that ranks use as one piece at 0; -1: none */
    uint32_t *user, users; /* these ranks; `user` NULL: all */
    struct tl_fold fold;   /* without its memory */
    int64_t waited_ns;     /* in the group's segment, before the call went by request */
};

/* Sentences of errors. */
#define TL_ROOT_ALONE "only the root may pass TORUS_IN_PLACE"
#define TL_NOT_WHOLE                                                                               \
    "the data of a block is not a whole number of elements of the destination's type"
#define TL_OVERFLOWS "the counts overflow: together more than 2^63 - 1 bytes"

static inline bool tl_at_root(const struct tl_work *w)
{
    return w->what.group->rank == w->what.root;
}

/* tl_work_buffer returns the name of a buffer, for sentences. */
static inline const char *tl_work_buffer(const struct tl_work *w, int which)
{
    return w->what.kind == TD_KIND_BROADCAST ? "buffer" : which ? "destination" : "source";
}

#endif
