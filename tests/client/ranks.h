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

#endif
