/* SPDX-License-Identifier: Apache-2.0 */
/* torus_side: what all comparisons have in common on the side of torusd: side_open, side_close and
 * side_barrier. */
#ifndef BENCH_TORUS_SIDE_H
#define BENCH_TORUS_SIDE_H

#include "side.h"
#include "torus/torus.h"

/* The context and the job's group, from side_open on. */
extern torus_context *context;
extern torus_group *world;

/* told returns NULL for TORUS_OK, or the sentence of the last error. */
const char *told(int error);

#endif
