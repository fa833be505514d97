/* SPDX-License-Identifier: Apache-2.0 */
/* scene: what the targets with a simulated torus share: its settings, memory that is refused, time
 * that passes, and the search for what is left in the end. invariants.h checks each step. */
#ifndef TD_TESTS_FUZZ_SCENE_H
#define TD_TESTS_FUZZ_SCENE_H

#include "decide.h"
#include "sim/world.h"

#define SCENE_MILLISECOND ((td_time)1000000)
#define SCENE_SECOND (1000 * SCENE_MILLISECOND)

/* scene_options sets the options that both targets share. The input decides the shape, one of
 * `shapes`, the seed, the fabric and the memory: `arena_least` bytes or more. */
void scene_options(struct td_sim_options *options, struct decide *d, const char *const *shape,
                   uint32_t shapes, uint64_t arena_least);
/* scene_create makes the world. Nothing is refused. */
struct td_sim *scene_create(const struct td_sim_options *options);

/* scene_refuse lets the input decide which of the next allocations of all cores are refused:
 * after some that succeed, a run of one to all. scene_refuse_none ends that. */
void scene_refuse(struct decide *d);
void scene_refuse_none(void);

/* scene_run lets virtual time pass. It returns false if the world has had
 * so many events that messages multiply: then the input ends early. */
bool scene_run(struct td_sim *sim, td_time duration);
/* scene_leftovers waits until nothing is left of clients that are all closed. It returns NULL, or a
 * sentence about what stays. Joins and jobs end by their time limits. */
const char *scene_leftovers(struct td_sim *sim);

#endif
