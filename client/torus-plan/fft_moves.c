/* SPDX-License-Identifier: Apache-2.0 */
#include "fft_moves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "collectives/alltoall/alltoall_phased.h"
#include "collectives/cost/alltoall_model.h"
#include "collectives/fft/fft_plan.h"
#include "collectives/redist/move_relay.h"
#include "collectives/planner.h"
#include "collectives/select.h"
#include "steps.h"
#include "common/load.h"
#include "system/limits.h"

enum {
    PAIRWISE_PAIRS_MAX = 1 << 22, /* pairs of owners: with more, turns are not computed */
    GRIDS_PAIRS_MAX = 1 << 27,    /* pairs of nodes, of all grids that are compared */
};

/* ---- who exchanges with whom ---- */

/* struct meetings: the exchanges between all nodes in a move. */
struct meetings {
    const struct td_topology *topology;
    uint32_t *root;  /* [nodes] root of the set of nodes that exchange data */
    uint64_t *bytes; /* [nodes] bytes between the nodes of a set, at its root */
    uint64_t *load2; /* twice the bytes on a link, as in explain_pass */
    uint32_t packet; /* bytes */
    uint64_t far;    /* greatest number of hops times the bytes of the largest packet on the way */
    uint32_t here;
    uint64_t stays; /* bytes that stay on `here` */
};

static void meet(void *me, uint32_t from, uint32_t to, uint64_t bytes)
{
    struct meetings *m = me;
    if (from == to) {
        m->stays += from == m->here ? bytes : 0;
        return;
    }
    uint32_t a = td_traffic_root(m->root, from), b = td_traffic_join(m->root, from, to);
    uint64_t way = td_topology_distance(m->topology, from, to);
    way *= bytes < m->packet ? bytes : m->packet;
    m->bytes[b] += bytes + (a != b ? m->bytes[a] : 0);
    m->far = way > m->far ? way : m->far;
    explain_pass(m->topology, from, to, 0, bytes, m->load2);
}

/* nodes_with writes the nodes that exchange data with one, itself included, and returns their
 * number. */
static uint32_t nodes_with(const struct meetings *m, uint32_t one, uint32_t *node)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < m->topology->nodes; n++)
        if (td_traffic_root(m->root, n) == td_traffic_root(m->root, one))
            node[count++] = n;
    return count;
}

/* ---- predictions ---- */

/* struct turn: a turn of the pairwise method. */
struct turn {
    const struct explain_fft *x;
    const struct td_array_move *move;
    uint64_t *load2;
    size_t links;
};

/* take_turn returns the slots of the turn's busiest link. */
static double take_turn(const struct turn *t, uint32_t turn)
{
    const struct td_array_move *m = t->move;
    uint64_t most = 0;
    memset(t->load2, 0, t->links * sizeof *t->load2);
    for (uint32_t p = 0; p < m->from->layout.owners; p++) {
        uint32_t q = (p + turn) % m->to->layout.owners;
        uint32_t from = t->x->group.node[m->from->slot[p]], to = t->x->group.node[m->to->slot[q]];
        uint64_t elements =
            from == to ? 0 : td_overlap_count(&m->from->layout, &m->to->layout, p, q);
        uint64_t load = elements ? explain_pass(&t->x->machine.topology, from, to, 0,
                                                elements * m->from->element, t->load2)
                                 : 0;
        most = load > most ? load : most;
    }
    return (double)most / 2 / t->x->machine.settings.packet_bytes;
}

/* in_turns predicts the pairwise method, as if all nodes began each turn together. It returns 0 if
 * that takes long. */
static double in_turns(const struct explain_fft *x, const struct td_array_move *m, uint64_t *load2,
                       size_t links)
{
    const struct turn t = {x, m, load2, links};
    double slots = 0;
    if ((uint64_t)m->from->layout.owners * m->to->layout.owners > PAIRWISE_PAIRS_MAX)
        return 0;
    for (uint32_t turn = 0; turn < m->to->layout.owners; turn++)
        slots += take_turn(&t, turn);
    return slots;
}

/* model computes the times of an all-to-all among some nodes by the models of select, for the bound
 * of all exchanges together. */
static void model(const struct explain_fft *x, const struct td_group *group, uint64_t bytes,
                  struct explain_move *out)
{
    uint64_t pairs = (uint64_t)group->slots * (group->slots - 1);
    const struct td_program p = {.group = group,
                                 .topology = &x->machine.topology,
                                 .tuning = x->machine.settings.tuning,
                                 .call = {.kind = TD_KIND_ALLTOALL,
                                          .type = TD_TYPE_BYTE,
                                          .count = (bytes + pairs - 1) / pairs}};
    struct td_query q;
    td_query_begin(&q, &p, true);
    struct td_alltoall_model all = td_alltoall_model_of(&q);
    out->by[TD_ALLTOALL_RANDOM] = out->bound * 1000 / all.random;
    if (q.grid.box) /* phased: barriers and the last packets add to it */
        out->by[TD_ALLTOALL_PHASED] =
            out->bound + (double)(td_alltoall_phased_bytes(&q, &all) - all.bound) /
                             x->machine.settings.packet_bytes;
    if (q.grid.box && q.grid.shape.dimensions > 1)
        out->by[TD_ALLTOALL_TWO_PHASE] = out->bound * 1000 / all.two_phase;
}

/* least_of returns the slots that the packet of a move with the longest way needs for its hops. */
static double least_of(const struct meetings *m)
{
    return (double)m->far / m->packet;
}

/* predict examines the nodes that exchange the most data. It returns false if memory runs out. */
static bool predict(const struct explain_fft *x, const struct meetings *m, struct explain_move *out)
{
    uint32_t nodes = x->machine.topology.nodes, most = 0;
    uint32_t *node = calloc(nodes, sizeof *node);
    struct td_arena *arena = td_arena_create((size_t)nodes * 256 + (1 << 16));
    struct td_group group;
    bool good = node && arena;
    for (uint32_t n = 0; n < nodes; n++)
        most = m->root[n] == n && m->bytes[n] > m->bytes[most] ? n : most;
    out->among = good ? nodes_with(m, m->here, node) : 0;
    uint32_t count = good ? nodes_with(m, most, node) : 0;
    good = good && td_group_build(&group, arena, node, count) == TD_OK;
    if (good && count > 1 && out->bound > 0)
        model(x, &group, m->bytes[most], out);
    for (enum td_alltoall a = TD_ALLTOALL_RANDOM; a < TD_ALLTOALLS; a++)
        if (out->by[a] > 0 && out->by[a] < least_of(m))
            out->by[a] = least_of(m);
    td_arena_destroy(arena);
    free(node);
    return good;
}

/* method_of returns the method of a move; for a relay, that of its program. */
static enum td_alltoall method_of(const struct td_array_move *m)
{
    if (m->relay)
        return td_method_alltoall(m->relay->program.method);
    return m->in_turn ? TD_ALLTOALL_PAIRWISE : TD_ALLTOALL_RANDOM;
}

static void find_busiest(const struct explain_fft *x, const uint64_t *load2, size_t links,
                         struct explain_link *busiest)
{
    uint32_t dimensions = x->machine.topology.dimensions;
    for (size_t i = 0; i < links; i++) {
        double slots = (double)load2[i] / 2 / x->machine.settings.packet_bytes;
        if (slots > busiest->slots)
            *busiest = (struct explain_link){.node = (uint32_t)(i / 2 / dimensions),
                                             .dimension = (uint32_t)(i / 2 % dimensions),
                                             .sign = i % 2 ? -1 : 1,
                                             .slots = slots};
    }
}

bool explain_fft_move(const struct explain_fft *x, const struct td_plan *plan, unsigned i,
                      bool others, struct explain_move *out)
{
    const struct td_topology *t = &x->machine.topology;
    const struct td_array_move *move = &plan->transform_plan->move[i];
    size_t links = (size_t)t->nodes * t->dimensions * 2;
    struct meetings m = {.topology = t,
                         .root = calloc(t->nodes, sizeof *m.root),
                         .bytes = calloc(t->nodes, sizeof *m.bytes),
                         .load2 = calloc(links, sizeof *m.load2),
                         .packet = x->machine.settings.packet_bytes,
                         .here = x->machine.node};
    *out = (struct explain_move){.move = move, .method = method_of(move)};
    if (m.root)
        td_traffic_apart(m.root, t->nodes);
    bool good = m.root && m.bytes && m.load2 && td_load_each(move, &x->group, meet, &m);
    bool routed = x->machine.settings.tuning.fabric == TD_FABRIC_ROUTED;
    if (good && routed) {
        double bytes = td_load_bound(move, 1, t, &x->group);
        good = bytes >= 0;
        out->bound = bytes / x->machine.settings.packet_bytes;
        find_busiest(x, m.load2, links, &out->busiest);
    }
    good = good && predict(x, &m, out);
    if (good && routed && (others || out->method == TD_ALLTOALL_PAIRWISE))
        out->by[TD_ALLTOALL_PAIRWISE] = fmax(in_turns(x, move, m.load2, links), least_of(&m));
    out->predicted = out->by[out->method];
    out->stays = m.stays;
    free(m.root);
    free(m.bytes);
    free(m.load2);
    return good;
}

bool explain_fft_traffic(const struct explain_fft *x, struct explain_move *out)
{
    const struct td_transform_plan *s = x->plan->transform_plan;
    unsigned i = 0;
    while (!s->phase[i].moves || &s->move[s->phase[i].index] != out->move)
        i++;
    unsigned end = i + 1 < s->phases ? s->phase[i + 1].family : x->program.families;
    return explain_traffic_among(&x->program, s->phase[i].family, end, &out->traffic);
}

/* ---- grids ---- */

td_err explain_fft_plan(const struct explain_fft *x, struct td_arena *arena,
                        const struct explain_grid *grid, struct td_plan **plan, char *why,
                        size_t size)
{
    struct td_description d = x->asked;
    td_err error = TD_OK;
    if (grid) {
        memset(d.fft.grid, 0, sizeof d.fft.grid);
        memcpy(d.fft.grid, grid->factor, grid->factors * sizeof *d.fft.grid);
    }
    *plan = td_plan_make(arena, TD_KIND_PLAN_FFT, &d, x->group.size, &error, why, size);
    if (!*plan)
        return error;
    const struct td_plan_input in = {.plan = *plan,
                                     .group = &x->group,
                                     .slot = td_group_slot(&x->group, x->machine.node),
                                     .topology = &x->machine.topology,
                                     .tuning = &x->machine.settings.tuning};
    bool good = td_collectives_planner.make(&in, arena);
    if (good && !(*plan)->transform_plan) /* fft_rows has the same moves, but keeps no plan */
        good = td_fft_plan(&in, arena, &(*plan)->transform_plan);
    if (!good)
        snprintf(why, size, "%s", td_limit_no_memory("this plan"));
    return good ? TD_OK : TD_ERR_NO_MEMORY;
}

/* grid_of finds the grid of nodes between the stages. A grid without factors means that the
 * transform has none. */
static struct explain_grid grid_of(const struct td_transform_plan *s)
{
    struct explain_grid grid = {0};
    for (unsigned i = 0; i < s->arrays && !grid.factors; i++) {
        const struct td_layout *l = &s->array[i].layout;
        for (uint32_t d = 0; s->array[i].of_nodes && d < l->dimensions; d++)
            if (l->axis[l->grid_order[d]].parts > 1)
                grid.factor[grid.factors++] = l->axis[l->grid_order[d]].parts;
    }
    return grid;
}

/* consider predicts a plan with the grid. It returns false if memory runs out. */
static bool consider(const struct explain_fft *x, struct explain_grid *grid)
{
    char why[400];
    struct td_plan *plan = NULL;
    struct td_arena *arena = td_arena_create((size_t)256 << 20);
    bool good = arena && explain_fft_plan(x, arena, grid, &plan, why, sizeof why) == TD_OK;
    grid->moves = good ? plan->transform_plan->moves : 0;
    for (unsigned i = 0; good && i < grid->moves; i++) {
        struct explain_move move;
        good = explain_fft_move(x, plan, i, false, &move);
        grid->bound += move.bound;
        grid->predicted += move.predicted;
    }
    td_arena_destroy(arena);
    return good;
}

static bool same_grid(const struct explain_grid *a, const struct explain_grid *b)
{
    return a->factors == b->factors &&
           memcmp(a->factor, b->factor, a->factors * sizeof *a->factor) == 0;
}

static int by_time(const void *a, const void *b)
{
    const struct explain_grid *x = a, *y = b;
    double difference = x->predicted != y->predicted ? x->predicted - y->predicted
                                                     : (double)x->factors - y->factors;
    return difference < 0 ? -1 : difference > 0;
}

static const char *why_chosen(const struct explain_fft *x)
{
    switch (x->chosen.factors ? (enum td_grid_reason)x->plan->transform_plan->grid : TD_GRID_NONE) {
    case TD_GRID_NONE:
        return "no layout is needed between the first and the last one";
    case TD_GRID_ASKED:
        return "it was requested";
    case TD_GRID_BEFORE:
        return "the application's layout has this grid, and moves stay within its rows";
    case TD_GRID_MATRIX:
        return "the points form a matrix: its columns are transformed, then its rows";
    case TD_GRID_LINKS:
        return "pencils: fewer than two axes are as long as the number of nodes; planes and lines "
               "of the torus";
    case TD_GRID_SQUARE:
        break;
    }
    if (x->plan->fft.dimensions == 2)
        return "of two axes, one at a time is distributed";
    if (x->chosen.factors == 1)
        return "slabs: at least two axes are as long as the number of nodes";
    return x->chosen.factors == 2
               ? "pencils: fewer than two axes are as long as the number of nodes"
               : "no axis is as long as the number of nodes";
}

/* add_grid considers a x b x c nodes, without the factors of 1, unless the plan has that grid. It
 * returns false if memory runs out. */
static bool add_grid(struct explain_fft *x, uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t factor[] = {a, b, c};
    struct explain_grid *grid = &x->grid[x->grids];
    for (unsigned i = 0; i < 3; i++)
        if (factor[i] > 1)
            grid->factor[grid->factors++] = factor[i];
    if (same_grid(grid, &x->chosen)) {
        *grid = (struct explain_grid){0};
        return true;
    }
    x->grids++;
    return consider(x, grid);
}

struct explain_fft_totals explain_fft_total(const struct explain_fft *x)
{
    struct explain_fft_totals t = {0};
    for (unsigned i = 0; i < x->moves; i++) {
        t.bound += x->move[i].bound;
        t.predicted += x->move[i].predicted;
    }
    for (unsigned i = 0; i < x->passes; i++) {
        t.operations_all += x->pass[i].operations_all;
        t.operations_most += x->pass[i].operations_most;
    }
    t.moves_s = explain_time_s(&x->machine, t.predicted);
    t.passes_s = x->gflops > 0 ? t.operations_most / x->gflops * 1e-9 : 0;
    return t;
}

bool explain_fft_grids(struct explain_fft *x)
{
    uint32_t nodes = x->group.slots, most = x->asked.fft.dimensions - 1;
    uint64_t pairs = (uint64_t)nodes * nodes;
    bool good = true;
    x->chosen = grid_of(x->plan->transform_plan);
    snprintf(x->reason, sizeof x->reason, "%s", why_chosen(x));
    if (!x->chosen.factors)
        return true;
    struct explain_fft_totals total = explain_fft_total(x);
    x->chosen.moves = x->moves;
    x->chosen.bound = total.bound;
    x->chosen.predicted = total.predicted;
    x->grid[x->grids++] = x->chosen;
    for (uint32_t a = 1; good && a <= (most > 2 ? nodes : 1); a++)
        for (uint32_t b = a > 1 ? 2 : 1; good && a * b <= (most > 1 ? nodes : 1); b++)
            if (nodes % (a * b) == 0 && a * b < nodes && x->grids < EXPLAIN_GRIDS_MAX &&
                (x->grids + 1) * pairs <= GRIDS_PAIRS_MAX)
                good = add_grid(x, a, b, nodes / (a * b));
    qsort(x->grid, x->grids, sizeof x->grid[0], by_time);
    return good;
}
