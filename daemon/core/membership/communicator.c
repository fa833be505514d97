/* SPDX-License-Identifier: Apache-2.0 */
#include "communicator.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "epoch.h"
#include "members.h"
#include "core/net/link.h"
#include "model/planes_best.h"
#include "model/planes_call.h"
#include "registry.h"
#include "core/net/fabric.h"
#include "core/net/session.h"

static bool advance(struct td_core *core, struct td_task *task);

/* ---- coming and going ---- */

static void free_arrays(struct td_core *core, struct td_communicator *c)
{
    td_core_notices.group_freed(core, c);
    td_core_free(core, c->lost_rank);
    td_core_free(core, c->lost_slot);
    td_core_free(core, c->daemon);
    td_group_free(&c->group, core->arena);
    td_tree_free(&c->tree, core->arena);
    td_communicator_tree_release(core, c->call_tree);
    td_core_free(core, c->seat);
    td_core_free(core, c->rank_node);
    td_core_free(core, c->rank_token);
    td_core_free(core, c->member);
}

/* find_place builds the group and its tree, and finds this node's place in both. */
static bool find_place(struct td_core *core, struct td_communicator *c, const uint32_t *rank_node,
                       uint32_t size)
{
    struct td_group *g = &c->group;
    if (td_group_build(g, core->arena, rank_node, size) != TD_OK)
        return false;
    td_err error = core->fabric->routed ? td_planes_best(&c->tree, core->arena,
                                                         &core->options.topology, g->node, g->slots)
                                        : td_tree_heap(&c->tree, core->arena, g->slots);
    if (error != TD_OK)
        return false;
    c->closed = td_planes_closed(&core->options.topology, g->node, g->slots);
    c->slot = td_group_slot(g, core->node);
    c->ranks = td_group_slot_ranks(g, c->slot);
    c->seat = td_arena_alloc(core->arena, c->ranks * sizeof *c->seat);
    c->lost_rank = td_arena_alloc(core->arena, td_bit_bytes(g->size));
    c->lost_slot = td_arena_alloc(core->arena, td_bit_bytes(g->slots));
    c->daemon = td_arena_alloc(core->arena, g->slots * sizeof *c->daemon);
    c->has_parent = c->slot != c->tree.root;
    c->parent = g->node[c->tree.parent[c->slot]];
    c->children = td_tree_children(&c->tree, c->slot, c->child);
    for (uint32_t i = 0; i < c->children; i++)
        c->child[i] = g->node[c->child[i]];
    return c->seat && c->lost_rank && c->lost_slot && c->daemon;
}

/* note_daemons records which daemons the group has formed with, and expects those that are not
 * known here. */
static void note_daemons(struct td_core *core, struct td_communicator *c,
                         const struct td_communicator *parent)
{
    const struct td_group *g = &c->group;
    for (uint32_t s = 0; s < g->slots; s++) {
        if (parent)
            c->daemon[s] = parent->daemon[td_group_slot(&parent->group, g->node[s])];
        else
            c->daemon[s] = td_token_daemon(c->rank_token[td_group_rank(g, s, 0)]);
        if (!parent)
            td_session_expect(core, g->node[s], c->daemon[s]);
    }
}

struct td_communicator *td_communicator_create(struct td_core *core, uint64_t instance,
                                               const char *name, uint64_t uid, uint32_t size,
                                               uint32_t *rank_node, uint64_t *rank_token,
                                               uint32_t from, const struct td_communicator *parent)
{
    uint64_t used = td_arena_used(core->arena);
    struct td_communicator *c = td_arena_alloc(core->arena, sizeof *c);
    if (!c)
        return NULL;
    c->account = td_account_open(core, uid);
    c->task.advance = advance;
    c->resume_at = TD_TIME_NEVER;
    c->instance = c->world = instance;
    c->uid = uid;
    c->number = ++core->groups->numbers;
    snprintf(c->name, sizeof c->name, "%s", name);
    if (!c->account || !find_place(core, c, rank_node, size)) {
        free_arrays(core, c);
        td_account_close(core, c->account);
        td_core_free(core, c);
        return NULL;
    }
    c->rank_node = rank_node;
    c->rank_token = rank_token;
    c->members_from = from;
    for (uint32_t i = 0; i < c->ranks; i++)
        c->seat[i].rank = td_group_rank(&c->group, c->slot, i);
    for (uint32_t s = 0; s < c->group.slots; s++)
        if (s != c->slot)
            td_link_watch(core, c->group.node[s]);
    note_daemons(core, c, parent);
    c->minor = parent ? parent->minor : 0;
    c->epoch = parent ? parent->epoch : 0;
    c->charged = td_arena_used(core->arena) - used + size * (uint64_t)sizeof *c->member;
    td_account_add(core, c->account, TD_HOLD_GROUPS, 1);
    td_account_add(core, c->account, TD_HOLD_MEMORY, c->charged);
    c->next = core->communicators;
    core->communicators = c;
    td_core_queue(core, &c->task);
    return c;
}

static void destroy(struct td_core *core, struct td_communicator *c)
{
    struct td_communicator **link = &core->communicators;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    td_communicator_note_gone(core, c->instance);
    for (uint32_t s = 0; s < c->group.slots; s++)
        if (s != c->slot)
            td_link_unwatch(core, c->group.node[s]);
    while (c->plans) {
        struct td_plan *plan = c->plans;
        c->plans = plan->next;
        td_plan_free(plan, core->arena, &core->options.planner);
    }
    td_core_unqueue(core, &c->task);
    td_account_drop(core, c->account, TD_HOLD_GROUPS, 1);
    td_account_drop(core, c->account, TD_HOLD_MEMORY, c->charged);
    td_account_close(core, c->account);
    free_arrays(core, c);
    td_core_free(core, c);
}

struct td_communicator *td_communicator_find(struct td_core *core, uint64_t instance,
                                             uint32_t index)
{
    struct td_communicator *c = core->communicators;
    while (c && (c->instance != instance || c->index != index))
        c = c->next;
    return c;
}

struct td_seat *td_communicator_seat(struct td_core *core, const struct td_client *client,
                                     uint32_t number, struct td_communicator **communicator)
{
    struct td_communicator *c = core->communicators;
    while (c && c->number != number)
        c = c->next;
    *communicator = c;
    for (uint32_t i = 0; c && i < c->ranks; i++)
        if (c->seat[i].client == client)
            return &c->seat[i];
    return NULL;
}

uint32_t td_communicator_print_ranks(struct td_core *core, const struct td_communicator *c,
                                     const uint8_t *bits, bool set, char *text, size_t size)
{
    uint32_t last = 0;
    if (!c->member)
        return td_bits_print(bits, c->group.size, set, text, size);
    for (uint32_t i = 0; i < c->group.size; i++)
        last = c->member[i] > last ? c->member[i] : last;
    uint8_t *printed = td_core_pad(core, td_bit_bytes(last + 1));
    text[0] = '\0';
    if (!printed)
        return 0;
    memset(printed, 0, td_bit_bytes(last + 1));
    for (uint32_t i = 0; i < c->group.size; i++)
        if (td_bit(bits, i) == set)
            td_bit_set(printed, c->member[i]);
    return td_bits_print(printed, last + 1, true, text, size);
}

void td_communicator_note_gone(struct td_core *core, uint64_t instance)
{
    struct td_groups *g = core->groups;
    g->gone[g->next_gone++ % TD_GONE_MAX] = instance;
}

bool td_communicator_is_gone(const struct td_core *core, uint64_t instance)
{
    for (uint32_t i = 0; i < TD_GONE_MAX; i++)
        if (core->groups->gone[i] == instance)
            return true;
    return false;
}

bool td_communicator_may_flood(const struct td_core *core, const struct td_communicator *c)
{
    return core->fabric->routed && core->settings.tuning.flood && c->closed && c->group.slots > 1;
}

static bool has_seats(const struct td_communicator *c)
{
    for (uint32_t i = 0; i < c->ranks; i++)
        if (td_seat_occupied(&c->seat[i]))
            return true;
    return false;
}

void td_communicator_record(struct td_communicator *c, uint64_t sequence, struct td_operation *o)
{
    c->operation[sequence % TD_GROUP_OPERATIONS_MAX] = o;
    c->recorded++;
    td_bit_clear(c->stalled, (uint32_t)(sequence % TD_STALLS_MAX));
}

void td_communicator_retire(struct td_core *core, struct td_communicator *c, uint64_t sequence)
{
    assert(c->recorded > 0);
    c->operation[sequence % TD_GROUP_OPERATIONS_MAX] = NULL;
    c->recorded--;
    c->retired[sequence % TD_GROUP_OPERATIONS_MAX] = true;
    c->ended_unrecorded[sequence % TD_GROUP_OPERATIONS_MAX] = 0;
    while (c->retired[c->first_sequence % TD_GROUP_OPERATIONS_MAX]) {
        c->retired[c->first_sequence % TD_GROUP_OPERATIONS_MAX] = false;
        c->first_sequence++;
    }
    td_client_room(core);
    if (c->state != TD_COMMUNICATOR_ACTIVE)
        td_core_queue(core, &c->task); /* it may have been the last */
}

/* ---- trees of calls ---- */

void td_communicator_tree_release(struct td_core *core, struct td_call_tree *tree)
{
    if (!tree || --tree->uses > 0)
        return;
    td_tree_free(&tree->tree, core->arena);
    td_core_free(core, tree);
}

bool td_communicator_tree(struct td_core *core, struct td_communicator *c,
                          const struct td_call *call, struct td_call_tree **tree)
{
    struct td_call_tree *last = c->call_tree;
    if (*tree || !core->fabric->routed || c->closed || !td_planes_own(call, c->group.size))
        return true;
    if (!last || last->kind != call->kind || last->root != call->root) {
        struct td_call_tree *made = td_arena_alloc(core->arena, sizeof *made);
        if (!made)
            return false;
        if (td_planes_of_call(&made->tree, core->arena, &core->options.topology, &c->group, call) !=
            TD_OK) {
            td_core_free(core, made);
            return false;
        }
        made->kind = call->kind;
        made->root = call->root;
        made->uses = 1;
        td_communicator_tree_release(core, last);
        c->call_tree = last = made;
    }
    last->uses++;
    *tree = last;
    return true;
}

/* ---- plans ---- */

struct td_plan *td_communicator_plan(struct td_communicator *c, uint64_t number)
{
    struct td_plan *plan = c->plans;
    while (plan && plan->number != number)
        plan = plan->next;
    return plan;
}

void td_communicator_hold(struct td_plan *plan, uint32_t local)
{
    plan->held[local / 8] = (uint8_t)(plan->held[local / 8] | 1u << local % 8);
    plan->holders++;
}

/* release_plan ends a local rank's hold on a plan; the last one frees the plan. It returns false if
 * the rank does not hold the plan. */
static bool release_plan(struct td_core *core, struct td_communicator *c, struct td_plan *plan,
                         uint32_t local)
{
    if (!(plan->held[local / 8] >> local % 8 & 1))
        return false;
    plan->held[local / 8] = (uint8_t)(plan->held[local / 8] & ~(1u << local % 8));
    if (--plan->holders > 0)
        return true;
    struct td_plan **link = &c->plans;
    while (*link != plan)
        link = &(*link)->next;
    *link = plan->next;
    td_plan_free(plan, core->arena, &core->options.planner);
    return true;
}

void td_communicator_unplan(struct td_core *core, struct td_client *client,
                            const struct td_request *q)
{
    struct td_communicator *c = NULL;
    struct td_seat *seat = td_communicator_seat(core, client, q->u.unplan.group, &c);
    struct td_plan *plan = seat ? td_communicator_plan(c, q->u.unplan.plan) : NULL;
    if (!plan || !release_plan(core, c, plan, (uint32_t)(seat - c->seat))) {
        if (q->id)
            td_reply_error(core, client->id, q->id, TD_ERR_INVALID,
                           "the plan belongs to another group, or was freed");
        return;
    }
    td_reply_done(core, client->id, q->id);
}

/* ---- losses ---- */

static void set_losing(struct td_communicator *c, uint32_t rank, td_err error, const char *text)
{
    c->losing_rank = rank;
    c->losing_error = error;
    snprintf(c->losing_text, sizeof c->losing_text, "%s", text);
}

/* break_up ends the operations of a group that has lost a rank or a node. */
static void break_up(struct td_core *core, struct td_communicator *c,
                     enum td_communicator_event event, td_err error, const char *text)
{
    bool running_too = event == TD_COMMUNICATOR_LOSE_NODE;
    bool news = !td_communicator_broken(c);
    td_communicator_transition(c, event);
    if (news) {
        c->error = error;
        snprintf(c->text, sizeof c->text, "%s", text);
    }
    td_core_notices.group_broken(core, c, error, text, running_too);
    td_core_queue(core, &c->task);
}

static uint32_t rank_of(const struct td_communicator *c, uint32_t world_rank)
{
    uint32_t rank = 0;
    while (rank < c->group.size && c->member[rank] != world_rank)
        rank++;
    return rank;
}

static bool has_member(const struct td_communicator *c, uint32_t world_rank)
{
    return rank_of(c, world_rank) < c->group.size;
}

/* tell_root tells the root of a group that a rank is lost; a task sends the message, because a rank
 * may be lost to hundreds of groups at once. */
/* NOLINTNEXTLINE(misc-no-recursion): one level deep */
static void tell_root(struct td_core *core, struct td_communicator *c, uint32_t rank, td_err error,
                      const char *text)
{
    if (!c->has_parent) {
        td_communicator_rank_lost(core, c, rank, error, text);
    } else if (!c->gone_due) { /* one loss breaks the group */
        c->gone_due = true;
        set_losing(c, rank, error, text);
    }
    td_core_queue(core, &c->task);
}

/* pass_on_loss tells the root of a subgroup that the job has lost a rank: a rank that died before
 * it made the subgroup cannot announce its death there. The subgroup breaks when its root says so,
 * which is after the releases that the root gave before. The notice of the job takes another way.
 */
/* NOLINTNEXTLINE(misc-no-recursion): one level deep */
static void pass_on_loss(struct td_core *core, struct td_communicator *c, uint32_t rank,
                         td_err error, const char *text)
{
    if (error == TD_ERR_RANK_FAILED)
        td_core_notices.rank_lost(core, c, rank);
    if (!td_communicator_broken(c))
        tell_root(core, c, rank, error, text);
}

/* rank_lost breaks the group, after SETTLE if the list of operations that complete is known. The
 * recursion from a world group to groups made of it ends there: these have other indices. */
/* NOLINTNEXTLINE(misc-no-recursion): one level deep */
static void rank_lost(struct td_core *core, struct td_communicator *c,
                      enum td_communicator_event event, uint32_t rank, td_err error,
                      const char *text)
{
    bool news = !td_communicator_broken(c);
    if (error == TD_ERR_RANK_FAILED)
        td_core_notices.rank_lost(core, c, rank);
    if (news && !c->has_parent && td_communicator_may_flood(core, c)) {
        /* the loss is announced when the operations that complete are known */
        if (c->state == TD_COMMUNICATOR_ACTIVE)
            set_losing(c, rank, error, text);
        td_communicator_transition(c, TD_COMMUNICATOR_HEAR_RANK_LOST);
        if (!td_core_notices.rank_loss_settled(core, c))
            return;
        event = TD_COMMUNICATOR_SETTLE;
        rank = c->losing_rank;
        error = c->losing_error;
        text = c->losing_text;
    }
    break_up(core, c, event, error, text);
    if (!news)
        return;
    c->lost = rank;
    c->notice_down = true;
    for (struct td_communicator *d = core->communicators; c->index == 0 && d; d = d->next)
        if (d->index == TD_GROUP_MADE && d->world == c->instance && has_member(d, rank))
            pass_on_loss(core, d, rank_of(d, rank), error, text);
}

/* NOLINTNEXTLINE(misc-no-recursion): one level deep */
void td_communicator_rank_lost(struct td_core *core, struct td_communicator *c, uint32_t rank,
                               td_err error, const char *text)
{
    rank_lost(core, c, TD_COMMUNICATOR_LOSE_RANK, rank, error, text);
}

/* node_lost breaks the group since a node is lost. from: the tree neighbour that sent the notice,
 * or UINT32_MAX. proven: the node is lost for good; otherwise only this node's own sessions tell
 * whether it is silent. */
static void node_lost(struct td_core *core, struct td_communicator *c, uint32_t from, uint32_t node,
                      bool proven, const char *text)
{
    bool news = c->state != TD_COMMUNICATOR_LOST_NODE;
    uint32_t slot = td_group_slot(&c->group, node);
    if (slot != UINT32_MAX && proven)
        td_core_notices.slot_lost(core, c, slot);
    else if (slot != UINT32_MAX)
        td_core_notices.slot_silent(core, c, slot);
    break_up(core, c, TD_COMMUNICATOR_LOSE_NODE, TD_ERR_NODE_FAILED, text);
    if (!news)
        return;
    if (core->node == 0)
        td_registry_job_lost(core, c->instance, node);
    c->lost = node;
    c->lost_proven = proven;
    c->error = TD_ERR_NODE_FAILED;
    snprintf(c->text, sizeof c->text, "%s", text);
    c->notice_from = from;
    c->notice_down = c->notice_up = true;
}

/* was_paused returns true if this daemon did not run for so long that others have given it up, and
 * may learn that only now. */
static bool was_paused(const struct td_core *core)
{
    td_time limit = (td_time)core->settings.progress_timeout_ns;
    return core->paused_ns > 0 && core->now - core->resumed_at < limit;
}

static void lose_node(struct td_core *core, struct td_communicator *c, uint32_t node, bool proven,
                      const char *why)
{
    /* not in the memory of the step: a node may lose thousands of groups in one step */
    char text[TD_TEXT_MAX], name[TD_NODE_NAME_MAX];
    td_core_node_print(core, node, name, sizeof name);
    int length = snprintf(text, sizeof text, "job %s lost %s: %s", c->name, name, why);
    if (was_paused(core) && length > 0 && (size_t)length < sizeof text) {
        td_core_node_print(core, core->node, name, sizeof name);
        snprintf(text + length, sizeof text - (size_t)length,
                 "; %s had not run for %llu.%llu s (stopped, or without a processor or memory)",
                 name, (unsigned long long)core->paused_ns / 1000000000,
                 (unsigned long long)core->paused_ns / 100000000 % 10);
    }
    node_lost(core, c, UINT32_MAX, node, proven, text);
}

void td_communicator_node_lost(struct td_core *core, uint32_t node, const char *why)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        if (td_group_slot(&c->group, node) != UINT32_MAX && node != core->node)
            td_communicator_route_lost(core, c, node, why);
}

bool td_communicator_daemon_is(struct td_core *core, uint32_t node, uint32_t daemon, bool changed,
                               const char *why)
{
    bool needed = false;
    for (struct td_communicator *c = core->communicators; c; c = c->next) {
        uint32_t slot = td_group_slot(&c->group, node);
        if (slot == UINT32_MAX || node == core->node)
            continue;
        if (c->daemon[slot] == daemon)
            needed = true;
        else if ((c->daemon[slot] || changed) && !td_bit(c->lost_slot, slot))
            lose_node(core, c, node, true, why);
    }
    return needed;
}

void td_communicator_route_lost(struct td_core *core, struct td_communicator *c, uint32_t node,
                                const char *why)
{
    lose_node(core, c, node, false, why);
}

/* leave_out ends the group for the local ranks: the others go on without this node. */
static void leave_out(struct td_core *core, struct td_communicator *c)
{
    char text[TD_TEXT_MAX], name[TD_NODE_NAME_MAX];
    td_core_node_print(core, core->node, name, sizeof name);
    snprintf(text, sizeof text,
             "the other nodes of job %s go on without %s, which they did not hear for longer than "
             "progress_timeout: join a new job",
             c->name, name);
    td_core_notices.slot_lost(core, c, c->slot);
    break_up(core, c, TD_COMMUNICATOR_LOSE_NODE, TD_ERR_PARTITIONED, text);
    c->error = TD_ERR_PARTITIONED;
    c->lost = core->node;
    c->lost_proven = true;
    snprintf(c->text, sizeof c->text, "%s", text);
}

void td_communicator_epoch(struct td_core *core)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next) {
        uint32_t out = 0;
        for (uint32_t s = 0; s < c->group.slots; s++)
            out += td_epoch_excluded(core, c->group.node[s], c->epoch);
        if (out == 0 || out == c->group.slots)
            continue; /* they hear one another, as far as the epoch tells */
        for (uint32_t s = 0; s < c->group.slots; s++)
            if (!td_bit(c->lost_slot, s) && td_epoch_excluded(core, c->group.node[s], c->epoch)) {
                if (s == c->slot)
                    leave_out(core, c);
                else
                    lose_node(core, c, c->group.node[s], true,
                              "it was silent for longer than progress_timeout, and the machine "
                              "goes on without it");
            }
    }
}

void td_communicator_notice(struct td_core *core, uint32_t from, const struct td_message *m)
{
    struct td_communicator *c = td_communicator_find(core, m->instance, m->group);
    if (!c)
        return;
    if (m->kind == TD_MESSAGE_NODE_LOST) {
        c->notice_all = m->u.node_lost.notify_all;
        bool proven = m->u.node_lost.is_proven || from == m->u.node_lost.node;
        node_lost(core, c, from, m->u.node_lost.node, proven, m->u.node_lost.text);
        return;
    }
    const struct td_message_rank_lost *lost = &m->u.rank_lost;
    /* only the root makes the list */
    bool listed = c->has_parent && lost->good.bytes == sizeof c->good &&
                  c->state != TD_COMMUNICATOR_LOST_RANK_SETTLED;
    if (listed) {
        c->good_first = lost->good_first;
        memcpy(c->good, lost->good.bits, sizeof c->good);
        c->notice_down = c->notice_down || c->state == TD_COMMUNICATOR_LOST_RANK;
    }
    rank_lost(core, c, listed ? TD_COMMUNICATOR_SETTLE : TD_COMMUNICATOR_LOSE_RANK, lost->rank,
              lost->error, lost->text);
}

void td_communicator_appeal(struct td_core *core, struct td_communicator *c,
                            const struct td_message *m)
{
    if (c->has_parent)
        td_session_send(core, c->parent, m);
    else if (m->kind == TD_MESSAGE_RANK_GONE)
        td_communicator_rank_lost(core, c, m->u.rank_gone.rank, m->u.rank_gone.error,
                                  m->u.rank_gone.text);
    else
        td_core_notices.appeal(core, c, m);
}

void td_communicator_seat_lost(struct td_core *core, struct td_communicator *c,
                               struct td_seat *seat, bool died)
{
    uint32_t local = (uint32_t)(seat - c->seat);
    const char *text = td_core_format(core,
                                      died ? "rank %u of job %s died: process %llu on %s"
                                           : "rank %u has left job %s: process %llu on %s",
                                      td_communicator_job_rank(c, seat->rank), c->name,
                                      (unsigned long long)(seat->client ? seat->client->pid : 0),
                                      td_core_node_name(core, core->node));
    td_seat_transition(seat, died ? TD_SEAT_DIE : TD_SEAT_LEAVE);
    if (seat->client)
        seat->client->groups--;
    seat->client = NULL;
    td_core_notices.seat_lost(core, c, local);
    for (struct td_plan *plan = c->plans, *next = NULL; plan; plan = next) {
        next = plan->next;
        (void)release_plan(core, c, plan, local);
    }
    if (c->index == 0)
        td_session_send(core, 0,
                        &(struct td_message){.kind = TD_MESSAGE_RANK_LEFT,
                                             .instance = c->instance,
                                             .u.rank_left.rank = seat->rank});
    if (died)
        td_core_notices.seat_died(c, local);
    td_core_notices.rank_lost(core, c, seat->rank);
    if (!td_communicator_broken(c))
        tell_root(core, c, seat->rank, TD_ERR_RANK_FAILED, text);
    td_core_queue(core, &c->task);
}

void td_communicator_leave(struct td_core *core, struct td_client *client,
                           const struct td_request *q)
{
    struct td_communicator *c = NULL;
    struct td_seat *seat = td_communicator_seat(core, client, q->u.leave.group, &c);
    if (!seat) {
        td_reply_error(core, client->id, q->id, TD_ERR_INVALID,
                       "this process is not in the group: it has not joined, or has left");
        return;
    }
    td_communicator_seat_lost(core, c, seat, false);
    td_reply_done(core, client->id, q->id);
}

void td_communicator_peer_region(struct td_core *core, struct td_client *client,
                                 const struct td_request *q)
{
    struct td_communicator *c = NULL;
    uint32_t handle = 0;
    bool member = td_communicator_seat(core, client, q->u.peer_region.group, &c) != NULL;
    for (uint32_t i = 0; member && i < c->ranks && !handle; i++)
        if (c->seat[i].rank == q->u.peer_region.rank && c->seat[i].client)
            handle = td_client_region(c->seat[i].client, q->u.peer_region.region);
    td_reply_new(core, client->id, q->id, TD_REPLY_PEER_REGION)->u.peer_region.handle = handle;
}

bool td_communicator_client_gone(struct td_core *core, struct td_client *client)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        for (uint32_t i = 0; i < c->ranks; i++) {
            if (c->seat[i].client != client)
                continue;
            if (!td_core_room(core))
                return false;
            td_communicator_seat_lost(core, c, &c->seat[i], true);
        }
    return true;
}

void td_communicator_stop(struct td_core *core)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        if (c->state != TD_COMMUNICATOR_LOST_NODE)
            lose_node(core, c, core->node, true, "its daemon was stopped");
}

/* ---- messages to the tree neighbours ---- */

/* send_members sends the membership to all tree neighbours except members_from, in pieces. It
 * returns false when the action list is full. */
static bool send_members(struct td_core *core, struct td_communicator *c)
{
    uint32_t size = c->group.size, to[TD_TREE_CHILDREN_MAX + 1], count = 0;
    for (uint32_t i = 0; i < c->children; i++)
        if (c->child[i] != c->members_from)
            to[count++] = c->child[i];
    if (c->has_parent && c->parent != c->members_from)
        to[count++] = c->parent;
    while (c->rank_node && count) {
        if (!td_core_room(core))
            return false;
        struct td_message m = {.kind = TD_MESSAGE_MEMBERS,
                               .instance = c->instance,
                               .group = c->index,
                               .u.members = {.uid = c->uid,
                                             .name = c->name,
                                             .size = size,
                                             .minor = c->minor,
                                             .epoch = c->epoch}};
        c->members_sent =
            td_members_fill(core, c->rank_node, c->rank_token, c->members_sent, &m.u.members);
        for (uint32_t i = 0; i < count; i++)
            td_session_send(core, to[i], &m);
        if (m.u.members.is_last_piece)
            break;
    }
    td_core_free(core, c->rank_node);
    td_core_free(core, c->rank_token);
    c->rank_node = NULL;
    c->rank_token = NULL;
    return true;
}

struct td_reply *td_communicator_joined(struct td_core *core, struct td_communicator *c,
                                        uint32_t client, uint64_t request, uint32_t rank)
{
    struct td_reply *r = td_reply_new(core, client, request, TD_REPLY_JOINED);
    r->u.joined.group = c->number;
    r->u.joined.rank = rank;
    r->u.joined.size = c->group.size;
    r->u.joined.instance = c->instance;
    r->u.joined.is_local =
        core->options.segments && c->ranks == c->group.size && !td_communicator_broken(c);
    c->has_segment = c->has_segment || r->u.joined.is_local;
    return r;
}

/* welcome answers the joins of the local ranks. It returns false when the action list is full. */
static bool welcome(struct td_core *core, struct td_communicator *c)
{
    for (uint32_t i = 0; i < c->ranks; i++) {
        struct td_seat *seat = &c->seat[i];
        if (seat->state != TD_SEAT_ASSIGNED)
            continue;
        if (!td_core_room(core))
            return false;
        if (!seat->client) { /* it left before the membership came */
            td_communicator_seat_lost(core, c, seat, true);
            continue;
        }
        td_seat_transition(seat, TD_SEAT_WELCOME);
        (void)td_communicator_joined(core, c, seat->client->id, seat->join, seat->rank);
    }
    return true;
}

/* send_gone sends the loss that the root of the group is to be told. */
static void send_gone(struct td_core *core, struct td_communicator *c)
{
    const struct td_message m = {
        .kind = TD_MESSAGE_RANK_GONE,
        .instance = c->instance,
        .group = c->index,
        .u.rank_gone = {.rank = c->losing_rank,
                        .error = c->losing_error,
                        .text = td_core_format(core, "%s", c->losing_text)}};
    c->gone_due = false;
    if (!td_communicator_broken(c))
        td_session_send(core, c->parent, &m);
}

/* start_notice fills in the notice of the loss. */
static void start_notice(const struct td_communicator *c, struct td_message *m)
{
    *m = (struct td_message){.instance = c->instance, .group = c->index};
    if (c->state == TD_COMMUNICATOR_LOST_NODE) {
        m->kind = TD_MESSAGE_NODE_LOST;
        m->u.node_lost = (struct td_message_node_lost){
            .node = c->lost, .is_proven = c->lost_proven, .text = c->text};
        return;
    }
    m->kind = TD_MESSAGE_RANK_LOST;
    m->u.rank_lost =
        (struct td_message_rank_lost){.rank = c->lost, .error = c->error, .text = c->text};
    if (c->state == TD_COMMUNICATOR_LOST_RANK_SETTLED) {
        m->u.rank_lost.good_first = c->good_first;
        m->u.rank_lost.good = (struct td_bitmap){c->good, sizeof c->good};
    }
}

void td_communicator_rank_gone(struct td_core *core, struct td_communicator *c, uint32_t from,
                               const struct td_message *m)
{
    struct td_message notice;
    if (!td_communicator_broken(c)) {
        td_communicator_appeal(core, c, m);
        return;
    }
    start_notice(c, &notice); /* the sender may have made the group after the notice came to it */
    td_session_send(core, from, &notice);
}

/* links_have_room returns true if the membership, or the notices of a loss, may be sent. */
static bool links_have_room(const struct td_core *core, const struct td_communicator *c)
{
    bool down = c->rank_node || c->notice_down, up = c->rank_node || c->notice_up || c->gone_due;
    for (uint32_t i = 0; down && i < c->children; i++)
        if (!td_session_has_room(core, c->child[i]))
            return false;
    return !(up && c->has_parent) || td_session_has_room(core, c->parent);
}

void td_communicator_timers(struct td_core *core, struct td_communicator *c)
{
    if (core->now >= c->resume_at) {
        c->resume_at = TD_TIME_NEVER;
        td_core_queue(core, &c->task);
    }
    td_core_alarm(core, c->resume_at);
}

static bool advance(struct td_core *core, struct td_task *task)
{
    struct td_communicator *c = (struct td_communicator *)task;
    if (!links_have_room(core, c)) {
        c->resume_at = td_core_after(core, TD_LINK_PATIENCE_NS);
        td_core_alarm(core, c->resume_at);
        return true;
    }
    if (!td_core_room(core) || (c->rank_node && !send_members(core, c)) || !welcome(core, c))
        return false;
    if (c->has_segment && td_communicator_broken(c)) {
        c->has_segment = false;
        td_core_act(core, TD_ACTION_CLOSE_SEGMENT)->u.segment.group = c->number;
        if (!td_core_room(core))
            return false;
    }
    if (c->state == TD_COMMUNICATOR_LOSING_RANK)
        td_communicator_rank_lost(core, c, c->losing_rank, c->losing_error, c->losing_text);
    if (c->gone_due)
        send_gone(core, c);
    bool node = c->state == TD_COMMUNICATOR_LOST_NODE;
    struct td_message m;
    start_notice(c, &m);
    for (; c->notice_all && c->notified < c->group.slots; c->notified++) {
        if (!td_core_room(core))
            return false;
        if (c->notified != c->slot && c->group.node[c->notified] != c->lost)
            td_session_send(core, c->group.node[c->notified], &m);
    }
    if (!td_core_room(core))
        return false;
    for (uint32_t i = 0; c->notice_down && i < c->children; i++)
        if (c->child[i] != c->notice_from || !node)
            td_session_send(core, c->child[i], &m);
    c->notice_down = false;
    if (c->notice_up && c->has_parent && c->parent != c->notice_from)
        td_session_send(core, c->parent, &m);
    c->notice_up = false;
    if (!has_seats(c) && !c->recorded && td_communicator_broken(c) &&
        !td_core_notices.group_needed(c))
        destroy(core, c);
    return true;
}
