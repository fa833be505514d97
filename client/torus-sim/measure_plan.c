/* SPDX-License-Identifier: Apache-2.0 */
#include "measure_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectives/planner.h"
#include "collectives/select.h"
#include "collectives/fft/fft_plan.h"
#include "base/arena.h"
#include "common/load.h"
#include "sim/clients.h"
#include "sim/clock.h"
#include "system/limits.h"

/* Room for the plan and for the state that one node derives from it. */
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
    snprintf(why, size, "%s", td_limit_no_memory("the plan"));
    if (!p->arena || td_group_build(&p->group, p->arena, node, ranks) != TD_OK)
        return false;
    p->plan = td_plan_make(p->arena, plans, description, ranks, &error, why, size);
    if (!p->plan)
        return false;
    p->method = "fft";
    struct td_plan_input in = {
        .plan = p->plan, .group = &p->group, .topology = topology, .tuning = tuning};
    bool good = td_collectives_planner.make(&in, p->arena);
    if (good && !p->plan->transform_plan) /* the method keeps none: for the bound of its moves */
        good = td_fft_plan(&in, p->arena, &p->plan->transform_plan);
    if (!good) {
        snprintf(why, size, "%s", td_limit_no_memory("the transform plan"));
        return false;
    }
    p->steps = p->plan->transform_plan->moves;
    if (kind == TD_KIND_REDIST) {
        const struct td_schedule *s = &p->plan->transform_plan->move[0].schedule;
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
    snprintf(why, size, "the ranks did not agree on the plan");
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

double td_measured_plan_bound(const struct td_measured_plan *p, const struct td_topology *t,
                              uint32_t packet_bytes, double *in_turn)
{
    const struct td_transform_plan *s = p->plan->transform_plan;
    *in_turn = 0;
    for (unsigned i = 0; i < s->moves; i++)
        *in_turn += td_load_bound(&s->move[i], 1, t, &p->group) / packet_bytes;
    return td_load_bound(s->move, s->moves, t, &p->group) / packet_bytes;
}
