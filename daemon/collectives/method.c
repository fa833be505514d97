/* SPDX-License-Identifier: Apache-2.0 */
#include "method.h"

void td_program_begin(const struct td_compile_input *in, struct td_program *out)
{
    *out = (struct td_program){.group = in->group,
                               .topology = in->topology,
                               .tuning = *in->tuning,
                               .tree = in->tree,
                               .slot = in->slot,
                               .call = *in->call,
                               .plan = in->plan,
                               .seed = in->seed,
                               .counts = in->counts};
    if (in->survey)
        out->survey = *in->survey;
}

/* ---- queries ---- */

static enum td_setting setting_of(unsigned kind)
{
    switch (kind) {
    case TD_KIND_ALLTOALL:
    case TD_KIND_ALLTOALLV:
    case TD_KIND_GATHERV:
    case TD_KIND_SCATTERV:
    case TD_KIND_ALLGATHERV:
    case TD_KIND_NEIGHBOUR_ALLTOALLV:
        return TD_SETTING_ALLTOALL;
    case TD_KIND_PREFIX:
        return TD_SETTING_PREFIX;
    case TD_KIND_BROADCAST:
    case TD_KIND_REDUCE:
    case TD_KIND_GATHER:
    case TD_KIND_SCATTER:
        return TD_SETTING_ROOTED_TREE;
    case TD_KIND_ALLREDUCE:
    case TD_KIND_REDUCE_SCATTER:
    case TD_KIND_ALLGATHER:
        return TD_SETTING_RINGS;
    default:
        return TD_SETTING_NONE;
    }
}

static uint8_t value_of(const struct td_tuning *t, uint8_t setting)
{
    switch ((enum td_setting)setting) {
    case TD_SETTING_ALLTOALL:
        return t->alltoall;
    case TD_SETTING_PREFIX:
        return t->prefix;
    case TD_SETTING_ROOTED_TREE:
        return t->rooted_tree;
    case TD_SETTING_RINGS:
        return t->rings;
    case TD_SETTING_NONE:
        break;
    }
    return 0;
}

void td_query_begin(struct td_query *q, const struct td_program *p, bool surveyed)
{
    bool empty = p->call.count == 0 && !td_call_has_counts(p->call.kind); /* no data moves */
    q->program = p;
    q->surveyed = surveyed;
    q->setting = (uint8_t)setting_of(p->call.kind);
    q->asked = empty ? 0 : value_of(&p->tuning, q->setting);
    q->has_grid = false;
    q->least = 0;
    q->reason = NULL;
}

const struct td_grid *td_query_grid(struct td_query *q)
{
    if (!q->has_grid)
        td_grid_of(q->program->group, q->program->topology, &q->grid);
    q->has_grid = true;
    return &q->grid;
}

bool td_query_refuse(struct td_query *q, const char *reason)
{
    q->reason = reason;
    return false;
}

uint64_t td_query_last(struct td_query *q, const char *reason)
{
    q->reason = reason;
    return TD_COST_LAST;
}

/* ---- methods ---- */

bool td_method_allowed(const struct td_method *method, struct td_query *q, bool *asked)
{
    bool answers = q->asked && method->setting == q->setting;
    *asked = answers && method->values >> q->asked & 1;
    q->reason = NULL;
    if (answers && !*asked && !method->fallback)
        return td_query_refuse(q, "another method was requested");
    return *asked || !method->on_request || td_query_refuse(q, "it is used only on request");
}

uint64_t td_method_cost(const struct td_method *method, struct td_query *q)
{
    uint64_t cost = method->cost ? method->cost(q) : 0;
    if (cost >= TD_COST_LAST)
        return cost;
    return (uint64_t)method->class << TD_COST_CLASS_BITS |
           (cost < TD_COST_UNKNOWN ? cost : TD_COST_UNKNOWN);
}

void td_method_compile(const struct td_method *method, struct td_query *q, struct td_program *p)
{
    p->method = method;
    p->step_at = method->step_at;
    method->compile(q, p);
}

enum td_alltoall td_method_alltoall(const struct td_method *method)
{
    unsigned value = TD_ALLTOALL_AUTO + 1;
    if (method->setting != TD_SETTING_ALLTOALL)
        return TD_ALLTOALL_AUTO;
    while (!(method->values >> value & 1))
        value++;
    return (enum td_alltoall)value;
}

static uint64_t packet_of(const struct td_program *p)
{
    return p->tuning.packet_bytes ? p->tuning.packet_bytes : 1;
}

uint64_t td_cost_bytes(const struct td_program *p, uint64_t bytes)
{
    uint64_t slots = bytes / packet_of(p), rest = bytes % packet_of(p);
    return slots < TD_COST_UNKNOWN / TD_COST_SLOT - 1
               ? slots * TD_COST_SLOT + rest * TD_COST_SLOT / packet_of(p)
               : TD_COST_UNKNOWN - 1;
}

/* ---- calls ---- */

uint64_t td_program_bytes(const struct td_program *p)
{
    return p->call.count * td_type_bytes(p->call.type);
}

uint64_t td_program_packets(const struct td_program *p, uint64_t bytes)
{
    return bytes / packet_of(p) + (bytes % packet_of(p) != 0);
}

uint64_t td_program_hop(const struct td_program *p, uint64_t bytes)
{
    return bytes < packet_of(p) ? bytes : packet_of(p);
}

bool td_program_is_routed(const struct td_program *p)
{
    return p->tuning.fabric == TD_FABRIC_ROUTED && p->group->slots > 1;
}

bool td_program_brackets_any(const struct td_program *p)
{
    return p->call.mode == TD_REPRODUCIBLE_ANY;
}

uint32_t td_ranks_here(const struct td_program *p)
{
    return td_group_slot_ranks(p->group, p->slot);
}

uint32_t td_ranks_most(const struct td_program *p)
{
    uint32_t most = 0;
    for (uint32_t slot = 0; slot < p->group->slots; slot++)
        if (td_group_slot_ranks(p->group, slot) > most)
            most = td_group_slot_ranks(p->group, slot);
    return most;
}
