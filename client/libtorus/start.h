/* SPDX-License-Identifier: Apache-2.0 */
/* start: start of a collective from its arguments. */
#ifndef TORUS_START_H
#define TORUS_START_H

#include "buffers.h"

/* tl_start_check translates the arguments to *w. It returns TORUS_ERR_INVALID with the sentence, or
 * TORUS_OK; then tl_buffers_free(w) is due. */
int tl_start_check(struct tl_work *w, const struct tl_collective *what);

/* tl_start starts the collective and sets *request. */
int tl_start(const struct tl_collective *what, torus_request **request);

/* tl_run starts the collective and waits for it. */
int tl_run(const struct tl_collective *what);

/* tl_start_check_memory checks that the buffers are not NULL, and inside their memory of
 * torus_alloc. */
int tl_start_check_memory(const struct tl_work *w);

#endif
