/* SPDX-License-Identifier: Apache-2.0 */
#include "client_rows.h"

#include <string.h>

#include "memory.h"
#include "peer_fields.h"

/* PUT initializes the body of a row's kind and makes it the row's. */
#define PUT(NAME, name)                                                                            \
    torus__client__row_##name##__init(&to->body.name);                                             \
    to->row.body_case = TORUS__CLIENT__ROW__BODY_##NAME;                                           \
    to->row.name = &to->body.name

static void put_client(const struct td_row_client *r, Torus__Client__RowClient *m)
{
    m->pid = r->pid;
    m->uid = r->uid;
    m->program = td_wire_string(r->program);
    m->job = td_wire_string(r->job);
    m->group = r->group;
    m->rank = r->rank;
    m->joining = r->joining;
    m->state = r->doing;
}

static void put_job(const struct td_row_job *r, Torus__Client__RowJob *m)
{
    m->name = td_wire_string(r->name);
    m->uid = r->uid;
    m->size = r->size;
    m->joined = r->joined;
    m->ranks = td_wire_put_bitmap(&r->ranks);
    m->gone_nodes = td_wire_put_bitmap(&r->gone_nodes);
    m->forming_ns = r->forming_ns;
}

/* put_absents encodes the missing ranks that a row describes. */
static void put_absents(const struct td_row_operation *r, struct td_wire_row *to)
{
    to->body.operation.n_absent = r->absents;
    to->body.operation.absent = to->absents;
    for (uint32_t i = 0; i < r->absents; i++) {
        const struct td_row_absent *a = &r->absent[i];
        Torus__Client__Absent *m = to->absents[i] = &to->absent[i];
        torus__client__absent__init(m);
        m->rank = a->rank;
        m->job_rank = a->job_rank;
        m->node = a->node;
        m->health = a->health;
        m->silent_ns = a->silent_ns;
        m->pid = a->pid;
        m->state = a->doing;
        m->since_ns = a->since_ns;
    }
}

static void put_record(const struct td_row_record *r, Torus__Client__RowRecord *m)
{
    m->job = td_wire_string(r->job);
    m->uid = r->uid;
    m->instance = r->instance;
    m->size = r->size;
    m->formed_ns = r->formed_ns;
    m->ended_ns = r->ended_ns;
    m->operations = r->operations;
    m->waited_ns = r->waited_ns;
    m->error = r->error;
    m->text = td_wire_string(r->text);
    m->failed_ns = r->failed_ns;
    m->died_ns = r->died_ns;
    m->died_rank = r->died_rank;
    m->died_pid = r->died_pid;
    m->died_paused_ns = r->died_paused_ns;
    m->nodes = td_wire_put_bitmap(&r->nodes);
    m->unformed = r->unformed;
}

static void put_wait(const struct td_row_wait *r, Torus__Client__RowWait *m)
{
    m->instance = r->instance;
    m->rank = r->rank;
    m->node = r->node;
    m->kind = r->kind;
    m->pid = r->pid;
    m->last = r->last;
    m->waited_ns = r->waited_ns;
    m->longest_ns = r->longest_ns;
    m->silent_node = r->silent_node;
    m->silent_ns = r->silent_ns;
    m->silent_longest_ns = r->silent_longest_ns;
    m->longest_age_ns = r->longest_age_ns;
    m->longest_operation = r->longest_operation;
    m->longest_group = r->longest_group;
    m->silent_ranks = r->silent_ranks;
    m->silences = r->silences;
    m->silence_ns = r->silence_ns;
    m->silence_longest_ns = r->silence_longest_ns;
    m->silence_longest_age_ns = r->silence_longest_age_ns;
    m->silence_unheard_ns = r->silence_unheard_ns;
    m->silence_heard_ns = r->silence_heard_ns;
}

static void put_link(const struct td_row_link *r, Torus__Client__RowLink *m)
{
    m->neighbour = r->neighbour;
    m->state = r->health;
    m->up = r->up;
    m->neighbours = r->neighbours;
    m->since_ns = r->since_ns;
    m->packets = r->packets;
    m->bytes = r->bytes;
    m->repeated_packets = r->repeated;
    m->resumes = r->resumes;
    m->silent_ns = r->silent_ns;
    m->busy_ns = r->busy_ns;
    m->busy_bytes = r->busy_bytes;
    m->sent = r->sent;
    m->received = r->received;
    m->messages = r->messages;
    m->error = td_wire_string(r->error);
}

static void put_group(const struct td_row_group *r, Torus__Client__RowGroup *m)
{
    m->job = td_wire_string(r->job);
    m->uid = r->uid;
    m->instance = r->instance;
    m->world = r->world;
    m->index = r->index;
    m->size = r->size;
    m->condition = r->condition;
    m->error = r->error;
    m->text = td_wire_string(r->text);
    m->done = r->done;
    m->in_flight = r->in_flight;
    m->age_ns = r->age_ns;
    m->job_ranks = td_wire_put_bitmap(&r->job_ranks);
    m->nodes = td_wire_put_bitmap(&r->nodes);
}

static void put_side(const struct td_row_side *r, Torus__Client__RowSide *m)
{
    m->instance = r->instance;
    m->call = td_wire_string(r->call);
    m->count = r->count;
    m->n_rank = r->ranks;
    m->rank = (uint32_t *)(uintptr_t)r->rank; /* protobuf-c does not change it */
}

static void put_outage(const struct td_row_outage *r, Torus__Client__RowOutage *m)
{
    m->instance = r->instance;
    m->kind = r->kind;
    m->rank = r->rank;
    m->pid = r->pid;
    m->count = r->count;
    m->ns = r->ns;
    m->longest_ns = r->longest_ns;
    m->longest_age_ns = r->longest_age_ns;
    m->text = td_wire_string(r->text);
}

static void put_fact(const struct td_row_fact *r, Torus__Client__RowFact *m)
{
    m->name = td_wire_string(r->name);
    m->value = td_wire_string(r->value);
    m->unit = td_wire_string(r->unit);
    m->is_set = r->is_set;
    m->reloads = r->reloads;
}

static void put_operation(const struct td_row_operation *r, Torus__Client__RowOperation *m)
{
    m->instance = r->instance;
    m->world = r->world;
    m->job = td_wire_string(r->job);
    m->call = td_wire_string(r->call);
    m->group = r->group;
    m->size = r->size;
    m->sequence = r->sequence;
    m->age_ns = r->age_ns;
    m->running = r->running;
    m->steps_done = r->steps_done;
    m->steps = r->steps;
    m->waits_for = r->waits_for < TD_NODES_MAX ? r->waits_for + 1 : 0;
    m->idle_ns = r->idle_ns;
    m->nobody_waits = r->nobody_waits;
    m->arrived = td_wire_put_bitmap(&r->arrived);
}

static uint64_t *numbers(const uint64_t *number)
{
    return (uint64_t *)(uintptr_t)number; /* protobuf-c only reads them */
}

static void put_plan(const struct td_row_plan *r, Torus__Client__RowPlan *m)
{
    m->kind = td_wire_string(r->kind);
    m->precision = td_wire_string(r->precision);
    m->sign = r->sign;
    m->age_ns = r->age_ns;
    m->n_number = TD_PLAN_NUMBERS;
    m->number = numbers(r->number);
}

void td_wire_put_row(const struct td_status_row *row, struct td_wire_row *to)
{
    torus__client__row__init(&to->row);
    switch (row->kind) {
    case TD_ROW_NODE:
        PUT(NODE, node);
        to->body.node.node = row->u.node.node;
        to->body.node.operations = row->u.node.operations;
        to->body.node.endpoint = td_wire_string(row->u.node.endpoint);
        return;
    case TD_ROW_PEER:
        PUT(PEER, peer);
        to->body.peer.node = row->u.peer.node;
        to->body.peer.state = row->u.peer.health;
        to->body.peer.endpoint = td_wire_string(row->u.peer.endpoint);
        to->body.peer.error = td_wire_string(row->u.peer.error);
        to->body.peer.silent_ns = row->u.peer.silent_ns;
        to->body.peer.restarted_ns = row->u.peer.restarted_ns;
        to->body.peer.died = row->u.peer.died;
        to->body.peer.restart_silent_ns = row->u.peer.restart_silent_ns;
        return;
    case TD_ROW_CLIENT:
        PUT(CLIENT, client);
        put_client(&row->u.client, &to->body.client);
        return;
    case TD_ROW_JOB:
        PUT(JOB, job);
        put_job(&row->u.job, &to->body.job);
        return;
    case TD_ROW_OPERATION:
        PUT(OPERATION, operation);
        put_operation(&row->u.operation, &to->body.operation);
        put_absents(&row->u.operation, to);
        return;
    case TD_ROW_ROUTER:
        PUT(ROUTER, router);
        to->body.router.node = row->u.router.node;
        to->body.router.n_number = row->u.router.numbers;
        to->body.router.number = numbers(row->u.router.number);
        return;
    case TD_ROW_DIRECTION:
        PUT(DIRECTION, direction);
        to->body.direction.direction = row->u.direction.direction;
        to->body.direction.neighbour = row->u.direction.neighbour;
        to->body.direction.up = row->u.direction.up;
        to->body.direction.n_number = TD_WAY_NUMBERS;
        to->body.direction.number = numbers(row->u.direction.number);
        return;
    case TD_ROW_PLAN:
        PUT(PLAN, plan);
        put_plan(&row->u.plan, &to->body.plan);
        return;
    case TD_ROW_RECORD:
        PUT(RECORD, record);
        put_record(&row->u.record, &to->body.record);
        return;
    case TD_ROW_WAIT:
        PUT(WAIT, wait);
        put_wait(&row->u.wait, &to->body.wait);
        return;
    case TD_ROW_LINK:
        PUT(LINK, link);
        put_link(&row->u.link, &to->body.link);
        return;
    case TD_ROW_GROUP:
        PUT(GROUP, group);
        put_group(&row->u.group, &to->body.group);
        return;
    case TD_ROW_FACT:
        PUT(FACT, fact);
        put_fact(&row->u.fact, &to->body.fact);
        return;
    case TD_ROW_TRACE:
        PUT(TRACE, trace);
        to->body.trace.text = td_wire_string(row->u.trace.text);
        to->body.trace.n_number = (size_t)row->u.trace.events * TD_TRACE_NUMBERS;
        to->body.trace.number = numbers(row->u.trace.number);
        return;
    case TD_ROW_SIDE:
        PUT(SIDE, side);
        put_side(&row->u.side, &to->body.side);
        return;
    case TD_ROW_OUTAGE:
        PUT(OUTAGE, outage);
        put_outage(&row->u.outage, &to->body.outage);
        return;
    }
}

/* get_ranks reads a set of `size` ranks; it may be missing. */
static bool get_ranks(const ProtobufCBinaryData *m, uint32_t size, struct td_bitmap *ranks)
{
    return td_wire_get_bitmap(m, TD_BITMAP_BYTES_MAX, ranks) &&
           (ranks->bytes == 0 || ranks->bytes * 8 >= size);
}

static bool get_numbers(const uint64_t *from, size_t count, size_t expected, uint64_t *to)
{
    if (count != expected)
        return false;
    memcpy(to, from, count * sizeof *to);
    return true;
}

static bool get_peer(const Torus__Client__RowPeer *m, struct td_row_peer *r)
{
    *r = (struct td_row_peer){
        m->node, (enum td_peer_state)m->state, m->endpoint, m->error, m->silent_ns, m->restarted_ns,
        m->died, m->restart_silent_ns};
    return m->state <= TD_PEER_UNKNOWN;
}

static bool get_absents(const Torus__Client__RowOperation *m, struct td_wire_memory *memory,
                        struct td_row_operation *r)
{
    struct td_row_absent *absent =
        m->n_absent <= TD_ROW_ABSENTS_MAX
            ? td_wire_allocate(memory, (m->n_absent + 1) * sizeof *absent)
            : NULL;
    r->absents = (uint32_t)m->n_absent;
    r->absent = absent;
    for (uint32_t i = 0; absent && i < r->absents; i++) {
        const Torus__Client__Absent *a = m->absent[i];
        if (a->health > TD_PEER_UNKNOWN || a->state > 127)
            return false;
        absent[i] = (struct td_row_absent){.rank = a->rank,
                                           .job_rank = a->job_rank,
                                           .node = a->node,
                                           .health = (enum td_peer_state)a->health,
                                           .silent_ns = a->silent_ns,
                                           .pid = a->pid,
                                           .doing = a->state,
                                           .since_ns = a->since_ns};
    }
    return absent != NULL;
}

static bool get_record(const Torus__Client__RowRecord *m, struct td_row_record *r)
{
    *r = (struct td_row_record){.job = m->job,
                                .uid = m->uid,
                                .instance = m->instance,
                                .size = m->size,
                                .unformed = m->unformed,
                                .formed_ns = m->formed_ns,
                                .ended_ns = m->ended_ns,
                                .operations = m->operations,
                                .waited_ns = m->waited_ns,
                                .failed_ns = m->failed_ns,
                                .died_ns = m->died_ns,
                                .died_rank = m->died_rank,
                                .died_pid = m->died_pid,
                                .died_paused_ns = m->died_paused_ns};
    return td_wire_get_bitmap(&m->nodes, TD_NODES_MAX / 8, &r->nodes) &&
           td_wire_get_ending(m->error, m->text, &r->error, &r->text);
}

static void get_wait(const Torus__Client__RowWait *m, struct td_row_wait *r)
{
    *r = (struct td_row_wait){.instance = m->instance,
                              .rank = m->rank,
                              .node = m->node,
                              .kind = m->kind,
                              .pid = m->pid,
                              .last = m->last,
                              .waited_ns = m->waited_ns,
                              .longest_ns = m->longest_ns,
                              .silent_node = m->silent_node,
                              .silent_ns = m->silent_ns,
                              .silent_longest_ns = m->silent_longest_ns,
                              .longest_age_ns = m->longest_age_ns,
                              .longest_operation = m->longest_operation,
                              .longest_group = m->longest_group,
                              .silent_ranks = m->silent_ranks,
                              .silences = m->silences,
                              .silence_ns = m->silence_ns,
                              .silence_longest_ns = m->silence_longest_ns,
                              .silence_longest_age_ns = m->silence_longest_age_ns,
                              .silence_unheard_ns = m->silence_unheard_ns,
                              .silence_heard_ns = m->silence_heard_ns};
}

static bool get_link(const Torus__Client__RowLink *m, struct td_row_link *r)
{
    *r = (struct td_row_link){.neighbour = m->neighbour,
                              .health = (enum td_peer_state)m->state,
                              .up = m->up,
                              .neighbours = m->neighbours,
                              .since_ns = m->since_ns,
                              .packets = m->packets,
                              .bytes = m->bytes,
                              .repeated = m->repeated_packets,
                              .resumes = m->resumes,
                              .silent_ns = m->silent_ns,
                              .busy_ns = m->busy_ns,
                              .busy_bytes = m->busy_bytes,
                              .sent = m->sent,
                              .received = m->received,
                              .messages = m->messages,
                              .error = m->error};
    return m->state <= TD_PEER_UNKNOWN;
}

static bool get_group(const Torus__Client__RowGroup *m, struct td_row_group *r)
{
    *r = (struct td_row_group){.job = m->job,
                               .uid = m->uid,
                               .instance = m->instance,
                               .world = m->world,
                               .index = m->index,
                               .size = m->size,
                               .condition = (enum td_group_state)m->condition,
                               .done = m->done,
                               .in_flight = m->in_flight,
                               .age_ns = m->age_ns};
    return m->condition <= TD_GROUP_BROKEN &&
           td_wire_get_bitmap(&m->job_ranks, TD_BITMAP_BYTES_MAX, &r->job_ranks) &&
           td_wire_get_bitmap(&m->nodes, TD_NODES_MAX / 8, &r->nodes) &&
           td_wire_get_ending(m->error, m->text, &r->error, &r->text);
}

static bool get_operation(const Torus__Client__RowOperation *m, struct td_wire_memory *memory,
                          struct td_row_operation *r)
{
    *r = (struct td_row_operation){.job = m->job,
                                   .call = m->call,
                                   .group = m->group,
                                   .size = m->size,
                                   .sequence = m->sequence,
                                   .age_ns = m->age_ns,
                                   .running = m->running,
                                   .steps_done = m->steps_done,
                                   .steps = m->steps,
                                   .instance = m->instance,
                                   .world = m->world,
                                   .waits_for = m->waits_for ? m->waits_for - 1 : TD_NODES_MAX,
                                   .idle_ns = m->idle_ns,
                                   .nobody_waits = m->nobody_waits};
    return m->waits_for <= TD_NODES_MAX && get_absents(m, memory, r) &&
           get_ranks(&m->arrived, m->size, &r->arrived);
}

static bool get_router(const Torus__Client__RowRouter *m, struct td_row_router *r)
{
    *r = (struct td_row_router){.node = m->node, .numbers = (uint32_t)m->n_number};
    return (m->n_number == 1 || m->n_number == TD_QUEUES_NUMBERS) &&
           get_numbers(m->number, m->n_number, m->n_number, r->number);
}

static bool get_side(const Torus__Client__RowSide *m, struct td_row_side *r)
{
    *r = (struct td_row_side){
        .instance = m->instance, .call = m->call, .count = m->count, .ranks = (uint32_t)m->n_rank};
    if (m->n_rank > TD_SIDE_RANKS_MAX || m->n_rank > m->count)
        return false;
    /* not memcpy: without ranks the address is null */
    for (uint32_t i = 0; i < r->ranks; i++)
        r->rank[i] = m->rank[i];
    return true;
}

bool td_wire_get_row(const Torus__Client__Row *m, struct td_wire_memory *memory,
                     struct td_status_row *row)
{
    switch (m->body_case) {
    case TORUS__CLIENT__ROW__BODY_NODE:
        row->kind = TD_ROW_NODE;
        row->u.node = (struct td_row_node){m->node->node, m->node->operations, m->node->endpoint};
        return true;
    case TORUS__CLIENT__ROW__BODY_PEER:
        row->kind = TD_ROW_PEER;
        return get_peer(m->peer, &row->u.peer);
    case TORUS__CLIENT__ROW__BODY_CLIENT:
        row->kind = TD_ROW_CLIENT;
        row->u.client = (struct td_row_client){.pid = m->client->pid,
                                               .uid = m->client->uid,
                                               .program = m->client->program,
                                               .job = m->client->job,
                                               .group = m->client->group,
                                               .rank = m->client->rank,
                                               .joining = m->client->joining,
                                               .doing = (unsigned char)m->client->state};
        return m->client->state <= 127;
    case TORUS__CLIENT__ROW__BODY_JOB:
        row->kind = TD_ROW_JOB;
        row->u.job = (struct td_row_job){.name = m->job->name,
                                         .uid = m->job->uid,
                                         .size = m->job->size,
                                         .joined = m->job->joined,
                                         .forming_ns = m->job->forming_ns};
        return get_ranks(&m->job->ranks, m->job->size, &row->u.job.ranks) &&
               td_wire_get_bitmap(&m->job->gone_nodes, TD_NODES_MAX / 8, &row->u.job.gone_nodes);
    case TORUS__CLIENT__ROW__BODY_OPERATION:
        row->kind = TD_ROW_OPERATION;
        return get_operation(m->operation, memory, &row->u.operation);
    case TORUS__CLIENT__ROW__BODY_ROUTER:
        row->kind = TD_ROW_ROUTER;
        return get_router(m->router, &row->u.router);
    case TORUS__CLIENT__ROW__BODY_DIRECTION:
        row->kind = TD_ROW_DIRECTION;
        row->u.direction = (struct td_row_direction){.direction = m->direction->direction,
                                                     .neighbour = m->direction->neighbour,
                                                     .up = m->direction->up};
        return get_numbers(m->direction->number, m->direction->n_number, TD_WAY_NUMBERS,
                           row->u.direction.number);
    case TORUS__CLIENT__ROW__BODY_PLAN:
        row->kind = TD_ROW_PLAN;
        row->u.plan = (struct td_row_plan){.kind = m->plan->kind,
                                           .precision = m->plan->precision,
                                           .sign = m->plan->sign,
                                           .age_ns = m->plan->age_ns};
        return get_numbers(m->plan->number, m->plan->n_number, TD_PLAN_NUMBERS, row->u.plan.number);
    case TORUS__CLIENT__ROW__BODY_RECORD:
        row->kind = TD_ROW_RECORD;
        return get_record(m->record, &row->u.record);
    case TORUS__CLIENT__ROW__BODY_WAIT:
        row->kind = TD_ROW_WAIT;
        get_wait(m->wait, &row->u.wait);
        return true;
    case TORUS__CLIENT__ROW__BODY_LINK:
        row->kind = TD_ROW_LINK;
        return get_link(m->link, &row->u.link);
    case TORUS__CLIENT__ROW__BODY_GROUP:
        row->kind = TD_ROW_GROUP;
        return get_group(m->group, &row->u.group);
    case TORUS__CLIENT__ROW__BODY_FACT:
        row->kind = TD_ROW_FACT;
        row->u.fact = (struct td_row_fact){m->fact->name, m->fact->value, m->fact->unit,
                                           m->fact->is_set, m->fact->reloads};
        return true;
    case TORUS__CLIENT__ROW__BODY_TRACE:
        row->kind = TD_ROW_TRACE;
        row->u.trace =
            (struct td_row_trace){.text = m->trace->text,
                                  .events = (uint32_t)(m->trace->n_number / TD_TRACE_NUMBERS),
                                  .number = m->trace->number};
        return m->trace->n_number <= (size_t)TD_TRACE_EVENTS_MAX * TD_TRACE_NUMBERS &&
               m->trace->n_number % TD_TRACE_NUMBERS == 0;
    case TORUS__CLIENT__ROW__BODY_SIDE:
        row->kind = TD_ROW_SIDE;
        return get_side(m->side, &row->u.side);
    case TORUS__CLIENT__ROW__BODY_OUTAGE:
        row->kind = TD_ROW_OUTAGE;
        row->u.outage = (struct td_row_outage){.instance = m->outage->instance,
                                               .kind = m->outage->kind,
                                               .rank = m->outage->rank,
                                               .pid = m->outage->pid,
                                               .count = m->outage->count,
                                               .ns = m->outage->ns,
                                               .longest_ns = m->outage->longest_ns,
                                               .longest_age_ns = m->outage->longest_age_ns,
                                               .text = m->outage->text};
        return true;
    case TORUS__CLIENT__ROW__BODY__NOT_SET:
    case _TORUS__CLIENT__ROW__BODY__CASE_IS_INT_SIZE:
        break;
    }
    return false;
}
