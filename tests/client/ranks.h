/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: all ranks of a job in this process, connected to real daemons. */
#ifndef TD_TESTS_RANKS_H
#define TD_TESTS_RANKS_H

#include "daemons.h"

enum { RANKS_MAX = 16 };

extern torus_context *context[RANKS_MAX];
extern torus_group *world[RANKS_MAX];
extern uint32_t size;

/* must fails the test, with the sentence, if a rank's call failed; finish waits for a request. */
void must(uint32_t rank, int error);
void finish(uint32_t rank, torus_request *request);
/* join_ranks makes a job of `count` ranks; `blocks`: each node is filled before the next. */
void join_ranks(uint32_t count, bool blocks);

/* struct plays: functions of a test with several plans. Each plan is created; then all are executed
 * at the same time and checked, twice. The functions receive the index of the plan. */
struct plays {
    unsigned count;
    void (*execute)(unsigned i), (*check)(unsigned i), (*drop)(unsigned i);
};
void play(const struct plays *plays);

/* These run random cases, each from its seed, with jobs of 1 to 16 ranks: 12 cases per job, 100
 * with TORUS_TEST_LONG, or the one case of TORUS_TEST_CASE. */
typedef void random_case_fn(uint64_t seed);
void cases_on_one_node(random_case_fn *one);
void cases_on_several_nodes(random_case_fn *one);
void cases_on_the_routed_fabric(random_case_fn *one);

#endif
