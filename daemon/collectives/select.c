/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include <assert.h>
#include <stdio.h>

static bool serves(const struct td_method *m, const struct td_query *q)
{
    return m->kinds & TD_KIND_BIT(q->program->call.kind);
}

static bool applies(const struct td_method *m, struct td_query *q)
{
    return !m->applies || m->applies(q);
}

const struct td_method *td_select_method(struct td_query *q)
{
    const struct td_method *best = NULL;
    uint64_t least = UINT64_MAX;
    bool best_asked = false;
    unsigned count = 0;
    const struct td_method *const *table = td_registry(&count);
    for (unsigned i = 0; i < count; i++) {
        const struct td_method *m = table[i];
        bool asked = false;
        if (!serves(m, q) || !td_method_allowed(m, q, &asked) || asked < best_asked)
            continue;
        if (asked == best_asked &&
            (uint64_t)m->class << TD_COST_CLASS_BITS >= least) /* its cost is higher in any case */
            continue;
        if (!applies(m, q))
            continue;
        uint64_t cost = td_method_cost(m, q);
        if (asked > best_asked || cost < least) {
            best = m;
            least = cost;
            best_asked = asked;
        }
    }
    assert(best); /* each kind of call has a method that always applies */
    q->least = least;
    return best;
}

/* predicted returns the time that a cost predicts, in 1 / TD_COST_SLOT slots, or 0. */
static uint64_t predicted(uint64_t cost)
{
    uint64_t within = cost & TD_COST_UNKNOWN;
    return cost < TD_COST_LAST && within < TD_COST_UNKNOWN ? within : 0;
}

/* bytes_of returns a predicted time in bytes of a link. */
static uint64_t bytes_of(const struct td_program *p, uint64_t time)
{
    uint64_t packet = p->tuning.packet_bytes;
    return time / TD_COST_SLOT * packet +
           (time % TD_COST_SLOT * packet + TD_COST_SLOT - 1) / TD_COST_SLOT;
}

/* method_of returns the method of a call. An execution of a plan uses the plan's method. */
static const struct td_method *method_of(const struct td_compile_input *in, struct td_query *q)
{
    return td_call_executes(in->call->kind) ? in->plan->method : td_select_method(q);
}

void td_select_compile(const struct td_compile_input *in, struct td_program *out)
{
    struct td_query q;
    td_program_begin(in, out);
    td_query_begin(&q, out, in->survey != NULL);
    td_method_compile(method_of(in, &q), &q, out);
    if (q.least >> TD_COST_CLASS_BITS != TD_COST_GATE) /* else it runs before its release */
        out->predicted_bytes = bytes_of(out, predicted(q.least));
}

/* ---- explanations ---- */

static const char ASKED_FOR[] = "it was requested",
                  OTHER_ASKED_FOR[] = "another method was requested";

/* judge examines one method; `by_request`: the chosen one was requested. */
static struct td_candidate judge(const struct td_method *m, struct td_query *q,
                                 const struct td_method *chosen, bool by_request)
{
    struct td_candidate c = {.method = m, .chosen = m == chosen};
    bool asked = false;
    c.applies = td_method_allowed(m, q, &asked) && applies(m, q);
    if (c.applies)
        c.cost = td_method_cost(m, q);
    if (c.chosen)
        c.reason = by_request ? ASKED_FOR : m->why;
    else if (q->reason)
        c.reason = q->reason;
    else
        c.reason = by_request ? OTHER_ASKED_FOR : "it costs more";
    return c;
}

/* comes_first orders candidates: the chosen one, those that apply by cost, the others. */
static bool comes_first(const struct td_candidate *a, const struct td_candidate *b)
{
    if (a->chosen != b->chosen)
        return a->chosen;
    return a->applies != b->applies ? a->applies : a->applies && a->cost < b->cost;
}

unsigned td_select_candidates(const struct td_compile_input *in,
                              struct td_candidate candidate[TD_METHODS_MAX])
{
    struct td_program p;
    struct td_query q;
    unsigned count = 0, found = 0;
    const struct td_method *const *table = td_registry(&count);
    td_program_begin(in, &p);
    td_query_begin(&q, &p, in->survey != NULL);
    const struct td_method *chosen = method_of(in, &q);
    bool by_request = false;
    (void)td_method_allowed(chosen, &q, &by_request);
    for (unsigned i = 0; i < count; i++) {
        if (!serves(table[i], &q))
            continue;
        struct td_candidate next = judge(table[i], &q, chosen, by_request);
        unsigned at = found++;
        for (; at > 0 && comes_first(&next, &candidate[at - 1]); at--)
            candidate[at] = candidate[at - 1];
        candidate[at] = next;
    }
    return found;
}

int td_select_explain(const struct td_compile_input *in, char *text, size_t size)
{
    struct td_candidate candidate[TD_METHODS_MAX];
    unsigned count = td_select_candidates(in, candidate);
    assert(count > 0 && candidate[0].chosen);
    enum td_alltoall alltoall = td_method_alltoall(candidate[0].method);
    const char *name =
        alltoall == TD_ALLTOALL_AUTO ? candidate[0].method->name : td_alltoall_name(alltoall);
    double slots = (double)predicted(candidate[0].cost) / (double)TD_COST_SLOT;
    if (candidate[0].reason == ASKED_FOR || slots <= 0)
        return snprintf(text, size, "%s: %s", name, candidate[0].reason);
    return snprintf(text, size, "%s: %s (predicted %.4g slots)", name, candidate[0].reason, slots);
}
