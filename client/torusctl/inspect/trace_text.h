/* SPDX-License-Identifier: Apache-2.0 */
/* trace_text: the latest calls and failures of a timeline, for a terminal. */
#ifndef TORUSCTL_INSPECT_TRACE_TEXT_H
#define TORUSCTL_INSPECT_TRACE_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* struct ins_axis: the present on the axis of the events, the begin of the axis since 1970, and how
 * many of the latest events are shown. */
struct ins_axis {
    int64_t now_ns, begin_ns;
    size_t lines;
};

/* ins_trace_text prints the calls of ranks, the ranks that are late, failures, and what happened to
 * nodes, that ended last,
 * in the order of their beginnings. It returns how many earlier ones it leaves out. */
size_t ins_trace_text(const json_t *events, const struct ins_axis *axis);
/* ins_trace_json returns the same events as a list of objects with age_ns, unix_ns, node, name,
 * took_ns (of calls) and the arguments of the timeline. The caller owns it. */
json_t *ins_trace_json(const json_t *events, const struct ins_axis *axis);

#endif
