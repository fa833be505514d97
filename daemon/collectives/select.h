/* SPDX-License-Identifier: Apache-2.0 */
/* select: chooses the cheapest method of the registry that applies. It reads only values that are
 * the same on every node. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_SELECT_H
#define TD_COLLECTIVES_SELECT_H

#include "registry.h"

/* td_select_compile is the td_compile_fn of both drivers. A call that executes a plan uses the
 * plan's method. */
td_compile_fn td_select_compile;
/* td_select_method returns the cheapest method that applies; a requested method comes before all
 * others. */
const struct td_method *td_select_method(struct td_query *q);

/* struct td_candidate: a method that serves calls of the kind. */
struct td_candidate {
    const struct td_method *method;
    bool applies, chosen;
    uint64_t cost;      /* td_method_cost, if it applies */
    const char *reason; /* the reason why it was chosen or not: a static clause */
};
/* td_select_candidates writes all methods that serve calls of the kind: the chosen one first, then
 * those that apply, the cheapest first. It returns their number. */
unsigned td_select_candidates(const struct td_compile_input *in,
                              struct td_candidate candidate[TD_METHODS_MAX]);
/* td_select_explain writes the method of a call and the reason in a sentence, and returns the
 * length. */
int td_select_explain(const struct td_compile_input *in, char *text, size_t size);

#endif
