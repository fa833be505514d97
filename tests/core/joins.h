/* SPDX-License-Identifier: Apache-2.0 */
/* joins: both ends of a JOIN, played by a test: ranks on other nodes and processes on this one.
 * Built on node.h. Every job has the name "job". */
#ifndef TD_TESTS_CORE_JOINS_H
#define TD_TESTS_CORE_JOINS_H

#include "node.h"

enum { SECOND = 1000000000, ANY = UINT32_MAX /* a rank, as the registry chooses */ };

/* joins_message returns the JOIN of a rank of a job of `size` ranks. */
struct td_message joins_message(uint64_t token, uint32_t size, uint32_t rank);
/* joins_from sends this JOIN from a node to the registry. */
void joins_from(uint32_t from, uint64_t token, uint32_t size, uint32_t rank);
/* joins_answer answers the registry's questions, as the nodes of the joins do. */
void joins_answer(void);
/* joins_arrive does both: the registry forms the job with its last rank. */
void joins_arrive(uint32_t from, uint64_t token, uint32_t size, uint32_t rank);
/* joins_request lets a process of this node join; rank -1: any. */
void joins_request(uint32_t client, uint32_t size, int64_t rank);
/* joins_ask asks this node, as the registry does, for its joins from a token on. */
void joins_ask(uint32_t registry, uint64_t instance, uint64_t token, uint32_t count);
/* joins_members sends the membership of a job of two ranks, on nodes 1 and 2. Its instance is 9;
 * the rank on node 1 has the token. */
void joins_members(uint32_t from, const char *name, uint64_t token);

#endif
