/* SPDX-License-Identifier: Apache-2.0 */
/* driver: the driver of a real node. It runs the core with libuv, ZeroMQ and packet streams.
 * Owns: the event loop, peers, clients, workers and plans, from start to shutdown. */
#ifndef TD_IO_DRIVER_H
#define TD_IO_DRIVER_H

struct td_config;

/* td_driver_run serves until a signal stops it, and returns the exit code. End of file on watch_fd,
 * a pipe or -1, stops it at once, without completing running operations. SIGHUP changes `config`.
 */
int td_driver_run(struct td_config *config, int watch_fd);

#endif
