/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/select.h"
#include "core/scatter.h"
#include "sim.h"

enum {
    RECONNECT_NS = 10000000,
    CACHE_LINE = 64,
    FETCH_NODES_MIN = 32 /* fewer fit a second-level cache */
};

void td_sim_options_default(struct td_sim_options *o, const char *shape, uint64_t seed)
{
    *o = (struct td_sim_options){.shape = shape,
                                 .seed = seed,
                                 .latency_ns_max = 20000,
                                 .compute_ns_max = 30000,
                                 .request_ns_max = 5000};
    td_settings_default(&o->settings);
    o->settings.arena_bytes = 16 << 20;
    o->settings.scratch_bytes = 64 << 20;
    o->settings.packet_bytes = 4096;
    o->settings.link_credits = 4;
}

/* ---- small things ---- */

uint64_t td_sim_random(struct td_sim *sim, uint64_t below)
{
    return td_scatter_next(&sim->random) % below;
}

td_time sim_delay(struct td_sim *sim, td_time most)
{
    return sim->now + 1 + td_sim_random(sim, most);
}

void sim_print(struct td_sim *sim, uint32_t node, char direction, const char *format, ...)
{
    va_list arguments;
    fprintf(sim->options.trace, "[%10llu] %3u %c ", (unsigned long long)sim->now, node, direction);
    va_start(arguments, format);
    vfprintf(sim->options.trace, format, arguments);
    va_end(arguments);
    fputc('\n', sim->options.trace);
}

uint32_t td_sim_nodes(const struct td_sim *sim)
{
    return sim->topology.nodes;
}

td_time td_sim_now(const struct td_sim *sim)
{
    return sim->now;
}

uint64_t td_sim_hash(const struct td_sim *sim)
{
    return sim->hash;
}

uint64_t td_sim_events(const struct td_sim *sim)
{
    return sim->events;
}

const struct td_router *td_sim_router(const struct td_sim *sim, uint32_t node)
{
    return td_core_router(sim->node[node].core);
}

uint64_t td_sim_drops(const struct td_sim *sim)
{
    return sim->drops;
}

uint64_t td_sim_landings(const struct td_sim *sim)
{
    return sim->landings;
}

void td_sim_counts(const struct td_sim *sim, uint32_t node, struct td_counts *counts)
{
    td_core_counts(sim->node[node].core, counts);
}

/* ---- life ---- */

static int by_address(const void *a, const void *b)
{
    const struct td_span *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* join_spans makes one of spans that follow on each other. */
static unsigned join_spans(struct td_span *span, unsigned spans)
{
    unsigned joined = 0;
    qsort(span, spans, sizeof *span, by_address);
    for (unsigned i = 1; i < spans; i++) {
        struct td_span *last = &span[joined];
        size_t reach = (size_t)((const char *)span[i].at - (const char *)last->at);
        if (reach < last->bytes + 2 * CACHE_LINE)
            last->bytes = reach + span[i].bytes;
        else
            span[++joined] = span[i];
    }
    return joined + 1;
}

static bool start_node(struct td_sim *sim, uint32_t number)
{
    struct node *n = &sim->node[number];
    struct td_counts counts;
    n->alive = true;
    n->wake_put = TD_TIME_NEVER;
    n->incarnation = 1 + td_sim_random(sim, UINT64_MAX - 1);
    if (!sim->options.modelled && !n->end)
        n->end = calloc(sim->topology.nodes, sizeof *n->end);
    struct td_core_options o = {.topology = sim->topology,
                                .node = number,
                                .incarnation = n->incarnation,
                                .seed = td_sim_random(sim, UINT64_MAX),
                                .settings = sim->options.settings,
                                .compile = td_select_compile,
                                .planner = td_select_planner};
    if ((!n->end && !sim->options.modelled) || !memory_init(sim, n) ||
        td_core_create(&n->core, &o) != TD_OK)
        return false;
    n->spans = join_spans(n->span, td_core_spans(n->core, n->span));
    td_core_counts(n->core, &counts);
    n->arena_used = counts.arena_used;
    return true;
}

/* come_up connects a node at the start. Where the torus carries the packets, its core need not be
 * told of those that are neighbours neither there nor in the tree. */
static void come_up(struct td_sim *sim, uint32_t a)
{
    const struct td_topology *t = &sim->topology;
    bool few = sim->options.modelled && sim->options.settings.tuning.fabric == TD_FABRIC_ROUTED;
    for (uint32_t b = 0; b < t->nodes; b++)
        if (a != b && (!few || td_topology_tree(a, b) || td_topology_distance(t, a, b) == 1))
            queue_put(&sim->queue, 0, LINK_UP, a)->from = b;
}

struct td_sim *td_sim_create(const struct td_sim_options *options)
{
    struct td_sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        return NULL;
    size_t position = 0;
    const char *why = NULL;
    sim->options = *options;
    sim->random = options->seed;
    sim->packet_ns = td_settings_link_time(&options->settings, options->settings.packet_bytes);
    sim->instant = options->modelled && options->hollow;
    sim->in_order = options->modelled && options->settings.tuning.fabric == TD_FABRIC_ROUTED;
    sim->hash = 0xcbf29ce484222325u;
    sim->decoded = malloc(sizeof *sim->decoded);
    sim->actions = malloc(sizeof *sim->actions);
    bool made = sim->decoded && sim->actions &&
                td_topology_parse(&sim->topology, options->shape, &position, &why) == TD_OK;
    if (made)
        made = (sim->node = calloc(sim->topology.nodes, sizeof *sim->node)) != NULL;
    for (uint8_t d = 0; d < TD_DIRECTIONS_MAX; d++)
        sim->cable[d] = sim->topology.size[d / 2] == 2 ? d / 2 * 2 : d;
    /* nothing takes no time between nodes */
    queue_init(&sim->queue, sim->topology.nodes,
               options->modelled && options->control_ns > 0 && sim->packet_ns > 0);
    for (uint32_t i = 0; made && i < sim->topology.nodes; i++)
        made = start_node(sim, i);
    if (!made) {
        td_sim_destroy(sim);
        return NULL;
    }
    for (uint32_t a = 0; a < sim->topology.nodes; a++)
        come_up(sim, a);
    return sim;
}

void sim_drop_parcel(struct parcel *p)
{
    if (p->holders > 0 && --p->holders > 0)
        return;
    free(p->payload);
    free(p);
}

/* drop_events is the end of events that were taken. */
static void drop_events(struct td_sim *sim, struct event *e)
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

void td_sim_destroy(struct td_sim *sim)
{
    if (!sim)
        return;
    for (struct turn turn; queue_take(&sim->queue, &turn);)
        drop_events(sim, turn.events);
    queue_fini(&sim->queue);
    for (uint32_t i = 0; sim->node && i < sim->topology.nodes; i++) {
        td_core_destroy(sim->node[i].core);
        memory_fini(sim, &sim->node[i]);
        for (uint32_t k = 0; sim->node[i].end && k < sim->topology.nodes; k++)
            sim_forget(&sim->node[i].end[k], UINT64_MAX);
        free(sim->node[i].end);
    }
    clients_fini(sim);
    free(sim->node);
    free(sim->decoded);
    free(sim->answer);
    free(sim->actions);
    free(sim);
}

/* ---- links ---- */

static bool lives(const struct node *n)
{
    return n->alive && !n->frozen;
}

/* need_ends: from now on the node's links are not all up. */
static void need_ends(const struct td_sim *sim, struct node *n)
{
    if (n->end)
        return;
    n->end = calloc(sim->topology.nodes, sizeof *n->end);
    assert(n->end);
    for (uint32_t i = 0; i < sim->topology.nodes; i++)
        n->end[i].up = true;
}

static void put_link_up(struct td_sim *sim, td_time at, uint32_t node, uint32_t from,
                        uint32_t epoch)
{
    struct event *e = queue_put(&sim->queue, at, LINK_UP, node);
    e->from = from;
    e->epoch = epoch;
}

void sim_tear(struct td_sim *sim, uint32_t a, uint32_t b, const char *text)
{
    uint32_t ends[2][2] = {{a, b}, {b, a}};
    uint32_t epoch = ++sim->epoch;
    for (int i = 0; i < 2; i++) {
        need_ends(sim, &sim->node[ends[i][0]]);
        /* it hears of it before or after what is still on its way */
        td_time down = sim_delay(sim, sim->options.latency_ns_max);
        struct event *e = queue_put(&sim->queue, down, LINK_DOWN, ends[i][0]);
        e->from = ends[i][1];
        e->epoch = epoch;
        e->text = text;
        e->refused = !sim->node[e->from].alive;
        if (lives(&sim->node[a]) && lives(&sim->node[b]))
            put_link_up(sim, sim->now + RECONNECT_NS, ends[i][0], ends[i][1], epoch);
    }
}

void td_sim_break_link(struct td_sim *sim, uint32_t a, uint32_t b)
{
    sim_tear(sim, a, b, "the connection was reset");
}

void td_sim_freeze_node(struct td_sim *sim, uint32_t node)
{
    sim->node[node].frozen = true;
    for (uint32_t i = 0; i < sim->clients; i++)
        if (sim->client[i].node == node)
            client_cut_off(sim, i + 1);
}

void td_sim_kill_node(struct td_sim *sim, uint32_t node)
{
    td_sim_freeze_node(sim, node);
    sim->node[node].alive = false;
    sim->node[node].died_at = sim->now;
    for (uint32_t i = 0; i < sim->topology.nodes; i++)
        if (i != node)
            sim_tear(sim, node, i, "the connection was closed");
}

void td_sim_start_node(struct td_sim *sim, uint32_t node)
{
    struct node *n = &sim->node[node];
    struct end *ends = n->end;
    const struct td_sim_options *o = &sim->options;
    td_time under_way =
        o->compute_ns_max > o->latency_ns_max ? o->compute_ns_max : o->latency_ns_max;
    assert(!n->alive && !o->modelled && sim->now > n->died_at + under_way);
    td_core_destroy(n->core);
    memory_fini(sim, n);
    *n = (struct node){.end = ends};
    bool made = start_node(sim, node);
    assert(made);
    for (uint32_t i = 0; i < sim->topology.nodes; i++) {
        sim_forget(&ends[i], UINT64_MAX);
        ends[i].up = ends[i].refused = false;
        ends[i].epoch = ++sim->epoch;
        if (i == node)
            continue;
        td_time at = sim_delay(sim, RECONNECT_NS);
        if (lives(&sim->node[i])) {
            put_link_up(sim, at, node, i, sim->epoch);
            put_link_up(sim, at, i, node, sim->epoch);
            continue;
        }
        struct event *e = queue_put(&sim->queue, at, LINK_DOWN, node); /* whom it does not find */
        e->from = i;
        e->epoch = sim->epoch;
        e->refused = !sim->node[i].alive;
        e->text = e->refused ? "no daemon answers there" : "it does not answer";
    }
}

static void link_up(struct td_sim *sim, const struct event *e)
{
    struct end *end = sim->node[e->node].end ? &sim->node[e->node].end[e->from] : NULL;
    if ((end && end->epoch > e->epoch) || !lives(&sim->node[e->from]))
        return; /* it was torn again */
    if (end) {
        end->up = true;
        end->refused = false;
        end->epoch = e->epoch;
    }
    sim_trace(sim, e->node, '>', "link to %u is up", e->from);
    sim_feed(sim, e->node,
             &(struct td_event){
                 .kind = TD_EVENT_LINK_UP,
                 .u.link = {.node = e->from, .incarnation = sim->node[e->from].incarnation}});
}

static void link_down(struct td_sim *sim, const struct event *e)
{
    struct end *end = &sim->node[e->node].end[e->from];
    if (e->epoch < end->epoch && end->up)
        return; /* it was refused, but has come up since */
    end->up = end->refused = false;
    end->epoch = e->epoch > end->epoch ? e->epoch : end->epoch;
    sim_trace(sim, e->node, '>', "link to %u is down: %s", e->from, e->text);
    sim_feed(
        sim, e->node,
        &(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                           .u.link = {.node = e->from, .text = e->text, .refused = e->refused}});
}

/* passes: whether what was sent in an epoch of the link still comes out of it. */
static bool passes(const struct td_sim *sim, const struct event *e)
{
    const struct end *end = sim->node[e->node].end;
    return end ? end[e->from].up && end[e->from].epoch == e->epoch : e->epoch == 0;
}

/* ---- what happens ---- */

void sim_answer(struct td_sim *sim, enum td_event_kind kind, uint64_t handle)
{
    if (sim->answers == sim->answers_room) {
        sim->answers_room = sim->answers_room ? 2 * sim->answers_room : 256;
        sim->answer = realloc(sim->answer, sim->answers_room * sizeof *sim->answer);
        assert(sim->answer);
    }
    sim->answer[sim->answers++] = (struct answer){kind, handle};
}

/* feed lets a core take events and does what it asks for. */
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
        struct td_event event[SIM_TOGETHER]; /* what is not of its kind is left as it is */
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

/* feed_gathered lets a core take what was gathered for it. */
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
    if (!lives(n))
        return;
    if (n->wake_put == sim->now)
        n->wake_put = TD_TIME_NEVER;
    sim_feed(sim, node, &(struct td_event){.kind = TD_EVENT_WAKE});
}

/* put_wake lets a node wake when its core wants to: at once, where nothing else happens there at
 * this moment, else after what happens. */
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
        m->text = "";
    }
    sim_trace(sim, e->node, '>', "message of kind %d from %u, operation %llu", (int)m->kind,
              e->from, (unsigned long long)m->sequence);
    sim_mix(sim, (uint64_t)m->kind);
    e->arrival.kind = TD_EVENT_TREE_MESSAGE;
    e->arrival.u.tree.node = e->from;
    e->arrival.u.tree.message = m;
    if (e->size)
        sim_feed(sim, e->node, &e->arrival); /* there is room for one that is decoded */
    else
        sim_gather(sim, e->node, &e->arrival);
}

/* unwrap reads a packet's header and gives its bytes to the node; false: it is not ready. */
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
        link_up(sim, e);
        return;
    case LINK_DOWN:
        link_down(sim, e);
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
    case WAKE: /* never an event to be handled */
        return;
    }
}

/* fetch has the memory of the core whose turn is next come while the one before is at work: with
 * many cores it is in no cache. */
static void fetch(const struct td_sim *sim)
{
    uint32_t node = queue_soon(&sim->queue);
    if (node == QUEUE_NONE || sim->topology.nodes < FETCH_NODES_MIN)
        return;
    const struct node *n = &sim->node[node];
    for (unsigned i = 0; i < n->spans; i++)
        for (size_t at = 0; at < n->span[i].bytes; at += CACHE_LINE)
            __builtin_prefetch((const char *)n->span[i].at + at, 1);
}

/* step lets the next thing happen, and with it what happens at the same node at that moment, unless
 * that is after `until`. */
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
        if (e->next)
            __builtin_prefetch(&e->next->arrival);
        sim->events++;
        sim_mix(sim,
                at ^ (uint64_t)e->kind << 56 ^ (uint64_t)e->node << 40 ^ (uint64_t)e->from << 24);
        if (lives(&sim->node[turn.node]))
            happen(sim, e);
    }
    if (sim->gathered_count)
        feed_gathered(sim, turn.node);
    if (turn.wakes)
        wake(sim, turn.node);
    if (lives(&sim->node[turn.node]))
        put_wake(sim, turn.node);
    drop_events(sim, turn.events);
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

/* ---- judging ---- */

const char *td_sim_leftovers(struct td_sim *sim)
{
    for (uint32_t i = 0; i < sim->topology.nodes; i++) {
        const struct node *n = &sim->node[i];
        struct td_counts c;
        if (!lives(n))
            continue;
        td_core_counts(n->core, &c);
        uint32_t mapped = 0;
        for (uint32_t k = 1; k < n->mappings; k++)
            mapped += n->mapping[k].mapped;
        uint64_t held = c.clients + c.regions + c.jobs + c.groups + c.operations + c.plans +
                        c.computing + c.packets_unacknowledged + c.scratch_used;
        if (held == 0 && c.arena_used == n->arena_used && mapped == 0 && n->buffers_held == 0 &&
            n->under_way == 0)
            continue;
        snprintf(sim->text, sizeof sim->text,
                 "node %u holds %llu clients, %llu regions (%u mapped), %llu jobs, %llu groups, "
                 "%llu operations, %llu plans, %llu computations, %llu packets, %u buffers, %llu "
                 "bytes of scratch and %lld of the arena",
                 i, (unsigned long long)c.clients, (unsigned long long)c.regions, mapped,
                 (unsigned long long)c.jobs, (unsigned long long)c.groups,
                 (unsigned long long)c.operations, (unsigned long long)c.plans,
                 (unsigned long long)c.computing, (unsigned long long)c.packets_unacknowledged,
                 n->buffers_held, (unsigned long long)c.scratch_used,
                 (long long)(c.arena_used - n->arena_used));
        return sim->text;
    }
    return NULL;
}
