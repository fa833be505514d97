/* SPDX-License-Identifier: Apache-2.0 */
#include "alltoall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alltoall_print.h"
#include "base/arena.h"
#include "collectives/alltoall/alltoall_phased.h"
#include "collectives/cost/alltoall_model.h"
#include "collectives/cost/bound.h"
#include "collectives/select.h"
#include "tool/tool.h"
#include "system/limits.h"

/* ---- options ---- */

static const char *take(void *me, const char *name, const char *value)
{
    struct explain_alltoall *x = me;
    struct td_tuning *t = &x->machine.settings.tuning;
    uint64_t n = 0;
    uint8_t place = 0;
    if (strcmp(name, "--method") == 0)
        return explain_alltoall_method(value, &t->alltoall);
    if (strcmp(name, "--bytes") == 0)
        return explain_size(value, 1, (uint64_t)1 << 32, &x->call.count)
                   ? NULL
                   : "--bytes must be 1 to 4G per pair of nodes";
    if (strcmp(name, "--parts") == 0) {
        bool good = explain_size(value, 0, 1, &n);
        t->parts = (uint8_t)n;
        return good ? NULL : "--parts must be 1, or 0 for one per dimension";
    }
    if (strcmp(name, "--gap") == 0) {
        bool good = explain_word(value, (const char *const[]){"on", "off", NULL}, &place);
        t->no_gap = place;
        return good ? NULL : "--gap must be on or off";
    }
    if (strcmp(name, "--barrier") == 0)
        return explain_word(value, (const char *const[]){"hop", "phase", "none", NULL},
                            &t->barriers)
                   ? NULL
                   : "--barrier must be hop, phase or none";
    if (strcmp(name, "--barrier-scope") == 0) {
        bool good = explain_word(value, (const char *const[]){"ring", "all", NULL}, &place);
        t->barriers_of_all = place;
        return good ? NULL : "--barrier-scope must be ring or all";
    }
    return tool_no_option(name);
}

/* ---- the program ---- */

/* predict computes the time in slots if a model exists. */
static void predict(struct explain_alltoall *x)
{
    struct td_query q;
    const struct td_tuning *t = &x->machine.settings.tuning;
    const struct td_topology *shape = &x->machine.topology;
    double sum = 0, packets = (double)x->call.count / t->packet_bytes;
    x->bound = (double)td_alltoall_bound(shape, x->call.count) / 2 / t->packet_bytes;
    if (x->group.slots == 1)
        return;
    if (t->fabric != TD_FABRIC_ROUTED) {
        if (x->plan.method == TD_ALLTOALL_RANDOM ||
            x->plan.method == TD_ALLTOALL_PAIRWISE) /* the others are for the links of a torus */
            x->predicted = explain_candidates_predicted(&x->candidates);
        return;
    }
    td_query_begin(&q, &x->program, true);
    struct td_alltoall_model m = td_alltoall_model_of(&q);
    switch (x->plan.method) {
    case TD_ALLTOALL_RANDOM:
        x->predicted = (double)m.bound * 1000 / m.random / t->packet_bytes;
        return;
    case TD_ALLTOALL_TWO_PHASE:
        x->predicted = (double)m.longest_bound * 1000 / m.two_phase / t->packet_bytes;
        return;
    case TD_ALLTOALL_PHASED: /* one part loads one dimension after the other */
        for (uint32_t d = 0; d < shape->dimensions; d++)
            sum += (double)td_bound_load2(shape, d) / 2 * packets;
        x->predicted = (double)td_alltoall_phased_bytes(&q, &m) / t->packet_bytes;
        if (x->plan.parts < x->plan.phases)
            x->predicted += sum - x->bound;
        return;
    case TD_ALLTOALL_PAIRWISE:
        x->predicted = explain_pairwise_slots(&x->plan, m.unit);
        return;
    case TD_ALLTOALL_AUTO:
    case TD_ALLTOALLS:
        return;
    }
}

/* compile compiles the node's program as its daemon would, with one rank on every node. */
static bool compile(struct explain_alltoall *x)
{
    uint32_t nodes = x->machine.topology.nodes, *rank_node = calloc(nodes, sizeof *rank_node);
    x->arena = td_arena_create((size_t)nodes * 256 + (1 << 16));
    for (uint32_t n = 0; rank_node && n < nodes; n++)
        rank_node[n] = n;
    bool good =
        rank_node && x->arena && td_group_build(&x->group, x->arena, rank_node, nodes) == TD_OK;
    free(rank_node);
    if (!good)
        return false;
    struct td_compile_input in = {.call = &x->call,
                                  .seed = x->machine.seed,
                                  .group = &x->group,
                                  .slot = td_group_slot(&x->group, x->machine.node),
                                  .topology = &x->machine.topology,
                                  .tuning = &x->machine.settings.tuning};
    td_select_compile(&in, &x->program);
    td_select_explain(&in, x->reason, sizeof x->reason);
    explain_candidates_of(&in, &x->candidates);
    x->plan = explain_plan_of(&x->program, td_method_alltoall(x->program.method));
    x->totals = explain_total(&x->plan);
    predict(x);
    return true;
}

int explain_alltoall(int argc, char **argv)
{
    static struct explain_alltoall x;
    x = (struct explain_alltoall){0};
    explain_machine_default(&x.machine);
    x.call = (struct td_call){.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = 1 << 16};
    const char *wrong = explain_options(&x.machine, argc, argv, take, &x);
    if (wrong)
        return tool_usage(NULL, wrong);
    if (!compile(&x)) {
        td_arena_destroy(x.arena);
        fprintf(stderr, "torus-plan: %s\n", td_limit_no_memory("this machine"));
        return EXIT_FAILED;
    }
    if (x.machine.as_json)
        explain_alltoall_json(&x);
    else
        explain_alltoall_print(&x);
    td_arena_destroy(x.arena);
    return EXIT_WELL;
}
