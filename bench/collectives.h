/* SPDX-License-Identifier: Apache-2.0 */
/* collectives: messages between the driver of the comparison and its measuring processes, and the
 * functions that each side provides. The messages travel over a Unix socket whose path is in
 * COLLECTIVES_SOCKET.
 *
 * The measuring program is the same for both sides; only the side_ functions differ. A side that is
 * not measured waits in a system call for its next order, so that it uses no CPU time. */
#ifndef BENCH_COLLECTIVES_H
#define BENCH_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "running.h"
#include "side.h"

enum operation { BARRIER, BROADCAST, ALLREDUCE, SCAN, ALLTOALL, OPERATIONS };
enum { ROOM_BYTES = 16 << 20, CALLS_MAX = 512, TEXT_BYTES = 160 };

/* lets_go returns true if a rank may complete the operation before all ranks have begun.
 * Consecutive calls would overlap; therefore a barrier precedes each, and the time is that of the
 * slowest rank. */
static inline bool lets_go(uint32_t operation)
{
    return operation == BROADCAST || operation == SCAN;
}

/* struct order: order for a sample of `calls` consecutive calls after a barrier. */
struct order {
    uint32_t operation; /* enum operation */
    uint32_t calls;     /* at most CALLS_MAX */
    uint64_t bytes;     /* of a rank's vector; in an all-to-all, of the block for one rank */
    uint64_t seed;      /* makes the values of this sample unique */
};

/* struct outcome: a rank's sample. Times are CLOCK_MONOTONIC, as the ranks are on one machine. */
struct outcome {
    int64_t begin_ns, end_ns;
    int64_t own_ns[CALLS_MAX]; /* time of each call, if lets_go */
    int32_t failed;            /* nonzero: `text` is the error */
    char text[TEXT_BYTES];
};

/* ---- a side: torusd or MPI ---- */

/* The collectives return NULL or the error. */
/* side_alloc returns memory of the kind that is fastest for the side. */
void *side_alloc(size_t bytes);

/* Vectors are doubles; reductions are sums. */
const char *side_broadcast(double *buffer, size_t count, uint32_t root);
const char *side_allreduce(const double *source, double *destination, size_t count);
const char *side_scan(const double *source, double *destination, size_t count);
const char *side_alltoall(const double *source, double *destination, size_t count);

#endif
