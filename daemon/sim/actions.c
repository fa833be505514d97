/* SPDX-License-Identifier: Apache-2.0 */
#include "actions.h"

#include "checker.h"
#include "clients.h"
#include "links.h"
#include "memory.h"
#include "messages.h"
#include "packets.h"
#include "trace.h"

static void reply(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    const struct td_reply *r = a->u.reply.reply;
    trace_line(sim, node, '<', "reply to client %u, request %llu: %d %s", a->u.reply.client,
               (unsigned long long)r->id, (int)r->error, r->text);
    trace_mix(sim, r->id);
    trace_mix(sim, (uint64_t)(int64_t)r->error);
    sim->replied = true;
    clients_receive_reply(sim, a->u.reply.client, r);
}

static void execute(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    switch (a->kind) {
    case TD_ACTION_SEND_TREE:
        messages_send(sim, node, a);
        return;
    case TD_ACTION_SEND_PACKET:
        packets_send(sim, node, a);
        return;
    case TD_ACTION_FORWARD_TREE:
        messages_forward(sim, node, a);
        return;
    case TD_ACTION_REPEAT_TREE:
        messages_repeat(sim, node, a);
        return;
    case TD_ACTION_FORGET_TREE:
        messages_forget(sim, node, a);
        return;
    case TD_ACTION_KEEP_EARLY:
        messages_keep_early(sim, node, a);
        return;
    case TD_ACTION_TAKE_EARLY:
        messages_take_early(sim, node, a);
        return;
    case TD_ACTION_FORGET_EARLY:
        messages_forget_early(sim, node, a->u.early.node);
        return;
    case TD_ACTION_FORWARD_PACKET:
        packets_forward(sim, node, a);
        return;
    case TD_ACTION_REPLY:
        reply(sim, node, a);
        return;
    case TD_ACTION_CLOSE_CLIENT:
        trace_line(sim, node, '<', "close client %u", a->u.close.client);
        clients_cut_off(sim, a->u.close.client);
        return;
    case TD_ACTION_COMPUTE:
        memory_compute(sim, node, &a->u.compute);
        return;
    case TD_ACTION_RETURN_SCRATCH:
        trace_line(sim, node, '<', "return %llu bytes of scratch from %llu",
                   (unsigned long long)a->u.scratch.bytes, (unsigned long long)a->u.scratch.offset);
        if (!sim->options.timing_only)
            memory_return_scratch(&sim->node[node], a->u.scratch.offset, a->u.scratch.bytes);
        return;
    case TD_ACTION_RELEASE_BUFFER:
        if (!sim->options.timing_only)
            memory_release_buffer(&sim->node[node], a->u.buffer.buffer);
        return;
    case TD_ACTION_CLOSE_SEGMENT: /* simulated ranks have none */
    case TD_ACTION_RELOAD:        /* nor does a simulated node have a file */
        return;
    case TD_ACTION_PREPARE_TRANSFORM: /* neither takes virtual time */
    case TD_ACTION_PREPARE_SCRATCH:
        if (sim->options.workers.prepare)
            sim->options.workers.prepare(sim->options.workers.me, node, a);
        return;
    case TD_ACTION_RELEASE_REGION:
        memory_unmap(&sim->node[node], a->u.region.handle);
        return;
    case TD_ACTION_DROP_LINK:
        trace_line(sim, node, '<', "drop the link to %u: %s", a->u.drop.node, a->u.drop.text);
        sim->drops++;
        links_cut(sim, node, a->u.drop.node, "the link was dropped");
        return;
    case TD_ACTION_STOPPED:
        trace_line(sim, node, '<', "stopped");
        sim->node[node].stopped = true;
        return;
    }
}

void actions_execute(struct td_sim *sim, uint32_t node)
{
    const struct td_action *action = sim->actions->action, *end = action + sim->actions->count;
    sim->replied = false;
    for (; action < end; action++)
        execute(sim, node, action);
    if (sim->replied)
        checker_poison(sim, &sim->node[node]);
}
