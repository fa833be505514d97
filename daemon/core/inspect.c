/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect.h"

#include <stddef.h>
#include <string.h>

#include "core/membership/communicator.h"
#include "core/membership/job.h"
#include "core/net/link.h"
#include "core/operation/gate.h"
#include "core/operation/operation.h"
#include "core/operation/stall.h"
#include "core/membership/registry.h"
#include "core/membership/succession.h"
#include "core/membership/shrink.h"
#include "core/membership/shrink_silence.h"
#include "core/membership/waits.h"
#include "core/net/fabric.h"
#include "core/net/router.h"
#include "core/net/goodbye.h"
#include "core/net/health.h"
#include "inspect_machine.h"
#include "inspect_page.h"
#include "inspect_trace.h"

static void list_peers(struct td_page *p)
{
    struct td_core *core = p->core;
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        struct td_status_row *row = n == core->node ? NULL : td_page_row(p, TD_ROW_PEER);
        if (!row)
            continue;
        enum td_peer_state state = td_health_state(core, n);
        const struct td_goodbye *g = &core->goodbyes->of[n];
        row->u.peer = (struct td_row_peer){
            .node = n,
            .state = state,
            .endpoint = core->options.endpoints ? core->options.endpoints[n] : "",
            .error = state == TD_PEER_UP ? "" : td_health_why(core, n),
            .silent_ns = core->link[n].heard_at ? core->now - core->link[n].heard_at + 1 : 0,
            .restarted_ns = g->restarted_at ? core->now - g->restarted_at + 1 : 0,
            .died = g->restarted_at && g->died,
            .restart_silent_ns = g->restarted_at ? g->silent_ns : 0};
    }
}

static void fill_client(const struct td_page *p, struct td_row_client *row,
                        const struct td_client *c)
{
    const struct td_core_options *options = &p->core->options;
    row->pid = c->pid;
    row->uid = c->uid;
    row->program = c->program;
    if (options->process_state)
        row->process_state = (unsigned char)options->process_state(c->pid);
}

/* rank_row: a client that is a rank of a group. */
static void rank_row(struct td_page *p, const struct td_communicator *group,
                     const struct td_seat *seat)
{
    struct td_status_row *row = td_page_row(p, TD_ROW_CLIENT);
    if (!row)
        return;
    row->u.client =
        (struct td_row_client){.job = group->name, .seat = group->index, .rank = seat->rank};
    fill_client(p, &row->u.client, seat->client);
}

/* joining_row: a client that is in no job, or waits for one to be complete. */
static void joining_row(struct td_page *p, const struct td_client *c)
{
    struct td_status_row *row = td_page_row(p, TD_ROW_CLIENT);
    const struct td_join *j = p->core->joins->first;
    if (!row)
        return;
    while (j && j->client != c->id)
        j = j->next;
    row->u.client =
        j ? (struct td_row_client){.job = j->name,
                                   .rank = j->rank == UINT32_MAX ? -1 : (int64_t)j->rank,
                                   .joining = true}
          : (struct td_row_client){.job = "", .rank = -1};
    fill_client(p, &row->u.client, c);
}

/* list_clients lists the ranks of all groups, then the clients that are in none. */
static void list_clients(struct td_page *p)
{
    struct td_core *core = p->core;
    for (const struct td_communicator *g = core->communicators; g && !p->full; g = g->next)
        for (uint32_t s = 0; td_page_shows(p, g->uid) && s < g->ranks && !p->full; s++)
            if (g->seat[s].client)
                rank_row(p, g, &g->seat[s]);
    for (int i = 0; i < TD_CLIENT_BUCKETS && !p->full; i++)
        for (const struct td_client *c = core->clients->bucket[i]; c && !p->full; c = c->next)
            if (c->groups == 0 && td_page_shows(p, c->uid))
                joining_row(p, c);
}

static struct td_row_job *job_row(struct td_page *p, const char *name, uint64_t uid, uint32_t size,
                                  uint8_t **bits)
{
    struct td_status_row *row = td_page_row(p, TD_ROW_JOB);
    *bits = row ? td_page_bits(p, size) : NULL;
    if (!row)
        return NULL;
    row->u.job = (struct td_row_job){.name = name, .uid = uid, .size = size};
    if (*bits)
        row->u.job.ranks = (struct td_bitmap){*bits, td_bit_bytes(size)};
    return *bits ? &row->u.job : NULL;
}

/* set_gone adds the nodes whose ranks of a job are gone. */
static void set_gone(struct td_page *p, const struct td_job *j, struct td_row_job *row)
{
    uint32_t nodes = p->core->options.topology.nodes;
    uint8_t *bits = j->gone ? td_page_bits(p, nodes) : NULL;
    if (!bits)
        return;
    for (uint32_t i = 0; i < j->joined; i++)
        if (j->entry[i].gone)
            td_bit_set(bits, j->entry[i].node);
    row->gone_nodes = (struct td_bitmap){bits, td_bit_bytes(nodes)};
}

static bool same_job(const struct td_join *a, const struct td_join *b)
{
    return a->uid == b->uid && a->size == b->size && strcmp(a->name, b->name) == 0;
}

/* first_of_job returns the first join of a join's job. */
static const struct td_join *first_of_job(const struct td_core *core, const struct td_join *join)
{
    const struct td_join *first = core->joins->first;
    while (!same_job(first, join))
        first = first->next;
    return first;
}

/* set_forming adds how long a job has waited for ranks, if it began at `at`. */
static void set_forming(const struct td_page *p, struct td_row_job *row, td_time at)
{
    uint64_t age = td_page_age(p, at);
    row->forming_ns = age > row->forming_ns ? age : row->forming_ns;
}

/* mark_listed marks the jobs of this node that the registry has in its list. */
static void mark_listed(struct td_core *core)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        c->listed = false;
    for (const struct td_job *j = core->registry->jobs; j; j = j->next) {
        struct td_communicator *c = j->instance ? td_communicator_find(core, j->instance, 0) : NULL;
        if (c)
            c->listed = true;
    }
}

/* list_jobs lists all jobs on the registry. On the others it lists those with local ranks or joins,
 * and of these ranks only those. A node that has become the registry does not have the jobs in its
 * list that formed before, until a join makes it ask for them: it lists them like the others. */
static void list_jobs(struct td_page *p)
{
    struct td_core *core = p->core;
    struct td_row_job *row = NULL;
    uint8_t *bits = NULL;
    for (const struct td_job *j = core->registry->jobs; j && !p->full; j = j->next) {
        if (!td_page_shows(p, j->uid) || !(row = job_row(p, j->name, j->uid, j->size, &bits)))
            continue;
        set_gone(p, j, row);
        if (!j->instance)
            set_forming(p, row, j->begun_at);
        for (const struct td_join *o = core->joins->first; o; o = o->next) /* before a succession */
            if (!j->instance && o->uid == j->uid && o->size == j->size &&
                strcmp(o->name, j->name) == 0)
                set_forming(p, row, o->asked_at);
        for (uint32_t i = 0; i < j->joined; i++) {
            uint32_t rank = j->instance ? j->entry[i].rank : j->entry[i].asked;
            if (j->entry[i].gone)
                continue;
            row->joined++;
            if (rank != UINT32_MAX)
                td_bit_set(bits, rank);
        }
    }
    bool keeps = td_succession_keeps(core);
    if (keeps && !p->full)
        mark_listed(core);
    for (const struct td_communicator *c = core->communicators; c && !p->full; c = c->next) {
        if (c->index != 0 || !td_page_shows(p, c->uid) || (keeps && c->listed) ||
            !(row = job_row(p, c->name, c->uid, c->group.size, &bits)))
            continue;
        for (uint32_t i = 0; i < c->ranks; i++) {
            if (!c->seat[i].client)
                continue;
            row->joined++;
            td_bit_set(bits, c->seat[i].rank);
        }
    }
    for (const struct td_join *j = keeps ? NULL : core->joins->first; j && !p->full; j = j->next) {
        if (!td_page_shows(p, j->uid) || first_of_job(core, j) != j ||
            !(row = job_row(p, j->name, j->uid, j->size, &bits)))
            continue;
        for (const struct td_join *other = j; other; other = other->next) {
            if (!same_job(j, other))
                continue;
            set_forming(p, row, other->asked_at);
            row->joined++; /* this node knows of those here */
            if (other->rank != UINT32_MAX)
                td_bit_set(bits, other->rank);
        }
    }
}

/* group_row returns a row of the OPERATIONS section with an empty set of ranks, or NULL. */
static struct td_row_operation *group_row(struct td_page *p, const struct td_communicator *c,
                                          const char *call, uint8_t **bits)
{
    struct td_status_row *row = td_page_row(p, TD_ROW_OPERATION);
    if (!row)
        return NULL;
    row->u.operation = (struct td_row_operation){.job = c->name,
                                                 .kind = call,
                                                 .group = c->index,
                                                 .size = c->group.size,
                                                 .instance = c->instance,
                                                 .job_instance = c->world};
    if (!(*bits = td_page_bits(p, c->group.size)))
        return NULL;
    row->u.operation.arrived = (struct td_bitmap){*bits, td_bit_bytes(c->group.size)};
    return &row->u.operation;
}

/* absent_row describes a rank that has not called. */
static void absent_row(struct td_core *core, const struct td_communicator *c, uint32_t rank,
                       struct td_row_absent *row)
{
    uint32_t slot = 0, local = 0;
    td_group_locate(&c->group, rank, &slot, &local);
    uint32_t node = c->group.node[slot];
    *row = (struct td_row_absent){.rank = rank,
                                  .job_rank = td_communicator_job_rank(c, rank),
                                  .node = node,
                                  .node_state = td_health_state(core, node)};
    const struct td_seat *seat = slot == c->slot ? &c->seat[local] : NULL;
    if (row->node_state != TD_PEER_UP && core->link[node].heard_at)
        row->silent_ns = core->now - core->link[node].heard_at;
    if (!seat || !seat->client)
        return;
    row->pid = seat->client->pid;
    row->process_state =
        core->options.process_state ? (unsigned char)core->options.process_state(row->pid) : 0;
    if (!c->has_segment) /* else its last call may be there */
        row->since_ns = core->now - seat->called_at;
}

/* absent_rows describes the first ranks that have not called: those on this node, then others. */
static void absent_rows(struct td_core *core, const struct td_communicator *c, const uint8_t *bits,
                        struct td_row_operation *row)
{
    struct td_row_absent *absent = td_core_pad(core, TD_ROW_ABSENTS_MAX * sizeof *absent);
    row->absent = absent;
    for (uint32_t i = 0; absent && i < c->ranks && row->absents < TD_ROW_ABSENTS_MAX; i++)
        if (!td_bit(bits, c->seat[i].rank))
            absent_row(core, c, c->seat[i].rank, &absent[row->absents++]);
    for (uint32_t r = 0; absent && r < c->group.size && row->absents < TD_ROW_ABSENTS_MAX; r++) {
        uint32_t slot = 0, local = 0;
        if (td_bit(bits, r))
            continue;
        td_group_locate(&c->group, r, &slot, &local);
        if (slot != c->slot)
            absent_row(core, c, r, &absent[row->absents++]);
    }
}

/* wait_of_run adds the node that an operation waits for since its release. */
static void wait_of_run(const struct td_core *core, const struct td_operation *o,
                        struct td_row_operation *row)
{
    if (o->state != TD_OPERATION_RUNNING)
        return;
    uint32_t node = td_stall_waits_for(core, o);
    row->waits_for = node == UINT32_MAX ? 0 : node + 1;
    row->idle_ns = core->now - o->progress_at;
}

static void operation_row(struct td_page *p, const struct td_communicator *c,
                          const struct td_operation *o)
{
    uint8_t *bits = NULL;
    struct td_row_operation *row = group_row(p, c, "", &bits);
    char *call = row ? td_core_pad(p->core, TD_CALL_TEXT_MAX) : NULL;
    if (!row)
        return;
    if (call && o->witnesses) {
        td_call_print(&o->least.call, call, TD_CALL_TEXT_MAX);
        row->kind = call;
    }
    td_gate_arrived(o, bits);
    absent_rows(p->core, c, bits, row);
    row->sequence = td_operation_number(o);
    row->age_ns = p->core->now - o->started_at;
    row->running = o->state >= TD_OPERATION_RELEASED;
    if (td_operation_compiled(o))
        td_engine_progress(o, &row->step, &row->steps);
    wait_of_run(p->core, o, row);
}

static void shrink_row(struct td_page *p, const struct td_communicator *c,
                       const struct td_shrink *s)
{
    uint8_t *bits = NULL;
    struct td_row_operation *row = group_row(p, c, "shrink", &bits);
    if (!row)
        return;
    td_shrink_arrived(s, bits);
    absent_rows(p->core, c, bits, row);
    row->sequence = s->number;
    row->age_ns = p->core->now - s->started_at;
    row->running = s->accepted_round > 0;
    row->nobody_waits = !row->running && !td_shrink_has_calls(s);
}

static void list_operations(struct td_page *p)
{
    for (const struct td_communicator *c = p->core->communicators; c; c = c->next) {
        if (!td_page_shows(p, c->uid))
            continue;
        for (uint64_t s = c->first_sequence; s < c->first_sequence + TD_GROUP_OPERATIONS_MAX; s++) {
            const struct td_operation *o = c->operation[s % TD_GROUP_OPERATIONS_MAX];
            if (o && !td_operation_is_over(o))
                operation_row(p, c, o);
        }
        if (c->shrink && td_shrink_is_under_way(c->shrink))
            shrink_row(p, c, c->shrink);
    }
}

static void list_node(struct td_page *p)
{
    const struct td_core *core = p->core;
    struct td_status_row *row = td_page_row(p, TD_ROW_NODE);
    if (row)
        row->u.node = (struct td_row_node){
            .node = core->node,
            .operations = core->operations->count,
            .endpoint = core->options.endpoints ? core->options.endpoints[core->node] : ""};
}

static void list_router(struct td_page *p, const struct td_router_counts *counts)
{
    const struct td_settings *s = &p->core->settings;
    struct td_status_row *next = td_page_row(p, TD_ROW_ROUTER);
    if (!next)
        return;
    struct td_row_router *row = &next->u.router;
    row->node = p->core->node;
    row->number[TD_QUEUES_FABRIC] = s->tuning.fabric;
    row->numbers = 1;
    if (!counts)
        return;
    row->numbers = TD_QUEUES_NUMBERS;
    row->number[TD_QUEUES_PACKET_BYTES] = s->packet_bytes;
    row->number[TD_QUEUES_LINK_RATE] = s->link_rate;
    row->number[TD_QUEUES_SLOTS] = s->router.slots;
    row->number[TD_QUEUES_FIFO_SLOTS] = s->router.fifo_slots;
    row->number[TD_QUEUES_QUEUES] = s->router.queues;
    row->number[TD_QUEUES_QUEUE_SLOTS] = s->router.queue_slots;
    row->number[TD_QUEUES_QUEUED] = counts->queued;
    row->number[TD_QUEUES_QUEUED_MAX] = counts->queued_max;
    row->number[TD_QUEUES_FIFO_MAX] = counts->fifo_max;
    for (unsigned c = 0; c < TD_CHANNELS; c++)
        row->number[TD_QUEUES_HELD_MAX + c] = counts->held_max[c];
}

static void list_queues(struct td_page *p)
{
    struct td_core *core = p->core;
    const struct td_router *router = core->fabric->router(core);
    struct td_router_counts counts;
    if (router)
        td_router_look(router, &counts);
    list_router(p, router ? &counts : NULL);
    for (unsigned d = 0; router && d < 2 * core->options.topology.dimensions; d++) {
        struct td_fabric_port way;
        core->fabric->inspect(core, d, &way);
        struct td_status_row *next =
            way.neighbour == core->node ? NULL : td_page_row(p, TD_ROW_DIRECTION);
        if (!next)
            continue;
        struct td_row_direction *row = &next->u.direction;
        row->neighbour = way.neighbour;
        row->direction = d;
        row->up = td_link_is_up(&core->link[way.neighbour]);
        row->number[TD_WAY_FIFO] = counts.fifo[d];
        row->number[TD_WAY_PACKETS] = counts.sent[d];
        row->number[TD_WAY_BYTES] = way.bytes;
        row->number[TD_WAY_RETRIES] = way.retries;
        row->number[TD_WAY_RESUMES] = way.resumes;
        for (unsigned c = 0; c < TD_CHANNELS; c++) {
            row->number[TD_WAY_HELD + c] = counts.held[d][c];
            row->number[TD_WAY_CREDITS + c] = td_router_credits(router, d, c);
        }
    }
}

static void list_plans(struct td_page *p)
{
    bool (*row_at)(unsigned, struct td_row_plan *) = p->core->options.plan_row;
    struct td_row_plan row;
    for (unsigned i = 0; row_at && row_at(i, &row); i++) {
        struct td_status_row *to = td_page_row(p, TD_ROW_PLAN);
        if (to)
            to->u.plan = row;
    }
}

static void record_row(struct td_page *p, const struct td_waits_job *j)
{
    struct td_status_row *row = td_page_row(p, TD_ROW_RECORD);
    if (!row)
        return;
    row->u.record =
        (struct td_row_record){.job = j->name,
                               .uid = j->uid,
                               .instance = j->world,
                               .size = j->size,
                               .unformed = j->unformed,
                               .formed_ns = td_page_age(p, j->formed_at),
                               .ended_ns = j->groups ? 0 : td_page_age(p, j->ended_at),
                               .operations = j->operations,
                               .waited_ns = j->ns,
                               .error = j->error,
                               .text = j->text,
                               .failed_ns = j->error == TD_OK ? 0 : td_page_age(p, j->failed_at),
                               .died_ns = j->died_at ? td_page_age(p, j->died_at) : 0,
                               .died_rank = j->died_rank,
                               .died_pid = j->died_pid,
                               .died_paused_ns = j->died_paused_ns};
    if (p->core->options.topology.nodes <= TD_GROUP_NODES_MAX)
        row->u.record.nodes =
            (struct td_bitmap){j->nodes, td_bit_bytes(p->core->options.topology.nodes)};
}

/* wait_row returns the row of a rank, or of a silent node without its silences, or NULL. */
static struct td_row_wait *wait_row(struct td_page *p, uint64_t instance, const struct td_wait *w)
{
    struct td_status_row *row = td_page_row(p, TD_ROW_WAIT);
    if (!row)
        return NULL;
    row->u.wait =
        (struct td_row_wait){.instance = instance,
                             .rank = w->rank,
                             .node = w->node,
                             .kind = w->kind,
                             .pid = w->pid,
                             .last = w->last,
                             .waited_ns = w->silent ? 0 : w->ns,
                             .longest_ns = w->silent ? 0 : w->longest_ns,
                             .longest_age_ns = w->longest_at ? td_page_age(p, w->longest_at) : 0,
                             .longest_operation = w->longest_operation,
                             .longest_group = w->longest_group,
                             .silent_node = w->silent,
                             .silent_ns = w->silent ? w->ns : 0,
                             .silent_longest_ns = w->silent ? w->longest_ns : 0};
    return &row->u.wait;
}

static void silence_row(struct td_page *p, uint64_t instance, const struct td_wait_silence *s)
{
    struct td_row_wait *row = wait_row(p, instance, &s->wait);
    if (!row)
        return;
    row->silent_ranks = s->ranks;
    row->silences = s->count;
    row->silence_ns = s->ns;
    row->silence_longest_ns = s->longest_ns;
    row->silence_unheard_ns = s->longest_unheard_ns;
    row->silence_longest_age_ns = td_page_age(p, s->longest_to);
    row->silence_heard_ns = s->longest_heard_ns;
}

/* list_segment_waits lists the sums of a group's segment that is not closed. */
static void list_segment_waits(struct td_page *p, const struct td_communicator *c)
{
    const struct td_core_options *options = &p->core->options;
    struct td_wait w = {0};
    for (uint32_t rank = 0; options->segment_waits && c->has_segment && rank < c->ranks; rank++)
        for (uint32_t kind = 1; kind < TD_KIND_MAX && !p->full; kind++) {
            if (!options->segment_waits(options->driver, c->number, rank, kind, &w.last, &w.ns))
                continue;
            w.rank = td_communicator_job_rank(c, rank);
            w.node = p->core->node;
            w.kind = (uint8_t)kind;
            w.pid = c->seat[rank].pid;
            wait_row(p, c->world, &w);
        }
}

static void list_waits(struct td_page *p)
{
    for (uint32_t i = 0; i < TD_WAITS_JOBS_MAX; i++) {
        const struct td_waits_job *j = &p->core->waits[i];
        if (!j->world || !td_page_shows(p, j->uid))
            continue;
        record_row(p, j);
        for (uint32_t k = 0; k < TD_WAITS_ROWS; k++)
            if (j->row[k].kind)
                wait_row(p, j->world, &j->row[k]);
        for (uint32_t k = 0; k < TD_WAITS_SILENCES; k++)
            if (j->silence[k].wait.silent)
                silence_row(p, j->world, &j->silence[k]);
        for (const struct td_communicator *c = p->core->communicators; c && !p->full; c = c->next)
            if (c->waits == j)
                list_segment_waits(p, c);
    }
}

static void side_row(struct td_page *p, const struct td_waits_job *j, const struct td_waits_side *s)
{
    struct td_status_row *row = td_page_row(p, TD_ROW_SIDE);
    char *call = row ? td_core_pad(p->core, TD_CALL_TEXT_MAX) : NULL;
    if (!row)
        return;
    if (call)
        td_call_print(&s->call, call, TD_CALL_TEXT_MAX);
    row->u.side =
        (struct td_row_side){.instance = j->world,
                             .call = call ? call : "?",
                             .count = s->ranks,
                             .ranks = s->ranks < TD_SIDE_RANKS_MAX ? s->ranks : TD_SIDE_RANKS_MAX};
    memcpy(row->u.side.rank, s->rank, row->u.side.ranks * sizeof *s->rank);
}

static void list_sides(struct td_page *p)
{
    for (uint32_t i = 0; i < TD_WAITS_JOBS_MAX; i++) {
        const struct td_waits_job *j = &p->core->waits[i];
        for (uint32_t k = 0; j->world && td_page_shows(p, j->uid) && k < TD_WAITS_SIDES; k++)
            if (j->side[k].call.kind)
                side_row(p, j, &j->side[k]);
    }
}

static void outage_row(struct td_page *p, const struct td_waits_job *j,
                       const struct td_wait_outage *o)
{
    struct td_status_row *row = td_page_row(p, TD_ROW_OUTAGE);
    if (row)
        row->u.outage = (struct td_row_outage){.instance = j->world,
                                               .kind = o->kind,
                                               .rank = o->rank,
                                               .pid = o->pid,
                                               .count = o->count,
                                               .ns = o->ns,
                                               .longest_ns = o->longest_ns,
                                               .longest_age_ns = td_page_age(p, o->longest_to),
                                               .text = o->text};
}

static void list_outages(struct td_page *p)
{
    for (uint32_t i = 0; i < TD_WAITS_JOBS_MAX; i++) {
        const struct td_waits_job *j = &p->core->waits[i];
        for (uint32_t k = 0; j->world && td_page_shows(p, j->uid) && k < TD_WAITS_OUTAGES; k++)
            if (j->outage[k].kind)
                outage_row(p, j, &j->outage[k]);
    }
}

/* list fills in a page of a section. It returns false if the section is unknown. */
static bool list(struct td_page *p, uint32_t section)
{
    p->reply->u.status.section = section;
    p->reply->u.status.next = 0;
    p->reply->u.status.rows = 0;
    p->reply->u.status.page = NULL;
    p->reply->u.status.page_bytes = 0;
    p->reply->u.status.took_ns = 0;
    switch (section) {
    case TD_STATUS_NODE:
        list_node(p);
        return true;
    case TD_STATUS_PEERS:
        list_peers(p);
        return true;
    case TD_STATUS_CLIENTS:
        list_clients(p);
        return true;
    case TD_STATUS_JOBS:
        list_jobs(p);
        return true;
    case TD_STATUS_OPERATIONS:
        list_operations(p);
        return true;
    case TD_STATUS_QUEUES:
        list_queues(p);
        return true;
    case TD_STATUS_PLANS:
        list_plans(p);
        return true;
    case TD_STATUS_WAITS:
        list_waits(p);
        return true;
    case TD_STATUS_LINKS:
        td_inspect_links(p);
        return true;
    case TD_STATUS_GROUPS:
        td_inspect_groups(p);
        return true;
    case TD_STATUS_TRACE:
        td_inspect_trace(p);
        return true;
    case TD_STATUS_CLOCK:
        td_inspect_clock(p);
        return true;
    case TD_STATUS_SIDES:
        list_sides(p);
        return true;
    case TD_STATUS_OUTAGES:
        list_outages(p);
        return true;
    case TD_STATUS_SETTINGS:
    case TD_STATUS_HOST:
        td_inspect_facts(p, section);
        return true;
    default:
        return false;
    }
}

bool td_inspect_sees_all(const struct td_core *core, const struct td_client *client)
{
    return client->observes || client->uid == 0 || client->uid == core->options.uid;
}

bool td_inspect_page(struct td_core *core, uint64_t uid, bool sees_all, uint32_t section,
                     uint64_t cursor, struct td_reply *reply)
{
    struct td_page p = {.core = core,
                        .reply = reply,
                        .uid = uid,
                        .cursor = cursor,
                        .sees_all = sees_all || uid == 0 || uid == core->options.uid,
                        .is_short = true};
    memset(reply, 0, offsetof(struct td_reply, u));
    reply->kind = TD_REPLY_STATUS;
    reply->text = "";
    return list(&p, section);
}

void td_inspect_reply(struct td_core *core, const struct td_client *client,
                      const struct td_request *q)
{
    struct td_reply *reply = td_reply_new(core, client->id, q->id, TD_REPLY_STATUS);
    struct td_page p = {.core = core,
                        .reply = reply,
                        .uid = client->uid,
                        .cursor = q->u.status.cursor,
                        .sees_all = td_inspect_sees_all(core, client)};
    if (list(&p, q->u.status.section))
        return;
    reply->kind = TD_REPLY_ERROR;
    reply->error = TD_ERR_INVALID;
    reply->text = "unknown section of status";
}
