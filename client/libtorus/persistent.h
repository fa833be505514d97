/* SPDX-License-Identifier: Apache-2.0 */
/* persistent: collectives that are started repeatedly with the same arguments.
 *
 * Each call has a group of its own, numbered by the order of the calls' initialization. So its
 * starts meet those of the same call on other ranks, in whatever order a rank starts its calls.
 * Owns: copies of the lists of counts and of the grid. Borrows: the buffers of the caller. */
#ifndef TORUS_PERSISTENT_H
#define TORUS_PERSISTENT_H

#include "buffers.h"

/* tl_persistent_new checks the arguments and keeps a copy of them. torus_persistent_free or the end
 * of the job frees the call. */
int tl_persistent_new(const struct tl_collective *what, torus_persistent **persistent);

#endif
