/* SPDX-License-Identifier: Apache-2.0 */
/* listener: the Unix socket that local processes connect to. The service manager made it, if a
 * socket unit passed it (sd_listen_fds(3)): processes that connect while the daemon restarts then
 * wait for it, and the path stays when the daemon ends. Else the daemon makes it.
 * Owns: nothing. */
#ifndef TD_IO_CLIENTS_LISTENER_H
#define TD_IO_CLIENTS_LISTENER_H

#include <stdbool.h>
#include <stddef.h>

/* td_listener_open returns a descriptor that listens at a path, and sets *passed if the service
 * manager passed it. It returns -1 with a sentence in why. */
int td_listener_open(const char *path, bool *passed, char *why, size_t why_bytes);

#endif
