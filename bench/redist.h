/* SPDX-License-Identifier: Apache-2.0 */
/* redist: the parts of `./dev bench redist`. */
#ifndef TORUS_BENCH_REDIST_H
#define TORUS_BENCH_REDIST_H

#include <jansson.h>

#include "base/arena.h"

/* redist_model prints what schedules take in the model of the source: a step takes a start-up and
 * the time of its longest message, and steps follow one another. Returns the same as a list. */
json_t *redist_model(struct td_arena *arena);
/* redist_random prints how far schedules are from the bounds where there is no closed form. */
void redist_random(struct td_arena *arena);
/* redist_links prints what steps load the links of a torus with. */
void redist_links(struct td_arena *arena);

#endif
