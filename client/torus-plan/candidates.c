/* SPDX-License-Identifier: Apache-2.0 */
#include "candidates.h"

#include <stdio.h>

void explain_candidates_of(const struct td_compile_input *in, struct explain_candidates *out)
{
    out->count = td_select_candidates(in, out->candidate);
}

static const char *class_of(const struct td_candidate *c)
{
    static const char *const names[] = {
        [TD_COST_GATE] = "gate", [TD_COST_TORUS] = "torus", [TD_COST_STRAIGHT] = "straight"};
    return c->cost >= TD_COST_LAST ? "last" : names[c->cost >> 60];
}

/* slots_of returns the predicted slots, or a negative number without a prediction. */
static double slots_of(const struct td_candidate *c)
{
    uint64_t within = c->cost & TD_COST_UNKNOWN;
    bool predicted = c->cost < TD_COST_LAST && within && within < TD_COST_UNKNOWN;
    return predicted ? (double)within / (double)TD_COST_SLOT : -1;
}

double explain_candidates_predicted(const struct explain_candidates *c)
{
    return c->count && c->candidate[0].chosen ? slots_of(&c->candidate[0]) : -1;
}

void explain_candidates_print(const struct explain_candidates *c)
{
    printf("\n%-26s %-10s %12s\n", "Candidates", "class", "slots");
    for (unsigned i = 0; i < c->count; i++) {
        const struct td_candidate *x = &c->candidate[i];
        char slots[32] = "-";
        if (x->applies && slots_of(x) >= 0)
            snprintf(slots, sizeof slots, "%.6g", slots_of(x));
        printf("%c %-24s %-10s %12s  %s\n", x->chosen ? '*' : ' ', x->method->name,
               x->applies ? class_of(x) : "-", slots, x->reason);
    }
}

json_t *explain_candidates_json(const struct explain_candidates *c)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < c->count; i++) {
        const struct td_candidate *x = &c->candidate[i];
        json_t *o = json_pack("{s:s s:b s:b s:s}", "method", x->method->name, "applies", x->applies,
                              "chosen", x->chosen, "reason", x->reason);
        json_object_set_new(o, "cost",
                            x->applies ? json_integer((json_int_t)x->cost) : json_null());
        json_object_set_new(o, "class", x->applies ? json_string(class_of(x)) : json_null());
        json_object_set_new(o, "slots",
                            x->applies && slots_of(x) >= 0 ? json_real(slots_of(x)) : json_null());
        json_array_append_new(list, o);
    }
    return list;
}
