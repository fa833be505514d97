/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include <stdio.h>
#include <string.h>

#include "collectives/cost/bound.h"
#include "collectives.h"
#include "collectives/cost/predict.h"
#include "collectives/scan/prefix_stream.h"

/* payload_bytes returns what one rank brings to, or takes from, a call that can ride. */
static uint64_t payload_bytes(const struct td_call *call)
{
    return call->count * td_type_bytes(call->type);
}

/* enum reason: what a method was chosen by. */
enum reason { ONE_NODE, ASKED_FOR, DIRECT, PREDICTED };

/* choose returns the method of an all-to-all: the one asked for, or that of the least predicted
 * time. */
static enum td_alltoall choose(const struct td_program *p, struct td_prediction *predicted,
                               enum reason *reason)
{
    *reason = p->group->slots == 1                     ? ONE_NODE
              : p->tuning.alltoall != TD_ALLTOALL_AUTO ? ASKED_FOR
              : p->tuning.fabric != TD_FABRIC_ROUTED   ? DIRECT
                                                       : PREDICTED;
    if (*reason == ASKED_FOR)
        return p->tuning.alltoall;
    if (*reason != PREDICTED)
        return TD_ALLTOALL_RANDOM;
    td_predict_alltoall(p, predicted);
    return td_predict_best(predicted);
}

/* may_ride: whether an all-to-all may travel with the gate. On the direct fabric a message to every
 * node takes longer, when all of it is some hundred bytes; on one node nothing needs to travel. */
static bool may_ride(const struct td_program *p)
{
    return p->tuning.alltoall == TD_ALLTOALL_AUTO && p->tuning.fabric == TD_FABRIC_DIRECT &&
           p->group->slots > 1;
}

static void random_parts(struct td_program *p)
{
    td_alltoallv_compile(p, false);
}

static void pairwise_parts(struct td_program *p)
{
    td_alltoallv_compile(p, true);
}

static void compile_alltoall(struct td_program *p)
{
    struct td_prediction predicted;
    enum reason reason;
    p->tuning.alltoall = (uint8_t)choose(p, &predicted, &reason);
    switch ((enum td_alltoall)p->tuning.alltoall) {
    case TD_ALLTOALL_PHASED:
        td_alltoall_phased_compile(p);
        return;
    case TD_ALLTOALL_PAIRWISE:
        (p->parts ? pairwise_parts : td_alltoall_pairwise_compile)(p);
        return;
    case TD_ALLTOALL_TWO_PHASE:
        td_alltoall_two_phase_compile(p);
        return;
    case TD_ALLTOALL_AUTO:
    case TD_ALLTOALL_RANDOM:
    case TD_ALLTOALLS:
        break;
    }
    (p->parts ? random_parts : td_alltoall_random_compile)(p);
}

/* compile_parts: sizes are the same on all nodes only when all have told them. On the direct fabric
 * a unit's two ends are all that need know it. */
static void compile_parts(struct td_program *p, bool surveyed)
{
    bool direct =
        p->tuning.fabric != TD_FABRIC_ROUTED &&
        (p->tuning.alltoall == TD_ALLTOALL_AUTO || p->tuning.alltoall == TD_ALLTOALL_RANDOM ||
         p->tuning.alltoall == TD_ALLTOALL_PAIRWISE);
    if (direct || p->group->slots == 1) {
        td_alltoallv_compile(p, p->tuning.alltoall == TD_ALLTOALL_PAIRWISE);
    } else if (!surveyed) {
        (void)td_tree_combine_compile(p);
        p->wants_survey = true;
    } else if (p->survey.most == 0) {
        td_alltoallv_compile(p, false);
    } else {
        compile_alltoall(p);
    }
}

static void begin(const struct td_compile_input *in, struct td_program *out)
{
    *out = (struct td_program){.group = in->group,
                               .topology = in->topology,
                               .tuning = *in->tuning,
                               .tree = in->tree,
                               .slot = in->slot,
                               .call = *in->call,
                               .seed = in->seed};
    out->plan = in->plan;
    out->parts = in->parts;
    if (in->survey)
        out->survey = *in->survey;
}

/* compile_prefix: down a tree every link carries all positions; when all nodes gather all values a
 * link carries what it does in an all-to-all. Both ways every rank gets the same bits, and
 * TD_REPRODUCIBLE_ANY asks for the second. */
static bool compile_prefix(struct td_program *p)
{
    struct td_grid grid;
    td_grid_of(p->group, p->topology, &grid);
    bool streams = p->tuning.fabric == TD_FABRIC_ROUTED && grid.box && p->group->slots > 1 &&
                   p->call.mode != TD_REPRODUCIBLE_ANY &&
                   (uint64_t)td_prefix_stream_scratch(p, &grid) <= p->tuning.relay_bytes;
    uint64_t stream = 2 * (uint64_t)td_topology_diameter(&grid.shape) + p->group->size - 1;
    uint64_t gather = td_alltoall_bound(&grid.shape, 1) / 2;
    bool asked = p->tuning.prefix == TD_PREFIX_STREAM || p->tuning.prefix == TD_PREFIX_ROUND_TRIPS;
    if (p->tuning.prefix != TD_PREFIX_GATHER && streams && (asked || stream < gather)) {
        td_prefix_stream_compile(p, &grid);
        return true;
    }
    uint64_t all = payload_bytes(&p->call) * p->group->size;
    if (p->tuning.fabric != TD_FABRIC_ROUTED || all > p->tuning.relay_bytes)
        return false;
    td_gather_compile(p);
    return true;
}

/* leaves_gaps: whether a group is no torus by itself, so that other nodes' links or none would
 * close its rings. */
static bool leaves_gaps(const struct td_program *p)
{
    struct td_grid grid;
    td_grid_of(p->group, p->topology, &grid);
    bool gaps = !grid.box;
    for (uint32_t d = 0; d < grid.shape.dimensions; d++)
        gaps = gaps || !grid.shape.wrap[d];
    return gaps;
}

/* compile_rooted spreads a rooted call over the nodes of a torus; false where it does as on the
 * direct fabric. */
static bool compile_rooted(struct td_program *p)
{
    enum td_rooted_tree spread = (enum td_rooted_tree)p->tuning.spread;
    enum td_kind kind = (enum td_kind)p->call.kind;
    bool asked = spread != TD_ROOTED_TREE_AUTO;
    if (p->tuning.fabric != TD_FABRIC_ROUTED || p->group->slots == 1)
        return false;
    if (kind == TD_KIND_BROADCAST && (!asked || spread == TD_ROOTED_TREE_LINKS) &&
        td_bcast_trees_compile(p))
        return true;
    bool reduces = kind == TD_KIND_REDUCE && p->call.mode != TD_REPRODUCIBLE_ANY;
    if (reduces && (!asked || spread == TD_ROOTED_TREE_LINKS) && td_reduce_trees_compile(p))
        return true;
    if (!asked)
        spread = leaves_gaps(p) ? TD_ROOTED_TREE_PLANES : TD_ROOTED_TREE_BINARY;
    if (spread == TD_ROOTED_TREE_PLANES && !p->tree)
        return false;
    bool along = spread == TD_ROOTED_TREE_PLANES;
    if (kind == TD_KIND_BROADCAST) {
        td_bcast_compile(p, spread == TD_ROOTED_TREE_LINKS ? TD_ROOTED_TREE_BINARY : spread);
        return true;
    }
    if (reduces && (along || spread == TD_ROOTED_TREE_BINOMIAL)) {
        td_tree_reduce_compile(p, spread);
        return true;
    }
    bool moves = kind == TD_KIND_GATHER || kind == TD_KIND_SCATTER;
    return moves && along && td_tree_gather_compile(p);
}

/* chain_is_long: whether a scan from node to node takes far longer than two exchanges in which
 * every node folds a segment of all vectors. */
static bool chain_is_long(const struct td_program *p)
{
    struct td_grid grid;
    td_grid_of(p->group, p->topology, &grid);
    uint64_t nodes = p->group->slots, packet = p->tuning.packet_bytes ? p->tuning.packet_bytes : 1;
    if (p->tuning.fabric != TD_FABRIC_ROUTED || !grid.box || nodes < 3)
        return false;
    uint64_t n = (payload_bytes(&p->call) + packet - 1) / packet;
    uint64_t chunk = td_scan_chain_chunk(p) / packet + 1, each = (n + nodes - 1) / nodes;
    uint64_t chain = n + (nodes - 2) * (n < chunk ? n : chunk);
    if (grid.shape.dimensions > 2) /* ways from where rows end, and planes, meet on some links */
        chain += n * grid.shape.size[td_bound_longest(&grid.shape)];
    uint64_t ranks = (p->group->size + nodes - 1) / nodes; /* all nodes must choose the same */
    /* twice what links carry, and half of that again: pieces are short */
    return 3 * td_alltoall_bound(&grid.shape, each * ranks) / 2 < chain;
}

/* compile_allreduce reduces round the rings of a torus, by the way asked for, or that of the least
 * predicted time; false where the group is no torus. */
static bool compile_allreduce(struct td_program *p)
{
    enum td_rings rings = (enum td_rings)p->tuning.rings;
    if (rings == TD_RINGS_AUTO)
        rings = td_predict_rings(p);
    if (rings != TD_RINGS_BUCKET && td_reduce_swing_compile(p, rings))
        return true;
    return td_reduce_bucket_compile(p);
}

/* compile_blocks does the same for reduce-scatter and all-gather. */
static bool compile_blocks(struct td_program *p)
{
    enum td_rings rings = (enum td_rings)p->tuning.rings;
    bool scatters = p->call.kind == TD_KIND_REDUCE_SCATTER;
    if (rings == TD_RINGS_AUTO)
        rings = td_predict_rings(p);
    if (rings != TD_RINGS_BUCKET &&
        (scatters ? td_reduce_scatter_swing_compile : td_allgather_swing_compile)(p))
        return true;
    return (scatters ? td_reduce_scatter_bucket_compile : td_allgather_bucket_compile)(p);
}

/* has_rings: whether a call goes round the rings of a torus in one of several ways. */
static bool has_rings(const struct td_call *call)
{
    return call->kind == TD_KIND_ALLREDUCE || call->kind == TD_KIND_REDUCE_SCATTER ||
           call->kind == TD_KIND_ALLGATHER;
}

/* asked_for: whether a call is to go by a program though it is short enough to ride. */
static bool asked_for(const struct td_program *p)
{
    bool prefix = p->call.kind == TD_KIND_PREFIX && p->tuning.prefix != TD_PREFIX_AUTO;
    bool spread = (p->call.kind == TD_KIND_BROADCAST || td_call_rooted(p->call.kind)) &&
                  p->tuning.spread != TD_ROOTED_TREE_AUTO;
    bool rings = has_rings(&p->call) && p->tuning.rings != TD_RINGS_AUTO;
    return (prefix || spread || rings) && payload_bytes(&p->call) > 0;
}

void td_select_compile(const struct td_compile_input *in, struct td_program *out)
{
    begin(in, out);
    enum td_kind kind = (enum td_kind)in->call->kind;
    if (kind == TD_KIND_FFT) {
        (in->plan->stages ? td_fft_compile : td_fft_rows_compile)(out);
        return;
    }
    if (kind == TD_KIND_REDIST) {
        td_redist_compile(out);
        return;
    }
    if (kind == TD_KIND_REDUCE_SCATTERV) {
        td_reduce_parts_compile(out);
        return;
    }
    if (out->parts) {
        compile_parts(out, in->survey != NULL);
        return;
    }
    if (kind == TD_KIND_ALLTOALL && payload_bytes(in->call) > 0) {
        if (!may_ride(out) || !td_tree_combine_compile(out))
            compile_alltoall(out);
        return;
    }
    if (!asked_for(out) && td_tree_combine_compile(out))
        return;
    if (kind == TD_KIND_PREFIX && compile_prefix(out))
        return;
    bool any = in->call->mode == TD_REPRODUCIBLE_ANY;
    bool torus = out->tuning.fabric == TD_FABRIC_ROUTED;
    if (compile_rooted(out))
        return;
    if (kind == TD_KIND_ALLREDUCE && !any && torus && compile_allreduce(out))
        return;
    bool blocks = kind == TD_KIND_ALLGATHER || (kind == TD_KIND_REDUCE_SCATTER && !any);
    if (blocks && torus && compile_blocks(out))
        return;
    bool scans = kind == TD_KIND_SCAN || kind == TD_KIND_EXSCAN;
    if (scans && !chain_is_long(out) && td_scan_chain_compile(out))
        return;
    if (kind == TD_KIND_BROADCAST)
        td_bcast_compile(out, TD_ROOTED_TREE_BINARY);
    else if (kind == TD_KIND_ALLREDUCE && !any)
        td_reduce_exchange_compile(out);
    else if (td_call_reduces(kind))
        td_reduce_rank_order_compile(out);
    else
        td_gather_compile(out);
}

enum { ROWS_NODES_MAX = 7 };

bool td_select_rows(const struct td_plan_input *in)
{
    return in->plan->rows && in->tuning->fabric != TD_FABRIC_ROUTED &&
           in->group->slots <= ROWS_NODES_MAX;
}

static bool make_stages(const struct td_plan_input *in, struct td_arena *arena,
                        struct td_transform_plan **stages)
{
    *stages = NULL;
    if (in->plan->kind == TD_KIND_REDIST)
        return td_redist_stages(in, arena, stages);
    return td_select_rows(in) || td_fft_stages(in, arena, stages);
}

const struct td_planner td_select_planner = {make_stages, td_transform_plan_free};

const struct td_schedule *td_select_schedule(const struct td_plan *plan)
{
    return &plan->stages->move[0].schedule;
}

const char *td_alltoall_name(enum td_alltoall method)
{
    static const char *const names[TD_ALLTOALLS] = {"auto", "random", "phased", "pairwise",
                                                    "two-phase"};
    return method < TD_ALLTOALLS ? names[method] : "unknown";
}

/* explain_choice says why AUTO took the method in the routed fabric. */
static int explain_choice(const struct td_prediction *x, enum td_alltoall method, char *text,
                          size_t size)
{
    char shape[64];
    const char *name = td_alltoall_name(method);
    unsigned long long bound = x->bound, packets = x->packets;
    td_topology_print(&x->grid.shape, shape, sizeof shape);
    if (!x->grid.box)
        return snprintf(text, size,
                        "%s: the group's nodes are no whole box of the machine, so phases along "
                        "its rings would not be short ways",
                        name);
    if (x->grid.shape.dimensions < 2)
        return snprintf(text, size, "%s: in one dimension, %s, there is nothing to relay", name,
                        shape);
    if (method == TD_ALLTOALL_TWO_PHASE)
        return snprintf(text, size,
                        "%s: %s is long in dimension %u (random order would reach 0.%02u of the "
                        "bound there; predicted %llu slots, bound %llu)",
                        name, shape, x->longest, x->random_efficiency / 10,
                        (unsigned long long)x->two_phase, bound);
    if (x->packets < 2)
        return snprintf(text, size, "%s: one packet a pair is too short for relays", name);
    return snprintf(text, size,
                    "%s: %s is not too long in one dimension (%llu packets a pair, predicted %llu "
                    "slots, bound %llu)",
                    name, shape, packets, (unsigned long long)x->random, bound);
}

/* why says what a method is good for that is no all-to-all's. */
static const char *why(const char *method)
{
    static const struct {
        const char *method, *why;
    } reasons[] = {
        {"bcast_trees", "the group is a torus, and every link carries a part of the data"},
        {"reduce_trees", "the group is a torus, and every link carries a part of the data"},
        {"reduce_bucket", "the group is a torus, and every link carries a part of the data"},
        {"reduce_swing", "halving with near partners takes fewer steps than the rings have nodes"},
        {"reduce_scatter_swing",
         "halving with near partners takes fewer steps than the rings have nodes"},
        {"allgather_swing",
         "doubling with near partners takes fewer steps than the rings have nodes"},
        {"reduce_swing_whole", "it is so short that steps count, and not bytes"},
        {"reduce_scatter_bucket",
         "the group is a torus, and every link carries a part of the data"},
        {"allgather_bucket", "the group is a torus, and every link carries a part of the data"},
        {"bcast", "chunks follow each other down a tree of the group's nodes"},
        {"tree_reduce", "chunks follow each other up a tree of the group's nodes"},
        {"tree_gather", "blocks stay on links of the group's own nodes"},
        {"reduce_exchange", "each node combines a segment of all, and sends it to all"},
        {"reduce_rank_order",
         "values are folded from the first rank to the last, a segment a node"},
        {"reduce_parts", "each node folds the shares of its ranks"},
        {"scan_chain", "ranks are numbered node by node, and each byte crosses a node once"},
        {"prefix_stream", "positions follow each other, and a tree carries them sooner than all "
                          "nodes could gather all values"},
        {"prefix_round_trips", "it was asked for"},
        {"gather", "blocks go straight from node to node"},
        {"alltoallv", "parts go straight from node to node"},
        {"fft_rows", "rows, a transpose, columns, and back"},
        {"fft", "axis by axis, each where it is whole"},
        {"redist", "who has something for whom meets in the steps of a schedule"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strcmp(reasons[i].method, method) == 0)
            return reasons[i].why;
    return "it is the only one";
}

int td_select_explain(const struct td_compile_input *in, char *text, size_t size)
{
    struct td_prediction predicted;
    struct td_program p;
    td_select_compile(in, &p);
    if (p.ride == TD_RIDE_FLOOD)
        return snprintf(
            text, size,
            "%s: it is short enough to go from neighbour to neighbour, without the tree",
            p.method->name);
    if (p.ride != TD_RIDE_NONE)
        return snprintf(text, size, "%s: it is short enough to travel with the gate",
                        p.method->name);
    bool rooted = p.call.kind == TD_KIND_BROADCAST || td_call_rooted(p.call.kind);
    bool rings = has_rings(&p.call) && in->tuning->rings != TD_RINGS_AUTO;
    if (rings || (rooted && p.tuning.spread != TD_ROOTED_TREE_AUTO))
        return snprintf(text, size, "%s: it was asked for", p.method->name);
    if (rooted && p.tuning.fabric == TD_FABRIC_ROUTED && p.group->slots > 1 && leaves_gaps(&p))
        return snprintf(text, size,
                        "%s: the group is no torus by itself, so data goes along a tree of its "
                        "nodes where it can",
                        p.method->name);
    if (p.call.kind != TD_KIND_ALLTOALL)
        return snprintf(text, size, "%s: %s", p.method->name, why(p.method->name));
    enum reason reason;
    begin(in, &p);
    enum td_alltoall method = choose(&p, &predicted, &reason);
    const char *name = td_alltoall_name(method);
    switch (reason) {
    case ONE_NODE:
        return snprintf(text, size, "%s: all ranks are on one node", name);
    case ASKED_FOR:
        return snprintf(text, size, "%s: it was asked for", name);
    case DIRECT:
        return snprintf(text, size, "%s: in the direct fabric a message needs no other node's help",
                        name);
    case PREDICTED:
        break;
    }
    return explain_choice(&predicted, method, text, size);
}
