/* SPDX-License-Identifier: Apache-2.0 */
/* deadline: time, and waits for descriptors until a deadline. */
#ifndef TORUS_DEADLINE_H
#define TORUS_DEADLINE_H

#include <stdint.h>

/* The longest sleep of a call that runs an idle function (torus_set_idle). */
enum { TL_IDLE_NS = 100000 };

/* tl_poll waits until one of up to two descriptors is ready, and returns TORUS_OK, TORUS_PENDING at
 * the deadline (CLOCK_MONOTONIC in ns; -1: none), or TORUS_ERR_SYSTEM. */
int tl_poll(const int *fd, unsigned count, short events, int64_t deadline_ns);

/* tl_now_ns returns CLOCK_MONOTONIC in ns. */
int64_t tl_now_ns(void);

#endif
