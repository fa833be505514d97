/* SPDX-License-Identifier: Apache-2.0 */
#include "communicator_losses.h"

#include <stdio.h>
#include <string.h>

#include "core/net/goodbye.h"
#include "core/net/silence.h"
#include "core/net/session.h"
#include "departure.h"
#include "epoch.h"
#include "registry.h"

/* All nodes say the same, although some know more: the daemon's host may refuse connections. */
static const char WAS_SILENT[] = "it did not answer in time, and the machine goes on without it";

/* struct loss: a rank that a group has lost. of_job: the whole job has lost it; spreads: the other
 * groups of the job on this node are to be told. */
struct loss {
    uint32_t rank;
    td_err error;
    bool of_job, spreads;
    const char *text;
};

static void set_losing(struct td_communicator *c, const struct loss *loss)
{
    c->losing_rank = loss->rank;
    c->losing_error = loss->error;
    c->losing_of_job = loss->of_job;
    snprintf(c->losing_text, sizeof c->losing_text, "%s", loss->text);
}

static void rank_lost(struct td_core *core, struct td_communicator *c, const struct loss *loss);

/* tell_down has the notice sent down the tree, from its beginning: it may have changed. */
static void tell_down(struct td_communicator *c)
{
    c->notice_down = true;
    c->notified_down = 0;
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

/* NOLINTNEXTLINE(misc-no-recursion): one level deep */
static void tell_root(struct td_core *core, struct td_communicator *c, const struct loss *loss)
{
    if (!c->has_parent) {
        rank_lost(core, c, loss);
    } else if (!c->gone_due) { /* one loss breaks the group */
        c->gone_due = true;
        set_losing(c, loss);
    }
    td_core_queue(core, &c->task);
}

bool td_communicator_owes_loss(const struct td_communicator *c)
{
    return c->has_parent && c->losing_error != TD_OK && !td_communicator_broken(c);
}

void td_communicator_node_back(struct td_core *core, uint32_t node)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next) {
        if (c->parent != node || !td_communicator_owes_loss(c))
            continue;
        c->gone_due = true;
        td_core_queue(core, &c->task);
    }
}

void td_communicator_tell_root(struct td_core *core, struct td_communicator *c, uint32_t rank,
                               td_err error, bool of_job, const char *text)
{
    tell_root(core, c, &(struct loss){rank, error, of_job, true, text});
}

/* pass_on_loss tells the root of a subgroup that the job has lost a rank: a rank that died before
 * it made the subgroup cannot announce its death there. The subgroup breaks when its root says so,
 * which is after the releases that the root gave before. The notice of the job takes another way.
 */
/* NOLINTNEXTLINE(misc-no-recursion): one level deep */
static void pass_on_loss(struct td_core *core, struct td_communicator *c, const struct loss *loss)
{
    if (loss->error == TD_ERR_RANK_FAILED)
        td_core_notices.rank_lost(core, c, loss->rank);
    if (!td_communicator_broken(c))
        tell_root(core, c, loss);
}

/* spread tells the other groups of the job on this node that the job has lost a rank. After the
 * first loss, the world group is broken and hears of no other: the groups that were made since
 * then tell the world and each other. */
/* NOLINTNEXTLINE(misc-no-recursion): one level deep */
static void spread(struct td_core *core, struct td_communicator *c, const struct loss *loss)
{
    uint32_t rank = loss->rank; /* in the job */
    struct loss one = *loss;
    one.of_job = true;
    one.spreads = false;
    if (c->index != 0 && (!loss->of_job || rank >= c->group.size))
        return;
    if (c->index != 0) {
        struct td_communicator *world = td_communicator_find(core, c->world, 0);
        rank = c->member[rank];
        if (world && loss->error == TD_ERR_RANK_FAILED)
            td_core_notices.rank_lost(core, world, rank);
    }
    for (struct td_communicator *d = core->communicators; d; d = d->next)
        if (d != c && d->index == TD_GROUP_MADE && d->world == c->world && has_member(d, rank)) {
            one.rank = rank_of(d, rank);
            pass_on_loss(core, d, &one);
        }
}

/* rank_lost breaks the group. The recursion to the other groups of the job ends there. */
/* NOLINTNEXTLINE(misc-no-recursion): one level deep */
static void rank_lost(struct td_core *core, struct td_communicator *c, const struct loss *loss)
{
    bool news = !td_communicator_broken(c);
    if (loss->error == TD_ERR_RANK_FAILED)
        td_core_notices.rank_lost(core, c, loss->rank);
    if (news)
        c->lost = loss->rank; /* the operations that end now read it */
    break_up(core, c, TD_COMMUNICATOR_LOSE_RANK, loss->error, loss->text);
    if (!news)
        return;
    c->lost_of_job = loss->of_job;
    tell_down(c);
    if (loss->spreads)
        spread(core, c, loss);
}

/* NOLINTNEXTLINE(misc-no-recursion): one level deep */
void td_communicator_rank_lost(struct td_core *core, struct td_communicator *c, uint32_t rank,
                               td_err error, const char *text)
{
    rank_lost(core, c, &(struct loss){rank, error, false, true, text});
}

/* note_silence notes for how long a lost node had not been heard before: as its neighbour in the
 * tree tells, or as this node knows. */
static void note_silence(const struct td_core *core, struct td_communicator *c, uint32_t node,
                         uint64_t told_ns)
{
    td_time unheard = td_silence_unheard(core, node), delay = td_silence_delay(core, node);
    c->lost_silent_ns = told_ns > unheard ? told_ns : unheard;
    if (delay > c->lost_silent_ns) /* its new daemon has just been heard */
        c->lost_silent_ns = delay;
}

/* node_lost breaks the group since a node is lost. from: the tree neighbour that sent the notice,
 * or UINT32_MAX. proven: the node is lost for good; otherwise only this node's own sessions tell
 * whether it is silent. */
static void node_lost(struct td_core *core, struct td_communicator *c, uint32_t from,
                      const struct td_message_node_lost *loss)
{
    uint32_t node = loss->node;
    bool proven = loss->is_proven;
    const char *text = loss->text;
    bool news = c->state != TD_COMMUNICATOR_LOST_NODE;
    uint32_t slot = td_group_slot(&c->group, node);
    if (slot != UINT32_MAX && proven)
        td_core_notices.slot_lost(core, c, slot);
    else if (slot != UINT32_MAX &&
             from == UINT32_MAX) /* others' sessions say nothing of this one's */
        td_core_notices.slot_silent(core, c, slot);
    if (news) { /* the operations that end now read this */
        c->lost = node;
        note_silence(core, c, node, loss->silent_ns);
    }
    break_up(core, c, TD_COMMUNICATOR_LOSE_NODE, TD_ERR_NODE_FAILED, text);
    if (!news)
        return;
    if (c->index == 0)
        td_registry_job_lost(core, c->instance, node);
    c->lost_proven = proven;
    c->error = TD_ERR_NODE_FAILED;
    snprintf(c->text, sizeof c->text, "%s", text);
    c->notice_from = from;
    tell_down(c);
    c->notice_up = true;
    c->notice_all |= from == UINT32_MAX && td_communicator_has_left(c, c->tree.root);
}

/* was_paused returns true if this daemon did not run for so long that others may have given it up,
 * and may learn that only now. */
static bool was_paused(const struct td_core *core)
{
    td_time limit = (td_time)core->settings.progress_timeout_ns;
    return core->paused_ns > limit / 2 && core->now - core->resumed_at < limit;
}

void td_communicator_note_pause(const struct td_core *core, char *text, size_t bytes)
{
    char name[TD_NODE_NAME_MAX];
    size_t length = strlen(text);
    if (!was_paused(core))
        return;
    td_core_node_print(core, core->node, name, sizeof name);
    snprintf(text + length, bytes - length,
             "; %s had not run for %llu.%llu s (stopped, or without a processor or memory)", name,
             (unsigned long long)core->paused_ns / 1000000000,
             (unsigned long long)core->paused_ns / 100000000 % 10);
}

void td_communicator_lose_node(struct td_core *core, struct td_communicator *c, uint32_t node,
                               bool proven, const char *why)
{
    /* not in the memory of the step: a node may lose thousands of groups in one step */
    char text[TD_TEXT_MAX], name[TD_NODE_NAME_MAX];
    td_core_node_print(core, node, name, sizeof name);
    snprintf(text, sizeof text, "job %s lost %s: %s", c->name, name, why);
    if (!proven)
        td_communicator_note_pause(core, text, sizeof text);
    node_lost(core, c, UINT32_MAX,
              &(struct td_message_node_lost){.node = node, .is_proven = proven, .text = text});
}

void td_communicator_part(struct td_core *core, struct td_communicator *c, const char *text)
{
    bool held = c->state == TD_COMMUNICATOR_HELD;
    if (c->state == TD_COMMUNICATOR_PARTED || c->state == TD_COMMUNICATOR_LOST_NODE)
        return;
    if (!td_communicator_broken(c)) {
        td_communicator_transition(c, TD_COMMUNICATOR_PART);
        c->error = TD_ERR_PARTITIONED;
        if (!held) /* else all ranks have the sentence already */
            snprintf(c->text, sizeof c->text, "%s", text);
        td_client_room(core);
    }
    td_core_notices.group_broken(core, c, TD_ERR_PARTITIONED, text, true);
    td_core_queue(core, &c->task);
}

bool td_communicator_daemon_is(struct td_core *core, uint32_t node, uint32_t daemon, bool changed,
                               const char *why)
{
    bool needed = false;
    for (struct td_communicator *c = node == core->node ? NULL : core->communicators; c;
         c = c->next) {
        uint32_t slot = td_group_slot(&c->group, node);
        if (slot == UINT32_MAX)
            continue;
        if (c->daemon[slot] == daemon)
            needed = true;
        else if ((c->daemon[slot] || changed) && !td_bit(c->lost_slot, slot))
            td_communicator_lose_node(core, c, node, true, why);
    }
    return needed;
}

void td_communicator_daemon_ended(struct td_core *core, uint32_t node, uint32_t daemon,
                                  const char *why)
{
    for (struct td_communicator *c = node == core->node ? NULL : core->communicators; c;
         c = c->next) {
        uint32_t slot = td_group_slot(&c->group, node);
        if (slot != UINT32_MAX && !td_bit(c->lost_slot, slot) &&
            (!c->daemon[slot] || c->daemon[slot] == daemon))
            td_communicator_lose_node(core, c, node, true, why);
    }
}

/* leave_out ends the group for the local ranks: the others go on without this node. */
static void leave_out(struct td_core *core, struct td_communicator *c)
{
    char text[TD_TEXT_MAX], name[TD_NODE_NAME_MAX];
    if (td_bit(c->lost_slot, c->slot))
        return;
    td_core_node_print(core, core->node, name, sizeof name);
    snprintf(text, sizeof text,
             "the other nodes of job %s go on without %s, which they did not hear for longer than "
             "progress_timeout: join a new job",
             c->name, name);
    td_communicator_note_pause(core, text, sizeof text);
    td_core_notices.slot_lost(core, c, c->slot);
    break_up(core, c, TD_COMMUNICATOR_LOSE_NODE, TD_ERR_PARTITIONED, text);
    c->error = TD_ERR_PARTITIONED;
    c->lost = core->node;
    c->lost_proven = true;
    c->notice_from = UINT32_MAX;
    tell_down(c); /* its neighbours in the tree may hear it all the time */
    c->notice_up = true;
    snprintf(c->text, sizeof c->text, "%s", text);
}

/* concerned returns true if an exclusion concerns the group: some of its nodes did not hear each
 * other. */
static bool concerned(const struct td_communicator *c)
{
    return td_communicator_rests(c) || c->parting.doubt_at != TD_TIME_NEVER;
}

/* first_excluded returns the slot that was excluded first and is not known to be lost: all nodes
 * name this one. UINT32_MAX: no such slot. */
static uint32_t first_excluded(const struct td_core *core, const struct td_communicator *c)
{
    uint32_t first = UINT32_MAX;
    uint64_t least = UINT64_MAX;
    for (uint32_t s = 0; s < c->group.slots; s++) {
        uint64_t ballot = td_epoch_excluded_by(core, c->group.node[s]);
        if (ballot <= c->epoch || ballot >= least || td_bit(c->lost_slot, s))
            continue;
        least = ballot;
        first = s;
    }
    return first;
}

bool td_communicator_is_outside(const struct td_core *core, const struct td_communicator *c)
{
    uint32_t s = 0;
    while (s < c->group.slots && td_epoch_excluded(core, c->group.node[s], c->epoch))
        s++;
    return s == c->group.slots;
}

void td_communicator_exclude(struct td_core *core, struct td_communicator *c)
{
    uint32_t s = 0;
    if (td_communicator_is_outside(core, c) || !concerned(c))
        return;
    if (td_epoch_excluded(core, core->node, c->epoch))
        leave_out(core, c);
    while ((s = first_excluded(core, c)) != UINT32_MAX)
        td_communicator_lose_node(core, c, c->group.node[s], true, WAS_SILENT);
}

void td_communicator_epoch(struct td_core *core)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        td_communicator_exclude(core, c);
}

/* is_own_word returns true if a node tells that a rank of its own is lost, or (rank UINT32_MAX) all
 * of them: then it is true. */
static bool is_own_word(const struct td_communicator *c, uint32_t from, uint32_t rank)
{
    uint32_t slot = td_group_slot(&c->group, from), of = slot, local = 0;
    if (rank < c->group.size)
        td_group_locate(&c->group, rank, &of, &local);
    return slot != UINT32_MAX && slot == of && (rank < c->group.size || rank == UINT32_MAX);
}

/* lose_all notes that all ranks of a node have left a group, and returns one of them. */
static uint32_t lose_all(struct td_core *core, struct td_communicator *c, uint32_t node)
{
    uint32_t slot = td_group_slot(&c->group, node);
    for (uint32_t i = 0; i < td_group_slot_ranks(&c->group, slot); i++)
        td_core_notices.rank_lost(core, c, td_group_rank(&c->group, slot, i));
    return td_group_rank(&c->group, slot, 0);
}

/* handle_rank_lost: the root's word comes from the parent. Another node may tell only that its own
 * ranks are lost; the root hears of it then, so that all nodes do. */
static void handle_rank_lost(struct td_core *core, struct td_communicator *c, uint32_t from,
                             const struct td_message_rank_lost *told)
{
    struct td_message_rank_lost copy = *told, *lost = &copy;
    if (c->index == TD_GROUP_MADE && lost->rank == UINT32_MAX && lost->error == TD_ERR_RANK_FAILED)
        lost->rank = lose_all(core, c, from);
    if (!c->has_parent || from != c->parent) {
        if (is_own_word(c, from, lost->rank) && !td_communicator_broken(c))
            td_communicator_tell_root(core, c, lost->rank, lost->error, lost->of_job, lost->text);
        return;
    }
    if (td_communicator_broken(c)) { /* its operations have appealed before */
        if (lost->error == TD_ERR_RANK_FAILED)
            td_core_notices.rank_lost(core, c, lost->rank);
        td_core_queue(core, &c->task); /* there may be room for its notices now */
        return;
    }
    rank_lost(core, c, &(struct loss){lost->rank, lost->error, lost->of_job, true, lost->text});
}

void td_communicator_notice(struct td_core *core, uint32_t from, const struct td_message *m)
{
    struct td_communicator *c = td_communicator_find(core, m->instance, m->group);
    if (!c && td_departure_is_word(m))
        td_departure_hear(core, from, m);
    if (!c || td_group_slot(&c->group, from) == UINT32_MAX)
        return; /* only the nodes of a group know */
    if (m->kind == TD_MESSAGE_RANK_LOST) {
        handle_rank_lost(core, c, from, &m->u.rank_lost);
        return;
    }
    if (m->u.node_lost.node == core->node && m->u.node_lost.is_proven) {
        leave_out(core, c);
        return;
    }
    if (m->u.node_lost.node >= core->options.topology.nodes)
        return;
    c->notice_all = m->u.node_lost.notify_all;
    struct td_message_node_lost loss = m->u.node_lost;
    loss.is_proven = loss.is_proven || from == loss.node;
    node_lost(core, c, from, &loss);
}

void td_communicator_not_made(struct td_core *core, struct td_communicator *c, uint32_t from)
{
    if (c->index != TD_GROUP_MADE || !c->has_parent || from != c->parent ||
        td_communicator_broken(c) || !td_communicator_all_lost(c, from))
        return;
    uint32_t rank = lose_all(core, c, from);
    const char *text =
        td_core_format(core, "all ranks on %s have left or died", td_core_node_name(core, from));
    rank_lost(core, c, &(struct loss){rank, TD_ERR_RANK_FAILED, false, true, text});
}

/* inherit_node breaks a new group since a node of its parent is lost for good. */
static void inherit_node(struct td_core *core, struct td_communicator *c,
                         const struct td_communicator *parent, uint32_t node)
{
    if (node == core->node)
        leave_out(core, c);
    else if (parent->state == TD_COMMUNICATOR_LOST_NODE && parent->lost == node)
        node_lost(
            core, c, UINT32_MAX,
            &(struct td_message_node_lost){.node = node, .is_proven = true, .text = parent->text});
    else
        td_communicator_lose_node(core, c, node, true, "it was lost before the group was made");
}

/* inherit_rank notes that the job has lost a rank of a new group, and tells the root. It hears of
 * one: a job may have lost thousands. */
static void inherit_rank(struct td_core *core, struct td_communicator *c,
                         const struct td_communicator *world, uint32_t rank)
{
    td_core_notices.rank_lost(core, c, rank);
    if (td_communicator_broken(c) || c->gone_due)
        return;
    bool known = world->state == TD_COMMUNICATOR_LOST_RANK && world->lost == c->member[rank];
    const char *text =
        known ? td_core_format(core, "%s", world->text)
              : td_core_format(core, "rank %u of job %s is lost", c->member[rank], c->name);
    tell_root(core, c, &(struct loss){rank, TD_ERR_RANK_FAILED, true, false, text});
}

void td_communicator_inherit(struct td_core *core, struct td_communicator *c,
                             const struct td_communicator *parent)
{
    const struct td_communicator *world = td_communicator_find(core, c->world, 0);
    for (uint32_t s = 0; s < c->group.slots; s++)
        if (td_bit(parent->lost_slot, td_group_slot(&parent->group, c->group.node[s])))
            inherit_node(core, c, parent, c->group.node[s]);
    for (uint32_t i = 0; world && i < c->group.size; i++) {
        uint32_t slot = 0, local = 0;
        td_group_locate(&world->group, c->member[i], &slot, &local);
        if (td_bit(world->lost_rank, c->member[i]) && !td_bit(world->lost_slot, slot))
            inherit_rank(core, c, world, i);
    }
}

void td_communicator_appeal(struct td_core *core, struct td_communicator *c,
                            const struct td_message *m)
{
    if (c->has_parent)
        td_session_send(core, c->parent, m);
    else if (m->kind == TD_MESSAGE_RANK_GONE)
        tell_root(core, c,
                  &(struct loss){m->u.rank_gone.rank, m->u.rank_gone.error, m->u.rank_gone.of_job,
                                 true, m->u.rank_gone.text});
    else
        td_core_notices.appeal(core, c, m);
}

void td_communicator_stop(struct td_core *core)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        if (c->state != TD_COMMUNICATOR_LOST_NODE)
            td_communicator_lose_node(core, c, core->node, true, TD_GOODBYE_TEXT);
}

/* ---- notices ---- */

/* send_gone sends the loss that the root of the group is to be told. A node on the way to the root
 * passes it on and keeps nothing, so it may get lost there: it is sent again until the group is
 * broken. */
static void send_gone(struct td_core *core, struct td_communicator *c)
{
    const struct td_message m = {
        .kind = TD_MESSAGE_RANK_GONE,
        .instance = c->instance,
        .group = c->index,
        .u.rank_gone = {.rank = c->losing_rank,
                        .error = c->losing_error,
                        .of_job = c->losing_of_job,
                        .text = td_core_format(core, "%s", c->losing_text)}};
    c->gone_due = false;
    if (td_communicator_broken(c))
        return;
    td_session_send(core, c->parent, &m);
    c->resume_at = td_core_after(core, (int64_t)TD_LOSS_AGAIN_NS);
    td_core_alarm(core, c->resume_at);
}

/* start_notice fills in the notice of the loss. */
static void start_notice(struct td_core *core, const struct td_communicator *c,
                         struct td_message *m)
{
    const char *text = c->text;
    if (c->state == TD_COMMUNICATOR_LOST_NODE && c->error == TD_ERR_PARTITIONED)
        text = td_core_format(core, "job %s lost %s: %s", c->name,
                              td_core_node_name(core, core->node), WAS_SILENT);
    *m = (struct td_message){.instance = c->instance, .group = c->index};
    if (c->state == TD_COMMUNICATOR_LOST_NODE) {
        m->kind = TD_MESSAGE_NODE_LOST;
        m->u.node_lost = (struct td_message_node_lost){.node = c->lost,
                                                       .is_proven = c->lost_proven,
                                                       .text = text,
                                                       .silent_ns = c->lost_silent_ns};
        return;
    }
    m->kind = TD_MESSAGE_RANK_LOST;
    m->u.rank_lost = (struct td_message_rank_lost){
        .rank = c->lost, .error = c->error, .of_job = c->lost_of_job, .text = c->text};
}

/* may_tell_gone returns true if a node is a child, and a lost rank of a job is on it or below. A
 * rank that died before it made a subgroup is told by other nodes of the subgroup. */
static bool may_tell_gone(const struct td_communicator *c, uint32_t from, uint32_t rank)
{
    uint32_t child = td_group_slot(&c->group, from), slot = 0, local = 0;
    if (child == UINT32_MAX || child == c->slot || c->tree.parent[child] != c->slot)
        return false;
    if (c->index != 0 || rank >= c->group.size)
        return c->index != 0 || rank == UINT32_MAX;
    td_group_locate(&c->group, rank, &slot, &local);
    return c->tree.place[slot] - c->tree.place[child] < c->tree.below[child];
}

void td_communicator_rank_gone(struct td_core *core, struct td_communicator *c, uint32_t from,
                               const struct td_message *m)
{
    if (!may_tell_gone(c, from, m->u.rank_gone.rank))
        return;
    if (!td_communicator_broken(c))
        td_communicator_appeal(core, c, m);
    else if (td_session_has_room(core, from)) /* otherwise it asks again */
        td_communicator_tell_loss(core, c, from);
}

void td_communicator_tell_loss(struct td_core *core, struct td_communicator *c, uint32_t child)
{
    uint32_t slot = td_group_slot(&c->group, child);
    if (slot == UINT32_MAX || slot == c->slot || c->tree.parent[slot] != c->slot)
        return;
    td_communicator_tell_break(core, c, child);
}

void td_communicator_tell_break(struct td_core *core, struct td_communicator *c, uint32_t node)
{
    struct td_message notice;
    td_epoch_tell(core, node);
    start_notice(core, c, &notice);
    td_session_send(core, node, &notice);
}

bool td_communicator_send_notices(struct td_core *core, struct td_communicator *c)
{
    if (c->gone_due)
        send_gone(core, c);
    bool node = c->state == TD_COMMUNICATOR_LOST_NODE;
    struct td_message m;
    start_notice(core, c, &m);
    for (; c->notice_all && c->notified < c->group.slots; c->notified++) {
        if (!td_core_room(core))
            return false;
        if (c->notified != c->slot && c->group.node[c->notified] != c->lost)
            td_session_send(core, c->group.node[c->notified], &m);
    }
    for (; c->notice_down && c->notified_down < c->group.slots; c->notified_down++) {
        uint32_t s = c->notified_down, to = c->group.node[s];
        if (!td_core_room(core))
            return false;
        bool child = s != c->tree.root && c->tree.parent[s] == c->slot;
        if (node ? td_communicator_tells(c, s) && to != c->notice_from : child)
            td_session_send(core, to, &m);
    }
    if (!td_core_room(core))
        return false;
    c->notice_down = false;
    uint32_t above = c->group.node[td_communicator_hearer(c, c->slot)];
    if (c->notice_up && c->has_parent && above != c->notice_from)
        td_session_send(core, above, &m);
    c->notice_up = false;
    return true;
}
