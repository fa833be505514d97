/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of messages and packets when a node is given up, and how all nodes hear of it: its
 * neighbours tell them, and what a node says holds as long as that one is known to be there. */
#include <string.h>

#include "fabric_routed_control.h"
#include "fabric_routed_losses.h"
#include "inflight.h"
#include "session.h"

/* ---- lost nodes ---- */

/* crosses: whether a shortest way from here to `to` leads along one of the links to `node` from the
 * neighbours in these directions of it. */
static bool crosses(const struct td_core *core, uint32_t to, uint32_t node, uint16_t directions)
{
    const struct td_topology *t = &core->options.topology;
    uint32_t whole = td_topology_distance(t, core->node, to),
             rest = td_topology_distance(t, node, to);
    for (uint32_t d = 0, left = directions; left; d++, left >>= 1) {
        uint32_t from = td_topology_neighbour(t, node, d / 2, d % 2 ? -1 : 1);
        if (left & 1 && td_topology_distance(t, core->node, from) + 1 + rest == whole)
            return true;
    }
    return false;
}

/* avoided_on_way returns a node that is avoided for a time on a shortest path to `to`. */
static uint32_t avoided_on_way(const struct td_core *core, uint32_t to)
{
    const struct td_routed *routed = core->routed;
    uint16_t all = (uint16_t)((1u << routed->directions) - 1);
    for (uint32_t n = 0; n < core->options.topology.nodes; n++)
        if (core->now < routed->avoided_until[n] && crosses(core, to, n, all))
            return n;
    return UINT32_MAX;
}

uint32_t td_routed_lost_on_way(const struct td_core *core, uint32_t to)
{
    const struct td_routed *routed = core->routed;
    if (core->now < routed->avoids_until) {
        uint32_t avoided = avoided_on_way(core, to);
        if (avoided != UINT32_MAX)
            return avoided;
    }
    for (uint32_t n = 0, left = routed->missing_count; left; n++) {
        if (!routed->missing[n])
            continue;
        left--;
        if (crosses(core, to, n, routed->missing[n]))
            return n;
    }
    return UINT32_MAX;
}

void td_routed_exclude(struct td_core *core, uint32_t node)
{
    struct td_routed *routed = core->routed;
    const struct td_link *link = &core->link[node];
    td_time timeout = (td_time)core->settings.progress_timeout_ns;
    if (!link->relayed && td_link_is_up(link) && core->now - link->heard_at > timeout / 2)
        td_link_drop(core, node, "it did not answer in time, and the machine goes on without it");
    routed->avoided_until[node] = routed->avoids_until = core->now + timeout;
}

void td_routed_fail(struct td_core *core, struct td_operation *o, uint32_t node)
{
    td_core_notices.route_lost(core, o, node,
                               "it is down, and packets of the job travel through it");
}

/* port_of returns the first port to a neighbour, NULL when the node is none. */
static struct port *port_of(struct td_routed *routed, uint32_t node)
{
    for (uint32_t d = 0; d < routed->directions; d++)
        if (routed->port[d].neighbour == node)
            return &routed->port[d];
    return NULL;
}

/* sides returns a bit for each direction in which `from` is the neighbour of a node. */
static uint16_t sides(const struct td_core *core, uint32_t node, uint32_t from)
{
    uint32_t bits = 0;
    for (uint32_t d = 0; node != from && d < core->routed->directions; d++)
        if (td_topology_neighbour(&core->options.topology, node, d / 2, d % 2 ? -1 : 1) == from)
            bits |= 1u << d;
    return (uint16_t)bits;
}

/* may_be_starting: whether packets wait for a neighbour, which has never been up. */
static bool may_be_starting(const struct td_core *core, uint32_t node)
{
    return core->routed->unmet[node] & sides(core, node, core->node);
}

uint32_t td_routed_dead_end(const struct td_core *core, const struct td_parcel *p)
{
    const struct td_routed *routed = core->routed;
    uint32_t lost = UINT32_MAX;
    if (!routed->lost_neighbour)
        return lost; /* as nearly always */
    for (uint32_t d = 0; d < routed->directions / 2; d++) {
        if (p->left[d] == 0)
            continue;
        lost = routed->port[2 * d + (p->left[d] < 0)].neighbour;
        if (!td_link_is_given_up(&core->link[lost]) || may_be_starting(core, lost))
            return UINT32_MAX;
    }
    return lost;
}

/* lose_transit: a packet in transit is lost with the session of a neighbour, which takes the place
 * of its destination; UINT32_MAX: its origin hears of the way that is lost. Its buffer is released,
 * and its origin told, when there is room to say so. */
static void lose_transit(struct td_core *core, uint32_t i, uint32_t with)
{
    core->held[i].packet.destination = with;
    td_held_link(core, i, core->routed->lost_packets);
    core->routed->lost_packets = i;
}

/* struct arrived: packets that had arrived from a neighbour. */
struct arrived {
    struct td_core *core;
    uint32_t from;
};

static void lose_arrived(void *owner, uint64_t tag)
{
    const struct arrived *a = owner;
    lose_transit(a->core, (uint32_t)tag, a->from);
}

void td_routed_tell_origin(struct td_core *core, const struct td_packet *lost)
{
    if (lost->destination == UINT32_MAX || td_link_is_given_up(&core->link[lost->origin]))
        return;
    td_session_send(
        core, lost->origin,
        &(struct td_message){
            .kind = TD_MESSAGE_DELIVERED,
            .instance = lost->instance,
            .u.delivered = {.ticket = lost->ticket, .is_lost = true, .with = lost->destination}});
}

/* lose_at_dead_end drops a packet that can go nowhere, and has its origin told: that had not heard
 * of the loss when it sent the packet. */
static bool lose_at_dead_end(void *owner, const struct td_parcel *p)
{
    struct td_core *core = owner;
    uint32_t lost = td_routed_dead_end(core, p);
    if (lost == UINT32_MAX)
        return false;
    struct port *port = port_of(core->routed, lost);
    td_bit_set(port->announce_to, core->held[p->tag].packet.origin);
    td_core_queue(core, &core->routed->announcements);
    lose_transit(core, (uint32_t)p->tag, UINT32_MAX);
    return true;
}

void td_routed_purge(struct td_core *core)
{
    td_router_purge(core->routed->router, lose_at_dead_end, core);
}

/* ---- news ---- */

/* announce has all nodes told that a neighbour is lost, or is back. */
static void announce(struct td_core *core, struct port *port)
{
    memset(port->announce_to, 0xff, td_bit_bytes(core->options.topology.nodes));
    td_core_queue(core, &core->routed->announcements);
}

/* announce_again has one node told once more: what it was told before may be lost with its session.
 * lost_only: it need not hear of neighbours that are there. */
static void announce_again(struct td_core *core, uint32_t node, bool lost_only)
{
    struct td_routed *routed = core->routed;
    if (!routed->lost_neighbour)
        return; /* as nearly always */
    for (uint32_t d = 0; d < routed->directions; d++) {
        struct port *port = &routed->port[d];
        bool news = !lost_only || port->state == TD_NEIGHBOUR_LOST;
        if (port == port_of(routed, port->neighbour) && news)
            td_bit_set(port->announce_to, node);
    }
    td_core_queue(core, &routed->announcements);
}

void td_routed_tell_again(struct td_core *core, uint32_t node)
{
    announce_again(core, node, false);
}

void td_routed_tell(struct td_core *core, uint32_t node)
{
    announce_again(core, node, true);
}

bool td_routed_announce(struct td_core *core, struct td_task *task)
{
    struct td_routed *routed = core->routed;
    (void)task;
    for (uint32_t d = 0; d < routed->directions; d++) {
        struct port *port = &routed->port[d];
        struct td_message m = {
            .kind = TD_MESSAGE_NEIGHBOUR_LOST,
            .u.neighbour_lost = {.node = port->neighbour,
                                 .never_up = may_be_starting(core, port->neighbour)}};
        if (port->state == TD_NEIGHBOUR_THERE)
            m = (struct td_message){.kind = TD_MESSAGE_NEIGHBOUR_BACK,
                                    .u.neighbour_back.node = port->neighbour};
        for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
            if (!td_bit(port->announce_to, n) || td_link_is_given_up(&core->link[n]))
                continue; /* the latter is told when it is back */
            if (!td_core_room(core))
                return false;
            td_bit_clear(port->announce_to, n);
            if (n == core->node || n == port->neighbour)
                continue;
            td_session_send(core, n, &m);
        }
    }
    return true;
}

/* end_crossing ends the messages that may have been on their way along lost links to a node. */
static void end_crossing(struct td_core *core, uint32_t node, uint16_t directions)
{
    for (uint32_t i = 0; i < TD_TICKETS; i++) {
        struct td_transfer *t = core->routed->ticket[i].transfer;
        if (t && !t->abandoned && !t->carried && crosses(core, t->peer, node, directions))
            td_routed_fail(core, t->operation, node);
    }
}

/* mark notes that a neighbour of a node has lost it, and ends the messages that may have been on
 * their way between the two. None has if they never met: then they wait at the neighbour. What
 * another node says holds as long as that one is known to be there. */
static void mark(struct td_core *core, uint32_t node, uint32_t from, bool unmet)
{
    struct td_routed *routed = core->routed;
    uint16_t bits = sides(core, node, from);
    if (!bits)
        return;
    if (!(routed->missing[node] & bits)) {
        td_link_watch(core, from);
        if (from != core->node)
            td_link_want(core, &core->link[from]);
    }
    routed->missing_count += !routed->missing[node];
    routed->missing[node] |= bits;
    routed->unmet[node] =
        (uint16_t)(unmet ? routed->unmet[node] | bits : routed->unmet[node] & ~bits);
    td_routed_routes_changed(core);
    if (!unmet)
        end_crossing(core, node, bits);
}

static void unmark(struct td_core *core, uint32_t node, uint32_t from)
{
    struct td_routed *routed = core->routed;
    uint16_t bits = routed->missing[node] & sides(core, node, from);
    if (!bits)
        return;
    td_link_unwatch(core, from);
    routed->missing[node] = (uint16_t)(routed->missing[node] & ~bits);
    routed->unmet[node] = (uint16_t)(routed->unmet[node] & ~bits);
    routed->missing_count -= !routed->missing[node];
    td_routed_routes_changed(core);
}

void td_routed_heard(struct td_core *core)
{
    const struct td_topology *t = &core->options.topology;
    for (uint32_t n = 0; n < t->nodes && core->routed->missing_count > 0; n++)
        for (uint32_t d = 0; d < core->routed->directions && core->routed->missing[n]; d++) {
            uint32_t from = td_topology_neighbour(t, n, d / 2, d % 2 ? -1 : 1);
            if (core->routed->missing[n] >> d & 1 && from != core->node)
                unmark(core, n, from);
        }
}

void td_routed_neighbour_lost(struct td_core *core, uint32_t from, const struct td_message *m)
{
    const struct td_topology *t = &core->options.topology;
    bool lost = m->kind == TD_MESSAGE_NEIGHBOUR_LOST;
    uint32_t node = lost ? m->u.neighbour_lost.node : m->u.neighbour_back.node;
    if (node >= t->nodes || node == core->node)
        return;
    if (lost) {
        mark(core, node, from, m->u.neighbour_lost.never_up);
        return;
    }
    unmark(core, node, from);
    core->routed->avoided_until[node] = 0;
    td_session_check(core, &core->link[node]);
    td_routed_tell(core, node); /* it may be a daemon that was just started */
    for (uint32_t d = 0; d < core->routed->directions; d++) /* it speaks, so it is there */
        unmark(core, from, td_topology_neighbour(t, from, d / 2, d % 2 ? -1 : 1));
}

/* ---- links ---- */

/* withdraw forgets what a node said that is not there any more, or not the same. */
static void withdraw(struct td_core *core, uint32_t from)
{
    for (uint32_t d = 0; d < core->routed->directions; d++)
        unmark(core, td_topology_neighbour(&core->options.topology, from, d / 2, d % 2 ? -1 : 1),
               from);
}

/* never_met notes when to stop waiting for neighbours that have never been up, if this is one. */
static bool never_met(struct td_core *core, uint32_t node)
{
    struct td_routed *routed = core->routed;
    if (core->link[node].daemon)
        return false;
    if (!routed->starting_until)
        routed->starting_until = td_core_after(core, core->settings.progress_timeout_ns);
    if (core->now >= routed->starting_until)
        return false;
    routed->starting = true;
    td_routed_wake(core, routed->starting_until);
    return true;
}

void td_routed_end_start(struct td_core *core)
{
    struct td_routed *routed = core->routed;
    if (core->now < routed->starting_until) {
        td_routed_wake(core, routed->starting_until);
        return;
    }
    routed->starting = false;
    for (uint32_t d = 0; d < routed->directions; d++) {
        uint32_t node = routed->port[d].neighbour;
        if (!may_be_starting(core, node))
            continue;
        mark(core, node, core->node, false);
        routed->purge = true;
    }
}

/* is_in_flight: whether a packet on a link is not acknowledged. */
static bool is_in_flight(const struct td_link *link, const struct td_held *held)
{
    return held->packet.session == link->session &&
           held->packet.link_sequence > link->lane->acknowledged;
}

void td_routed_link_ends(struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    struct td_lane *lane = link->lane;
    uint32_t before = TD_HELD_NONE;
    for (uint32_t i = lane->first_held, next; i != TD_HELD_NONE; i = next) {
        struct td_inflight *f = td_held_inflight(core, &core->held[i]);
        bool lost = is_in_flight(link, &core->held[i]);
        next = core->held[i].next;
        if (f && lost)
            f->transfer->lost = true;
        if (f || !lost) {
            before = i;
            continue;
        }
        td_link_let_go(core, lane, before, i);
        lose_transit(core, i, node);
    }
}

/* end_lost ends the operations of this node that have lost packets with a session whose node is
 * there. */
static void end_lost(struct td_core *core, uint32_t node)
{
    for (uint32_t i = 0; i < TD_TICKETS; i++) {
        struct td_transfer *t = core->routed->ticket[i].transfer;
        if (!t || !t->lost || t->abandoned)
            continue;
        t->lost = false;
        td_core_notices.packets_lost(core, t->operation, core->node, node);
    }
}

void td_routed_link_lost(struct td_core *core, uint32_t node)
{
    struct td_routed *routed = core->routed;
    struct port *first = port_of(routed, node);
    if (node == core->node)
        return;
    withdraw(core, node);
    td_routed_tell_again(core, node);
    if (!first)
        return;
    for (uint32_t d = 0; d < routed->directions; d++) {
        struct port *port = &routed->port[d];
        if (port->neighbour != node)
            continue;
        td_router_reset(routed->router, d, lose_arrived, &(struct arrived){core, node});
        memset(port->freed_sent, 0, sizeof port->freed_sent);
    }
    routed->purge = true;
    td_routed_wake(core, core->now);
    if (!td_link_is_given_up(&core->link[node])) { /* it is there, and has ended the session */
        end_lost(core, node);
        return;
    }
    mark(core, node, core->node, never_met(core, node));
    if (first->state == TD_NEIGHBOUR_THERE)
        announce(core, first);
    td_neighbour_transition(first, TD_NEIGHBOUR_LOSE);
    routed->lost_neighbour = true;
}

void td_routed_link_open(struct td_core *core, uint32_t node)
{
    struct td_routed *routed = core->routed;
    routed->avoided_until[node] = 0;
    for (uint32_t d = 0; d < routed->directions; d++)
        if (routed->port[d].neighbour == node && node != core->node)
            routed->resend_counts |= 1u << d;
    struct port *first = port_of(routed, node);
    if (first && first->state != TD_NEIGHBOUR_THERE) {
        unmark(core, node, core->node);
        announce(core, first);
        td_neighbour_transition(first, TD_NEIGHBOUR_RETURN);
    }
    if (routed->lost_neighbour)
        td_core_queue(core, &routed->announcements); /* to the node, if it was given up */
    td_routed_wake(core, core->now);
}
