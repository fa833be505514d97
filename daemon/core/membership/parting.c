/* SPDX-License-Identifier: Apache-2.0 */
#include "parting.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "communicator_losses.h"
#include "core/net/link.h"
#include "core/net/session.h"
#include "core/net/silence.h"
#include "epoch.h"

enum { NOTICED_MS = 100 /* a silence of less is none for people */ };

static bool advance(struct td_core *core, struct td_task *task);

static void queue(struct td_core *core, struct td_communicator *c)
{
    c->parting.task.advance = advance;
    td_core_queue(core, &c->parting.task);
}

static struct td_link *link_of(const struct td_core *core, const struct td_communicator *c,
                               uint32_t slot)
{
    return &core->link[c->group.node[slot]];
}

static bool gives_up(const struct td_core *core, const struct td_communicator *c, uint32_t slot)
{
    return slot != c->slot && td_link_is_given_up(link_of(core, c, slot));
}

static bool hears_all(const struct td_core *core, const struct td_communicator *c)
{
    uint32_t slot = 0;
    while (slot < c->group.slots && (slot == c->slot || td_link_is_up(link_of(core, c, slot))))
        slot++;
    return slot == c->group.slots;
}

static bool has_silent(const struct td_communicator *c)
{
    uint32_t slot = 0;
    while (slot < c->group.slots && !td_bit(c->parting.silent, slot))
        slot++;
    return slot < c->group.slots;
}

/* ---- doubt ---- */

/* first_heard returns the first slot that this node hears, which may be its own. */
static uint32_t first_heard(const struct td_core *core, const struct td_communicator *c)
{
    uint32_t first = 0;
    while (first < c->slot && gives_up(core, c, first))
        first++;
    return first;
}

static void doubt(struct td_core *core, struct td_communicator *c)
{
    struct td_parting *p = &c->parting;
    if (p->doubt_at != TD_TIME_NEVER)
        return;
    p->asked = p->told = false;
    p->doubt_at = core->now + (td_time)core->settings.heartbeat_ns / 4;
    td_core_alarm(core, p->doubt_at);
}

static void end_doubt(struct td_communicator *c)
{
    c->parting.doubt_at = TD_TIME_NEVER;
    c->parting.asked = c->parting.told = c->parting.urged = false;
}

/* note_silence notes for how long a node had not been heard whose session ends: it may answer
 * before the sentence about that is printed. */
static void note_silence(const struct td_core *core, struct td_communicator *c, uint32_t node)
{
    td_time goes_on = td_silence_unheard(core, node), ended = td_silence_lasted(core, node);
    td_time ns = goes_on > ended ? goes_on : ended;
    if (c->state != TD_COMMUNICATOR_LOST_NODE && ns > c->lost_silent_ns)
        c->lost_silent_ns = ns;
}

void td_parting_route_lost(struct td_core *core, struct td_communicator *c, uint32_t node,
                           const char *why)
{
    uint32_t slot = td_group_slot(&c->group, node);
    if (slot == UINT32_MAX) {
        td_communicator_lose_node(core, c, node, false, why);
        return;
    }
    bool news = !td_bit(c->parting.silent, slot) && !td_bit(c->lost_slot, slot);
    td_bit_set(c->parting.silent, slot);
    note_silence(core, c, node);
    td_core_notices.slot_silent(core, c, slot);
    if (c->state == TD_COMMUNICATOR_LOST_NODE || !news)
        return;
    doubt(core, c);
    td_core_queue(core, &c->task);    /* it may have no ranks here any more */
    td_communicator_exclude(core, c); /* by an epoch that did not concern the group so far */
}

void td_parting_node_lost(struct td_core *core, uint32_t node, const char *why)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        if (td_group_slot(&c->group, node) != UINT32_MAX && node != core->node)
            td_parting_route_lost(core, c, node, why);
}

/* ---- verdicts ---- */

/* part ends the operations here and, by the task, on all nodes that are heard. */
static void part(struct td_core *core, struct td_communicator *c, const char *text)
{
    td_communicator_part(core, c, text);
    end_doubt(c);
    c->parting.telling = 0;
    c->parting.rejoin_at = td_core_after(core, core->settings.heartbeat_ns);
    td_core_alarm(core, c->parting.rejoin_at);
    queue(core, c);
}

/* print_silent prints the silent nodes of a group, and for how long one of them was not heard; or,
 * if they answer and this node has heard them all the time, that they ended their sessions. mute:
 * one of them does not answer. */
static void print_silent(const struct td_core *core, const struct td_communicator *c, bool mute,
                         char *text, size_t bytes)
{
    char name[TD_NODE_NAME_MAX] = "", own[TD_NODE_NAME_MAX] = "";
    uint32_t more = 0, first = UINT32_MAX;
    for (uint32_t slot = 0; slot < c->group.slots; slot++) {
        if (!td_bit(c->parting.silent, slot))
            continue;
        if (first == UINT32_MAX)
            first = slot;
        else
            more++;
    }
    if (first == UINT32_MAX)
        first = c->slot;
    char others[24] = "";
    td_time goes_on = td_silence_unheard(core, c->group.node[first]);
    uint64_t ms = (goes_on > c->lost_silent_ns ? goes_on : c->lost_silent_ns) / 1000000;
    td_core_node_print(core, c->group.node[first], name, sizeof name);
    if (more > 0)
        snprintf(others, sizeof others, " and %u other%s", more, more == 1 ? "" : "s");
    td_core_node_print(core, core->node, own, sizeof own);
    if (!mute && ms < NOTICED_MS)
        snprintf(text, bytes, "%s%s ended the session with %s", name, others, own);
    else
        snprintf(text, bytes, "%s%s %s been silent for %llu.%llu s", name, others,
                 more == 0 ? "has" : "have", (unsigned long long)(ms / 1000),
                 (unsigned long long)(ms / 100 % 10));
}

/* judge parts a group that has asked for an epoch, because there will be none now. */
static void judge(struct td_core *core, struct td_communicator *c, bool no_quorum)
{
    char text[TD_TEXT_MAX], silent[2 * TD_NODE_NAME_MAX + 80];
    uint32_t slot = 0;
    if (!c->parting.asked || c->parting.doubt_at == TD_TIME_NEVER)
        return;
    while (slot < c->group.slots && !(td_bit(c->parting.silent, slot) && gives_up(core, c, slot)))
        slot++;
    bool mute = slot < c->group.slots;
    if (mute && !no_quorum)
        return; /* it is asked for again */
    print_silent(core, c, mute, silent, sizeof silent);
    snprintf(text, sizeof text,
             mute ? "job %s: %s, and the nodes that answer cannot leave it out, as they are no "
                    "majority: call again when the network works, or join a new job"
                  : "job %s: %s and answers again, but messages were lost: call again",
             c->name, silent);
    td_communicator_note_pause(core, text, sizeof text);
    part(core, c, text);
}

void td_parting_no_quorum(struct td_core *core)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        judge(core, c, true);
}

void td_parting_all_answer(struct td_core *core)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        judge(core, c, false);
}

void td_parting_epoch(struct td_core *core)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next) {
        if (c->state == TD_COMMUNICATOR_LOST_NODE)
            end_doubt(c);
        if (!c->parting.asked)
            continue;
        c->parting.doubt_at = core->now + (td_time)core->settings.heartbeat_ns / 4;
        td_core_alarm(core, c->parting.doubt_at); /* its poll has ended */
    }
}

/* ---- rejoining ---- */

static void send(struct td_core *core, const struct td_communicator *c, uint32_t node,
                 enum td_parting_step step, uint64_t round)
{
    struct td_message m = {.kind = TD_MESSAGE_PARTING,
                           .instance = c->instance,
                           .group = c->index,
                           .u.parting = {.step = step, .round = round, .text = ""}};
    if (step == TD_PARTING_READY || step == TD_PARTING_RESUME)
        m.u.parting.sequence = c->parting.next;
    if (step == TD_PARTING_END || step == TD_PARTING_HEARD || step == TD_PARTING_ASK)
        m.u.parting.text = td_core_format(core, "%s", c->text);
    td_session_send(core, node, &m);
}

void td_parting_tell_end(struct td_core *core, const struct td_communicator *c, uint32_t node)
{
    send(core, c, node, TD_PARTING_END, c->parting.era);
}

static void send_down(struct td_core *core, const struct td_communicator *c,
                      enum td_parting_step step)
{
    for (uint32_t i = 0; i < c->children; i++)
        send(core, c, c->child[i], step, c->parting.round);
}

/* release ends the round under way: calls end with PARTITIONED again. */
static void release(struct td_core *core, struct td_communicator *c)
{
    td_communicator_part(core, c, c->text);
    c->parting.rejoin_at = td_core_after(core, core->settings.heartbeat_ns);
    td_core_alarm(core, c->parting.rejoin_at);
}

/* hold begins a round on this node, which hears all nodes. */
static void hold(struct td_core *core, struct td_communicator *c, uint64_t round, const char *text)
{
    struct td_parting *p = &c->parting;
    td_communicator_part(core, c, text);
    if (td_communicator_broken(c))
        return; /* a loss was on its way */
    td_communicator_transition(c, TD_COMMUNICATOR_HOLD);
    end_doubt(c);
    memset(p->silent, 0, td_bit_bytes(c->group.slots));
    c->lost_silent_ns = 0;
    p->round = round;
    p->ready = 0;
    p->reported = false;
    p->next = c->first_sequence;
    for (uint32_t i = 0; i < c->ranks; i++)
        if (c->seat[i].next_sequence > p->next)
            p->next = c->seat[i].next_sequence;
    p->telling = UINT32_MAX;
    p->rejoin_at = c->has_parent ? TD_TIME_NEVER : core->now + td_epoch_sweep_ns(core);
    td_core_alarm(core, p->rejoin_at);
    send_down(core, c, TD_PARTING_ASK);
    queue(core, c);
}

/* resume goes on with operation `next`. */
static void resume(struct td_core *core, struct td_communicator *c)
{
    struct td_parting *p = &c->parting;
    p->era = p->round;
    p->rejoin_at = TD_TIME_NEVER;
    c->first_sequence = p->next;
    memset(c->retired, 0, sizeof c->retired);
    memset(c->ended_unrecorded, 0, sizeof c->ended_unrecorded);
    memset(c->stalled, 0, sizeof c->stalled);
    td_communicator_transition(c, TD_COMMUNICATOR_REJOIN);
    send_down(core, c, TD_PARTING_RESUME);
    td_client_room(core);
}

/* missing returns a local seat whose process is gone, or NULL: then the group is broken. */
static const struct td_seat *missing(const struct td_communicator *c)
{
    for (uint32_t i = 0; i < c->ranks; i++)
        if (!td_seat_occupied(&c->seat[i]))
            return &c->seat[i];
    return NULL;
}

/* tell_missing tells the root of a lost rank: an earlier word may be lost with a session. */
static void tell_missing(struct td_core *core, struct td_communicator *c,
                         const struct td_seat *seat)
{
    if (c->losing_text[0]) {
        c->gone_due = c->has_parent;
        td_core_queue(core, &c->task);
        return;
    }
    td_communicator_tell_root(core, c, seat->rank, TD_ERR_RANK_FAILED,
                              c->index == 0 || seat->state == TD_SEAT_DIED,
                              td_core_format(core,
                                             "rank %u of job %s is gone: its process on %s "
                                             "has ended",
                                             td_communicator_job_rank(c, seat->rank), c->name,
                                             td_core_node_name(core, core->node)));
}

/* ask handles ASK: from the parent, or, at the root, of itself. */
static void ask(struct td_core *core, struct td_communicator *c, uint64_t round, const char *text)
{
    const struct td_seat *seat = missing(c);
    if (round < c->parting.round)
        return;
    if (td_communicator_broken(c)) {
        if (c->has_parent)
            td_communicator_tell_break(core, c, c->parent);
    } else if (seat) {
        tell_missing(core, c, seat);
    } else if (hears_all(core, c)) {
        hold(core, c, round, text);
    } else {
        release(core, c);
        if (c->has_parent)
            send(core, c, c->parent, TD_PARTING_UNREADY, round);
    }
}

/* cancel ends a round that has failed, here and below. */
static void cancel(struct td_core *core, struct td_communicator *c)
{
    send_down(core, c, TD_PARTING_CANCEL);
    release(core, c);
}

/* ---- messages ---- */

/* hear_end handles END, and HEARD of a child. A node in doubt waits for its own verdict if only a
 * child tells it so. */
static void hear_end(struct td_core *core, struct td_communicator *c, bool from_child,
                     const struct td_message_parting *m)
{
    struct td_parting *p = &c->parting;
    bool rests = c->state == TD_COMMUNICATOR_PARTED || c->state == TD_COMMUNICATOR_LOST_NODE;
    if (m->round < p->era || rests)
        return;
    if (from_child) {
        if (!td_communicator_rests(c) && p->doubt_at == TD_TIME_NEVER)
            part(core, c, m->text);
        return;
    }
    td_communicator_part(core, c, m->text);
    end_doubt(c);
    p->rejoin_at = td_core_after(core, core->settings.heartbeat_ns);
    td_core_alarm(core, p->rejoin_at);
}

static void hear_resume(struct td_core *core, struct td_communicator *c,
                        const struct td_message_parting *m)
{
    struct td_parting *p = &c->parting;
    if (c->state == TD_COMMUNICATOR_HELD && p->round == m->round && p->reported &&
        m->sequence >= p->next) {
        p->next = m->sequence;
        resume(core, c);
    } else if (m->round > p->era && !td_communicator_broken(c)) {
        p->era = m->round; /* the others go on without this node: they are parted again */
        part(core, c, c->text);
    }
}

static void hear_child(struct td_core *core, struct td_communicator *c, uint32_t child,
                       const struct td_message_parting *m)
{
    struct td_parting *p = &c->parting;
    if (m->step == TD_PARTING_HEARD) {
        if (td_communicator_broken(c))
            td_communicator_tell_break(core, c, c->child[child]);
        else
            hear_end(core, c, true, m);
        return;
    }
    if (c->state != TD_COMMUNICATOR_HELD || m->round != p->round)
        return;
    if (m->step == TD_PARTING_READY) {
        p->ready |= 1u << child;
        p->next = m->sequence > p->next ? m->sequence : p->next;
        queue(core, c);
    } else if (m->step == TD_PARTING_UNREADY) {
        cancel(core, c);
        if (c->has_parent)
            send(core, c, c->parent, TD_PARTING_UNREADY, m->round);
    }
}

void td_parting_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                        const struct td_message *message)
{
    const struct td_message_parting *m = &message->u.parting;
    uint32_t child = 0;
    if (td_group_slot(&c->group, from) == UINT32_MAX)
        return;
    if (m->step == TD_PARTING_END) {
        hear_end(core, c, false, m);
        return;
    }
    if (m->step == TD_PARTING_DOUBT) {
        c->parting.urged = m->round >= c->parting.era && !td_communicator_rests(c);
        td_core_alarm(core, c->parting.doubt_at);
        return;
    }
    while (child < c->children && c->child[child] != from)
        child++;
    if (child < c->children) {
        hear_child(core, c, child, m);
        return;
    }
    if (!c->has_parent || from != c->parent)
        return;
    if (m->step == TD_PARTING_ASK) {
        ask(core, c, m->round, m->text);
    } else if (m->step == TD_PARTING_RESUME) {
        hear_resume(core, c, m);
    } else if (m->step == TD_PARTING_CANCEL && c->state == TD_COMMUNICATOR_HELD &&
               c->parting.round == m->round) {
        cancel(core, c);
    }
}

/* ---- time ---- */

static bool advance(struct td_core *core, struct td_task *task)
{
    struct td_communicator *c =
        (struct td_communicator *)((char *)task - offsetof(struct td_communicator, parting.task));
    struct td_parting *p = &c->parting;
    for (; p->telling < c->group.slots; p->telling++) {
        if (!td_core_room(core))
            return false;
        if (p->telling != c->slot && !gives_up(core, c, p->telling))
            send(core, c, c->group.node[p->telling], TD_PARTING_END, p->era);
    }
    if (!td_core_room(core))
        return false;
    if (c->state != TD_COMMUNICATOR_HELD || p->reported || c->recorded > 0 ||
        p->ready != (1u << c->children) - 1)
        return true;
    p->reported = true;
    if (c->has_parent)
        send(core, c, c->parent, TD_PARTING_READY, p->round);
    else
        resume(core, c);
    return true;
}

/* doubt_timer asks for an epoch without the silent nodes, since a call waits. A node that is not
 * the first one asks if that has led to nothing: it may hear the node that is silent here. */
static void doubt_timer(struct td_core *core, struct td_communicator *c)
{
    struct td_parting *p = &c->parting;
    if (c->state == TD_COMMUNICATOR_LOST_NODE || !has_silent(c)) {
        end_doubt(c);
        return;
    }
    if (c->state == TD_COMMUNICATOR_HELD) { /* RESUME is answered with END, if it comes */
        cancel(core, c);
        return;
    }
    p->doubt_at = core->now + td_epoch_sweep_ns(core) + (td_time)core->settings.heartbeat_ns;
    td_core_alarm(core, p->doubt_at);
    uint32_t first = first_heard(core, c);
    if (first != c->slot && !p->told) {
        p->told = true;
        send(core, c, c->group.node[first], TD_PARTING_DOUBT, p->era);
        return;
    }
    p->asked = true;
    if (td_communicator_is_outside(core, c)) {
        judge(core, c, true);
        return;
    }
    for (uint32_t slot = 0; slot < c->group.slots; slot++)
        if (td_bit(p->silent, slot))
            td_epoch_want(core, c->group.node[slot]);
}

/* rejoin_timer tries to go on. */
static void rejoin_timer(struct td_core *core, struct td_communicator *c)
{
    struct td_parting *p = &c->parting;
    p->rejoin_at = TD_TIME_NEVER;
    if (c->state == TD_COMMUNICATOR_HELD && !c->has_parent) {
        cancel(core, c); /* the round has lasted too long */
        return;
    }
    if (c->state != TD_COMMUNICATOR_PARTED)
        return;
    p->rejoin_at = td_core_after(core, core->settings.heartbeat_ns);
    for (uint32_t slot = 0; slot < c->group.slots; slot++)
        if (slot != c->slot && td_core_room(core))
            td_link_want(core, link_of(core, c, slot));
    if (hears_all(core, c) && c->has_parent)
        send(core, c, c->parent, TD_PARTING_HEARD, p->era);
    else if (hears_all(core, c))
        ask(core, c, (p->round > p->era ? p->round : p->era) + 1, c->text);
    td_core_alarm(core, p->rejoin_at);
}

void td_parting_timers(struct td_core *core, struct td_communicator *c)
{
    struct td_parting *p = &c->parting;
    bool waits = c->recorded > 0 || p->urged || c->state == TD_COMMUNICATOR_HELD;
    bool doubts = waits && core->now >= p->doubt_at, rejoins = core->now >= p->rejoin_at;
    if ((doubts || rejoins) && !td_core_room(core)) {
        td_core_alarm(core, core->now);
        return;
    }
    if (doubts)
        doubt_timer(core, c);
    if (rejoins)
        rejoin_timer(core, c);
    if (c->recorded > 0 || p->urged || c->state == TD_COMMUNICATOR_HELD)
        td_core_alarm(core, p->doubt_at);
    td_core_alarm(core, p->rejoin_at);
}
