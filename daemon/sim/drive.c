/* SPDX-License-Identifier: Apache-2.0 */
/* The clock: events in order of time, and the steps of the cores. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { FETCH_NODES_MIN = 32 /* fewer fit a second-level cache */ };

/* passes returns true if a message sent in this epoch of the link still arrives. */
static bool passes(const struct td_sim *sim, const struct event *e)
{
    const struct end *end = sim->node[e->node].end;
    return end ? end[e->from].up && end[e->from].epoch == e->epoch : e->epoch == 0;
}

void sim_answer(struct td_sim *sim, enum td_event_kind kind, uint64_t handle)
{
    if (sim->answers == sim->answers_room) {
        sim->answers_room = sim->answers_room ? 2 * sim->answers_room : 256;
        sim->answer = realloc(sim->answer, sim->answers_room * sizeof *sim->answer);
        assert(sim->answer);
    }
    sim->answer[sim->answers++] = (struct answer){kind, handle};
}

/* feed passes events to a core and executes its actions. */
static void feed(struct td_sim *sim, uint32_t node, const struct td_event *const *event,
                 uint32_t count)
{
    for (uint32_t taken = 0; taken < count;) {
        taken += td_core_steps(sim->node[node].core, sim->now, event + taken, count - taken,
                               sim->actions);
        sim_act(sim, node);
    }
}

static void feed_answers(struct td_sim *sim, uint32_t node)
{
    for (uint32_t fed = 0; fed < sim->answers;) {
        struct td_event event[SIM_TOGETHER]; /* fields of other kinds stay unset */
        const struct td_event *list[SIM_TOGETHER];
        uint32_t count = 0;
        for (; fed < sim->answers && count < SIM_TOGETHER; count++, fed++) {
            event[count].kind = sim->answer[fed].kind;
            if (event[count].kind == TD_EVENT_SENT) {
                event[count].u.sent.handle = sim->answer[fed].handle;
            } else {
                event[count].u.computed.handle = sim->answer[fed].handle;
                event[count].u.computed.error = TD_OK;
            }
            list[count] = &event[count];
        }
        feed(sim, node, list, count);
    }
    sim->answers = 0;
}

/* feed_gathered passes the gathered events to a core. */
static void feed_gathered(struct td_sim *sim, uint32_t node)
{
    feed(sim, node, sim->gathered, sim->gathered_count);
    sim->gathered_count = 0;
    feed_answers(sim, node);
}

static void wake(struct td_sim *sim, uint32_t node)
{
    struct node *n = &sim->node[node];
    sim->events++;
    sim_mix(sim, sim->now ^ (uint64_t)WAKE << 56 ^ (uint64_t)node << 40);
    if (!sim_lives(n))
        return;
    if (n->wake_put == sim->now)
        n->wake_put = TD_TIME_NEVER;
    sim_feed(sim, node, &(struct td_event){.kind = TD_EVENT_WAKE});
}

/* put_wake queues the next wake of a node: at once, if the node has no other event at this time,
 * else after its events. */
static void put_wake(struct td_sim *sim, uint32_t node)
{
    struct node *n = &sim->node[node];
    td_time at = td_core_deadline(n->core);
    while (at <= sim->now && sim->instant && sim->queue.by_node) {
        wake(sim, node);
        at = td_core_deadline(n->core);
    }
    if (at >= n->wake_put)
        return;
    n->wake_put = at > sim->now ? at : sim->now;
    queue_wake(&sim->queue, n->wake_put, node);
}

void sim_gather(struct td_sim *sim, uint32_t node, const struct td_event *event)
{
    sim->gathered[sim->gathered_count++] = event;
    if (sim->gathered_count == SIM_TOGETHER || !sim->instant)
        feed_gathered(sim, node);
}

void sim_feed(struct td_sim *sim, uint32_t node, const struct td_event *event)
{
    sim->gathered[sim->gathered_count++] = event;
    feed_gathered(sim, node);
}

static void message(struct td_sim *sim, struct event *e)
{
    struct td_message *m = &sim->heard[sim->gathered_count];
    const char *why = NULL;
    if (!passes(sim, e))
        return;
    if (e->size) {
        sim->decoded->used = 0;
        td_err error = td_wire_decode_message(e->thing, e->size, sim->decoded, m, &why);
        assert(error == TD_OK);
    } else {
        memcpy(m, e->head, sizeof e->head);
    }
    sim_trace(sim, e->node, '>', "message of kind %d from %u, operation %llu", (int)m->kind,
              e->from, (unsigned long long)m->sequence);
    sim_mix(sim, (uint64_t)m->kind);
    e->arrival.kind = TD_EVENT_TREE_MESSAGE;
    e->arrival.u.tree.node = e->from;
    e->arrival.u.tree.message = m;
    if (e->size)
        sim_feed(sim, e->node, &e->arrival); /* sim->decoded has room for one decoded message */
    else
        sim_gather(sim, e->node, &e->arrival);
}

/* unwrap reads a packet's header and stores its bytes at the node. It returns false if its bytes
 * were not read in time. */
static bool unwrap(struct td_sim *sim, struct event *e)
{
    const struct parcel *parcel = e->thing;
    struct td_event *event = &e->arrival;
    const char *why = NULL;
    if (e->size && !parcel->packed)
        return false;
    td_err error = TD_OK;
    if (!sim->options.modelled)
        error = td_wire_decode_packet(parcel->header, sizeof parcel->header,
                                      &event->u.packet.packet, &why);
    assert(error == TD_OK);
    if (e->size && !sim->options.hollow) {
        uint8_t *payload = malloc(e->size);
        assert(payload);
        memcpy(payload, parcel->payload, e->size);
        event->u.packet.buffer = memory_take_buffer(&sim->node[e->node], payload);
    }
    return true;
}

static void packet(struct td_sim *sim, struct event *e)
{
    struct td_event *event = &e->arrival;
    if (!passes(sim, e))
        return;
    event->kind = TD_EVENT_PACKET;
    event->u.packet.node = e->from;
    event->u.packet.buffer = e->size ? (uint32_t)sim->now & SIM_AGE_MASK : UINT32_MAX;
    if (e->thing && !unwrap(sim, e))
        return;
    sim_trace(sim, e->node, '>', "packet of kind %d from %u, %u bytes",
              (int)event->u.packet.packet.kind, e->from, e->size);
    sim_mix(sim, event->u.packet.packet.link_sequence);
    sim_gather(sim, e->node, event);
}

static void sent(struct td_sim *sim, const struct event *e)
{
    struct parcel *parcel = e->thing;
    sim->node[e->node].under_way--;
    if (!sim->options.hollow)
        memory_pack(&sim->node[e->node], &parcel->slice, &parcel->view, parcel->offset,
                    parcel->bytes, parcel->payload);
    parcel->packed = true;
    sim_feed(sim, e->node, &(struct td_event){.kind = TD_EVENT_SENT, .u.sent.handle = e->handle});
}

static void computed(struct td_sim *sim, const struct event *e)
{
    struct computation *k = e->thing;
    sim->node[e->node].under_way--;
    if (!k->done && !sim->options.hollow)
        k->error = memory_compute(sim, e->node, &k->compute);
    sim_trace(sim, e->node, '>', "computed");
    sim_feed(sim, e->node,
             &(struct td_event){.kind = TD_EVENT_COMPUTED,
                                .u.computed = {.handle = e->handle, .error = k->error}});
}

static void landing(struct td_sim *sim, struct event *e)
{
    const struct parcel *parcel = e->thing;
    struct td_packet packet;
    struct td_compute to;
    const char *why = NULL;
    td_err error = td_wire_decode_packet(parcel->header, sizeof parcel->header, &packet, &why);
    assert(error == TD_OK);
    if (!passes(sim, e) || !parcel->packed ||
        !td_core_landing(sim->node[e->node].core, e->from, &packet, &to))
        return;
    sim_trace(sim, e->node, '>', "%llu bytes of a packet from %u", (unsigned long long)e->handle,
              e->from);
    to.bytes = e->handle;
    memory_land(&sim->node[e->node], &to, parcel->payload);
    sim->landings++;
}

static void happen(struct td_sim *sim, struct event *e)
{
    switch (e->kind) {
    case MESSAGE:
        message(sim, e);
        return;
    case PACKET:
        packet(sim, e);
        return;
    case LANDING:
        landing(sim, e);
        return;
    case LINK_UP:
        sim_link_up(sim, e);
        return;
    case LINK_DOWN:
        sim_link_down(sim, e);
        return;
    case SENT:
        sent(sim, e);
        return;
    case COMPUTED:
        computed(sim, e);
        return;
    case CLIENT_OPENED:
        client_opened(sim, e->from);
        return;
    case CLIENT_REQUEST:
        client_request(sim, e->from, e->thing, e->size);
        return;
    case CLIENT_CLOSED:
        client_closed(sim, e->from);
        return;
    case WAKE: /* wakes are not events */
        return;
    }
}

void sim_drop_events(struct td_sim *sim, struct event *e)
{
    for (struct event *next; e; e = next) {
        next = e->next;
        if (e->thing && (e->kind == PACKET || e->kind == LANDING || e->kind == SENT))
            sim_drop_parcel(e->thing);
        else if (e->thing)
            free(e->thing);
        queue_give(&sim->queue, e);
    }
}

static void fetch_lines(const void *memory, size_t bytes)
{
    const char *at = memory;
    for (const char *end = at + bytes; at < end; at += SIM_CACHE_LINE)
        __builtin_prefetch(at, 1);
}

static void fetch_event(const struct event *e)
{
    if (e)
        fetch_lines(e, sizeof *e);
}

/* fetch prefetches the memory of the next core while the present core works: with many cores it is
 * in no cache. */
static void fetch(const struct td_sim *sim)
{
    uint32_t node = queue_soon(&sim->queue);
    if (node == QUEUE_NONE || sim->topology.nodes < FETCH_NODES_MIN)
        return;
    const struct node *n = &sim->node[node];
    fetch_event(queue_first(&sim->queue, node));
    unsigned i = 0;
    for (; i < n->long_spans; i++)
        fetch_lines(n->span[i].at, n->span[i].bytes);
    for (; i < n->spans; i++) { /* without unpredictable branches */
        const char *at = n->span[i].at;
        __builtin_prefetch(at, 1);
        __builtin_prefetch(at + n->span[i].bytes - 1, 1);
    }
}

/* step handles the next event and all events of the same node and time. It returns false if the
 * next event is after `until`. */
static bool step(struct td_sim *sim, td_time until)
{
    td_time at = queue_time(&sim->queue);
    struct turn turn;
    if (at > until || !queue_take(&sim->queue, &turn))
        return false;
    assert(at >= sim->now);
    sim->now = at;
    fetch(sim);
    for (struct event *e = turn.events; e; e = e->next) {
        fetch_event(e->next);
        sim->events++;
        sim_mix(sim,
                at ^ (uint64_t)e->kind << 56 ^ (uint64_t)e->node << 40 ^ (uint64_t)e->from << 24);
        if (sim_lives(&sim->node[turn.node]))
            happen(sim, e);
    }
    if (sim->gathered_count)
        feed_gathered(sim, turn.node);
    if (turn.wakes)
        wake(sim, turn.node);
    if (sim_lives(&sim->node[turn.node]))
        put_wake(sim, turn.node);
    sim_drop_events(sim, turn.events);
    return true;
}

td_time td_sim_next(const struct td_sim *sim)
{
    return queue_time(&sim->queue);
}

void td_sim_run(struct td_sim *sim, td_time duration_ns)
{
    td_time until = sim->now + duration_ns;
    while (step(sim, until))
        ;
    sim->now = until;
}

bool td_sim_settle(struct td_sim *sim, td_time limit_ns)
{
    td_time until = sim->now + limit_ns;
    while (sim->waiting)
        if (!step(sim, until)) {
            sim->now = until;
            return false;
        }
    return true;
}
