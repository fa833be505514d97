/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

#include <stdio.h>

#include "collectives/select.h"
#include "core/core.h"
#include "core/membership/client.h"
#include "core/membership/job.h"
#include "core/membership/shrink.h"
#include "core/operation/gate.h"
#include "core/operation/arrival.h"

/* ALMOST_FULL: so many actions leave room for one more (td_core_room). */
enum { ALMOST_FULL = TD_ACTIONS_MAX - TD_ACTIONS_SPARE, FULL };

struct node node;

/* record records the actions from `first` on. */
static void record(uint32_t first)
{
    for (uint32_t i = first; i < node.actions.count; i++) {
        const struct td_action *a = &node.actions.action[i];
        if (a->kind == TD_ACTION_SEND_TREE) {
            assert_true(node.sents < NODE_SENT_MAX);
            node.sent[node.sents++] =
                (struct node_sent){a->u.tree.node, a->u.tree.held, a->u.tree.message};
        } else if (a->kind == TD_ACTION_SEND_PACKET) {
            assert_true(node.packets < NODE_PACKETS_MAX);
            node.packet[node.packets++] = a->u.packet.packet;
            node.waiting += a->u.packet.may_wait;
        } else if (a->kind == TD_ACTION_REPEAT_TREE) {
            node.repeats =
                (struct node_kept){node.repeats.count + 1, a->u.kept.node, a->u.kept.number};
        } else if (a->kind == TD_ACTION_FORGET_TREE) {
            node.forgets =
                (struct node_kept){node.forgets.count + 1, a->u.kept.node, a->u.kept.number};
        } else if (a->kind == TD_ACTION_KEEP_EARLY) {
            assert_int_equal(a->u.early.message->number, a->u.early.number);
            node.early_kept =
                (struct node_kept){node.early_kept.count + 1, a->u.early.node, a->u.early.number};
        } else if (a->kind == TD_ACTION_TAKE_EARLY) {
            node.early_taken =
                (struct node_kept){node.early_taken.count + 1, a->u.early.node, a->u.early.number};
        } else if (a->kind == TD_ACTION_FORGET_EARLY) {
            node.early_forgotten++;
        } else if (a->kind == TD_ACTION_REPLY) {
            node.reply = *a->u.reply.reply;
            snprintf(node.text, sizeof node.text, "%s", node.reply.text);
            node.replies++;
        } else if (a->kind == TD_ACTION_COMPUTE) {
            node.computes++;
            node.handle = a->u.compute.handle;
            node.compute = a->u.compute;
        } else if (a->kind == TD_ACTION_DROP_LINK) {
            node.dropped_links++;
        } else if (a->kind == TD_ACTION_RELEASE_BUFFER) {
            node.released_buffers++;
        }
    }
    node.actions.count = 0;
}

void node_begin(const char *shape, uint32_t at, void (*change)(struct td_settings *))
{
    struct td_core_options o = {
        .node = at, .incarnation = 1, .seed = 1, .compile = td_select_compile};
    size_t parsed = 0;
    const char *why = NULL;
    memset(&node, 0, sizeof node);
    assert_int_equal(td_topology_parse(&o.topology, shape, &parsed, &why), TD_OK);
    td_settings_default(&o.settings);
    o.settings.trace_events = 0;
    o.settings.arena_bytes = 8 << 20;
    o.settings.carry_bytes = 0; /* short messages take packets, too */
    if (change)
        change(&o.settings);
    assert_int_equal(td_core_create(&node.core, &o), TD_OK);
    node.core->now = 1;
    node.core->actions = &node.actions;
}

void node_end(void)
{
    td_core_destroy(node.core);
    node.core = NULL;
}

/* turn gives a task a turn with so many actions on the list. It returns true when the task is done.
 */
static bool turn(struct td_task *task, uint32_t actions)
{
    node.actions.count = actions;
    bool done = task->advance(node.core, task);
    record(actions);
    return done;
}

void node_run(void)
{
    record(0);
    while (node.core->work) {
        struct td_task *task = node.core->work;
        td_core_unqueue(node.core, task);
        if (turn(task, FULL) || turn(task, ALMOST_FULL))
            continue;
        td_core_queue(node.core, task);
        if (node.core->pad_used + TD_PAD_SPARE > TD_PAD_BYTES)
            node.core->pad_used = 0; /* the task goes on in the next step */
        node.core->ends = 0;
    }
}

void node_forget(void)
{
    record(0);
    node.sents = node.packets = node.waiting = node.replies = node.computes = 0;
    node.dropped_links = node.released_buffers = 0;
    node.repeats = node.forgets = (struct node_kept){0};
    node.early_kept = node.early_taken = (struct node_kept){0};
    node.early_forgotten = 0;
    td_core_renew(node.core);
    while (td_arena_settle(node.core->arena))
        continue;
}

void node_pass(struct td_communicator *c, uint64_t ns)
{
    node.core->now += ns;
    if (!c)
        td_job_timers(node.core);
    for (uint32_t i = 0; c && i < TD_GROUP_OPERATIONS_MAX; i++)
        if (c->operation[i])
            td_gate_timers(node.core, c->operation[i]);
    if (c)
        td_shrink_timers(node.core, c);
    node_run();
}

void node_step(const struct td_event *event)
{
    td_core_step(node.core, node.core->now, event, &node.actions);
    node_run();
}

void node_hear(uint32_t mask, uint64_t ns)
{
    const struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT};
    for (td_time until = node.core->now + ns; node.core->now < until;) {
        node.core->now += 200000000;
        for (uint32_t n = 0; n < node.core->options.topology.nodes; n++) {
            struct td_message heartbeat = m;
            if (mask >> n & 1)
                node_step(&(struct td_event){.kind = TD_EVENT_TREE_MESSAGE,
                                             .u.tree = {.node = n, .message = &heartbeat}});
        }
        node_step(&(struct td_event){.kind = TD_EVENT_WAKE});
    }
}

void node_message(uint32_t from, const struct td_message *message)
{
    td_core_notices.message(node.core, from, message);
    node_run();
}

static const struct node_sent *find_sent(uint32_t to, enum td_message_kind kind)
{
    for (uint32_t i = 0; i < node.sents; i++)
        if (node.sent[i].to == to && node.sent[i].message.kind == kind)
            return &node.sent[i];
    return NULL;
}

const struct td_message *node_sent_to(uint32_t to, enum td_message_kind kind)
{
    const struct node_sent *sent = find_sent(to, kind);
    return sent ? &sent->message : NULL;
}

bool node_held(uint32_t to, enum td_message_kind kind)
{
    const struct node_sent *sent = find_sent(to, kind);
    assert_non_null(sent);
    return sent->held;
}

uint32_t node_count(enum td_message_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node.sents; i++)
        count += node.sent[i].message.kind == kind;
    return count;
}

struct td_client *node_client(uint32_t id)
{
    td_client_open(node.core, id, 1000, 100 + id);
    struct td_client *client = td_client_find(node.core, id);
    assert_non_null(client);
    return client;
}

struct td_communicator *node_group(uint32_t nodes)
{
    return node_group_with(nodes, 0);
}

struct td_communicator *node_group_with(uint32_t nodes, uint32_t daemon)
{
    uint32_t *rank_node = td_arena_alloc(node.core->arena, nodes * sizeof *rank_node);
    uint64_t *rank_token = td_arena_alloc(node.core->arena, nodes * sizeof *rank_token);
    for (uint32_t r = 0; r < nodes; r++) {
        rank_node[r] = r;
        rank_token[r] = (uint64_t)daemon << 32;
    }
    struct td_communicator *c = td_communicator_create(node.core, 77, "job", 1000, nodes, rank_node,
                                                       rank_token, UINT32_MAX, NULL);
    assert_non_null(c);
    c->seat[0].client = node_client(NODE_CLIENT);
    c->seat[0].client->groups++;
    td_seat_transition(&c->seat[0], TD_SEAT_ASSIGN);
    node_run();
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    node_forget();
    return c;
}

bool node_doubts(const struct td_communicator *c, uint32_t at)
{
    return td_bit(c->parting.silent, td_group_slot(&c->group, at));
}

struct td_witness node_barrier(uint32_t rank)
{
    return (struct td_witness){.call = {.kind = TD_KIND_BARRIER}, .rank = rank};
}

void node_call(struct td_communicator *c, int64_t timeout_ns)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 10};
    q.u.operation.group = c->number;
    q.u.operation.call.kind = TD_KIND_BARRIER;
    q.u.operation.timeout_ns = timeout_ns;
    q.u.operation.sequence = c->seat[0].next_sequence;
    td_arrival_request(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
}

void node_leave(struct td_communicator *c)
{
    struct td_request q = {.kind = TD_REQUEST_LEAVE, .id = 6};
    q.u.leave.group = c->number;
    td_communicator_leave(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
}
