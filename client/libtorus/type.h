/* SPDX-License-Identifier: Apache-2.0 */
/* type: element types, basic and derived.
 *
 * The data of an element is a list of loops over runs of bytes, or over the data of an inner type.
 * So a vector of a million blocks is one loop. Constructors join adjacent runs and equal steps.
 * Owns: the derived types of a context. A derived type keeps the types that it was made of.
 * Invariant: a type never changes once it has a number. */
#ifndef TORUS_TYPE_H
#define TORUS_TYPE_H

#include "context.h"
#include "signature.h"

enum { TL_TYPE_FIRST = 65536 /* basic types have lower numbers */, TL_TYPE_DEPTH_MAX = 32 };

/* struct tl_loop: runs of bytes, or elements of an inner type, at equal steps. */
struct tl_loop {
    ptrdiff_t at, step; /* bytes from the element's address to the first; between two */
    size_t count;
    size_t bytes;                /* of a run; 0 with an inner type */
    const struct tl_type *inner; /* NULL: runs */
};

struct tl_type {
    struct tl_type *next;
    torus_context *context; /* NULL: a basic type, which nobody frees */
    int number;
    uint32_t users; /* requests in flight, persistent calls, and types made of it */
    bool freed;     /* by torus_type_free: it ends with its last user */

    size_t bytes;           /* of data */
    ptrdiff_t lower, upper; /* bounds; the distance of two elements is upper - lower */
    ptrdiff_t first, end;   /* first byte of data; byte after the last one */
    bool bounded;           /* torus_type_resized gave the bounds, here or in an inner type */
    uint32_t alignment;     /* of the basic elements */

    /* With no loops, the data is one run of `bytes` at `first`, in the order of the signature. */
    struct tl_loop *loop;
    size_t loops;
    uint32_t depth; /* nesting of loops; at most TL_TYPE_DEPTH_MAX */
    struct tl_signature signature;
    struct td_form *form; /* for the daemon, made by the first call that needs it (form.h) */
    bool has_no_form;     /* that call has found that there is none */

    struct tl_type **used; /* types that it keeps */
    size_t useds;

    struct tl_type *pair[2]; /* of torus_type_pair: for the source and the destination of a call;
                                NULL: an ordinary type */
};

#define TL_PAIR                                                                                    \
    "a pair of types (torus_type_pair) serves calls that move data between two buffers only"

/* tl_type_find returns the type with a number, for a new call. A basic type is written to *basic.
 * NULL: the number is unknown, or the type is freed. */
struct tl_type *tl_type_find(const torus_context *c, int number, struct tl_type *basic);

/* tl_type_use counts a user of a type; tl_type_unuse ends the use. Basic types are not counted. */
void tl_type_use(struct tl_type *type);
void tl_type_unuse(struct tl_type *type);

/* tl_type_new adds an empty type to the context; NULL: no memory. It has no number yet: it ends
 * with its last user, the caller. tl_type_keep makes it a user of `of`, and returns false without
 * memory. tl_type_publish gives a finished type its number, in *made, or, if `wrong` is a sentence,
 * frees it and returns the error. */
struct tl_type *tl_type_new(torus_context *c);
bool tl_type_keep(struct tl_type *t, struct tl_type *of);
int tl_type_publish(struct tl_type *t, const char *wrong, const char *function, int *made);
#define TL_NO_MEMORY "no memory"

/* tl_type_extent returns the distance of two elements in bytes. */
ptrdiff_t tl_type_extent(const struct tl_type *type);

/* tl_type_dense returns true if elements in a row are one run of bytes without gaps. */
bool tl_type_dense(const struct tl_type *type);

/* tl_type_span writes where `count` > 0 elements begin and end, in bytes from the address of the
 * first one. It returns false if that overflows. */
bool tl_type_span(const struct tl_type *type, size_t count, ptrdiff_t *begin, ptrdiff_t *end);

/* tl_type_pack copies the data of `count` elements at `from` to contiguous bytes at `packed`;
 * tl_type_unpack copies it back to elements at `to`, and leaves the gaps as they are. */
void tl_type_pack(const struct tl_type *type, size_t count, const uint8_t *from, uint8_t *packed);
void tl_type_unpack(const struct tl_type *type, size_t count, const uint8_t *packed, uint8_t *to);

/* tl_type_fini frees all types of the context. */
void tl_type_fini(torus_context *c);

#endif
