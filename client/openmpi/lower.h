/* SPDX-License-Identifier: Apache-2.0 */
/* lower: the arguments of MPI's collectives as those of libtorus.
 *
 * Data is moved as bytes. Reductions have types and operators of libtorus if it has them; else all
 * contributions are gathered and folded (fold.h). */
#ifndef TORUS_OPENMPI_LOWER_H
#define TORUS_OPENMPI_LOWER_H

#include "call.h"

/* tm_lower sets route, source, destination, sides, lists and memory of a call from its args. It
 * returns OMPI_SUCCESS or OMPI_ERR_OUT_OF_RESOURCE. */
int tm_lower(struct tm_call *call);

/* tm_lower_sides gives the sides packed memory if they need it, and sets source and destination.
 * If the sides share bytes, the source is copied. in_place: the source is TORUS_IN_PLACE. */
int tm_lower_sides(struct tm_call *call, bool in_place);

/* tm_lower_counts reserves and fills in the lists of bytes and places of a side; index 0 is the
 * source's, 1 the destination's. */
int tm_lower_counts(struct tm_call *call, int index);

/* tm_lower_blocks begins a side of `count` blocks, which the caller fills in before tm_side_close.
 */
int tm_lower_blocks(struct tm_call *call, struct tm_side *side, const void *base, size_t count);

#endif
