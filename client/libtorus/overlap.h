/* SPDX-License-Identifier: Apache-2.0 */
/* overlap: shared bytes of the source and the destination of a call. */
#ifndef TORUS_OVERLAP_H
#define TORUS_OVERLAP_H

#include "staging.h"

/* tl_overlap_check returns NULL if no piece of `from` shares a byte with a piece of `to`, else the
 * sentence of the error: if a buffer ends beyond its memory of torus_alloc, that one. Pieces may
 * lie between each other. Buffers of a type with gaps are not for this check. */
const char *tl_overlap_check(torus_context *c, const struct tl_buffer *from,
                             const struct tl_buffer *to);

#endif
