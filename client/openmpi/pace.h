/* SPDX-License-Identifier: Apache-2.0 */
/* pace: whether short broadcasts and reductions of one node stay with Open MPI.
 *
 * There the root of a broadcast, and all but the root of a reduction, go on before the others have
 * called, and a short call takes less than a microsecond; torusd takes some more, since all ranks
 * end together. Beside busy processes Open MPI's ranks lose time slices in every call, and torusd's
 * do not. So some calls in a row stay with Open MPI. If they pass quickly, more follow; if not,
 * calls are rare or processors are busy, and calls go through torusd for a while. Ranks agree on
 * that after each such row.
 *
 * Pure: no clock. Invariant: ranks that make the same calls and agree on `slow` do the same. */
#ifndef TORUS_OPENMPI_PACE_H
#define TORUS_OPENMPI_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* struct tm_pace: zeros at first. */
struct tm_pace {
    bool leaves;    /* calls stay with Open MPI */
    uint32_t left;  /* calls until this ends */
    uint32_t row;   /* calls that stay with Open MPI before ranks agree */
    uint32_t taken; /* calls through torusd after the last slow row */
    int64_t began;  /* of the row, in ns */
};

/* tm_pace_ends counts a call, and returns true if ranks have to agree before it. Then tm_pace_next
 * follows. */
bool tm_pace_ends(struct tm_pace *pace, int64_t now);

/* tm_pace_is_slow returns true if the row took this rank so long that torusd costs next to nothing,
 * or helps. */
bool tm_pace_is_slow(const struct tm_pace *pace, int64_t now);

/* tm_pace_next takes what ranks agree on: slow for one of them. */
void tm_pace_next(struct tm_pace *pace, bool slow, int64_t now);

#endif
