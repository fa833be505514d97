/* SPDX-License-Identifier: Apache-2.0 */
/* unix: the paths of Unix sockets. */
#ifndef TD_IO_UNIX_H
#define TD_IO_UNIX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* td_unix_clear removes a socket at `path` that a killed daemon left. If the path is in use (the
 * sentence names the process) or is not a socket, it removes nothing and returns false with a
 * sentence. `type` is the type of the socket to be bound: SOCK_STREAM or SOCK_SEQPACKET. */
bool td_unix_clear(const char *path, int type, char *why, size_t why_bytes);

/* struct td_unix_file: the file of a socket that this process has bound. Zeroed: none. While the
 * socket is open, no other file gets its inode. */
struct td_unix_file {
    char path[108];
    dev_t device;
    ino_t inode;
};

/* td_unix_note notes the file at `path`, to which a socket has just been bound. */
void td_unix_note(struct td_unix_file *file, const char *path);
/* td_unix_is_there returns true if the path still leads to the file. */
bool td_unix_is_there(const struct td_unix_file *file);
/* td_unix_remove removes the file, unless another one is at its path. */
void td_unix_remove(struct td_unix_file *file);

#endif
