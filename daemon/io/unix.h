/* SPDX-License-Identifier: Apache-2.0 */
/* unix: preparation of a path for a Unix socket. */
#ifndef TD_IO_UNIX_H
#define TD_IO_UNIX_H

#include <stdbool.h>
#include <stddef.h>

/* td_unix_clear removes a socket at `path` that a killed daemon left. If the path is in use (the
 * sentence names the process) or is not a socket, it removes nothing and returns false with a
 * sentence. `type` is the type of the socket to be bound: SOCK_STREAM or SOCK_SEQPACKET. */
bool td_unix_clear(const char *path, int type, char *why, size_t why_bytes);

#endif
