/* SPDX-License-Identifier: Apache-2.0 */
/* shrinks: a node with a group of four ranks, one on each node, of which a test plays the other
 * nodes in a shrink. Owns: nothing beside the node (node.h). */
#ifndef TD_TESTS_CORE_SHRINKS_H
#define TD_TESTS_CORE_SHRINKS_H

#include "node.h"

enum { GROUP = 4, SECOND = 1000000000 };

/* shrink_group is the group, of the node of the latest shrink_begin. */
extern struct td_communicator *shrink_group;

/* shrink_begin makes node `at`. shrink_call is the call of its rank, with a limit of a second. */
void shrink_begin(uint32_t at);
void shrink_call(void);
/* shrink_lose adds a rank, on a node of its own, to the view of this node. */
void shrink_lose(uint32_t rank);
/* shrink_about returns a message about the group. */
struct td_message shrink_about(enum td_message_kind kind);
/* shrink_hear_exclusions: node `from` tells that ballot 5 has excluded the first `nodes` nodes. */
void shrink_hear_exclusions(uint32_t from, uint32_t nodes);
/* shrink_view returns the hash of this node's view, as it has asked node `asked`. */
uint64_t shrink_view(uint32_t asked);
/* shrink_silence gives up a node that is silent. */
void shrink_silence(uint32_t from);
/* shrink_vote and shrink_accept pass a vote or an acceptance of a node for the view with a hash.
 * The sets of ranks have one byte; `missing` may be NULL. */
void shrink_vote(uint32_t from, uint64_t hash, const uint8_t *lost, const uint8_t *missing);
void shrink_accept(uint32_t from, uint64_t hash);

#endif
