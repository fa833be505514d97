/* SPDX-License-Identifier: Apache-2.0 */
/* merge: several nodes list the same job, its record, and the same operation. Each knows a part. */
#ifndef TORUSCTL_INSPECT_MERGE_H
#define TORUSCTL_INSPECT_MERGE_H

#include <jansson.h>
#include <stdbool.h>

/* ins_merge_jobs returns one row of each job, with the ranks that any node knows of. */
json_t *ins_merge_jobs(const json_t *rows);
/* ins_is_same_operation returns true if two rows are of one operation, also if one of them is of a
 * node that does not know yet what is called (kind ""). Shrinks are numbered by themselves. */
bool ins_is_same_operation(const json_t *a, const json_t *b);
/* ins_merge_operations returns one row of each operation. A rank has arrived if one node knows it.
 * A missing rank is described by its own node, if that has answered. Steps are those of all nodes
 * together. */
json_t *ins_merge_operations(const json_t *rows);
/* ins_drop_abandoned removes merged shrinks that no live rank has called, as all nodes say: those
 * that had called have died. If some nodes have not answered, nobody knows (`all_answer`). */
void ins_drop_abandoned(json_t *operations, bool all_answer);
/* ins_merge_record makes the record of a job on one node, which is one of the rows, that of all
 * nodes: the job has formed when it has on one of them, and is over when it is on all; the first
 * failure and the first death ("death") are the earliest, its nodes are those that any of them
 * knows, and its operations are the most that any has seen. */
void ins_merge_record(json_t *record, const json_t *rows);
/* ins_merge_without returns the nodes of a merged record ("nodes") that have no record of the job
 * among the rows: [{node, reason, age_ns}]. The reason is "silent" if the node has not answered,
 * "restarted" if its daemon has started since the job formed (age_ns: how long ago), else
 * "replaced": other jobs have taken its place. `daemons` [{at, age_ns}]: of the nodes that answer.
 */
json_t *ins_merge_without(const json_t *record, const json_t *rows, const json_t *silent,
                          const json_t *daemons);
/* ins_merge_silence adds to each silent node how long ago its last message came to one of the nodes
 * that say so ("at") in `heard` [{node, silent_ns (0: none came), at}], and to which: the least
 * time counts, as a node may not have needed another one for long. */
void ins_merge_silence(json_t *silent, const json_t *heard);
/* ins_is_operation_of returns true if an operation is of the job with this name and instance, or of
 * a group of its ranks. The daemons of older releases do not say the job of a group: then the name
 * decides. */
bool ins_is_operation_of(const json_t *operation, const char *job, json_int_t instance);

#endif
