/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"

#include <stdlib.h>

struct swarm_process *swarm_process_of(struct swarm *s, const struct swarm_seat *seat)
{
    return seat->process == SWARM_NONE ? NULL : &s->process[seat->process];
}

bool swarm_can_act(struct swarm *s, const struct swarm_seat *seat)
{
    const struct swarm_process *p = swarm_process_of(s, seat);
    return p && seat->has && !seat->left && !p->dead && !p->left &&
           !td_sim_closed(s->sim, p->client);
}

struct swarm_party *swarm_new_party(struct swarm *s, uint32_t job, uint32_t size)
{
    struct swarm_party *p = &s->party[s->parties++];
    *p = (struct swarm_party){.job = job, .size = size, .successor = SWARM_NONE};
    p->seat = calloc(size, sizeof *p->seat);
    if (!p->seat)
        abort();
    for (uint32_t i = 0; i < size; i++)
        p->seat[i].process = SWARM_NONE;
    return p;
}

void swarm_take_group(struct swarm *s, struct swarm_party *p, uint32_t member,
                      const struct td_reply *r)
{
    struct swarm_seat *seat = &p->seat[member];
    if (p->instance && p->instance != r->u.joined.instance)
        swarm_failed(s, "creation: member %u of a group of %u got another group than others",
                     member, p->size);
    if (r->u.joined.rank != member || r->u.joined.size != p->size)
        swarm_failed(s, "creation: member %u of %u became rank %u of %u", member, p->size,
                     r->u.joined.rank, r->u.joined.size);
    p->instance = r->u.joined.instance;
    seat->group = r->u.joined.group;
    seat->has = true;
}

void swarm_ask_for_group(struct swarm *s, uint32_t number, uint32_t member)
{
    struct swarm_party *p = &s->party[number];
    struct td_request q = {.kind = TD_REQUEST_GROUP};
    q.u.make.group = s->party[p->parent].seat[p->member[member]].group;
    q.u.make.number = number;
    q.u.make.members = p->size;
    q.u.make.member = p->member;
    p->seat[member].making =
        td_sim_request(s->sim, swarm_process_of(s, &p->seat[member])->client, &q);
}

void swarm_leave_seat(struct swarm *s, struct swarm_seat *seat)
{
    struct td_request q = {.kind = TD_REQUEST_LEAVE};
    q.u.leave.group = seat->group;
    td_sim_request(s->sim, swarm_process_of(s, seat)->client, &q);
    seat->left = s->any_gone = true;
}

void swarm_new_call(struct swarm *s, struct swarm_party *p)
{
    if (p->operations == p->room) {
        p->room = p->room ? 2 * p->room : 4;
        p->operation = realloc(p->operation, p->room * sizeof *p->operation);
    }
    if (!p->operation)
        abort();
    struct swarm_operation *o = &p->operation[p->operations++];
    *o = (struct swarm_operation){.odd = SWARM_NONE};
    if (swarm_below(s, 30) == 0 && p->size > 1)
        o->odd = (uint32_t)swarm_below(s, p->size);
    o->part = calloc(p->size, sizeof *o->part);
    if (!o->part)
        abort();
    swarm_call_draw(&o->call, &s->random, p->size, s->used, s->c->half_bytes - s->used);
    if (swarm_call_bytes(&o->call) > s->c->half_bytes - s->used) /* no room is left */
        o->call = (struct swarm_call){
            .call = {.kind = TD_KIND_BARRIER}, .size = p->size, .at = SWARM_GUARD};
    if (o->call.call.kind != TD_KIND_BARRIER)
        s->used += swarm_call_bytes(&o->call);
    s->report->calls++;
}

void swarm_call_shrink(struct swarm *s, struct swarm_seat *seat)
{
    struct td_request q = {.kind = TD_REQUEST_SHRINK};
    q.u.shrink.group = seat->group;
    q.u.shrink.timeout_ns = SWARM_REQUEST_MS * (int64_t)SWARM_MS;
    seat->again = false;
    seat->shrunk_at = td_sim_now(s->sim);
    seat->shrinking = td_sim_request(s->sim, swarm_process_of(s, seat)->client, &q);
}

void swarm_kill(struct swarm *s, uint32_t i)
{
    struct swarm_process *p = &s->process[i];
    if (p->dead)
        return;
    p->dead = s->any_gone = true;
    td_sim_close(s->sim, p->client);
}
