/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: the ranks of a job, all in this process, against real daemons. */
#ifndef TD_TESTS_RANKS_H
#define TD_TESTS_RANKS_H

#include "daemons.h"

enum { RANKS_MAX = 16 };

extern torus_context *context[RANKS_MAX];
extern torus_group *world[RANKS_MAX];
extern uint32_t size;

/* must fails the test, with the sentence, when a rank's call went wrong; finish waits for one. */
void must(uint32_t rank, int error);
void finish(uint32_t rank, torus_request *request);
/* join_ranks makes a job of `count`; `blocks`: the nodes are filled one after the other. */
void join_ranks(uint32_t count, bool blocks);

/* struct plays: what is done with each of several plans: agreed on, then executed and checked, all
 * of them in flight at once, twice. The functions take its number. */
struct plays {
    unsigned count;
    void (*execute)(unsigned i), (*check)(unsigned i), (*drop)(unsigned i);
};
void play(const struct plays *plays);

/* These run random cases, each by its seed, with jobs of 1 to 16 ranks: 12 a job, or 100 with
 * TORUS_TEST_LONG, or the one that TORUS_TEST_CASE names. */
typedef void random_case_fn(uint64_t seed);
void cases_on_one_node(random_case_fn *one);
void cases_on_several_nodes(random_case_fn *one);
void cases_on_the_routed_fabric(random_case_fn *one);

#endif
