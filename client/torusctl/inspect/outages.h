/* SPDX-License-Identifier: Apache-2.0 */
/* outages: what stood still at the nodes of a job while it ran, as far as each node saw that of
 * itself: processes of ranks that others waited for, its daemon, the interfaces of its host. */
#ifndef TORUSCTL_INSPECT_OUTAGES_H
#define TORUSCTL_INSPECT_OUTAGES_H

#include <jansson.h>
#include <stddef.h>

#include "machine.h"

/* ins_outages asks all nodes for the outages of a job: [{node, what ("stopped", "traced", "paused"
 * or "interface"), rank, pid (null unless stopped or traced), count, ns, longest_ns,
 * longest_age_ns, text}]. ns: the length of all; longest_age_ns: since the longest one ended, or
 * was last seen, before unix_ns. */
json_t *ins_outages(struct ins_machine *m, json_int_t instance, json_int_t unix_ns);
/* ins_outages_of does so from the rows of all nodes, whose ages are those of now_ns. */
json_t *ins_outages_of(const json_t *rows, json_int_t instance, json_int_t unix_ns,
                       json_int_t now_ns);

/* ins_outages_explain adds to silences (silences.h) what stood still at the silent node meanwhile,
 * if that is known: "cause", null or {what, text}. */
void ins_outages_explain(json_t *silences, const json_t *outages);

/* ins_outages_rank writes that a rank of a record was stopped: "was stopped meanwhile (SIGSTOP) for
 * about 7.0s, since 05:20:41", or nothing. It writes nothing of a rank that is stopped now, which a
 * call in flight waits for: that is told there. It returns text. */
const char *ins_outages_rank(char *text, size_t bytes, const json_t *record, json_int_t rank);
/* ins_outages_print_ranks prints a line for each rank of a record that was stopped, without the
 * rank `except` (-1: all). */
void ins_outages_print_ranks(const json_t *record, json_int_t except);

#endif
