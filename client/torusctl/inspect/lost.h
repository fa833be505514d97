/* SPDX-License-Identifier: Apache-2.0 */
/* lost: the nodes that the sentence of a failure names, such as "job x lost node 1 (1): its daemon
 * was restarted". The sentence gives no hosts, and a daemon that has started after the failure
 * is no cause of it. Pure. */
#ifndef TORUSCTL_INSPECT_LOST_H
#define TORUSCTL_INSPECT_LOST_H

#include <jansson.h>
#include <stdbool.h>

/* ins_lost_nodes returns the nodes that the "text" of a record names: [{node, host}]. The host is
 * "" if it is unknown. `peers`: those of this node (TD_STATUS_PEERS), without itself. */
json_t *ins_lost_nodes(const json_t *record, const json_t *peers);
/* ins_lost_restarted returns the nodes whose daemon was restarted since the job formed: those that
 * the text names, and those of the job ("nodes") whose daemon was restarted before it was over:
 * [{node, host, died, silent_ns, age_ns}]. silent_ns: how long the earlier daemon had been silent.
 */
json_t *ins_lost_restarted(const json_t *record, const json_t *peers);
/* ins_lost_with_own returns `peers` and a row of this node, for ins_lost_restarted: its daemon has
 * run for `age_ns`, and does not know how the earlier one ended ("died" is null). A daemon that is
 * younger than a job with ranks on its node was restarted. */
json_t *ins_lost_with_own(const json_t *peers, json_int_t node, json_int_t age_ns);
/* ins_lost_with_daemon returns true if the failure says that the daemon of a node was stopped or
 * restarted: its record of the job was lost then. */
bool ins_lost_with_daemon(const json_t *record, json_int_t node);
/* ins_lost_print prints the restarts of daemons and the hosts of the nodes that the failure names
 * ("restarted", "named_nodes"), apart from the hosts that the places of ranks tell ("named"). */
void ins_lost_print(const json_t *record);

#endif
