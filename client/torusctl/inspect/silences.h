/* SPDX-License-Identifier: Apache-2.0 */
/* silences: the nodes that were silent while ranks of a job waited. Each node knows the silences
 * that its own ranks waited in. */
#ifndef TORUSCTL_INSPECT_SILENCES_H
#define TORUSCTL_INSPECT_SILENCES_H

#include <jansson.h>

/* ins_silences returns the silent nodes of a job from the rows of all nodes: [{node, waited_ns,
 * longest_ns, told_by, ranks, silences, silence_ns, silence_longest_ns, silence_longest_age_ns,
 * silence_unheard_ns, silence_heard_ns}]. The waiting, and the ranks that waited, are sums over the
 * nodes. The silences are those that the ranks of one node waited in, that with the longest ones
 * together. told_by: the only node whose ranks waited, or null. */
json_t *ins_silences(const json_t *rows, json_int_t instance);
/* ins_silences_last adds to each whether it goes on ("lasts"): `silent` [{node, silent_ns}] has the
 * nodes that have not answered. */
void ins_silences_last(json_t *silences, const json_t *silent);
/* ins_silences_print prints a line for each silent node. unix_ns: the moment of the ages. */
void ins_silences_print(const json_t *silences, json_int_t unix_ns);

#endif
