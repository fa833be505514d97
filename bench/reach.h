/* SPDX-License-Identifier: Apache-2.0 */
/* reach: the connection of a rank to its driver (running.h). */
#ifndef BENCH_REACH_H
#define BENCH_REACH_H

/* reach_driver connects to the socket whose path is in an environment variable. It returns -1 if
 * the driver does not accept. */
int reach_driver(const char *variable);

#endif
