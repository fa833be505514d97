/* SPDX-License-Identifier: Apache-2.0 */
/* redist: the parts of `./dev bench redist`. */
#ifndef TORUS_BENCH_REDIST_H
#define TORUS_BENCH_REDIST_H

#include <jansson.h>

#include "base/arena.h"

/* redist_model prints the times of schedules in the model of the source: a step takes a start-up
 * and the time of its longest message; steps are sequential. It returns the same as a list. */
json_t *redist_model(struct td_arena *arena);
/* redist_random prints the distance of schedules from the bounds in cases without a closed form. */
void redist_random(struct td_arena *arena);
/* redist_links prints the loads of the links of a torus in each step. */
void redist_links(struct td_arena *arena);

#endif
