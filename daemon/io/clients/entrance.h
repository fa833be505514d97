/* SPDX-License-Identifier: Apache-2.0 */
/* entrance: the Unix socket that local processes connect to. The service manager made it, if a
 * socket unit passed it (sd_listen_fds(3)): processes that connect while the daemon restarts then
 * wait for it, and the path stays when the daemon ends. Else the daemon makes it.
 *
 * The entrance looks twice a second whether the path still leads to its socket. If the file was
 * removed or replaced, it makes the socket again, unless another process serves the path now or the
 * service manager made it: then it logs what to do. At its end it removes its own file only.
 * Owns: the socket and its file. Borrows: the loop. */
#ifndef TD_IO_CLIENTS_ENTRANCE_H
#define TD_IO_CLIENTS_ENTRANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"
#include "io/acceptor.h"
#include "io/unix.h"

struct td_entrance {
    struct td_acceptor acceptor;
    struct td_unix_file file;
    uv_timer_t watch;
    bool passed;            /* by the service manager, which owns the path */
    char told[TD_TEXT_MAX]; /* why the path does not lead here, as it was logged */
};

/* td_entrance_open listens at a path, and calls `calls` with `user`. It returns false with a
 * sentence in why; then no handle of the entrance is in use. */
bool td_entrance_open(struct td_entrance *entrance, uv_loop_t *uv, const char *path,
                      const struct td_acceptor_calls *calls, void *user, char *why,
                      size_t why_bytes);
void td_entrance_close(struct td_entrance *entrance);

#endif
