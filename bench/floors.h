/* SPDX-License-Identifier: Apache-2.0 */
/* floors: least times that the hardware and the kernel allow, measured on this machine. */
#ifndef BENCH_FLOORS_H
#define BENCH_FLOORS_H

#include <stdbool.h>
#include <stddef.h>

struct floors {
    double line_s;        /* a line of cache to another processor and back */
    double round_trip_s;  /* a byte over TCP on loopback and back */
    double loopback_rate; /* one stream over TCP on loopback, bytes per second */
    double copy_rate[3];  /* memcpy by all processors, bytes per second: */
    size_t copy_bytes[3]; /* for blocks of this size */
};

/* floors_measure takes about a second. It returns false if a process or a socket cannot be made. */
bool floors_measure(struct floors *f);
/* floors_copy_rate returns the rate for blocks of the measured size nearest to `bytes`. */
double floors_copy_rate(const struct floors *f, double bytes);

#endif
