/* SPDX-License-Identifier: Apache-2.0 */
/* staging: shared memory of one buffer of an operation.
 *
 * The daemon reads and writes shared memory only. A buffer inside torus_alloc memory is used in
 * place, if its alignment allows that. Elements with gaps need a form, so that the daemon finds
 * their data. Any other buffer gets a staging copy: the pieces of the buffer, contiguous and in
 * order; elements of a type with gaps are packed. */
#ifndef TORUS_STAGING_H
#define TORUS_STAGING_H

#include "memory.h"
#include "type.h"

/* struct tl_piece: bytes of a buffer that belong to one rank. */
struct tl_piece {
    uint32_t rank;
    ptrdiff_t at;         /* bytes from the start of the buffer */
    size_t bytes;         /* of data */
    struct tl_type *type; /* of elements with gaps; NULL: that of the buffer */
};

/* struct tl_buffer: the source or the destination of an operation. */
struct tl_buffer {
    uint8_t *pointer;       /* NULL: no memory of the caller, see `scratch` */
    struct tl_piece *piece; /* ordered by rank; NULL: one piece of all bytes at 0 */
    uint32_t pieces;
    struct tl_type *type;       /* of elements with gaps; NULL: the pieces are contiguous bytes */
    const struct td_form *form; /* of these elements, for use in place; NULL: none */
    size_t bytes;               /* of data in all pieces together */
    ptrdiff_t begin, end;   /* first byte of the pieces, and end of the last one, from `pointer` */
    bool copy_in, copy_out; /* contents of a staging copy: come from the caller, return to it */
    bool must_stage;        /* the daemon must not use the caller's memory itself */
    bool scratch;           /* memory of the library; the caller never sees it */
};

/* struct tl_binding: shared memory that an operation in flight uses for one buffer. */
struct tl_binding {
    struct tl_block *block; /* pinned block of torus_alloc that contains the buffer; or NULL */
    uint8_t *copy;          /* the staging copy; NULL: the buffer is used in place */
    uint8_t *out;           /* destination of the copy at completion; NULL: none */
    struct tl_type *type;   /* as in struct tl_buffer; the binding is a user of it */
    struct tl_piece *piece; /* owned; as in struct tl_buffer */
    uint32_t pieces;
    size_t bytes;
};

/* tl_buffer_check returns TORUS_OK if tl_buffer_bind would accept the memory of a buffer. */
int tl_buffer_check(torus_context *c, const struct tl_role *role, const struct tl_buffer *buffer);

/* tl_buffer_bind makes shared memory available for a buffer, and writes its place; a buffer of no
 * bytes has an empty place. *staged: the place is a staging copy, whose pieces are contiguous. On
 * an error its sentence is recorded, and tl_binding_release is due too. */
int tl_buffer_bind(torus_context *c, const struct tl_role *role, const struct tl_buffer *buffer,
                   size_t alignment, struct tl_binding *b, struct td_place *place, bool *staged);

/* tl_binding_release unpins or frees the memory. `results`: it copies results to the caller first.
 */
void tl_binding_release(torus_context *c, struct tl_binding *b, bool results);

#endif
