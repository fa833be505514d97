/* SPDX-License-Identifier: Apache-2.0 */
/* absence: which of the ranks that an operation misses have not called, and of which that is not
 * known, because their nodes do not answer. */
#ifndef TORUSCTL_INSPECT_ABSENCE_H
#define TORUSCTL_INSPECT_ABSENCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define INS_SHORT_NS 1000000000LL /* a node that was heard in this time is not called silent */

/* ins_may_have_node returns true if an operation may have ranks on a node: its "member_nodes"
 * (groups.h) have the node, or are not known. */
bool ins_may_have_node(const json_t *operation, json_int_t node);
/* ins_absent_is_unknown returns true if the node of a missing rank, a row of "absent" of an
 * operation, does not answer or is down, so that nobody knows whether the rank has called. silent
 * [{node}]: the nodes that have not answered. */
bool ins_absent_is_unknown(const json_t *silent, const json_t *absent);
/* ins_unknown_ranks returns the missing ranks of an operation of which it is not known whether they
 * have called. The operation has its processes (ins_add_processes). The caller owns the list. */
json_t *ins_unknown_ranks(const json_t *operation, const json_t *silent);
/* ins_absence_text says which ranks have not called an operation that has its processes, and of
 * which that is not known, since their node is silent; "" if none is missing. silent [{node,
 * silent_ns, stopped}]; peers: those of this node, for the names of hosts. */
void ins_absence_text(char *text, size_t bytes, const json_t *operation, const json_t *silent,
                      const json_t *peers);

#endif
