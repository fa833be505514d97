/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages on the routed fabric. Daemons have connections to their torus neighbours only; a
 * message to any other node hops from neighbour to neighbour along the route table.
 *
 * The two ends of a relayed link number their messages, acknowledge them and retransmit them, as
 * neighbours do (session.c). A node on the route keeps nothing: it forwards a message at once, or
 * drops it when the next connection is down or full. Control messages therefore wait for no other
 * node's memory and cannot deadlock. A lost message is noticed by a gap, or because it is not
 * acknowledged in time; then its sender retransmits.
 *
 * Without losses, a route resolves the dimensions in order, so messages stay in order. When nodes
 * or links are lost, routes are the shortest paths that are left; a node without such a path is
 * unreachable, and its link is given up. */
#include <assert.h>
#include <string.h>

#include "fabric_routed_carry.h"
#include "fabric_routed_control.h"
#include "fabric_routed_losses.h"
#include "session.h"
#include "silence.h"

enum {
    NO_HOP = UINT16_MAX,
    AGE_MAX = 3, /* ticks without acknowledgement until the sender retransmits */
    /* unacknowledged messages on a link from which on DELIVERED waits */
    DELIVERED_WINDOW = 1024,
};

#define TICK_NS ((td_time)100000000)

/* ---- routes ---- */

/* first_directions writes, for each coordinate of one dimension, the direction from this node
 * towards it, or TD_DIRECTIONS_MAX where it is this node's own. */
static void first_directions(const struct td_topology *t, uint32_t own, uint32_t dimension,
                             uint8_t *direction)
{
    int32_t k = (int32_t)t->size[dimension];
    for (int32_t c = 0; c < k; c++) {
        int32_t way = c - (int32_t)own;
        if (t->wrap[dimension] && 2 * way > k)
            way -= k;
        else if (t->wrap[dimension] && 2 * way <= -k)
            way += k;
        direction[c] = way == 0 ? (uint8_t)TD_DIRECTIONS_MAX : (uint8_t)(2 * dimension + (way < 0));
    }
}

/* route_all fills the table for a torus without losses: a route resolves dimension 0 first. */
static bool route_all(struct td_core *core)
{
    const struct td_topology *t = &core->options.topology;
    struct td_routed *routed = core->routed;
    uint32_t own[TD_DIMENSIONS_MAX] = {0}, at[TD_DIMENSIONS_MAX] = {0},
             offset[TD_DIMENSIONS_MAX] = {0};
    uint32_t total = 0;
    for (uint32_t d = 0; d < t->dimensions; d++) {
        offset[d] = total;
        total += t->size[d];
    }
    uint8_t *direction = td_core_pad(core, total);
    if (!direction)
        return false;
    td_topology_coordinates(t, core->node, own);
    for (uint32_t d = 0; d < t->dimensions; d++)
        first_directions(t, own[d], d, direction + offset[d]);
    for (uint32_t n = 0; n < t->nodes; n++) {
        uint8_t first = TD_DIRECTIONS_MAX;
        for (uint32_t d = 0; d < t->dimensions && first == TD_DIRECTIONS_MAX; d++)
            first = direction[offset[d] + at[d]];
        routed->next_hop[n] =
            first == TD_DIRECTIONS_MAX ? (uint16_t)NO_HOP : (uint16_t)routed->port[first].neighbour;
        for (uint32_t d = t->dimensions; d-- > 0 && ++at[d] == t->size[d];)
            at[d] = 0;
    }
    return true;
}

/* is_avoided returns true if a message must go round a node. */
static bool is_avoided(const struct td_message *m, uint32_t node)
{
    for (uint32_t i = 0; m && i < m->relay.avoids; i++)
        if (m->relay.avoid[i] == node)
            return true;
    return false;
}

/* search fills `hop` with the first hops of shortest paths over the links that no end has given up:
 * a breadth-first search from this node, lower dimensions first, round the nodes that a message
 * avoids. False: there is no memory in this step. */
static bool search(struct td_core *core, const struct td_message *m, uint16_t *hop)
{
    const struct td_topology *t = &core->options.topology;
    struct td_routed *routed = core->routed;
    uint16_t *queue = td_core_pad(core, t->nodes * sizeof *queue);
    uint32_t head = 0, tail = 0;
    if (!queue)
        return false;
    memset(hop, 0xff, t->nodes * sizeof *hop);
    queue[tail++] = (uint16_t)core->node;
    while (head < tail) {
        uint32_t from = queue[head++];
        for (unsigned d = 0; d < routed->directions; d++) {
            uint32_t to = td_topology_neighbour(t, from, d / 2, d % 2 ? -1 : 1);
            bool cut = routed->missing[from] >> d & 1 || routed->missing[to] >> (d ^ 1) & 1;
            if (cut || to == core->node || hop[to] != NO_HOP || is_avoided(m, to))
                continue;
            hop[to] = from == core->node ? (uint16_t)to : hop[from];
            queue[tail++] = (uint16_t)to;
        }
    }
    return true;
}

static void compute_routes(struct td_core *core) __attribute__((cold));
static void compute_routes(struct td_core *core)
{
    struct td_routed *routed = core->routed;
    routed->routes_stale =
        !(routed->missing_count ? search(core, NULL, routed->next_hop) : route_all(core));
}

static inline uint32_t next_hop(struct td_core *core, uint32_t node)
{
    struct td_routed *routed = core->routed;
    if (routed->routes_stale)
        compute_routes(core);
    uint32_t hop = routed->next_hop[node];
    return hop == NO_HOP ? UINT32_MAX : hop;
}

/* name_lost writes the lost nodes that this node knows of into a message, because the nodes on a
 * detour may not know of them. */
static void name_lost(struct td_core *core, struct td_message *m)
{
    const struct td_routed *routed = core->routed;
    uint32_t left = routed->missing_count;
    for (uint32_t n = 0; left > 0 && m->relay.avoids < TD_RELAY_AVOID_MAX; n++) {
        if (!routed->missing[n])
            continue;
        left--;
        if (n != m->relay.destination && n != m->relay.origin && !is_avoided(m, n))
            m->relay.avoid[m->relay.avoids++] = (uint16_t)n;
    }
}

/* find_detour returns the first hops round the nodes that a message names: kept ones, or new ones
 * in place of the oldest. It returns NULL if there is no memory in this step. */
static const uint16_t *find_detour(struct td_core *core, const struct td_message *m)
{
    struct td_routed *routed = core->routed;
    size_t bytes = m->relay.avoids * sizeof m->relay.avoid[0];
    for (uint32_t i = 0; i < TD_DETOURS; i++) {
        const struct td_detour *kept = &routed->detour[i];
        if (kept->avoids == m->relay.avoids && memcmp(kept->avoid, m->relay.avoid, bytes) == 0)
            return kept->hop;
    }
    struct td_detour *oldest = &routed->detour[routed->next_detour];
    oldest->avoids = 0;
    if (!search(core, m, oldest->hop))
        return NULL;
    routed->next_detour = (routed->next_detour + 1) % TD_DETOURS;
    oldest->avoids = m->relay.avoids;
    memcpy(oldest->avoid, m->relay.avoid, bytes);
    return oldest->hop;
}

/* detour returns the next hop of a relayed message when nodes are lost: round all nodes that it
 * names, if that is possible, so that the nodes on its way agree. */
static uint32_t detour(struct td_core *core, struct td_message *m) __attribute__((cold));
static uint32_t detour(struct td_core *core, struct td_message *m)
{
    name_lost(core, m);
    if (m->relay.avoids == 0)
        return next_hop(core, m->relay.destination);
    const uint16_t *hop = find_detour(core, m);
    if (!hop)
        return UINT32_MAX;
    if (hop[m->relay.destination] == NO_HOP)
        return next_hop(core, m->relay.destination);
    return hop[m->relay.destination];
}

/* choose returns the next hop of a relayed message. */
static inline uint32_t choose(struct td_core *core, struct td_message *m)
{
    if (core->routed->missing_count > 0 || m->relay.avoids > 0)
        return detour(core, m);
    return next_hop(core, m->relay.destination);
}

uint32_t td_routed_next_hop(struct td_core *core, uint32_t node)
{
    return core->link[node].relayed ? next_hop(core, node) : node;
}

uint32_t td_routed_route(struct td_core *core, struct td_message *m)
{
    return choose(core, m);
}

void td_routed_routes_changed(struct td_core *core)
{
    core->routed->routes_stale = core->routed->look_again = true;
    for (uint32_t i = 0; i < TD_DETOURS; i++)
        core->routed->detour[i].avoids = 0;
    td_core_queue(core, &core->routed->rerouting);
}

/* is_lost returns true if all neighbours of a node have given it up that have a route. Neighbours
 * without a route do not count: they may be dead, too, and say nothing. */
static bool is_lost(struct td_core *core, uint32_t node)
{
    const struct td_topology *t = &core->options.topology;
    bool told = false;
    for (unsigned d = 0; d < core->routed->directions; d++) {
        uint32_t from = td_topology_neighbour(t, node, d / 2, d % 2 ? -1 : 1);
        if (from == node || (from != core->node && next_hop(core, from) == UINT32_MAX))
            continue;
        if (!(core->routed->missing[node] >> d & 1))
            return false;
        told = true;
    }
    return told;
}

/* look_at_route tells the session of a relayed link whether there is a route to its node. */
static void look_at_route(struct td_core *core, struct td_link *link)
{
    if (!link->relayed)
        return;
    bool route = next_hop(core, link->node) != UINT32_MAX;
    td_session_route(core, link, route, !route && is_lost(core, link->node));
}

bool td_routed_reroute(struct td_core *core, struct td_task *task)
{
    struct td_routed *routed = core->routed;
    (void)task;
    do { /* giving up a link may change routes again */
        if (routed->look_again)
            routed->route_cursor = 0;
        routed->look_again = false;
        while (routed->route_cursor < core->options.topology.nodes && !routed->look_again) {
            if (!td_core_room(core))
                return false;
            look_at_route(core, &core->link[routed->route_cursor++]);
        }
    } while (routed->look_again);
    return true;
}

/* ---- messages ---- */

static void forward(struct td_core *core, uint32_t hop, struct td_message *m)
{
    if (m->relay.hops >= core->routed->hops_max) { /* it goes round in a circle */
        td_routed_heard(core);
        return;
    }
    uint32_t via = choose(core, m);
    if (via == UINT32_MAX || !td_link_is_up(&core->link[via]))
        return; /* its sender retransmits it */
    m->relay.hops++;
    if (via == hop)
        td_routed_tell(core, hop); /* it has sent the message the wrong way */
    struct td_action *a = td_core_act_bare(core, TD_ACTION_FORWARD_TREE);
    a->u.relay.node = via;
    a->u.relay.message = m;
}

uint32_t td_routed_relay(struct td_core *core, uint32_t hop, struct td_message *m)
{
    uint32_t nodes = core->options.topology.nodes;
    if (!m->relay.is_relayed)
        return hop;
    td_silence_hear(core, &core->link[hop]);
    if (m->relay.origin >= nodes || m->relay.destination >= nodes ||
        m->relay.origin == m->relay.destination)
        return UINT32_MAX;
    if (m->relay.destination != core->node) {
        forward(core, hop, m);
        return UINT32_MAX;
    }
    struct td_link *link = &core->link[m->relay.origin];
    if (!link->relayed)
        return UINT32_MAX; /* a neighbour uses its own connection */
    if (core->routed->missing_count > 0 && next_hop(core, m->relay.origin) == UINT32_MAX)
        td_routed_heard(core);
    if (!td_link_is_up(link) && link->state != TD_LINK_UNREACHABLE)
        td_session_reachable(core, link);
    return m->relay.origin;
}

/* ---- acknowledgement in time ---- */

void td_routed_expect_acknowledgement(struct td_core *core)
{
    struct td_routed *routed = core->routed;
    td_time tick = (td_time)core->settings.heartbeat_ns;
    if (routed->tick_at != TD_TIME_NEVER)
        return;
    routed->tick_at = core->now + (tick < TICK_NS ? tick : TICK_NS);
    td_core_alarm(core, routed->tick_at);
}

/* look_at acknowledges what arrived on a relayed link, and notices what is not acknowledged; it
 * returns true if the link must be looked at again. */
static bool look_at(struct td_core *core, struct td_link *link)
{
    if (link->tree_received > link->tree_received_told) {
        struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT};
        td_session_send(core, link->node, &m);
    }
    if (link->tree_sent == link->tree_acknowledged)
        return false;
    if (link->age < AGE_MAX) {
        link->age = (link->age + 1u) & 3u;
    } else {
        link->age = 0;
        td_session_doubt(core, link);
    }
    return true;
}

void td_routed_timers(struct td_core *core)
{
    struct td_routed *routed = core->routed;
    if (core->now < routed->tick_at) {
        td_core_alarm(core, routed->tick_at);
        return;
    }
    for (; routed->tick_cursor < core->options.topology.nodes; routed->tick_cursor++) {
        struct td_link *link = &core->link[routed->tick_cursor];
        if (!link->relayed || !td_link_is_up(link))
            continue;
        if (!td_core_room(core)) {
            td_core_alarm(core, core->now);
            return;
        }
        routed->tick_again |= look_at(core, link);
    }
    bool again = routed->tick_again;
    routed->tick_cursor = 0;
    routed->tick_again = false;
    routed->tick_at = TD_TIME_NEVER;
    if (again)
        td_routed_expect_acknowledgement(core);
}

/* ---- DELIVERED ---- */

static void send_delivered(struct td_core *core, uint32_t node, uint64_t instance, uint32_t ticket)
{
    td_session_send(core, node,
                    &(struct td_message){.kind = TD_MESSAGE_DELIVERED,
                                         .instance = instance,
                                         .u.delivered.ticket = ticket});
}

/* owe keeps a DELIVERED until the link's messages are acknowledged; false if memory runs out.
 */
static bool owe(struct td_core *core, uint32_t node, uint64_t instance, uint32_t ticket)
{
    struct td_owed *owed = td_arena_alloc(core->arena, sizeof *owed);
    if (!owed)
        return false;
    *owed = (struct td_owed){.instance = instance, .ticket = ticket, .node = node};
    owed->next = core->routed->owed;
    core->routed->owed = owed;
    return true;
}

void td_routed_received(struct td_core *core, uint64_t instance, uint32_t node, uint32_t ticket)
{
    struct td_link *link = &core->link[node];
    bool full = link->tree_sent - link->tree_acknowledged >= DELIVERED_WINDOW;
    if (full && owe(core, node, instance, ticket))
        link->owed = true;
    else
        send_delivered(core, node, instance, ticket);
}

/* pay sends the DELIVERED that were kept for a node, as td_routed_carry_on sends data. */
static bool pay(struct td_core *core, const struct td_link *link, bool *left)
{
    struct td_owed **at = &core->routed->owed;
    while (*at) {
        struct td_owed *owed = *at;
        if (owed->node != link->node) {
            at = &owed->next;
            continue;
        }
        if (link->tree_sent - link->tree_acknowledged >= DELIVERED_WINDOW) {
            *left = true;
            return true;
        }
        if (!td_core_room(core))
            return false;
        send_delivered(core, owed->node, owed->instance, owed->ticket);
        *at = owed->next;
        td_core_free(core, owed);
    }
    return true;
}

bool td_routed_transmit(struct td_core *core, struct td_link *link)
{
    bool left = false;
    if (!link->owed)
        return true; /* packets go when the router's turn comes */
    bool room = pay(core, link, &left) && td_routed_carry_on(core, link, &left);
    link->owed = left || !room;
    return room;
}
