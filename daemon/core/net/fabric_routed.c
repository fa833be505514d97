/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_routed_internal.h"

#include <assert.h>
#include <string.h>

#include "inflight.h"

_Static_assert(TD_TICKETS <= 1 << GENERATION_SHIFT, "a ticket has place and generation");

struct td_torus *td_torus_create(struct td_core *core)
{
    const struct td_topology *t = &core->options.topology;
    const struct td_router_rules *rules = &core->settings.router;
    size_t ports = 2 * t->dimensions * sizeof(struct port);
    struct td_torus *torus = td_arena_alloc_lines(core->arena, sizeof *torus + ports);
    if (!torus)
        return NULL;
    torus->directions = 2 * t->dimensions;
    torus->wake_at = TD_TIME_NEVER;
    torus->packet_ns = td_settings_link_time(&core->settings, core->settings.packet_bytes);
    torus->router = td_router_create(core->arena, t, core->node, rules, td_core_random(core));
    /* one for every slot, and one for every packet unacknowledged */
    torus->notes_left = 2 * torus->directions * TD_CHANNELS * rules->slots;
    torus->notes_lost = NO_NOTE;
    torus->news.advance = td_torus_tell_news;
    for (uint32_t d = 0; d < t->dimensions; d++)
        torus->reach[d] = (int16_t)(t->size[d] - 1);
    torus->missing = td_arena_alloc(core->arena, t->nodes * sizeof *torus->missing);
    torus->note = td_arena_alloc_lines(core->arena, torus->notes_left * sizeof *torus->note);
    torus->ticket = td_arena_alloc(core->arena, TD_TICKETS * sizeof *torus->ticket);
    if (!torus->router || !torus->note || !torus->ticket || !torus->missing)
        return NULL; /* the arena goes with the core */
    for (uint32_t i = 0; i < torus->notes_left; i++)
        td_torus_chain(torus, i, i + 1);
    for (uint32_t i = 0; i < TD_TICKETS; i++)
        torus->ticket[i].next_free = (uint16_t)(i + 1);
    for (uint32_t d = 0; d < torus->directions; d++) {
        struct port *port = &torus->port[d];
        port->neighbour = td_topology_neighbour(t, core->node, d / 2, d % 2 ? -1 : 1);
        port->link = &core->link[port->neighbour];
        port->lane = port->link->lane;
        port->tell = td_arena_alloc(core->arena, td_bit_bytes(t->nodes));
        if (!port->tell)
            return NULL;
    }
    for (uint32_t d = 0; d < torus->directions; d++)
        td_link_watch(core, torus->port[d].neighbour); /* a silent one blocks everybody */
    return torus;
}

const struct td_router *td_torus_router(const struct td_core *core)
{
    return core->torus ? core->torus->router : NULL;
}

void td_torus_look(const struct td_core *core, unsigned direction, struct td_torus_way *way)
{
    const struct port *port = &core->torus->port[direction];
    *way = (struct td_torus_way){.neighbour = port->neighbour,
                                 .bytes = port->bytes,
                                 .retries = port->retries,
                                 .resumes = port->lane->resumes};
}

unsigned td_torus_spans(const struct td_core *core, struct td_span *spans, unsigned count)
{
    const struct td_torus *torus = core->torus;
    size_t ports = torus->directions * sizeof torus->port[0];
    spans[count++] = (struct td_span){torus, sizeof *torus + ports};
    count += td_router_spans(torus->router, &spans[count]);
    for (uint32_t d = 0; d < torus->directions; d++) {
        const struct port *port = &torus->port[d];
        spans[count++] = (struct td_span){port->link, sizeof *port->link};
        spans[count++] = (struct td_span){port->lane, offsetof(struct td_lane, freed)};
    }
    return count;
}

td_time td_torus_wake_at(const struct td_core *core)
{
    return core->torus->wake_at;
}

/* ---- notes ---- */

static void release_lost(struct td_core *core)
{
    struct td_torus *torus = core->torus;
    while (torus->notes_lost != NO_NOTE) {
        uint32_t place = torus->notes_lost;
        if (!td_core_room(core)) {
            td_torus_wake(core, core->now);
            return;
        }
        torus->notes_lost = torus->note[place].next;
        td_core_release_buffer(core, torus->note[place].buffer);
        td_torus_give_note(torus, place);
    }
}

/* ---- messages ---- */

static struct td_transfer *find(struct td_torus *torus, uint64_t ticket)
{
    uint64_t place = ticket & ((1u << GENERATION_SHIFT) - 1);
    if (place >= TD_TICKETS || torus->ticket[place].generation != ticket >> GENERATION_SHIFT)
        return NULL;
    return torus->ticket[place].transfer;
}

/* new_transfer returns a message to be filled in, with the first free ticket; NULL when there is
 * none, or no memory. */
static struct td_transfer *new_transfer(struct td_core *core)
{
    struct td_torus *torus = core->torus;
    uint32_t place = torus->tickets_free;
    struct td_transfer *t = torus->spare;
    if (place >= TD_TICKETS)
        return NULL;
    if (t)
        torus->spare = t->next;
    else if (!(t = td_arena_alloc(core->arena, sizeof *t)))
        return NULL;
    torus->tickets_free = torus->ticket[place].next_free;
    torus->ticket[place].transfer = t;
    torus->transfers++;
    t->ticket = (uint32_t)torus->ticket[place].generation << GENERATION_SHIFT | place;
    return t;
}

static void free_transfer(struct td_core *core, struct td_transfer *t)
{
    struct td_torus *torus = core->torus;
    uint32_t place = t->ticket & ((1u << GENERATION_SHIFT) - 1);
    torus->ticket[place].transfer = NULL;
    torus->ticket[place].generation++;
    torus->ticket[place].next_free = (uint16_t)torus->tickets_free;
    torus->tickets_free = place;
    t->next = torus->spare;
    torus->spare = t;
    if (--torus->transfers > 0)
        return;
    while ((t = torus->spare)) { /* between operations nothing is held */
        torus->spare = t->next;
        td_arena_free(core->arena, t);
    }
}

/* queue_along: what is ordered along a ring has a queue of its direction to itself, and waits for
 * no other; all else is spread. */
static uint32_t queue_along(const struct td_shipment *s)
{
    uint32_t d = 0;
    while (s->left[d] == 0)
        d++;
    return 2 * d + (s->left[d] < 0);
}

static uint32_t packets_of(const struct td_core *core, uint64_t bytes)
{
    uint32_t most = core->settings.packet_bytes;
    return bytes <= most ? 1 : (uint32_t)((bytes + most - 1) / most);
}

bool td_torus_has_room(const struct td_core *core, uint32_t queue)
{
    return td_router_has_room(core->torus->router, queue);
}

enum td_send_result td_torus_send(struct td_core *core, struct td_operation *o, unsigned family,
                                  uint64_t index, const struct td_step *step, uint32_t *full)
{
    struct td_torus *torus = core->torus;
    uint32_t place = torus->tickets_free;
    uint32_t queue = *full = td_router_queue(torus->router, step->peer);
    if (!step->sign && !td_router_has_room(torus->router, queue))
        return TD_SEND_QUEUE_FULL;
    uint64_t bytes = (uint64_t)td_step_bytes(step);
    struct td_shipment s = {.tag = OWN | (uint64_t)place << PLACE_SHIFT, .gap = step->gap};
    s.packets = packets_of(core, bytes);
    if (td_torus_way_is_lost(core, o, step->peer))
        return TD_SEND_ROUTE_LOST;
    td_router_route(torus->router, step->peer, (uint32_t)index, step->sign, &s);
    if (step->sign)
        queue = *full = queue_along(&s);
    if (!td_router_has_room(torus->router, queue))
        return TD_SEND_QUEUE_FULL;
    struct td_transfer *t = new_transfer(core);
    if (!t)
        return TD_SEND_NO_TICKET;
    t->operation = o;
    t->bytes = bytes;
    t->offset = 0;
    t->index = index;
    t->family = family;
    t->peer = step->peer;
    t->unsettled = 0;
    t->abandoned = t->delivered = false;
    t->peer_family = step->peer_family;
    t->peer_index = step->peer_index;
    td_slice_copy(&t->from, &step->from);
    bool shipped = td_router_ship(torus->router, queue, &s);
    assert(shipped);
    td_torus_wake(core, core->now);
    return TD_SEND_ACCEPTED;
}

void td_torus_finish(struct td_core *core, struct td_transfer *t)
{
    if (t->unsettled > 0 || !(t->abandoned || (t->delivered && t->offset == t->bytes)))
        return;
    if (!t->abandoned)
        td_core_notices.delivered(core, t->operation, t->family, t->index);
    free_transfer(core, t);
    td_torus_wake(core, core->now); /* tickets and memory: for operations that wait for room */
}

void td_torus_fetch_ticket(const struct td_core *core, uint64_t ticket)
{
    __builtin_prefetch(find(core->torus, ticket), 1);
}

void td_torus_delivered(struct td_core *core, uint32_t node, uint64_t ticket)
{
    struct td_transfer *t = find(core->torus, ticket);
    if (!t || t->peer != node)
        return;
    t->delivered = true;
    td_torus_finish(core, t);
}

static bool is_abandoned(void *core, uint64_t tag)
{
    struct td_torus *torus = ((struct td_core *)core)->torus;
    return tag & OWN && torus->ticket[(tag & ~OWN) >> PLACE_SHIFT].transfer->abandoned;
}

void td_torus_abandon(struct td_core *core, struct td_operation *o)
{
    struct td_torus *torus = core->torus;
    bool any = false;
    for (uint32_t i = 0; i < TD_TICKETS; i++)
        if (torus->ticket[i].transfer && torus->ticket[i].transfer->operation == o)
            any = torus->ticket[i].transfer->abandoned = true;
    if (!any)
        return;
    td_router_discard(torus->router, is_abandoned, core);
    td_torus_wake(core, core->now); /* others may find room */
    for (uint32_t i = 0; i < TD_TICKETS; i++)
        if (torus->ticket[i].transfer && torus->ticket[i].transfer->operation == o)
            td_torus_finish(core, torus->ticket[i].transfer);
}

/* ---- receiving ---- */

static bool sane(const struct td_core *core, uint32_t node, const struct td_packet *p)
{
    const struct td_torus *torus = core->torus;
    uint32_t nodes = core->options.topology.nodes;
    bool good = p->direction < torus->directions && p->channel < TD_CHANNELS &&
                torus->port[p->direction ^ 1].neighbour == node;
    for (uint32_t d = 0; d < torus->directions / 2; d++)
        good &= p->left[d] <= torus->reach[d] && -p->left[d] <= torus->reach[d];
    return good && (p->kind == TD_PACKET_CREDIT ||
                    (p->origin < nodes && p->destination < nodes && p->bytes > 0 &&
                     p->bytes <= core->settings.packet_bytes));
}

bool td_torus_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                     uint32_t buffer, const char **why)
{
    struct td_torus *torus = core->torus;
    *why = "it sent a packet that this torus does not allow";
    if (!sane(core, node, packet))
        return false;
    td_torus_wake(core, core->now);
    if (!td_router_credit(torus->router, packet->direction ^ 1u, packet->channel_freed)) {
        *why = "it gave back more slots than were taken";
        return false;
    }
    if (packet->kind == TD_PACKET_CREDIT)
        return true;
    if (!td_router_has_slot(torus->router, packet->direction, packet->channel)) {
        *why = "it sent more than its credits";
        return false;
    }
    if (torus->notes_left == 0) {
        *why = "it acknowledged packets that were not all sent";
        return false;
    }
    struct td_parcel parcel = {.tag = torus->notes_free};
    memcpy(parcel.left, packet->left, sizeof parcel.left);
    if (!td_router_arrive(torus->router, packet->direction, packet->channel, &parcel)) {
        torus->note[td_torus_take_note(torus, buffer, false)].packet = *packet;
        torus->purge = torus->purge || td_torus_dead_end(core, &parcel) != UINT32_MAX;
        return true;
    }
    bool taken = packet->destination == core->node &&
                 td_core_notices.packet(core, packet->origin, packet, buffer);
    if (!taken) { /* of an operation that has ended here */
        td_core_release_buffer(core, buffer);
        td_torus_freed(core, packet->session, packet->direction, packet->channel);
    }
    return true;
}

void td_torus_freed(struct td_core *core, uint32_t session, unsigned direction, unsigned channel)
{
    if (core->torus->port[direction ^ 1].link->session_in == session)
        td_router_freed(core->torus->router, direction, channel);
    td_torus_wake(core, core->now);
}

/* ---- moving ---- */

/* idle_ports returns the directions that can take a packet now. */
static uint32_t idle_ports(const struct td_core *core)
{
    const struct td_torus *torus = core->torus;
    uint32_t idle = 0;
    for (uint32_t d = 0; d < torus->directions; d++) {
        const struct port *port = &torus->port[d];
        if (port->free_at <= core->now && port->link->open && !port->lane->again)
            idle |= 1u << d;
    }
    return idle;
}

/* next_turn finds out when a busy direction, or one that pauses, could take another packet; `moved`
 * is the directions that took one now. */
static void next_turn(struct td_core *core, uint32_t moved)
{
    struct td_torus *torus = core->torus;
    if (!td_router_busy(torus->router))
        return;
    for (uint32_t d = 0; d < torus->directions; d++)
        if (torus->port[d].free_at > core->now)
            td_torus_wake(core, torus->port[d].free_at);
        else if (moved >> d & 1)
            td_torus_wake(core, core->now);
    td_time pause = td_router_pause_ends(torus->router);
    if (pause > core->now)
        td_torus_wake(core, pause);
}

void td_torus_turn(struct td_core *core)
{
    struct td_torus *torus = core->torus;
    struct td_move moves[TD_DIRECTIONS_MAX];
    if (core->now < torus->wake_at)
        return;
    td_time packet = torus->packet_ns;
    torus->due = core->now - torus->wake_at < packet ? torus->wake_at : core->now - packet;
    torus->wake_at = TD_TIME_NEVER;
    if (torus->purge)
        td_torus_purge(core);
    torus->purge = false;
    release_lost(core);
    uint32_t idle = idle_ports(core), moved = 0;
    if (!td_inflight_left(core, torus->directions) || torus->notes_left < torus->directions)
        idle = 0; /* acknowledgements come by again */
    unsigned count = td_router_moves(torus->router, core->now, packet, idle, moves);
    for (unsigned i = 0; i < count; i++) {
        td_torus_fetch_moved(torus, &moves[i]);
        moved |= 1u << moves[i].direction;
    }
    for (unsigned i = 0; i < count; i++)
        td_torus_move(core, &moves[i]);
    td_torus_give_credits(core, moved);
    td_core_notices.queues_have_room(core);
    next_turn(core, moved);
}
