/* SPDX-License-Identifier: Apache-2.0 */
/* rest: how a rank that waits for messages of Open MPI gives its processor away.
 *
 * Open MPI looks for messages all the time and, if there are more ranks than processors, calls
 * sched_yield after each look. Beside a process that computes, a yield takes milliseconds: the
 * scheduler (Linux since 6.6) puts the thread off by a time slice. A thread that sleeps for some
 * microseconds instead keeps its share, and runs as soon as it wakes. So if some looks take a slice
 * or longer, yields are timed. If some in turn are slow, the rank rests for a while: it looks some
 * times, then sleeps, and does not yield. Then it times yields again.
 *
 * Pure: no clock. Ranks need not agree. */
#ifndef TORUS_OPENMPI_REST_H
#define TORUS_OPENMPI_REST_H

#include <stdbool.h>
#include <stdint.h>

/* struct tm_rest: zeros at first. Times are in ns. */
struct tm_rest {
    bool rests;
    uint32_t looks;    /* until the clock is read, or the rank sleeps */
    int64_t looked_at; /* the clock was read */
    uint32_t yields;   /* that are still to be timed of YIELDS in turn */
    int64_t yield_ns;  /* how long those took together that have been timed */
    int64_t ends_at;   /* of the rest */
    int64_t length_ns; /* of the latest rest; 0: the last yields in turn were fast */
};

/* enum tm_rest_act: what a rank does after a look. */
enum tm_rest_act {
    TM_REST_LEAVE, /* nothing: Open MPI may yield */
    TM_REST_CLOCK, /* tell tm_rest_clock, then Open MPI may yield */
    TM_REST_YIELD, /* yield, and tell tm_rest_yielded */
    TM_REST_LOOK,  /* look again */
    TM_REST_SLEEP, /* sleep, and tell tm_rest_slept */
};

enum tm_rest_act tm_rest_next(struct tm_rest *rest);

/* tm_rest_clock takes the time, to some milliseconds. */
void tm_rest_clock(struct tm_rest *rest, int64_t now);

/* tm_rest_yielded takes how long a yield took; from `slow_ns` on, in the mean, it is slow. */
void tm_rest_yielded(struct tm_rest *rest, int64_t now, int64_t took_ns, int64_t slow_ns);

void tm_rest_slept(struct tm_rest *rest, int64_t now);

#endif
