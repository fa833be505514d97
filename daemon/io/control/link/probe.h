/* SPDX-License-Identifier: Apache-2.0 */
/* probe: why no connection to a peer came about. ZeroMQ says that an attempt has failed, but not
 * with which error: only a host that refuses says that no daemon runs there; a cut cable says
 * nothing of the daemon. A probe makes a TCP connection of its own, and closes it. */
#ifndef TD_IO_CONTROL_LINK_PROBE_H
#define TD_IO_CONTROL_LINK_PROBE_H

#include <uv.h>

struct td_probe;

/* td_probe_done hears the outcome, once: 0, or libuv's error. The probe is gone then. */
typedef void td_probe_done(void *user, int error);

/* td_probe_start connects to tcp://HOST:PORT; a name is looked up by a thread of libuv. If the
 * outcome is known at once, it returns NULL and libuv's error; UV_EINVAL is that of another
 * endpoint. It sets no time limit: td_probe_cancel ends a probe without a call of `done`; NULL is
 * ignored. */
struct td_probe *td_probe_start(uv_loop_t *uv, const char *endpoint, td_probe_done *done,
                                void *user, int *error);
/* td_probe_name looks up the name in tcp://NAME:PORT, and makes no connection. It returns NULL if
 * the endpoint has no name, or the look-up cannot begin. */
struct td_probe *td_probe_name(uv_loop_t *uv, const char *endpoint, td_probe_done *done,
                               void *user);
void td_probe_cancel(struct td_probe *probe);

#endif
