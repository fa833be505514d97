/* SPDX-License-Identifier: Apache-2.0 */
/* passed: files that come with replies of the daemon, as memory.
 *
 * A file that could shrink would end this process by SIGBUS, so it must be a memfd with small pages
 * and F_SEAL_SHRINK. Borrows: the descriptor of the last reply. */
#ifndef TORUS_PASSED_H
#define TORUS_PASSED_H

#include "context.h"

/* tl_passed_map maps the file that came with the last reply, which a forked child does not inherit.
 * *bytes is the size that it must have; 0: any, which is written there. *memory stays NULL if no
 * file came, if it has another size, as that of another release, or if it cannot be mapped. The
 * function returns TORUS_OK, or ends the connection if the file may shrink (tl_malformed). */
int tl_passed_map(torus_context *c, int protection, size_t *bytes, void **memory);

#endif
