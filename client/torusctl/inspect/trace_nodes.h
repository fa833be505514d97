/* SPDX-License-Identifier: Apache-2.0 */
/* trace_nodes: what a timeline says of nodes: links that went down, silences, nodes that were given
 * up or restarted, and daemons that did not run. The events have the argument "about_node" if they
 * may explain why a job stood. */
#ifndef TORUSCTL_INSPECT_TRACE_NODES_H
#define TORUSCTL_INSPECT_TRACE_NODES_H

#include "trace_chrome.h"
#include "trace_rings.h"

/* A pause of a daemon that is shorter is in the timeline only: a busy host has many of them. */
#define INS_PAUSE_NS 1000000000LL

/* ins_trace_nodes adds the events of no job that happened between two times (ns on the axis), if
 * they were recorded by a node with events of the job, or are about one. peers: of this node
 * (ins_host). */
void ins_trace_nodes(struct chrome *c, const struct ins_rings *rings, const json_t *peers,
                     int64_t begin, int64_t end);

#endif
