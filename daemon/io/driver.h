/* SPDX-License-Identifier: Apache-2.0 */
/* driver: driver 1. It runs the core on a real node, with libuv, ZeroMQ and streams of packets.
 * Owns: the loop and all parts of the driver, from start to shutdown. */
#ifndef TD_IO_DRIVER_H
#define TD_IO_DRIVER_H

struct td_config;

/* td_driver_run serves until a signal or the end of file on watch_fd stops it, and returns the exit
 * code. watch_fd is a pipe, or -1; its end of file stops the daemon at once. */
int td_driver_run(const struct td_config *config, int watch_fd);

#endif
