/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_routed.h"
#include "carry.h"
#include "fabric_routed_carry.h"
#include "fabric_routed_control.h"
#include "fabric_routed_links.h"
#include "fabric_routed_losses.h"

#include <assert.h>
#include <string.h>

#include "inflight.h"

enum { HOPS_SPARE = 16 /* of a message, beyond twice the diameter, while routes change */ };

_Static_assert(TD_TICKETS <= 1 << GENERATION_SHIFT, "a ticket has index and generation");

/* ---- the fabric as a whole ---- */

static bool adjacent(const struct td_core *core, uint32_t node)
{
    return td_topology_distance(&core->options.topology, core->node, node) == 1;
}

/* health_edge: heartbeats use the tree of the routes to node 0. */
static bool health_edge(const struct td_core *core, uint32_t node)
{
    const struct td_topology *t = &core->options.topology;
    return (core->node != 0 && td_topology_next_hop(t, core->node, 0) == node) ||
           (node != 0 && td_topology_next_hop(t, node, 0) == core->node);
}

static bool init_port(struct td_core *core, unsigned direction)
{
    const struct td_topology *t = &core->options.topology;
    struct port *port = &core->routed->port[direction];
    port->neighbour = td_topology_neighbour(t, core->node, direction / 2, direction % 2 ? -1 : 1);
    port->link = &core->link[port->neighbour];
    port->lane = port->link->lane;
    port->announce_to = td_arena_alloc(core->arena, td_bit_bytes(t->nodes));
    td_link_watch(core, port->neighbour); /* a silent neighbour blocks everybody */
    return port->announce_to != NULL;
}

/* init returns false if memory runs out; the arena is released with the core. */
static bool init(struct td_core *core)
{
    const struct td_topology *t = &core->options.topology;
    const struct td_router_rules *rules = &core->settings.router;
    size_t ports = 2 * t->dimensions * sizeof(struct port);
    struct td_routed *routed = td_arena_alloc_lines(core->arena, sizeof *routed + ports);
    if (!routed)
        return false;
    core->routed = routed;
    routed->directions = 2 * t->dimensions;
    routed->wake_at = TD_TIME_NEVER;
    routed->packet_ns = td_settings_link_time(&core->settings, core->settings.packet_bytes);
    routed->router = td_router_create(core->arena, t, core->node, rules, td_core_random(core));
    routed->lost_packets = TD_HELD_NONE;
    routed->announcements.advance = td_routed_announce;
    for (uint32_t d = 0; d < t->dimensions; d++)
        routed->reach[d] = (int16_t)(t->size[d] - 1);
    routed->missing = td_arena_alloc(core->arena, t->nodes * sizeof *routed->missing);
    routed->unmet = td_arena_alloc(core->arena, t->nodes * sizeof *routed->unmet);
    routed->avoided_until = td_arena_alloc(core->arena, t->nodes * sizeof *routed->avoided_until);
    routed->next_hop = td_arena_alloc(core->arena, t->nodes * sizeof *routed->next_hop);
    routed->hops_max = 2 * td_topology_diameter(t) + HOPS_SPARE;
    routed->routes_stale = true;
    routed->rerouting.advance = td_routed_reroute;
    routed->tick_at = TD_TIME_NEVER;
    routed->ticket = td_arena_alloc(core->arena, TD_TICKETS * sizeof *routed->ticket);
    /* one held packet for every slot, and one for every packet that is not acknowledged */
    uint32_t held = 2 * routed->directions * TD_CHANNELS * rules->slots;
    if (!routed->router || !routed->next_hop || !routed->ticket || !routed->missing ||
        !routed->unmet || !routed->avoided_until || !td_inflight_init_held(core, held))
        return false;
    /* an acknowledgement that was for an earlier daemon of this node names no ticket of this one */
    for (uint32_t i = 0; i < TD_TICKETS; i++)
        routed->ticket[i] = (struct ticket){.generation = (uint16_t)core->options.incarnation,
                                            .next_free = (uint16_t)(i + 1)};
    bool good = true;
    for (unsigned d = 0; good && d < routed->directions; d++)
        good = init_port(core, d);
    for (uint32_t i = 0; good && i < TD_DETOURS; i++) {
        struct td_detour *detour = &routed->detour[i];
        detour->hop = td_arena_alloc(core->arena, t->nodes * sizeof *detour->hop);
        good = detour->hop != NULL;
    }
    return good;
}

static const struct td_router *router(const struct td_core *core)
{
    return core->routed->router;
}

static void inspect(const struct td_core *core, unsigned direction, struct td_fabric_port *out)
{
    const struct port *port = &core->routed->port[direction];
    *out = (struct td_fabric_port){.neighbour = port->neighbour,
                                   .bytes = port->bytes,
                                   .retries = port->retries,
                                   .resumes = port->lane->resumes};
}

static unsigned spans(const struct td_core *core, struct td_span *span, unsigned count)
{
    const struct td_routed *routed = core->routed;
    size_t ports = routed->directions * sizeof routed->port[0];
    span[count++] = (struct td_span){routed, sizeof *routed + ports};
    count += td_router_spans(routed->router, &span[count]);
    for (uint32_t d = 0; d < routed->directions; d++) {
        const struct port *port = &routed->port[d];
        span[count++] = (struct td_span){port->link, sizeof *port->link};
        span[count++] = (struct td_span){port->lane, offsetof(struct td_lane, freed)};
    }
    return count;
}

static td_time wake_at(const struct td_core *core)
{
    return core->routed->wake_at;
}

static void prefetch(const struct td_core *core, uint32_t node, const struct td_packet *packet)
{
    if (packet->destination == core->node && packet->origin < core->options.topology.nodes) {
        __builtin_prefetch(&core->link[packet->origin], 1);
        __builtin_prefetch(&core->routed->next_hop[packet->origin]); /* of a DELIVERED */
    }
    uint32_t i = core->link[node].lane->first_held;
    if (i != TD_HELD_NONE)
        __builtin_prefetch(&core->held[i].packet.link_sequence, 1);
}

/* ---- packets that are lost ---- */

static void release_lost(struct td_core *core)
{
    struct td_routed *routed = core->routed;
    while (routed->lost_packets != TD_HELD_NONE) {
        uint32_t i = routed->lost_packets;
        if (!td_core_room(core)) {
            td_routed_wake(core, core->now);
            return;
        }
        routed->lost_packets = core->held[i].next;
        td_routed_tell_origin(core, &core->held[i].packet);
        td_core_release_buffer(core, core->held[i].payload);
        td_held_release(core, i);
    }
}

/* ---- messages ---- */

/* find returns the message that a ticket names, NULL if it is over. */
static struct td_transfer *find(struct td_routed *routed, uint64_t ticket)
{
    uint64_t place = ticket & ((1u << GENERATION_SHIFT) - 1);
    if (place >= TD_TICKETS || routed->ticket[place].generation != ticket >> GENERATION_SHIFT)
        return NULL;
    return routed->ticket[place].transfer;
}

/* new_transfer returns a message of a SEND step with the first free ticket; NULL when there is
 * none, or no memory. */
static struct td_transfer *new_transfer(struct td_core *core, const struct td_sender *sender,
                                        unsigned family, uint64_t index, const struct td_step *step)
{
    struct td_routed *routed = core->routed;
    uint32_t place = routed->tickets_free;
    struct td_transfer *t = routed->spare;
    if (place >= TD_TICKETS)
        return NULL;
    if (t)
        routed->spare = t->next;
    else if (!(t = td_arena_alloc(core->arena, sizeof *t)))
        return NULL;
    routed->tickets_free = routed->ticket[place].next_free;
    routed->ticket[place].transfer = t;
    routed->transfers++;
    t->ticket = (uint32_t)routed->ticket[place].generation << GENERATION_SHIFT | place;
    t->operation = sender->operation;
    t->bytes = (uint64_t)td_step_bytes(step);
    t->offset = 0;
    t->index = index;
    t->family = family;
    t->peer = step->peer;
    t->unsettled = 0;
    t->abandoned = t->delivered = t->carried = t->lost = false;
    t->peer_family = step->peer_family;
    t->peer_index = step->peer_index;
    td_slice_copy(&t->from, &step->from);
    return t;
}

static void free_transfer(struct td_core *core, struct td_transfer *t)
{
    struct td_routed *routed = core->routed;
    uint32_t place = t->ticket & ((1u << GENERATION_SHIFT) - 1);
    if (t->carried)
        td_routed_carry_end(core, t);
    routed->ticket[place].transfer = NULL;
    routed->ticket[place].generation++;
    routed->ticket[place].next_free = (uint16_t)routed->tickets_free;
    routed->tickets_free = place;
    t->next = routed->spare;
    routed->spare = t;
    if (--routed->transfers > 0)
        return;
    while ((t = routed->spare)) { /* between operations nothing is held */
        routed->spare = t->next;
        td_core_free(core, t);
    }
}

/* backlog puts a sender on the list of those that are queued when there is room again. */
static bool backlog(struct td_core *core, struct td_sender *sender)
{
    if (!sender->backlogged) {
        sender->backlogged = true;
        sender->next = core->routed->backlogged;
        core->routed->backlogged = sender;
    }
    return false;
}

/* backlog_until_turn does so for a family whose queue stays full until packets move. */
static bool backlog_until_turn(struct td_core *core, struct td_sender *sender, unsigned family,
                               uint32_t queue)
{
    sender->families_blocked |= (uint64_t)1 << family;
    sender->queue_blocked = queue;
    return backlog(core, sender);
}

static void forget(struct td_core *core, struct td_sender *sender)
{
    struct td_sender **at = &core->routed->backlogged;
    if (!sender->backlogged)
        return;
    while (*at != sender)
        at = &(*at)->next;
    *at = sender->next;
    sender->backlogged = false;
}

/* queue_along returns the queue of a shipment's direction: what is ordered along a ring has a queue
 * to itself and waits for nothing else. */
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

/* approach wants the connection to the neighbour that forwards packets to the node. */
static void approach(struct td_core *core, uint32_t node)
{
    uint32_t hop = td_routed_next_hop(core, node);
    if (hop != UINT32_MAX)
        td_link_want(core, &core->link[hop]);
}

/* carry takes a SEND step whose packets would pass a lost node. */
static bool carry(struct td_core *core, struct td_sender *sender, unsigned family, uint64_t index,
                  const struct td_step *step)
{
    if (td_link_is_given_up(&core->link[step->peer])) {
        td_routed_fail(core, sender->operation, step->peer);
        return false;
    }
    struct td_transfer *t =
        td_routed_carry_has_room(core) ? new_transfer(core, sender, family, index, step) : NULL;
    if (!t)
        return backlog(core, sender);
    td_routed_carry(core, t);
    return true;
}

static bool send(struct td_core *core, struct td_sender *sender, unsigned family, uint64_t index,
                 const struct td_step *step)
{
    struct td_routed *routed = core->routed;
    if (td_routed_lost_on_way(core, step->peer) != UINT32_MAX)
        return carry(core, sender, family, index, step);
    uint32_t place = routed->tickets_free;
    uint32_t queue = td_router_queue(routed->router, step->peer);
    if (!step->sign && !td_router_has_room(routed->router, queue, sender->job))
        return backlog_until_turn(core, sender, family, queue);
    struct td_shipment s = {.tag = OWN | (uint64_t)place << TICKET_SHIFT,
                            .job = sender->job,
                            .group = td_router_group(sender->instance),
                            .gap = step->gap};
    s.packets = packets_of(core, (uint64_t)td_step_bytes(step));
    td_router_route(routed->router, step->peer, (uint32_t)index, step->sign, &s);
    if (step->sign)
        queue = queue_along(&s);
    if (!td_router_has_room(routed->router, queue, sender->job))
        return backlog_until_turn(core, sender, family, queue);
    if (!new_transfer(core, sender, family, index, step))
        return backlog(core, sender);
    bool shipped = td_router_ship(routed->router, queue, &s);
    assert(shipped);
    td_routed_wake(core, core->now);
    return true;
}

void td_routed_finish(struct td_core *core, struct td_transfer *t)
{
    if (t->unsettled > 0 || !(t->abandoned || (t->delivered && t->offset == t->bytes)))
        return;
    if (!t->abandoned)
        td_core_notices.delivered(core, t->operation, t->family, t->index);
    free_transfer(core, t);
    td_routed_wake(core, core->now); /* a ticket and memory, for senders that are backlogged */
}

static void settled(struct td_core *core, struct td_inflight *f)
{
    f->transfer->unsettled--;
    td_routed_finish(core, f->transfer);
}

static void prefetch_ticket(const struct td_core *core, uint64_t ticket)
{
    __builtin_prefetch(find(core->routed, ticket), 1);
}

static void prefetch_route(const struct td_core *core, uint32_t node)
{
    __builtin_prefetch(&core->routed->next_hop[node]);
}

static void delivered(struct td_core *core, uint32_t from, const struct td_message_delivered *fate)
{
    struct td_transfer *t = find(core->routed, fate->ticket);
    if (t && fate->is_lost && !t->abandoned && fate->with < core->options.topology.nodes)
        td_core_notices.packets_lost(core, t->operation, from, fate->with);
    if (!t || fate->is_lost || t->peer != from)
        return;
    t->delivered = true;
    td_routed_finish(core, t);
}

static bool is_abandoned(void *core, uint64_t tag)
{
    struct td_routed *routed = ((struct td_core *)core)->routed;
    return tag & OWN && routed->ticket[(tag & ~OWN) >> TICKET_SHIFT].transfer->abandoned;
}

static void abandon(struct td_core *core, struct td_sender *sender)
{
    struct td_routed *routed = core->routed;
    bool any = false;
    forget(core, sender);
    for (uint32_t i = 0; i < TD_TICKETS; i++) {
        struct td_transfer *t = routed->ticket[i].transfer;
        if (t && t->operation == sender->operation)
            any = t->abandoned = true;
    }
    if (!any)
        return;
    td_router_discard(routed->router, is_abandoned, core);
    td_routed_wake(core, core->now); /* others may find room */
    for (uint32_t i = 0; i < TD_TICKETS; i++) {
        struct td_transfer *t = routed->ticket[i].transfer;
        if (t && t->operation == sender->operation)
            td_routed_finish(core, t);
    }
}

/* ---- receiving ---- */

static bool sane(const struct td_core *core, uint32_t node, const struct td_packet *p)
{
    const struct td_routed *routed = core->routed;
    uint32_t nodes = core->options.topology.nodes;
    bool good = p->direction < routed->directions && p->channel < TD_CHANNELS &&
                routed->port[p->direction ^ 1].neighbour == node;
    for (uint32_t d = 0; d < routed->directions / 2; d++)
        good &= (p->left[d] < 0 ? -p->left[d] : p->left[d]) <= routed->reach[d];
    return good && (p->kind == TD_PACKET_CREDIT ||
                    (p->origin < nodes && p->destination < nodes && p->bytes > 0 &&
                     p->bytes <= core->settings.packet_bytes));
}

static void free_slot(struct td_core *core, uint32_t session, unsigned direction, unsigned channel)
{
    if (core->routed->port[direction ^ 1].link->session_in == session)
        td_router_freed(core->routed->router, direction, channel);
    td_routed_wake(core, core->now);
}

/* arrive takes a packet's payload: into transit, or to the step here that it is for. */
static enum td_accept arrive(struct td_core *core, const struct td_packet *packet, uint32_t buffer)
{
    struct td_routed *routed = core->routed;
    struct td_parcel parcel = {.tag = td_held_next(core),
                               .group = td_router_group(packet->instance)};
    memcpy(parcel.left, packet->left, sizeof parcel.left);
    if (!td_router_arrive(routed->router, packet->direction, packet->channel, &parcel)) {
        core->held[td_held_acquire(core, buffer, false)].packet = *packet;
        routed->purge = routed->purge || td_routed_dead_end(core, &parcel) != UINT32_MAX;
        return TD_ACCEPT_KEPT;
    }
    if (packet->destination == core->node &&
        td_core_notices.packet(core, packet->origin, packet, buffer))
        return TD_ACCEPT_KEPT;
    td_core_release_buffer(core, buffer); /* its operation has ended here */
    free_slot(core, packet->session, packet->direction, packet->channel);
    return TD_ACCEPT_KEPT;
}

static enum td_accept accept(struct td_core *core, uint32_t node, const struct td_packet *packet,
                             uint32_t buffer, const char **why)
{
    struct td_routed *routed = core->routed;
    *why = "protocol violation: it sent a packet with an invalid route or channel";
    if (!sane(core, node, packet))
        return TD_ACCEPT_VIOLATION;
    td_routed_wake(core, core->now);
    if (!td_router_credit(routed->router, packet->direction ^ 1u, packet->channel_freed)) {
        *why = "protocol violation: it returned more credits than were used";
        return TD_ACCEPT_VIOLATION;
    }
    if (packet->kind == TD_PACKET_CREDIT)
        return TD_ACCEPT_RELEASED;
    if (!td_router_has_slot(routed->router, packet->direction, packet->channel)) {
        *why = "protocol violation: it sent a packet without a credit";
        return TD_ACCEPT_VIOLATION;
    }
    if (core->held_left == 0) {
        *why = "protocol violation: it returned credits for packets that it did not acknowledge";
        return TD_ACCEPT_VIOLATION;
    }
    return arrive(core, packet, buffer);
}

static uint32_t origin(const struct td_core *core, uint32_t node, const struct td_packet *packet)
{
    (void)node;
    return packet->destination == core->node ? packet->origin : UINT32_MAX;
}

static void unpacked(struct td_core *core, const struct td_inflight *f)
{
    if (f->channel < TD_CHANNELS) /* else it was carried */
        free_slot(core, f->session, f->direction, f->channel);
}

/* ---- turns ---- */

/* idle_ports returns a bitmap of the directions that can take a packet now. */
static uint32_t idle_ports(const struct td_core *core)
{
    const struct td_routed *routed = core->routed;
    uint32_t idle = 0;
    for (uint32_t d = 0; d < routed->directions; d++) {
        const struct port *port = &routed->port[d];
        if (port->free_at <= core->now && td_link_is_open(port->link) && !port->lane->retransmit)
            idle |= 1u << d;
    }
    return idle;
}

/* next_turn sets the time when a busy or pausing direction can take another packet; `moved` has the
 * directions that took one now. */
static void next_turn(struct td_core *core, uint32_t moved)
{
    struct td_routed *routed = core->routed;
    if (!td_router_busy(routed->router))
        return;
    for (uint32_t d = 0; d < routed->directions; d++)
        if (routed->port[d].free_at > core->now)
            td_routed_wake(core, routed->port[d].free_at);
        else if (moved >> d & 1)
            td_routed_wake(core, core->now);
    td_time pause = td_router_pause_ends(routed->router);
    if (pause > core->now)
        td_routed_wake(core, pause);
}

/* relieve queues the backlogged senders. A sender whose only queue is still full waits on. */
static void relieve(struct td_core *core)
{
    struct td_routed *routed = core->routed;
    struct td_sender **at = &routed->backlogged;
    while (*at) {
        struct td_sender *s = *at;
        uint64_t families = s->families_blocked;
        bool one = families && !(families & (families - 1));
        if (one && !td_router_has_room(routed->router, s->queue_blocked, s->job)) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->backlogged = false;
        s->families_blocked = 0;
        td_core_queue(core, s->task);
    }
}

static void turn(struct td_core *core)
{
    struct td_routed *routed = core->routed;
    struct td_move moves[TD_DIRECTIONS_MAX];
    if (core->now < routed->wake_at)
        return;
    td_time packet = routed->packet_ns;
    routed->due = core->now - routed->wake_at < packet ? routed->wake_at : core->now - packet;
    routed->wake_at = TD_TIME_NEVER;
    if (routed->starting)
        td_routed_end_start(core);
    if (routed->purge)
        td_routed_purge(core);
    routed->purge = false;
    release_lost(core);
    uint32_t idle = idle_ports(core), moved = 0;
    if (!td_inflight_available(core, routed->directions) || core->held_left < routed->directions)
        idle = 0; /* an acknowledgement wakes the fabric again */
    unsigned count = td_router_moves(routed->router, core->now, packet, idle, moves);
    for (unsigned i = 0; i < count; i++) {
        td_routed_prefetch_move(core, &moves[i]);
        moved |= 1u << moves[i].direction;
    }
    for (unsigned i = 0; i < count; i++)
        td_routed_move(core, &moves[i]);
    td_routed_send_credits(core, moved);
    relieve(core);
    next_turn(core, moved);
}

const struct td_fabric td_fabric_routed = {
    .routed = true,
    .queues_sends = true,
    .init = init,
    .adjacent = adjacent,
    .health_edge = health_edge,
    .next_hop = td_routed_next_hop,
    .route = td_routed_route,
    .relay = td_routed_relay,
    .expect_acknowledgement = td_routed_expect_acknowledgement,
    .timers = td_routed_timers,
    .approach = approach,
    .send = send,
    .abandon = abandon,
    .forget = forget,
    .transmit = td_routed_transmit,
    .emit = td_routed_emit,
    .settled = settled,
    .accept = accept,
    .origin = origin,
    .unpacked = unpacked,
    .received = td_routed_received,
    .delivered = delivered,
    .carried = td_carry_take,
    .neighbour_lost = td_routed_neighbour_lost,
    .link_open = td_routed_link_open,
    .link_ends = td_routed_link_ends,
    .link_lost = td_routed_link_lost,
    .dropped = td_routed_tell_again,
    .exclude = td_routed_exclude,
    .turn = turn,
    .wake_at = wake_at,
    .prefetch = prefetch,
    .prefetch_ticket = prefetch_ticket,
    .prefetch_route = prefetch_route,
    .spans = spans,
    .router = router,
    .inspect = inspect,
};
