/* SPDX-License-Identifier: Apache-2.0 */
/* candidates: the methods that serve a call, with their predicted cost and the reason why each was
 * or was not chosen. */
#ifndef TORUSCTL_EXPLAIN_CANDIDATES_H
#define TORUSCTL_EXPLAIN_CANDIDATES_H

#include <jansson.h>

#include "collectives/select.h"

/* struct explain_candidates: the chosen method first. */
struct explain_candidates {
    struct td_candidate candidate[TD_METHODS_MAX];
    unsigned count;
};

void explain_candidates_of(const struct td_compile_input *in, struct explain_candidates *out);
/* explain_candidates_print prints a table. explain_candidates_json returns an array of {method,
 * applies, cost, class, slots, chosen, reason}. slots is null without a prediction; cost and class
 * are null if the method does not apply. */
void explain_candidates_print(const struct explain_candidates *c);
/* explain_candidates_predicted returns the predicted slots of the chosen method, or a negative
 * number. */
double explain_candidates_predicted(const struct explain_candidates *c);
json_t *explain_candidates_json(const struct explain_candidates *c);

#endif
