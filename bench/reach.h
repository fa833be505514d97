/* SPDX-License-Identifier: Apache-2.0 */
/* reach: a rank's way to its driver (running.h). */
#ifndef BENCH_REACH_H
#define BENCH_REACH_H

/* reach_driver connects to the socket whose path is in an environment variable; -1: nobody is
 * there. */
int reach_driver(const char *variable);

#endif
