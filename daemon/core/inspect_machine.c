/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect_machine.h"

#include "core/membership/communicator.h"
#include "core/membership/waits.h"
#include "core/net/fabric.h"
#include "core/net/health.h"
#include "core/net/silence.h"
#include "core/net/link.h"
#include "scheduler.h"

/* is_neighbour returns true if a link of the torus joins this node to another one. */
static bool is_neighbour(const struct td_core *core, uint32_t node)
{
    const struct td_topology *t = &core->options.topology;
    for (uint32_t d = 0; d < t->dimensions; d++)
        if (td_topology_neighbour(t, core->node, d, 1) == node ||
            td_topology_neighbour(t, core->node, d, -1) == node)
            return true;
    return false;
}

static void link_row(struct td_page *p, uint32_t node)
{
    struct td_core *core = p->core;
    struct td_status_row *row = td_page_row(p, TD_ROW_LINK);
    if (!row)
        return;
    const struct td_link *link = &core->link[node];
    const struct td_lane *lane = link->lane;
    bool up = td_link_is_up(link);
    td_time silence = td_silence_now(core, node);
    const char *error = up ? "" : td_health_why(core, node);
    if (silence)
        error = "its daemon hangs, its host is down, or the network is cut";
    char why[TD_TEXT_MAX];
    if (silence && td_silence_print_why(core, node, why, sizeof why))
        error = td_core_format(core, "%s", why);
    row->u.link =
        (struct td_row_link){.to = node,
                             .state = td_health_state(core, node),
                             .up = up,
                             .neighbours = is_neighbour(core, node),
                             .since_ns = lane->since ? td_page_age(p, lane->since) : 0,
                             .packets = lane->packets,
                             .bytes = lane->bytes,
                             .messages = lane->messages + link->tree_sent,
                             .repeated_packets = lane->repeated,
                             .resumes = lane->resumes,
                             .silent_ns = link->heard_at ? td_page_age(p, link->heard_at) : 0,
                             .busy_ns = lane->held ? td_page_age(p, lane->busy_since) : 0,
                             .busy_bytes = lane->held ? lane->bytes - lane->busy_bytes : 0,
                             .session_sent_packets = lane->sent,
                             .session_received_packets = lane->received,
                             .error = error};
}

/* used returns true if a link has been up, is to come up, or belongs to the torus. */
static bool used(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    return link->state != TD_LINK_DOWN || link->lane->since || is_neighbour(core, node);
}

void td_inspect_links(struct td_page *p)
{
    const struct td_core *core = p->core;
    for (uint32_t n = 0; n < core->options.topology.nodes; n++)
        if (n != core->node && core->fabric->adjacent(core, n) && used(core, n))
            link_row(p, n);
}

static enum td_group_state condition(const struct td_communicator *c)
{
    if (td_communicator_broken(c))
        return TD_GROUP_BROKEN;
    return td_communicator_rests(c) ? TD_GROUP_PARTED : TD_GROUP_ACTIVE;
}

/* set_ranks adds the ranks of the job that a group has. */
static void set_ranks(struct td_page *p, const struct td_communicator *c, struct td_row_group *row)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < c->group.size; r++) {
        uint32_t rank = td_communicator_job_rank(c, r);
        most = rank > most ? rank : most;
    }
    uint8_t *bits = td_page_bits(p, most + 1);
    if (!bits)
        return;
    for (uint32_t r = 0; r < c->group.size; r++)
        td_bit_set(bits, td_communicator_job_rank(c, r));
    row->ranks = (struct td_bitmap){bits, td_bit_bytes(most + 1)};
}

/* set_nodes adds the nodes of a group, if a page has room for them. */
static void set_nodes(struct td_page *p, const struct td_communicator *c, struct td_row_group *row)
{
    uint32_t nodes = p->core->options.topology.nodes;
    uint8_t *bits = nodes <= TD_GROUP_NODES_MAX ? td_page_bits(p, nodes) : NULL;
    if (!bits)
        return;
    for (uint32_t s = 0; s < c->group.slots; s++)
        td_bit_set(bits, c->group.node[s]);
    row->member_nodes = (struct td_bitmap){bits, td_bit_bytes(nodes)};
}

static void group_row(struct td_page *p, const struct td_communicator *c)
{
    struct td_status_row *row = td_page_row(p, TD_ROW_GROUP);
    if (!row)
        return;
    bool broken = td_communicator_broken(c);
    row->u.group =
        (struct td_row_group){.job = c->name,
                              .uid = c->uid,
                              .instance = c->instance,
                              .job_instance = c->world,
                              .index = c->index,
                              .size = c->group.size,
                              .state = condition(c),
                              .error = broken ? c->error : TD_OK,
                              .text = broken ? c->text : "",
                              .calls_done = c->first_sequence,
                              .in_flight = c->recorded,
                              .age_ns = c->waits ? td_page_age(p, c->waits->formed_at) : 0};
    set_ranks(p, c, &row->u.group);
    set_nodes(p, c, &row->u.group);
}

void td_inspect_groups(struct td_page *p)
{
    for (const struct td_communicator *c = p->core->communicators; c; c = c->next)
        if (td_page_shows(p, c->uid))
            group_row(p, c);
}

void td_inspect_facts(struct td_page *p, uint32_t section)
{
    const struct td_core_options *options = &p->core->options;
    struct td_fact fact;
    for (p->at = p->cursor;
         options->fact && options->fact(options->driver, section, (unsigned)p->at, &fact);) {
        struct td_status_row *row = td_page_row(p, TD_ROW_FACT);
        if (!row)
            return;
        row->u.fact = (struct td_row_fact){.name = td_core_format(p->core, "%s", fact.name),
                                           .value = td_core_format(p->core, "%s", fact.value),
                                           .unit = td_core_format(p->core, "%s", fact.unit),
                                           .is_set = fact.is_set,
                                           .reloads = fact.reloads};
    }
}
