/* SPDX-License-Identifier: Apache-2.0 */
/* parts: the buffers of calls with counts by rank or by neighbour. */
#ifndef TORUS_PARTS_H
#define TORUS_PARTS_H

#include "pieces.h"

/* tl_parts_drop_unused clears the counts that this rank does not use. */
void tl_parts_drop_unused(struct tl_work *w);
/* tl_parts_make makes the pieces of both buffers. It returns NULL or the sentence of the error. */
const char *tl_parts_make(struct tl_work *w);
/* tl_parts_count returns the length of the lists of the source (which 0) or the destination (1). */
uint32_t tl_parts_count(const struct tl_collective *what, int which);

#endif
