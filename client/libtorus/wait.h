/* SPDX-License-Identifier: Apache-2.0 */
/* wait: the caller waits for requests, of which one, some or all complete. Replies are handled
 * meanwhile.
 * Borrows: the caller's requests; it frees those that are complete. */
#ifndef TORUS_WAIT_H
#define TORUS_WAIT_H

#include "request.h"

/* tl_request_wait waits for *r if `started` is TORUS_OK, and returns the outcome: the blocking form
 * of a call. A pointer, because the call that sets *r is an argument of the same expression. */
int tl_request_wait(int started, torus_request **r);

#endif
