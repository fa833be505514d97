/* SPDX-License-Identifier: Apache-2.0 */
#include "measure_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectives/select.h"
#include "collectives/stages.h"
#include "core/arena.h"
#include "core/overlap.h"

/* Of the plan, and of what one node keeps of it. */
enum { ARENA_BYTES = 64 << 20 };
static const td_time LIMIT_NS = (td_time)60 * 1000000000;

bool td_measured_plan_read(struct td_measured_plan *p, unsigned kind,
                           const struct td_description *description,
                           const struct td_topology *topology, const struct td_tuning *tuning,
                           const uint32_t *node, uint32_t ranks, char *why, size_t size)
{
    td_err error = TD_OK;
    unsigned plans = kind == TD_KIND_FFT ? TD_KIND_PLAN_FFT : TD_KIND_PLAN_REDIST;
    *p = (struct td_measured_plan){.arena = td_arena_create(ARENA_BYTES)};
    snprintf(why, size, "no memory for the plan");
    if (!p->arena || td_group_build(&p->group, p->arena, node, ranks) != TD_OK)
        return false;
    p->plan = td_plan_make(p->arena, plans, description, ranks, &error, why, size);
    if (!p->plan)
        return false;
    p->method = p->plan->rows ? "fft_rows" : "fft";
    p->plan->rows = false; /* its stages are the same, but not kept */
    struct td_plan_input in = {
        .plan = p->plan, .group = &p->group, .topology = topology, .tuning = tuning};
    if (!td_select_planner.make(&in, p->arena, &p->plan->stages)) {
        snprintf(why, size, "no memory for the stages");
        return false;
    }
    p->steps = p->plan->stages->moves;
    if (kind == TD_KIND_REDIST) {
        const struct td_schedule *s = td_select_schedule(p->plan);
        p->method = td_schedule_name(s->kind);
        p->steps = s->steps;
    }
    return true;
}

void td_measured_plan_fini(struct td_measured_plan *p)
{
    td_arena_destroy(p->arena);
    *p = (struct td_measured_plan){0};
}

bool td_measured_plan_agree(struct td_measured_plan *p, struct td_sim *sim,
                            const struct td_description *description, const uint32_t *client,
                            const uint32_t *group, uint32_t ranks, char *why, size_t size)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    uint64_t *id = calloc(ranks, sizeof *id);
    q.u.operation.call.kind = p->plan->kind == TD_KIND_FFT ? TD_KIND_PLAN_FFT : TD_KIND_PLAN_REDIST;
    q.u.operation.timeout_ns = -1;
    q.u.operation.description = *description;
    for (uint32_t r = 0; id && r < ranks; r++) {
        q.u.operation.group = group[r];
        id[r] = td_sim_request(sim, client[r], &q);
    }
    bool good = id && td_sim_settle(sim, LIMIT_NS);
    snprintf(why, size, "the plan was not agreed on");
    for (uint32_t r = 0; r < ranks && good; r++) {
        const struct td_reply *reply = td_sim_reply(sim, client[r], id[r]);
        good = reply->error == TD_OK;
        if (good)
            p->number = reply->u.planned.plan;
        else
            snprintf(why, size, "%s", reply->text);
    }
    free(id);
    return good;
}

/* ---- the bound ---- */

/* struct load: bytes that links must carry. */
struct load {
    double *in, *out;                   /* [nodes] */
    double hops[TD_DIMENSIONS_MAX];     /* times bytes */
    double *between[TD_DIMENSIONS_MAX]; /* [k + 1][k + 1]: from coordinates below, to ones below */
};

static bool load_init(struct load *load, const struct td_topology *t)
{
    *load = (struct load){.in = calloc(t->nodes, sizeof *load->in),
                          .out = calloc(t->nodes, sizeof *load->out)};
    bool good = load->in && load->out;
    for (uint32_t d = 0; d < t->dimensions; d++) {
        size_t k = t->size[d] + (size_t)1;
        load->between[d] = calloc(k * k, sizeof **load->between);
        good = good && load->between[d];
    }
    return good;
}

static void load_fini(struct load *load)
{
    free(load->in);
    free(load->out);
    for (uint32_t d = 0; d < TD_DIMENSIONS_MAX; d++)
        free(load->between[d]);
}

static void load_add(struct load *load, const struct td_topology *t, uint32_t from, uint32_t to,
                     double bytes)
{
    uint32_t a[TD_DIMENSIONS_MAX], b[TD_DIMENSIONS_MAX];
    load->out[from] += bytes;
    load->in[to] += bytes;
    td_topology_coordinates(t, from, a);
    td_topology_coordinates(t, to, b);
    for (uint32_t d = 0; d < t->dimensions; d++) {
        load->hops[d] += bytes * abs(td_topology_offset(t, from, to, d));
        load->between[d][(a[d] + 1) * (t->size[d] + 1) + b[d] + 1] += bytes;
    }
}

/* of_nodes: what comes into or leaves one. */
static double of_nodes(const struct load *load, const struct td_topology *t)
{
    double most = 0;
    for (uint32_t n = 0; n < t->nodes; n++) {
        double links = 0, bytes = load->in[n] > load->out[n] ? load->in[n] : load->out[n];
        for (uint32_t d = 0; d < t->dimensions; d++)
            for (int sign = -1; sign <= 1; sign += 2)
                links += td_topology_neighbour(t, n, d, sign) != n;
        if (links > 0 && bytes / links > most)
            most = bytes / links;
    }
    return most;
}

/* of_slabs: what passes the planes on either side of a slab, coordinates [i, j) of a dimension. */
static double of_slabs(const double *sum, uint32_t k, bool wrap, double links)
{
    double most = 0;
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t j = i + 1; j <= k && j - i < k; j++) {
            size_t w = k + (size_t)1;
            double within = sum[j * w + j] - sum[i * w + j] - sum[j * w + i] + sum[i * w + i];
            double out = sum[j * w + k] - sum[i * w + k] - within;
            double in = sum[k * w + j] - sum[k * w + i] - within;
            double planes = wrap ? 2 : (i > 0) + (j < k);
            double share = (out > in ? out : in) / (planes * links);
            most = share > most ? share : most;
        }
    return most;
}

/* of_dimension: what all links of a dimension carry, and what passes its planes. */
static double of_dimension(const struct load *load, const struct td_topology *t, uint32_t d)
{
    uint32_t k = t->size[d];
    size_t w = k + (size_t)1;
    double *sum = load->between[d], planes = t->wrap[d] ? k : k - 1.0;
    double links = (double)t->nodes / k; /* of a plane, each way */
    for (size_t i = 1; i < w; i++)
        for (size_t j = 1; j < w; j++)
            sum[i * w + j] += sum[(i - 1) * w + j] + sum[i * w + j - 1] - sum[(i - 1) * w + j - 1];
    double all = k > 1 ? load->hops[d] / (2 * planes * links) : 0;
    double slabs = of_slabs(sum, k, t->wrap[d], links);
    return all > slabs ? all : slabs;
}

static void add_move(struct load *load, const struct td_array_move *m, const struct td_topology *t,
                     const uint32_t *node)
{
    const struct td_layout *from = &m->from->layout, *to = &m->to->layout;
    for (uint32_t i = 0; i < from->owners; i++)
        for (uint32_t k = 0; k < to->owners; k++) {
            uint32_t a = node[m->from->slot[i]], b = node[m->to->slot[k]];
            uint64_t elements = a == b ? 0 : td_overlap_count(from, to, i, k);
            if (elements)
                load_add(load, t, a, b, (double)elements * (double)m->from->element);
        }
}

/* of_moves returns bytes that a link carries in moves first .. end - 1, at least. */
static double of_moves(const struct td_measured_plan *p, const struct td_topology *t,
                       unsigned first, unsigned end)
{
    struct load load;
    double most = 0;
    if (load_init(&load, t)) {
        for (unsigned i = first; i < end; i++)
            add_move(&load, &p->plan->stages->move[i], t, p->group.node);
        most = of_nodes(&load, t);
        for (uint32_t d = 0; d < t->dimensions; d++) {
            double bytes = of_dimension(&load, t, d);
            most = bytes > most ? bytes : most;
        }
    }
    load_fini(&load);
    return most;
}

double td_measured_plan_bound(const struct td_measured_plan *p, const struct td_topology *t,
                              uint32_t packet_bytes, double *in_turn)
{
    unsigned moves = p->plan->stages->moves;
    *in_turn = 0;
    for (unsigned i = 0; i < moves; i++)
        *in_turn += of_moves(p, t, i, i + 1) / packet_bytes;
    return of_moves(p, t, 0, moves) / packet_bytes;
}
