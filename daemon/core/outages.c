/* SPDX-License-Identifier: Apache-2.0 */
#include "outages.h"

#include "core/membership/communicator.h"
#include "core/membership/waits.h"
#include "core/net/link.h"
#include "core/net/silence.h"

#define LOOK_NS ((td_time)1000000000)

enum {
    PAUSED_BEATS = 2, /* a pause of so many heartbeats is noted */
    SILENT_BEATS = 4, /* the driver is asked for the reason of a silence of so many */
};

/* note puts an outage into the records of the jobs of this node. */
static void note(const struct td_core *core, struct td_outage_seen seen)
{
    td_time from = seen.from;
    for (const struct td_communicator *c = core->communicators; c; c = c->next) {
        if (!c->waits)
            continue;
        seen.from = from > c->waits->formed_at ? from : c->waits->formed_at;
        if (seen.from <= seen.to)
            td_waits_outage(c->waits, &seen);
    }
}

void td_outages_pause(const struct td_core *core, td_time now, td_time late)
{
    if (late >= PAUSED_BEATS * (td_time)core->settings.heartbeat_ns)
        note(core, (struct td_outage_seen){
                       .kind = TD_OUTAGE_PAUSED, .from = now - late, .to = now, .text = ""});
}

/* is_cut returns true if a node that this one needs has been silent for long. */
static bool is_cut(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    return (link->neighbour || link->watches) &&
           td_silence_unheard(core, node) >= SILENT_BEATS * (td_time)core->settings.heartbeat_ns;
}

/* look asks for the fault of the interface that leads to a silent node. A fault that was seen in
 * the latest looks goes on. */
static void look(struct td_core *core, uint32_t node)
{
    char text[TD_OUTAGE_TEXT_MAX];
    if (!core->options.own_fault(core->options.driver, node, text, sizeof text))
        return;
    if (!core->fault_seen || core->now - core->fault_seen > 3 * LOOK_NS)
        core->fault_from = core->link[node].heard_at;
    core->fault_seen = core->now;
    note(core,
         (struct td_outage_seen){
             .kind = TD_OUTAGE_INTERFACE, .from = core->fault_from, .to = core->now, .text = text});
}

/* spans returns true if a group has ranks on other nodes. */
static bool spans(const struct td_core *core)
{
    const struct td_communicator *c = core->communicators;
    while (c && c->group.slots < 2)
        c = c->next;
    return c != NULL;
}

void td_outages_timers(struct td_core *core)
{
    uint32_t nodes = core->options.topology.nodes;
    if (!core->options.own_fault || core->now < core->fault_look_at)
        return;
    core->fault_look_at = core->now + LOOK_NS;
    if (!spans(core))
        return;
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t n = (core->fault_next + i) % nodes;
        if (n == core->node || !is_cut(core, n))
            continue;
        core->fault_next = (n + 1) % nodes; /* another interface may lead to the next one */
        look(core, n);
        return;
    }
}
