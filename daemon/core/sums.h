/* SPDX-License-Identifier: Apache-2.0 */
/* sums: counts and times of what happened on this node since its daemon started, for metrics.
 * Owns: the sums, of fixed size, in the block of the core. Borrows: nothing.
 * Invariant: sums only grow. Pure: no I/O, clock, or globals; times are handed in. */
#ifndef TD_CORE_SUMS_H
#define TD_CORE_SUMS_H

#include <stdint.h>

#include "base/errors.h"
#include "model/call.h"

enum {
    TD_HISTOGRAM_LEAST_BITS = 12, /* the first bucket has times up to 4 us, */
    TD_HISTOGRAM_BUCKETS = 26,    /* the last but one those up to 137 s */
    TD_ERRORS = -TD_ERR_PERMISSION + 1,
};

/* struct td_histogram: bucket i counts the times of at most 2^(TD_HISTOGRAM_LEAST_BITS + i) ns that
 * no bucket before it counts; the last bucket counts all others. */
struct td_histogram {
    uint64_t bucket[TD_HISTOGRAM_BUCKETS + 1];
    uint64_t ns; /* sum of the times */
};

/* struct td_kind_sums: operations of one kind of call. */
struct td_kind_sums {
    struct td_histogram duration; /* from the first call to the end, of those that succeeded */
    struct td_histogram skew;     /* from the first call to the release: the last rank has called */
    /* of those that succeeded and whose method predicts its time (collectives/method.h): */
    uint64_t predicted_bytes;            /* the prediction, in bytes that a link carries */
    uint64_t measured_ns;                /* from the release to the end */
    uint64_t segment, segment_waited_ns; /* calls of segments that are closed */
};

struct td_sums {
    struct td_kind_sums kind[TD_KIND_MAX];
    uint64_t failed[TD_ERRORS]; /* operations that ended with an error, by its negative number */
};

static inline void td_histogram_add(struct td_histogram *h, uint64_t ns)
{
    uint64_t more = ns ? (ns - 1) >> TD_HISTOGRAM_LEAST_BITS : 0;
    unsigned at = more ? 64 - (unsigned)__builtin_clzll(more) : 0;
    h->bucket[at < TD_HISTOGRAM_BUCKETS ? at : TD_HISTOGRAM_BUCKETS]++;
    h->ns += ns;
}

#endif
