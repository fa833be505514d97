/* SPDX-License-Identifier: Apache-2.0 */
/* side: one buffer of a call, as bytes.
 *
 * libtorus moves the bytes of the packed data: all ranks agree on their number, whatever types they
 * use for it. A side without gaps is used in place; the data of another one is packed by Open MPI's
 * convertor into memory of the call.
 * Owns: nothing. Borrows: the program's buffer and types; memory of the call. */
#ifndef TORUS_OPENMPI_SIDE_H
#define TORUS_OPENMPI_SIDE_H

#include "component.h"

/* struct tm_block: `count` elements of `type`, which begin `at` bytes from the buffer. */
struct tm_block {
    ptrdiff_t at;
    size_t count;
    struct ompi_datatype_t *type;
    size_t bytes; /* of the packed data */
};

struct tm_side {
    char *base;
    size_t blocks;
    struct tm_block one, *block; /* `block` points to `one` if `blocks` is 1 */
    size_t bytes;                /* of all packed blocks */
    bool packs;
    char *packed; /* NULL unless packs */
};

/* tm_side_set_one makes a side of `count` elements, `at` bytes from the buffer. tm_side_close ends
 * the description of a side whose blocks the caller has filled in but for `bytes`. Both find out
 * whether it has gaps. */
void tm_side_set_one(struct tm_side *side, const void *base, ptrdiff_t at, size_t count,
                     struct ompi_datatype_t *type);
void tm_side_close(struct tm_side *side);

/* tm_side_overlaps returns true if two sides may share bytes. */
bool tm_side_overlaps(const struct tm_side *a, const struct tm_side *b);

/* tm_side_data returns the address that stands for offset 0 of the side. tm_side_lists writes the
 * bytes of each block, and where it begins from there. */
void *tm_side_data(const struct tm_side *side);
void tm_side_lists(const struct tm_side *side, size_t *counts, ptrdiff_t *places);

/* tm_side_pack fills `packed` if the side packs; tm_side_unpack does the reverse. */
int tm_side_pack(const struct tm_side *side);
int tm_side_unpack(const struct tm_side *side);

/* tm_pack copies the data of a block to `packed`, tm_unpack copies it back. */
int tm_pack(const char *base, const struct tm_block *block, char *packed);
int tm_unpack(char *base, const struct tm_block *block, const char *packed);

/* tm_has_gaps returns true if the data of `count` elements is not one run of bytes. */
bool tm_has_gaps(const struct ompi_datatype_t *type, size_t count);

#endif
