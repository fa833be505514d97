/* SPDX-License-Identifier: Apache-2.0 */
#include "decisions.h"

#include "collectives/cost/bound.h"
#include "collectives/method.h"
#include "collectives/reduce/swing.h"
#include "collectives/rooted/rooted_tree.h"
#include "model/tree.h"

#include <math.h>
#include <assert.h>

/* struct choice: a call, and the grid of its group. */
struct choice {
    const struct td_compile_input *in;
    const struct td_program *p; /* begun */
    struct td_grid grid;
    unsigned kind; /* enum td_kind */
    bool routed, any;
    uint64_t bytes, slots, size;
};

static uint64_t packets_of(const struct choice *c, uint64_t bytes)
{
    uint64_t packet = c->p->tuning.packet_bytes ? c->p->tuning.packet_bytes : 1;
    return bytes / packet + (bytes % packet != 0);
}

/* time_of returns the time of bytes on a link in 1 / 65536 of a packet's. */
static uint64_t time_of(const struct choice *c, uint64_t bytes)
{
    uint64_t packet = c->p->tuning.packet_bytes ? c->p->tuning.packet_bytes : 1;
    return (bytes / packet << 16) + (bytes % packet << 16) / packet;
}

static bool is_torus(const struct choice *c)
{
    bool torus = c->grid.box;
    for (uint32_t d = 0; d < c->grid.shape.dimensions; d++)
        torus = torus && c->grid.shape.wrap[d] && c->grid.shape.size[d] > 1;
    return torus;
}

/* ---- riding with the gate ---- */

/* ridden returns the bytes that would travel with the gate; *gathered: separately for every rank.
 */
static uint64_t ridden(const struct choice *c, bool *gathered)
{
    bool any = c->p->call.mode == TD_REPRODUCIBLE_ANY;
    uint64_t all = c->bytes * c->size;
    *gathered = true;
    switch (c->kind) {
    case TD_KIND_ALLREDUCE:
    case TD_KIND_REDUCE:
        *gathered = any;
        return any ? all : c->bytes;
    case TD_KIND_REDUCE_SCATTER:
        *gathered = any;
        return any ? all * c->size : all;
    case TD_KIND_ALLTOALL:
        return all * c->size;
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
    case TD_KIND_PREFIX:
    case TD_KIND_GATHER:
    case TD_KIND_ALLGATHER:
        return all;
    default:
        *gathered = false;
        return c->kind == TD_KIND_BROADCAST ? c->bytes : c->kind == TD_KIND_SCATTER ? all : 0;
    }
}

static bool is_scattered(const struct td_group *g)
{
    for (uint32_t slot = 0; slot < g->slots; slot++)
        if (g->slot_run[slot + 1] - g->slot_run[slot] > 32)
            return true;
    return false;
}

/* rides_long returns true if more than RIDE_BYTES_MAX travel with the gate: if messages are at most
 * as long as the tuning permits, and the root's link carries them while it would carry two others.
 */
static bool rides_long(const struct choice *c, uint64_t bytes)
{
    const struct td_tuning *t = &c->p->tuning;
    const struct td_group *g = c->p->group;
    uint64_t others = c->slots - 1, most = 0;
    if (c->routed || c->slots == 1 || t->ride_bytes == 0)
        return false;
    for (uint32_t slot = 0; slot < c->slots; slot++)
        if (td_group_slot_ranks(g, slot) > most)
            most = td_group_slot_ranks(g, slot);
    if (c->kind == TD_KIND_ALLTOALL && c->slots <= 9 && g->runs == c->slots)
        bytes = bytes / c->size * most; /* a node's part */
    return bytes <= t->ride_bytes && bytes * (others < 8 ? others : 8) <= 2 * t->message_bytes;
}

/* rides returns NULL if the call is too long to travel with the gate. */
static const char *rides(const struct choice *c)
{
    bool gathered = false;
    uint64_t bytes = ridden(c, &gathered);
    return (bytes > TD_RIDE_BYTES_MAX && !rides_long(c, bytes)) ||
                   (gathered && is_scattered(c->p->group))
               ? NULL
               : "tree_combine";
}

/* asked_for returns true if the tuning requests a program even for calls that are short enough for
 * the gate. */
static bool asked_for(const struct choice *c)
{
    const struct td_tuning *t = &c->p->tuning;
    bool prefix = c->kind == TD_KIND_PREFIX && t->prefix != TD_PREFIX_AUTO;
    bool rooted = (c->kind == TD_KIND_BROADCAST || td_call_rooted(c->kind)) &&
                  t->rooted_tree != TD_ROOTED_TREE_AUTO;
    bool rings = (c->kind == TD_KIND_ALLREDUCE || c->kind == TD_KIND_REDUCE_SCATTER ||
                  c->kind == TD_KIND_ALLGATHER) &&
                 t->rings != TD_RINGS_AUTO;
    return (prefix || rooted || rings) && c->bytes > 0;
}

/* ---- all-to-all ---- */

/* units writes the mean and the greatest size of the units of two nodes. */
static void units(const struct choice *c, uint64_t *mean, uint64_t *most)
{
    uint64_t ranks = 0, pairs = c->slots * (c->slots - 1);
    for (uint32_t slot = 0; slot < c->slots; slot++)
        if (td_group_slot_ranks(c->p->group, slot) > ranks)
            ranks = td_group_slot_ranks(c->p->group, slot);
    *mean = *most = c->bytes * ranks * ranks;
    if (!c->in->counts)
        return;
    *most = c->p->survey.most;
    *mean = pairs > 0 ? c->p->survey.total / pairs + (c->p->survey.total % pairs != 0) : 0;
}

/* goes_by_relays returns true if two-phase is predicted to take less time than random order. */
static bool goes_by_relays(const struct choice *c)
{
    const struct td_topology *t = &c->grid.shape;
    uint64_t mean = 0, most = 0, next = 0, random = 960, two_phase = 0;
    uint32_t longest = td_bound_longest(t), k = t->size[longest];
    units(c, &mean, &most);
    for (uint32_t d = 0; d < t->dimensions; d++)
        if (d != longest && td_bound_load2(t, d) > next)
            next = td_bound_load2(t, d);
    uint64_t ratio2 = next ? 2 * td_bound_load2(t, longest) / next : 2;
    two_phase = ratio2 >= 4 ? 950 : ratio2 >= 3 ? 900 : 630;
    if (!t->wrap[longest]) {
        random = 890;
        two_phase = ratio2 >= 8 ? 940 : ratio2 >= 4 ? 790 : 620;
    } else if (ratio2 >= 3 && k > (t->dimensions == 2 ? 16 : 8) && t->nodes / k > 4) {
        random = k >= 18 ? 640 : 960 - 32 * (k - 8);
    }
    random = time_of(c, td_alltoall_bound(t, mean) / 2) * 1000 / random;
    two_phase = time_of(c, td_alltoall_bound(t, most) / 2) * 1000 / two_phase;
    return c->grid.box && t->dimensions > 1 && packets_of(c, mean) > 1 && two_phase < random;
}

/* goes_in_pairs returns true if one partner at a time is predicted to take less time than random
 * order, in which some nodes meet at one receiver. */
static bool goes_in_pairs(const struct choice *c)
{
    uint64_t mean = 0, most = 0, message = c->p->tuning.message_bytes, others = c->slots - 1;
    units(c, &mean, &most);
    uint64_t all = time_of(c, others * mean);
    return message && time_of(c, others * message) + all < time_of(c, message) + all * 1000 / 870;
}

static const char *take_alltoall(const struct choice *c)
{
    bool counts = c->in->counts != NULL;
    enum td_alltoall asked = (enum td_alltoall)c->p->tuning.alltoall;
    if (c->slots == 1)
        asked = TD_ALLTOALL_RANDOM;
    else if (asked == TD_ALLTOALL_AUTO && c->routed && goes_by_relays(c))
        asked = TD_ALLTOALL_TWO_PHASE;
    else if (asked == TD_ALLTOALL_AUTO && !c->routed && !counts && goes_in_pairs(c))
        asked = TD_ALLTOALL_PAIRWISE;
    switch (asked) {
    case TD_ALLTOALL_PHASED:
        return "alltoall_phased";
    case TD_ALLTOALL_PAIRWISE:
        return counts ? "alltoallv_pairwise" : "alltoall_pairwise";
    case TD_ALLTOALL_TWO_PHASE:
        return "alltoall_two_phase";
    case TD_ALLTOALL_AUTO:
    case TD_ALLTOALL_RANDOM:
    case TD_ALLTOALLS:
        break;
    }
    return counts ? "alltoallv" : "alltoall_random";
}

static const char *take_counts(const struct choice *c)
{
    unsigned asked = c->p->tuning.alltoall;
    bool straight =
        asked == TD_ALLTOALL_AUTO || asked == TD_ALLTOALL_RANDOM || asked == TD_ALLTOALL_PAIRWISE;
    if ((straight && !c->routed) || c->slots == 1)
        return asked == TD_ALLTOALL_PAIRWISE ? "alltoallv_pairwise" : "alltoallv";
    if (!c->in->survey)
        return "tree_combine"; /* with the survey */
    return c->p->survey.most == 0 ? "alltoallv" : take_alltoall(c);
}

/* ---- the others: each returns NULL if it leaves the call to the next ---- */

static const char *take_prefix(const struct choice *c)
{
    uint64_t scratch = (2 * (uint64_t)c->grid.shape.dimensions + 1) * c->bytes * c->size;
    uint64_t relay = c->p->tuning.relay_bytes;
    unsigned asked = c->p->tuning.prefix;
    bool streams = c->routed && c->grid.box && c->slots > 1 && !c->any && scratch <= relay;
    uint64_t stream = 2 * (uint64_t)td_topology_diameter(&c->grid.shape) + c->size - 1;
    bool sooner = stream < td_alltoall_bound(&c->grid.shape, 1) / 2;
    if (streams && asked == TD_PREFIX_ROUND_TRIPS)
        return "prefix_round_trips";
    if (streams && asked != TD_PREFIX_GATHER && (asked == TD_PREFIX_STREAM || sooner))
        return "prefix_stream";
    return c->routed && c->bytes * c->size <= relay ? "gather" : NULL;
}

/* tree_gather_fits returns true if a node can store all messages. */
static bool tree_gather_fits(const struct choice *c)
{
    const struct td_group *g = c->p->group;
    uint64_t longest = 1, runs = 1;
    for (uint32_t s = 0; s < g->slots; s++)
        if (g->slot_run[s + 1] - g->slot_run[s] > runs)
            runs = g->slot_run[s + 1] - g->slot_run[s];
    for (uint32_t r = 0; r < g->runs; r++)
        longest = g->run[r].count > longest ? g->run[r].count : longest;
    uint64_t best = td_rooted_tree_chunk(c->p, TD_ROOTED_TREE_PLANES, c->bytes * c->size);
    uint64_t each = best / longest, least = c->bytes / 16 + 1;
    each = each > least ? each : least;
    each = each < c->bytes ? (each + 63) & ~(uint64_t)63 : c->bytes;
    uint64_t chunks = each ? (c->bytes + each - 1) / each : 0;
    uint64_t room = (each * longest + 63) & ~(uint64_t)63;
    return room == 0 || c->slots * runs * chunks <= c->p->tuning.relay_bytes / room;
}

static const char *take_rooted(const struct choice *c)
{
    unsigned asked = c->p->tuning.rooted_tree, tree = asked;
    bool open = asked == TD_ROOTED_TREE_AUTO || asked == TD_ROOTED_TREE_LINKS;
    bool reduces = c->kind == TD_KIND_REDUCE && !c->any;
    if (!c->routed || c->slots == 1)
        return NULL;
    if (open && is_torus(c) && (c->kind == TD_KIND_BROADCAST || reduces))
        return reduces ? "reduce_trees" : "bcast_trees";
    if (asked == TD_ROOTED_TREE_AUTO)
        tree = is_torus(c) ? TD_ROOTED_TREE_BINARY : TD_ROOTED_TREE_PLANES;
    bool planes = tree == TD_ROOTED_TREE_PLANES;
    if (planes && !c->p->tree)
        return NULL;
    if (c->kind == TD_KIND_BROADCAST)
        return planes                            ? "bcast_planes"
               : tree == TD_ROOTED_TREE_BINOMIAL ? "bcast_binomial"
                                                 : "bcast";
    if (reduces && (planes || tree == TD_ROOTED_TREE_BINOMIAL))
        return planes ? "tree_reduce" : "reduce_binomial";
    bool moves = c->kind == TD_KIND_GATHER || c->kind == TD_KIND_SCATTER;
    return moves && planes && tree_gather_fits(c) ? "tree_gather" : NULL;
}

/* ---- rings ---- */

/* ring_time returns the time of pieces that travel `hops` hops, and load the busiest link with
 * `carried` / 65536 pieces. */
static uint64_t ring_time(const struct choice *c, uint64_t hops, uint64_t carried, uint64_t piece)
{
    uint64_t packet = c->p->tuning.packet_bytes ? c->p->tuning.packet_bytes : 1;
    return hops * time_of(c, piece < packet ? piece : packet) + carried * (piece / packet) +
           carried * (piece % packet) / packet;
}

static uint64_t swing_time(const struct choice *c, bool whole, uint64_t piece)
{
    uint64_t hops = 0, carried = 0;
    for (uint32_t s = 0; s < td_swing_steps(&c->grid); s++) {
        uint64_t far = td_swing_exchange(&c->grid, 0, 0, s).hops;
        hops += far;
        carried += far * (whole ? 1u << 16 : (1u << 16) >> (s + 1));
    }
    return whole ? ring_time(c, hops, carried, piece)
                 : ring_time(c, 2 * hops, 2 * carried * 7 / 4, piece);
}

static enum td_rings predict_rings(const struct choice *c)
{
    bool reduces = c->kind == TD_KIND_ALLREDUCE;
    uint32_t dimensions = c->grid.shape.dimensions, first = td_bound_longest(&c->grid.shape);
    uint64_t piece = (c->bytes * (reduces ? 1 : c->size) + 2 * dimensions - 1) / (2 * dimensions);
    uint64_t hops = 0, carried = 0, left = 1 << 16;
    if (!td_swing_fits(&c->grid))
        return TD_RINGS_BUCKET;
    for (uint32_t f = 0; f < dimensions; f++) {
        uint64_t k = c->grid.shape.size[(first + f) % dimensions];
        hops += k - 1;
        carried += left * (k - 1) / k;
        left /= k;
    }
    uint64_t halves = swing_time(c, false, piece);
    if (ring_time(c, 2 * hops, 2 * carried, piece) < halves)
        return TD_RINGS_BUCKET;
    return reduces && swing_time(c, true, piece) < halves ? TD_RINGS_WHOLE : TD_RINGS_SWING;
}

static const char *take_allreduce(const struct choice *c)
{
    enum td_rings rings = (enum td_rings)c->p->tuning.rings;
    uint64_t element = td_type_bytes(c->p->call.type);
    bool few = c->grid.shape.dimensions <= 5;
    if (rings == TD_RINGS_AUTO)
        rings = predict_rings(c);
    if (rings != TD_RINGS_BUCKET && td_swing_fits(&c->grid) && few) {
        uint64_t areas = rings == TD_RINGS_WHOLE ? 2 * td_swing_steps(&c->grid) : 2;
        if (c->p->call.count <= c->p->tuning.relay_bytes / areas / element)
            return rings == TD_RINGS_WHOLE ? "reduce_swing_whole" : "reduce_swing";
    }
    return is_torus(c) && few ? "reduce_bucket" : NULL;
}

/* apart returns true if all nodes have the same number of ranks at the same distance; strictly: and
 * slot and local rank determine their numbers linearly. */
static bool apart(const struct choice *c, bool strictly)
{
    const struct td_group *g = c->p->group;
    uint32_t ranks = td_group_slot_ranks(g, c->p->slot);
    int64_t by_slot = c->slots > 1 ? (int64_t)td_group_rank(g, 1, 0) - td_group_rank(g, 0, 0) : 0;
    int64_t by_local = 0;
    for (uint32_t slot = 0; slot < g->slots; slot++) {
        if (td_group_slot_ranks(g, slot) != ranks)
            return false;
        for (uint32_t i = 1; i < ranks; i++) {
            int64_t step = (int64_t)td_group_rank(g, slot, i) - td_group_rank(g, slot, i - 1);
            if (by_local && step != by_local)
                return false;
            by_local = step;
        }
        if (strictly && (int64_t)td_group_rank(g, slot, 0) != slot * by_slot)
            return false;
    }
    return true;
}

static const char *take_blocks(const struct choice *c)
{
    enum td_rings rings = (enum td_rings)c->p->tuning.rings;
    bool scatters = c->kind == TD_KIND_REDUCE_SCATTER;
    if (rings == TD_RINGS_AUTO)
        rings = predict_rings(c);
    if (rings != TD_RINGS_BUCKET && td_swing_fits(&c->grid) && apart(c, false) &&
        c->bytes <= c->p->tuning.relay_bytes / (scatters ? 2 : 1) / c->size)
        return scatters ? "reduce_scatter_swing" : "allgather_swing";
    if (!is_torus(c) || c->grid.shape.dimensions > TD_LEVELS_MAX - 1 || !apart(c, true))
        return NULL;
    return scatters ? "reduce_scatter_bucket" : "allgather_bucket";
}

/* ---- scans ---- */

static bool in_order(const struct td_group *g)
{
    for (uint32_t slot = 0; slot < g->slots; slot++) {
        const struct td_run *run = &g->run[g->slot_run[slot]];
        if (g->slot_run[slot + 1] - g->slot_run[slot] != 1 || run->first != g->slot_rank[slot] ||
            (run->count > 1 && run->step != 1))
            return false;
    }
    return true;
}

static uint64_t chain_chunk(const struct choice *c)
{
    uint64_t packet = c->p->tuning.packet_bytes, many = 1, most = TD_COMPUTE_BYTES / 2;
    if (!c->routed || packet == 0 || packet >= most)
        return most;
    uint64_t packets = c->bytes / packet / c->slots;
    while ((many + 1) * (many + 1) <= packets && (many + 1) * packet <= most)
        many++;
    return (many * packet + 63) & ~(uint64_t)63;
}

static bool chain_is_long(const struct choice *c)
{
    uint64_t packet = c->p->tuning.packet_bytes ? c->p->tuning.packet_bytes : 1;
    if (!c->routed || !c->grid.box || c->slots < 3)
        return false;
    uint64_t n = c->bytes, chunk = chain_chunk(c);
    chunk += chunk < packet ? chunk : packet;
    uint64_t chain = n + (c->slots - 2) * (n < chunk ? n : chunk);
    if (c->grid.shape.dimensions > 2)
        chain += n * c->grid.shape.size[td_bound_longest(&c->grid.shape)];
    uint64_t each = (n + c->slots - 1) / c->slots, ranks = (c->size + c->slots - 1) / c->slots;
    uint64_t exchanges = td_alltoall_bound(&c->grid.shape, each * ranks) / 2 * 3;
    return time_of(c, exchanges) < time_of(c, chain);
}

/* ---- the order ---- */

static const char *take_plan(const struct choice *c)
{
    if (c->kind == TD_KIND_REDIST)
        return "redist";
    const struct td_fft *fft = &c->in->plan->fft;
    bool wide = fft->dimensions < 3 || fft->size[0] >= c->slots;
    return c->in->plan->rows && !c->routed && wide ? "fft_rows" : "fft";
}

/* straight_time returns the least time of a broadcast in bytes: pieces follow each other, the root
 * sends each `sends` times, and the last node has the first after `path` messages. */
static double straight_time(const struct choice *c, double sends, double path)
{
    double least = 0, bytes = (double)c->bytes;
    for (double each = 1 << 13; each <= TD_COMPUTE_BYTES; each *= 2) {
        double pieces = bytes > each ? ceil(bytes / each) : 1, message = fmin(bytes, each);
        double time =
            ((pieces - 1) * sends + path) * (message + (double)c->p->tuning.message_bytes);
        least = least == 0 || time < least ? time : least;
    }
    return least;
}

/* take_straight_broadcast: a chain where it takes less time than the binary tree. */
static const char *take_straight_broadcast(const struct choice *c)
{
    unsigned asked = c->p->tuning.rooted_tree;
    double slots = (double)c->slots;
    if (c->routed && c->slots > 1)
        return "bcast";
    if (asked != TD_ROOTED_TREE_AUTO && c->bytes > 0)
        return asked == TD_ROOTED_TREE_CHAIN ? "bcast_chain" : "bcast";
    double packet = c->p->tuning.packet_bytes ? c->p->tuning.packet_bytes : 1;
    double chain = straight_time(c, 1, slots - 1);
    double tree = slots > 2 ? straight_time(c, 2, 2 * floor(log2(slots)) - 1) : chain;
    return floor(chain * 65536 / packet) < floor(tree * 65536 / packet) ? "bcast_chain" : "bcast";
}

static const char *take_program(const struct choice *c)
{
    const char *name = NULL;
    if (c->kind == TD_KIND_PREFIX && (name = take_prefix(c)))
        return name;
    if ((name = take_rooted(c)))
        return name;
    if (c->kind == TD_KIND_ALLREDUCE && !c->any && c->routed && (name = take_allreduce(c)))
        return name;
    bool blocks = c->kind == TD_KIND_ALLGATHER || (c->kind == TD_KIND_REDUCE_SCATTER && !c->any);
    if (blocks && c->routed && (name = take_blocks(c)))
        return name;
    bool scans = c->kind == TD_KIND_SCAN || c->kind == TD_KIND_EXSCAN;
    if (scans && !chain_is_long(c) && in_order(c->p->group))
        return "scan_chain";
    if (c->kind == TD_KIND_BROADCAST)
        return take_straight_broadcast(c);
    if (c->kind == TD_KIND_ALLREDUCE && !c->any)
        return "reduce_exchange";
    return td_call_reduces(c->kind) ? "reduce_rank_order" : "gather";
}

const char *decisions_take(const struct td_compile_input *in)
{
    struct td_program p;
    const char *name = NULL;
    td_program_begin(in, &p);
    struct choice c = {.in = in,
                       .p = &p,
                       .kind = in->call->kind,
                       .routed = in->tuning->fabric == TD_FABRIC_ROUTED,
                       .any = in->call->mode == TD_REPRODUCIBLE_ANY,
                       .bytes = in->call->count * td_type_bytes(in->call->type),
                       .slots = in->group->slots,
                       .size = in->group->size};
    td_grid_of(in->group, in->topology, &c.grid);
    if (td_call_executes(c.kind))
        return take_plan(&c);
    if (c.kind == TD_KIND_REDUCE_SCATTERV)
        return "reduce_counts";
    if (in->counts)
        return take_counts(&c);
    if (c.kind == TD_KIND_ALLTOALL && c.bytes > 0) {
        bool may = in->tuning->alltoall == TD_ALLTOALL_AUTO && !c.routed && c.slots > 1;
        return may && (name = rides(&c)) ? name : take_alltoall(&c);
    }
    return !asked_for(&c) && (name = rides(&c)) ? name : take_program(&c);
}
