/* SPDX-License-Identifier: Apache-2.0 */
/* collectives: what the driver of the comparison and its measuring processes tell each other, over
 * a Unix socket whose path is in COLLECTIVES_SOCKET, and what each side of the comparison provides.
 *
 * The measuring program is the same for both sides; only the side_ functions differ. A side that is
 * not measured waits in a system call for its next order, so that it takes nothing from the other.
 */
#ifndef BENCH_COLLECTIVES_H
#define BENCH_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "running.h"

enum operation { BARRIER, BROADCAST, ALLREDUCE, SCAN, ALLTOALL, OPERATIONS };
enum { ROOM_BYTES = 16 << 20, CALLS_MAX = 32, TEXT_BYTES = 160 };

/* lets_go: ranks may be through with it before all have begun. Calls made one after the other would
 * overlap, so there is a barrier before each, and the time is that of the rank that took longest.
 */
static inline bool lets_go(uint32_t operation)
{
    return operation == BROADCAST || operation == SCAN;
}

/* struct order: make a sample: `calls` calls one after the other, after a barrier. */
struct order {
    uint32_t operation; /* enum operation */
    uint32_t calls;     /* CALLS_MAX at most */
    uint64_t bytes;     /* of a rank's vector; of what is there for one rank in an all-to-all */
    uint64_t seed;      /* tells the values of this sample from others' */
};

/* struct outcome: of a rank's sample. CLOCK_MONOTONIC: the ranks are on one machine. */
struct outcome {
    int64_t begin_ns, end_ns;
    int64_t own_ns[CALLS_MAX]; /* what each call took, if it lets go */
    int32_t failed;            /* not 0: `text` says what */
    char text[TEXT_BYTES];
};

/* ---- a side: torusd or MPI ---- */

/* side_open returns NULL, or what went wrong; so do the collectives. */
const char *side_open(uint32_t *rank, uint32_t *ranks);
/* side_alloc returns the memory that the side is fastest with. */
void *side_alloc(size_t bytes);
void side_close(void);

/* Vectors are of doubles, reductions sums. */
const char *side_barrier(void);
const char *side_broadcast(double *buffer, size_t count, uint32_t root);
const char *side_allreduce(const double *source, double *destination, size_t count);
const char *side_scan(const double *source, double *destination, size_t count);
const char *side_alltoall(const double *source, double *destination, size_t count);

#endif
