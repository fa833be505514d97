/* SPDX-License-Identifier: Apache-2.0 */
/* letters: datagrams of the connection to the daemon that take shared memory instead of the socket,
 * while the receiver looks for them (segment/letter.h).
 * Owns: the mapping. A child process has none. */
#ifndef TORUS_LETTERS_H
#define TORUS_LETTERS_H

#include "context.h"

/* tl_letters_adopt maps the memory that came with the reply to a join. Without memory everything
 * takes the socket. It returns TORUS_OK, or the error of tl_passed_map. tl_letters_free ends that.
 */
int tl_letters_adopt(torus_context *c);
void tl_letters_free(torus_context *c);
/* tl_letters_put puts a request if the daemon looks for it. */
bool tl_letters_put(torus_context *c, const uint8_t *bytes, size_t size);
/* tl_letters_look tells the daemon that this process looks for replies. tl_letters_leave ends that;
 * it returns false if one has come meanwhile. */
void tl_letters_look(torus_context *c);
bool tl_letters_leave(torus_context *c);
/* tl_letters_take copies the reply that comes before all datagrams after the first `received` ones
 * to c->letter, and ends the looking. It returns the size; 0: no letter is due.
 * tl_letters_are_due returns true if there is one. */
size_t tl_letters_take(torus_context *c, uint64_t received);
bool tl_letters_are_due(const torus_context *c, uint64_t received);

#endif
