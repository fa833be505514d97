/* SPDX-License-Identifier: Apache-2.0 */
/* unix: paths of Unix sockets before they are bound. */
#ifndef TD_IO_UNIX_H
#define TD_IO_UNIX_H

#include <stdbool.h>
#include <stddef.h>

/* td_unix_clear makes way for a socket at `path`: removes what a daemon that was killed has left.
 * False with a sentence when the path is in use (it names the process) or no socket; nothing is
 * removed then. type is the one to be bound: SOCK_STREAM or SOCK_SEQPACKET. */
bool td_unix_clear(const char *path, int type, char *why, size_t why_bytes);

#endif
