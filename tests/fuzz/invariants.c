/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of a core after each of its steps, whatever it was sent. The linker passes the calls
 * of four functions of the core here (--wrap), and a violation aborts: td_core_steps: records on
 * record, seats, regions in use and accounts agree with each other, and no limit is exceeded. So a
 * record that is freed too early is read, and the address sanitizer finds it in the step that freed
 * it; td_region_use: no operation begins to use a region whose bytes are lost; td_session_message
 * and td_session_is_next: only frames of the open session are accepted. */
#include <stdio.h>
#include <stdlib.h>

#include "core/core.h"
#include "core/membership/client.h"
#include "core/net/session.h"
#include "core/operation/operation.h"

static void must(bool holds, uint32_t node, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "node %u: %s\n", node, what);
    abort();
}

/* ---- records ---- */

/* struct sums: what the records of a core add up to. */
struct sums {
    uint64_t regions, uses_known, uses; /* uses_known: by operations, of the regions on lists */
    uint64_t operations, scratch;
};

static bool on_list(const struct td_core *core, const struct td_region *region)
{
    for (int i = 0; i < TD_CLIENT_BUCKETS; i++)
        for (const struct td_client *c = core->clients->bucket[i]; c; c = c->next)
            for (const struct td_region *r = c->regions; r; r = r->next)
                if (r == region)
                    return true;
    return false;
}

static void check_region(const struct td_core *core, const struct td_region *r, struct sums *s)
{
    if (!r)
        return;
    must(r->uses > 0, core->node, "an operation names a region that it does not use");
    bool listed = on_list(core, r);
    must(listed || r->orphan, core->node, "a region in use belongs to nobody");
    s->uses += listed;
}

static void check_operation(const struct td_core *core, const struct td_operation *o,
                            struct sums *s)
{
    const struct td_communicator *c = o->communicator;
    uint32_t arrived = 0;
    s->operations++;
    s->scratch += o->scratch_held ? o->scratch_bytes : 0;
    must(o->arrived <= c->ranks, core->node, "more ranks have arrived than there are");
    for (uint32_t i = 0; i < c->ranks; i++) {
        const struct td_arrival *a = &o->arrival[i];
        arrived += a->state != TD_ARRIVAL_ABSENT;
        check_region(core, a->source, s);
        check_region(core, a->destination, s);
    }
    must(arrived <= o->arrived, core->node, "a rank has arrived that was not counted");
}

static void check_group(struct td_core *core, const struct td_communicator *c, struct sums *s)
{
    uint32_t recorded = 0;
    for (uint32_t i = 0; i < c->ranks; i++)
        if (c->seat[i].state == TD_SEAT_TAKEN && c->seat[i].client)
            must(c->seat[i].client->groups > 0, core->node, "a client has a seat in no group");
    for (int i = 0; c->recorded && i < TD_GROUP_OPERATIONS_MAX; i++)
        if (c->operation[i]) {
            recorded++;
            must(c->operation[i]->communicator == c, core->node,
                 "a group has an operation of another group on record");
            check_operation(core, c->operation[i], s);
        }
    must(recorded == c->recorded, core->node, "a group has miscounted its operations");
}

static void check_clients(const struct td_core *core, struct sums *s)
{
    const struct td_settings *limits = &core->settings;
    uint64_t clients = 0, spare = 0;
    for (int i = 0; i < TD_CLIENT_BUCKETS; i++)
        for (const struct td_client *c = core->clients->bucket[i]; c; c = c->next) {
            clients += !c->spare;
            spare += c->spare;
            must(c->groups <= limits->client_groups_max, core->node,
                 "a client has more groups than it may");
            for (const struct td_region *r = c->regions; r; r = r->next) {
                s->regions++;
                s->uses_known += r->uses;
                must(!r->orphan, core->node, "a region on a list is an orphan");
            }
        }
    must(clients <= limits->clients_max, core->node, "more clients than [limits] clients");
    must(spare == core->clients->spare && spare <= TD_CLIENTS_SPARE, core->node,
         "more spare clients than there may be");
    must(s->regions <= limits->regions_max, core->node, "more regions than [limits] regions");
}

/* check_memory compares what the arenas count with their pieces, which takes long: now and then. */
static void check_memory(const struct td_core *core)
{
    static unsigned turn;
    uint64_t of_users = 0;
    bool due = turn++ % 64 == 0;
    for (int i = 0; i < TD_ACCOUNT_BUCKETS; i++)
        for (const struct td_account *a = core->accounts->bucket[i]; a; a = a->next) {
            const struct td_arena *arena[] = {a->arena, a->lasting, a->calls};
            of_users += td_arena_used(a->arena);
            for (unsigned k = 0; due && k < sizeof arena / sizeof *arena; k++)
                must(td_arena_used(arena[k]) == td_arena_count(arena[k]), core->node,
                     "an account counts other memory than it has");
        }
    must(of_users == td_arena_used(core->accounts->arena), core->node,
         "the memory of the accounts does not add up");
    must(!due || td_arena_used(core->arena) == td_arena_count(core->arena), core->node,
         "the arena counts other memory than is allocated");
}

static void check_accounts(const struct td_core *core, const struct sums *s)
{
    uint64_t held[TD_HOLD_COUNTED] = {0};
    for (int i = 0; i < TD_ACCOUNT_BUCKETS; i++)
        for (const struct td_account *a = core->accounts->bucket[i]; a; a = a->next)
            for (int h = 0; h < TD_HOLD_COUNTED; h++)
                held[h] += a->held[h];
    for (int h = 0; h < TD_HOLD_COUNTED; h++)
        must(held[h] == core->accounts->held[h], core->node, "the accounts do not add up");
    must(held[TD_HOLD_REGIONS] >= s->regions, core->node, "a region is on no account");
    must(held[TD_HOLD_OPERATIONS] == s->operations, core->node, "an operation is on no account");
    check_memory(core);
}

static void check(struct td_core *core)
{
    struct sums s = {0};
    uint32_t groups = 0;
    check_clients(core, &s);
    for (struct td_communicator *c = core->communicators; c; c = c->next, groups++)
        check_group(core, c, &s);
    must(s.operations == core->operations->count, core->node, "the operations are miscounted");
    must(s.operations <= core->settings.operations_max + (uint64_t)groups, core->node,
         "more operations than [limits] operations, and one of each group");
    must(s.uses == s.uses_known, core->node, "a region counts uses that no operation makes");
    must(s.scratch <= core->settings.scratch_bytes, core->node, "more scratch than there is");
    check_accounts(core, &s);
    must(td_arena_used(core->arena) <= core->settings.arena_bytes, core->node,
         "more memory than there is");
}

/* ---- calls of the core: the linker fixes the names ----
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

uint32_t __real_td_core_steps(struct td_core *core, td_time now,
                              const struct td_event *const *event, uint32_t count,
                              struct td_actions *actions);
uint32_t __wrap_td_core_steps(struct td_core *core, td_time now,
                              const struct td_event *const *event, uint32_t count,
                              struct td_actions *actions);
bool __real_td_session_message(struct td_core *core, uint32_t node, const struct td_message *m);
bool __wrap_td_session_message(struct td_core *core, uint32_t node, const struct td_message *m);
bool __real_td_session_is_next(struct td_core *core, struct td_link *link,
                               const struct td_packet *p);
bool __wrap_td_session_is_next(struct td_core *core, struct td_link *link,
                               const struct td_packet *p);

td_err __real_td_region_use(struct td_core *core, struct td_client *client,
                            const struct td_place *place, uint64_t need_bytes, const char *what,
                            struct td_region **region, const char **text);
td_err __wrap_td_region_use(struct td_core *core, struct td_client *client,
                            const struct td_place *place, uint64_t need_bytes, const char *what,
                            struct td_region **region, const char **text);

td_err __wrap_td_region_use(struct td_core *core, struct td_client *client,
                            const struct td_place *place, uint64_t need_bytes, const char *what,
                            struct td_region **region, const char **text)
{
    td_err error = __real_td_region_use(core, client, place, need_bytes, what, region, text);
    must(error == TD_OK || (*text && !*region), core->node, "an error without a sentence");
    must(error != TD_OK || !*region || !(*region)->failed, core->node,
         "a region is used whose bytes are lost");
    return error;
}

uint32_t __wrap_td_core_steps(struct td_core *core, td_time now,
                              const struct td_event *const *event, uint32_t count,
                              struct td_actions *actions)
{
    uint32_t taken = __real_td_core_steps(core, now, event, count, actions);
    check(core);
    return taken;
}

bool __wrap_td_session_message(struct td_core *core, uint32_t node, const struct td_message *m)
{
    uint64_t received = core->link[node].tree_received;
    bool accepted = __real_td_session_message(core, node, m);
    must(!accepted || m->number == 0 ||
             (m->session == core->link[node].session_in && m->number == received + 1),
         core->node, "a message of another session, or out of order, was accepted");
    return accepted;
}

bool __wrap_td_session_is_next(struct td_core *core, struct td_link *link,
                               const struct td_packet *p)
{
    bool accepted = __real_td_session_is_next(core, link, p);
    must(!accepted || p->session == link->session_in, core->node,
         "a packet of another session was accepted");
    return accepted;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
