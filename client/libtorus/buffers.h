/* SPDX-License-Identifier: Apache-2.0 */
/* buffers: the source and destination of a collective, from the arguments of the caller.
 *
 * It translates derived types, TORUS_IN_PLACE, counts by rank, neighbours and user-defined
 * operators to a call of the daemon with two buffers of pieces. It accesses no memory of the caller
 * but the lists of counts.
 */
#ifndef TORUS_BUFFERS_H
#define TORUS_BUFFERS_H

#include "work.h"

/* tl_buffers_make fills in the rest of *w from w->what. It returns NULL or the sentence of the
 * error. tl_buffers_free frees the lists, also after an error. */
const char *tl_buffers_make(struct tl_work *w);
void tl_buffers_free(struct tl_work *w);

#endif
