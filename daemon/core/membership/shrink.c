/* SPDX-License-Identifier: Apache-2.0 */
#include "shrink.h"

#include <stdio.h>
#include <string.h>

#include "communicator_losses.h"
#include "departure.h"
#include "endings.h"
#include "epoch.h"
#include "later_losses.h"
#include "shrink_coordinator.h"
#include "shrink_silence.h"
#include "shrink_view.h"
#include "subgroup.h"
#include "core/net/link.h"
#include "core/net/session.h"

static bool advance(struct td_core *core, struct td_task *task);

/* ---- rounds ---- */

/* begin_round begins the round of a new view, without votes. */
static void begin_round(struct td_core *core, struct td_shrink *s)
{
    const struct td_communicator *c = s->communicator;
    td_shrink_transition(s, TD_SHRINK_NEW_VIEW);
    s->accept_due = false;
    s->vote_due = td_shrink_is_under_way(s);
    s->next = 0;
    memset(s->missing, 0, td_bit_bytes(c->group.size));
    for (uint32_t slot = 0; slot < c->group.slots; slot++)
        s->vote[slot] = td_shrink_view_lives(c, slot) ? TD_VOTE_NONE : TD_VOTE_LOST;
    td_core_queue(core, &s->task);
}

void td_shrink_rank_lost(struct td_core *core, struct td_communicator *c, uint32_t rank)
{
    if (rank < c->group.size && td_shrink_view_lose(c, rank) && c->shrink)
        begin_round(core, c->shrink);
}

void td_shrink_slot_lost(struct td_core *core, struct td_communicator *c, uint32_t slot)
{
    td_bit_set(c->lost_slot, slot);
    if (td_shrink_view_lose_slot(c, slot) && c->shrink)
        begin_round(core, c->shrink);
}

/* ---- records ---- */

void td_shrink_free(struct td_core *core, struct td_communicator *c)
{
    struct td_shrink *s = c->shrink ? c->shrink : c->shrink_reserve;
    if (!s)
        return;
    td_core_unqueue(core, &s->task);
    td_core_free(core, s->call);
    td_core_free(core, s->accepted.lost);
    td_core_free(core, s->decided.lost);
    td_core_free(core, s->vote);
    td_core_free(core, s->missing);
    td_core_free(core, s);
    c->shrink = c->shrink_reserve = NULL;
}

bool td_shrink_reserve(struct td_communicator *c)
{
    uint32_t bytes = td_bit_bytes(c->group.size);
    struct td_arena *arena = c->account->lasting;
    struct td_shrink *s = c->shrink_reserve = td_arena_alloc(arena, sizeof *s);
    if (!s)
        return false;
    s->call = td_arena_alloc(arena, c->ranks * sizeof *s->call);
    s->accepted.lost = td_arena_alloc(arena, bytes);
    s->decided.lost = td_arena_alloc(arena, bytes);
    s->vote = td_arena_alloc(arena, c->group.slots);
    s->missing = td_arena_alloc(arena, bytes);
    return s->call && s->accepted.lost && s->decided.lost && s->vote && s->missing;
}

/* obtain returns the record of a group's shrinks. The first one begins to use it. */
static struct td_shrink *obtain(struct td_core *core, struct td_communicator *c)
{
    struct td_shrink *s = c->shrink_reserve;
    if (c->shrink)
        return c->shrink;
    c->shrink = s;
    c->shrink_reserve = NULL;
    s->task.advance = advance;
    s->communicator = c;
    s->expires_at = TD_TIME_NEVER;
    s->hurry_at = s->again_at = TD_TIME_NEVER;
    s->announced = s->parted = s->unmade_to = c->group.slots;
    begin_round(core, s);
    return s;
}

static void activate(struct td_core *core, struct td_shrink *s)
{
    if (!td_shrink_is_under_way(s)) {
        s->started_at = core->now;
        s->again_at = td_core_after(core, (int64_t)TD_LOSS_AGAIN_NS);
        td_core_alarm(core, s->again_at);
    }
    td_shrink_transition(s, TD_SHRINK_BEGIN);
}

/* repeat asks and votes again. A node on which no rank had created the group ignored the first
 * message. If it has refused to create it since, only an answer to another one says so; if its
 * ranks have died before, it does not know the group, and is asked about them. */
static void repeat(struct td_core *core, struct td_shrink *s)
{
    struct td_communicator *c = s->communicator;
    uint32_t head = td_shrink_view_head(core, c);
    uint32_t turn = (uint32_t)((core->now - s->started_at) / TD_LOSS_AGAIN_NS);
    for (uint32_t slot = 0; slot < c->group.slots; slot++) {
        bool answers = slot == c->slot || (s->vote[slot] != TD_VOTE_ASKED && slot != head);
        if (s->vote[slot] == TD_VOTE_ASKED)
            s->vote[slot] = TD_VOTE_NONE;
        if (!answers)
            td_later_losses_ask(core, c, c->group.node[slot], turn);
    }
    s->next = s->state == TD_SHRINK_PROPOSING ? s->next : 0;
    s->vote_due = true;
    s->again_at = td_core_after(core, (int64_t)TD_LOSS_AGAIN_NS);
    td_core_queue(core, &s->task);
}

static void set_ending(const struct td_communicator *c, struct td_shrink_outcome *e, td_err error,
                       const uint8_t *lost, const char *text)
{
    e->error = error;
    if (lost)
        memcpy(e->lost, lost, td_bit_bytes(c->group.size));
    snprintf(e->text, sizeof e->text, "%s", text);
}

void td_shrink_accept(struct td_shrink *s, uint32_t round, td_err error, const uint8_t *lost,
                      const char *text)
{
    set_ending(s->communicator, &s->accepted, error, lost, text);
    s->accepted_round = round;
    s->accepted.made = error == TD_OK ? td_subgroup_survivors_instance(s->communicator, s->number,
                                                                       s->accepted.lost)
                                      : 0;
}

void td_shrink_decide(struct td_core *core, struct td_shrink *s)
{
    struct td_communicator *c = s->communicator;
    set_ending(c, &s->decided, s->accepted.error, s->accepted.lost, s->accepted.text);
    s->decided.made = s->accepted.made;
    if (s->decided.error == TD_OK &&
        !td_subgroup_make_survivors(core, c, s->decided.made, s->decided.lost)) {
        s->unmade = s->decided.made;
        s->unmade_to = 0;
    }
    s->number++;
    s->parting = false; /* that was of the shrink that is decided */
    td_shrink_transition(s, TD_SHRINK_DECIDE);
    if (s->number_seen == s->number)
        activate(core, s);
    s->started_at = core->now;
    s->accepted_round = 0;
    s->appeal_error = TD_OK;
    s->expires_at = s->hurry_at = TD_TIME_NEVER;
    for (uint32_t i = 0; i < c->ranks; i++)
        td_shrink_call_transition(&s->call[i], TD_SHRINK_CALL_DECIDE);
    begin_round(core, s);
    bool announces = td_shrink_view_coordinator(c) == c->slot; /* other nodes may have voted here */
    s->announced = announces ? 0 : c->group.slots;
}

void td_shrink_withdraw(struct td_shrink *s)
{
    td_shrink_transition(s, TD_SHRINK_WITHDRAW);
    s->appeal_error = TD_OK;
    s->expires_at = s->hurry_at = TD_TIME_NEVER;
    s->vote_due = false;
}

void td_shrink_foretold(struct td_core *core, uint64_t instance)
{
    struct td_communicator *c = core->communicators;
    while (c && !(instance && c->shrink && c->shrink->accepted_round &&
                  c->shrink->accepted.made == instance))
        c = c->next;
    if (c)
        td_shrink_decide(core, c->shrink);
}

/* ---- messages ---- */

/* send sends a message of a shrink, after the epoch that it may follow from. */
static void send(struct td_core *core, uint32_t node, const struct td_message *m)
{
    td_epoch_tell(core, node);
    td_session_send(core, node, m);
}

static void start_message(const struct td_shrink *s, enum td_message_kind kind,
                          struct td_message *m)
{
    *m = (struct td_message){
        .kind = kind, .instance = s->communicator->instance, .group = s->communicator->index};
}

/* put_bitmap fills in a copy of a set, since the group may be freed before the message is sent. It
 * returns false if memory runs out. */
static bool put_bitmap(struct td_core *core, const struct td_shrink *s, const uint8_t *bits,
                       struct td_bitmap *bitmap)
{
    uint32_t bytes = td_bit_bytes(s->communicator->group.size);
    uint8_t *copy = td_core_pad(core, bytes);
    if (!copy)
        return false;
    memcpy(copy, bits, bytes);
    *bitmap = (struct td_bitmap){copy, bytes};
    return true;
}

static bool put_ending(struct td_core *core, const struct td_shrink *s,
                       const struct td_shrink_outcome *e, struct td_outcome *outcome)
{
    outcome->error = e->error;
    outcome->text = td_core_format(core, "%s", e->text);
    return put_bitmap(core, s, e->lost, &outcome->lost);
}

uint32_t td_shrink_waits_here(const struct td_shrink *s, uint8_t *bits)
{
    const struct td_communicator *c = s->communicator;
    uint32_t count = 0;
    memset(bits, 0, td_bit_bytes(c->ranks));
    for (uint32_t i = 0; i < c->ranks; i++)
        if (s->call[i].state != TD_SHRINK_CALL_WAITING && !td_bit(c->lost_rank, c->seat[i].rank)) {
            td_bit_set(bits, i);
            count++;
        }
    return count;
}

static void send_vote(struct td_core *core, const struct td_shrink *s, uint32_t node)
{
    struct td_message m;
    uint32_t bytes = td_bit_bytes(s->communicator->ranks);
    uint8_t *waits = td_core_pad(core, bytes);
    if (s->accepted_round) {
        start_message(s, TD_MESSAGE_SHRINK_ACCEPTED_BEFORE, &m);
        m.u.shrink_accepted_before = (struct td_message_shrink_accepted_before){
            .shrink = s->number, .round = s->accepted_round};
        if (!put_ending(core, s, &s->accepted, &m.u.shrink_accepted_before.outcome))
            return; /* a vote without it is not sent */
        send(core, node, &m);
    }
    start_message(s, TD_MESSAGE_SHRINK_VOTE, &m);
    m.u.shrink_vote =
        (struct td_message_shrink_vote){.shrink = s->number,
                                        .view = td_shrink_view_hash(s->communicator),
                                        .error = s->appeal_error,
                                        .text = td_core_format(core, "%s", s->appeal_text),
                                        .is_deaf = td_shrink_awaits_any(core, s)};
    if (!waits || !put_bitmap(core, s, s->communicator->lost_rank, &m.u.shrink_vote.lost))
        return;
    if (td_shrink_waits_here(s, waits) > 0)
        m.u.shrink_vote.missing = (struct td_bitmap){waits, bytes};
    send(core, node, &m);
}

void td_shrink_ask(struct td_core *core, struct td_shrink *s, uint32_t node, bool gave_up_receiver)
{
    struct td_message m;
    start_message(s, TD_MESSAGE_SHRINK_ASK, &m);
    m.u.shrink_ask = (struct td_message_shrink_ask){.shrink = s->number,
                                                    .view = td_shrink_view_hash(s->communicator),
                                                    .is_last_call = s->state == TD_SHRINK_LAST_CALL,
                                                    .gave_up_receiver = gave_up_receiver};
    if (put_bitmap(core, s, s->communicator->lost_rank, &m.u.shrink_ask.lost))
        send(core, node, &m);
}

void td_shrink_propose(struct td_core *core, struct td_shrink *s, uint32_t node)
{
    struct td_message m;
    start_message(s, TD_MESSAGE_SHRINK_PROPOSE, &m);
    m.u.shrink_propose = (struct td_message_shrink_propose){
        .shrink = s->number, .view = td_shrink_view_hash(s->communicator)};
    if (put_ending(core, s, &s->accepted, &m.u.shrink_propose.outcome))
        send(core, node, &m);
}

void td_shrink_tell_decided(struct td_core *core, struct td_shrink *s, uint32_t node)
{
    struct td_message m;
    start_message(s, TD_MESSAGE_SHRINK_DECIDED, &m);
    m.u.shrink_decided =
        (struct td_message_shrink_decided){.shrink = s->number - 1, .made = s->decided.made};
    if (put_ending(core, s, &s->decided, &m.u.shrink_decided.outcome))
        send(core, node, &m);
}

/* shrink_of returns the number of the shrink that a message is about. */
static uint64_t shrink_of(const struct td_message *m)
{
    return m->u.shrink_nobody.shrink; /* all kinds begin with it */
}

static void send_nobody(struct td_core *core, uint32_t node, const struct td_message *to)
{
    struct td_message m = {.kind = TD_MESSAGE_SHRINK_NOBODY,
                           .instance = to->instance,
                           .group = to->group,
                           .u.shrink_nobody.shrink = shrink_of(to)};
    send(core, node, &m);
}

/* send_gone tells a node that all local ranks of a new group are gone, and why. */
static void send_gone(struct td_core *core, uint32_t node, uint64_t instance, const char *why)
{
    struct td_message m = {.kind = TD_MESSAGE_NODE_LOST,
                           .instance = instance,
                           .group = TD_GROUP_MADE,
                           .u.node_lost = {.node = core->node, .notify_all = true}};
    m.u.node_lost.text =
        td_core_format(core, "all ranks on %s %s", td_core_node_name(core, core->node), why);
    send(core, node, &m);
}

/* handle_unknown handles a message of a group that does not exist here: not yet, or not any more.
 */
static void handle_unknown(struct td_core *core, uint32_t from, const struct td_message *m)
{
    bool asks = m->kind == TD_MESSAGE_SHRINK_ASK || m->kind == TD_MESSAGE_SHRINK_VOTE;
    if (m->kind == TD_MESSAGE_SHRINK_ASK && m->u.shrink_ask.is_last_call)
        td_communicator_note_gone(core, m->instance);
    if (!td_departure_is_over(core, m->instance) &&
        !td_endings_find(core, m->instance, TD_ENDING_OF_CREATION))
        return; /* ranks may still come to make it */
    if (asks || m->kind == TD_MESSAGE_SHRINK_PROPOSE)
        send_nobody(core, from, m);
    else if (m->kind == TD_MESSAGE_SHRINK_DECIDED && m->u.shrink_decided.made &&
             !td_communicator_find(core, m->u.shrink_decided.made, TD_GROUP_MADE)) {
        send_gone(core, from, m->u.shrink_decided.made, "have left or died");
        /* that node may have left the new group, too: those below this one are told when they call
         */
        td_communicator_note_gone(core, m->u.shrink_decided.made);
    }
}

/* handle_view handles SHRINK_ASK and SHRINK_VOTE. */
static void handle_view(struct td_core *core, struct td_shrink *s, uint32_t slot,
                        const struct td_message *m)
{
    struct td_communicator *c = s->communicator;
    uint32_t from = c->group.node[slot];
    bool asks = m->kind == TD_MESSAGE_SHRINK_ASK;
    bool gave_us_up = asks && m->u.shrink_ask.gave_up_receiver;
    if (!td_shrink_view_lives(c, slot)) { /* tell the node that it is given up; ignore its view */
        if (!gave_us_up)
            td_shrink_ask(core, s, from, true);
        return;
    }
    if (td_shrink_view_learn(c, asks ? &m->u.shrink_ask.lost : &m->u.shrink_vote.lost))
        begin_round(core, s);
    uint64_t view = asks ? m->u.shrink_ask.view : m->u.shrink_vote.view;
    if (!td_shrink_view_lives(c, slot) && view != td_shrink_view_hash(c) && !gave_us_up)
        td_shrink_ask(core, s, from, true); /* it has no live rank: no coordinator will ask it */
    if (shrink_of(m) >
        s->number) { /* it knows an outcome that this node lacks, and answers a vote with it */
        if (shrink_of(m) > s->number_seen)
            s->number_seen = shrink_of(m);
        send_vote(core, s, from);
        return;
    }
    activate(core, s);
    if (asks) {
        s->vote_due = s->vote_due || !gave_us_up;
    } else if (m->u.shrink_vote.view == td_shrink_view_hash(c)) {
        td_shrink_coordinator_vote(core, s, slot, &m->u.shrink_vote);
    } else {
        s->vote[slot] =
            td_shrink_view_lives(c, slot) ? TD_VOTE_NONE : TD_VOTE_LOST; /* it is asked again */
        s->next = 0;
    }
    td_core_queue(core, &s->task);
}

/* takes_outcome returns true if the outcome in a message has the size of this group. */
static bool takes_outcome(const struct td_communicator *c, const struct td_outcome *o)
{
    return o->lost.bytes == td_bit_bytes(c->group.size);
}

static void accept_outcome(struct td_shrink *s, uint32_t round, const struct td_outcome *o)
{
    td_shrink_accept(s, round, o->error, o->lost.bits, o->text);
}

/* handle_ending handles ACCEPTED_BEFORE, PROPOSE and DECIDED of the shrink under way. */
static void handle_ending(struct td_core *core, struct td_shrink *s, uint32_t slot,
                          const struct td_message *m)
{
    struct td_communicator *c = s->communicator;
    const struct td_message_shrink_accepted_before *before = &m->u.shrink_accepted_before;
    const struct td_message_shrink_propose *proposal = &m->u.shrink_propose;
    const struct td_message_shrink_decided *decided = &m->u.shrink_decided;
    if (m->kind == TD_MESSAGE_SHRINK_DECIDED && takes_outcome(c, &decided->outcome)) {
        accept_outcome(s, td_shrink_view_round(c), &decided->outcome);
        td_shrink_decide(core, s);
    } else if (m->kind == TD_MESSAGE_SHRINK_ACCEPTED_BEFORE && takes_outcome(c, &before->outcome)) {
        if (before->round > s->accepted_round && s->state != TD_SHRINK_PROPOSING)
            accept_outcome(s, before->round, &before->outcome);
    } else if (m->kind == TD_MESSAGE_SHRINK_PROPOSE && takes_outcome(c, &proposal->outcome) &&
               proposal->view == td_shrink_view_hash(c) && slot == td_shrink_view_coordinator(c)) {
        accept_outcome(s, td_shrink_view_round(c), &proposal->outcome);
        activate(core, s);
        s->accept_due = true;
        td_core_queue(core, &s->task);
    }
}

/* handle_later handles the outcome of a later shrink than the one under way here. The other nodes
 * agreed on it without this node, so they have given it up, and the outcome that it has accepted is
 * out of date. */
static void handle_later(struct td_core *core, struct td_shrink *s)
{
    s->accepted_round = 0;
    if (td_shrink_view_lose_slot(s->communicator, s->communicator->slot))
        begin_round(core, s);
    s->vote_due = false;
    td_core_queue(core, &s->task);
}

void td_shrink_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                       const struct td_message *m)
{
    bool speaks = m->kind == TD_MESSAGE_SHRINK_ASK || m->kind == TD_MESSAGE_SHRINK_VOTE;
    if (!c) {
        handle_unknown(core, from, m);
        return;
    }
    uint32_t slot = td_group_slot(&c->group, from);
    if (slot == UINT32_MAX)
        return;
    struct td_shrink *s = obtain(core, c);
    if (m->kind == TD_MESSAGE_SHRINK_PARTITIONED) {
        if (shrink_of(m) == s->number && td_shrink_is_under_way(s))
            s->parting = true;
        td_core_queue(core, &s->task);
    } else if (m->kind == TD_MESSAGE_SHRINK_NOBODY) {
        if (td_shrink_view_lose_slot(c, slot))
            begin_round(core, s);
    } else if (speaks && shrink_of(m) < s->number) {
        td_shrink_tell_decided(core, s, from);
    } else if (speaks) {
        handle_view(core, s, slot, m);
    } else if (m->kind == TD_MESSAGE_SHRINK_DECIDED && shrink_of(m) > s->number) {
        handle_later(core, s);
    } else if (shrink_of(m) != s->number) {
        return;
    } else if (m->kind != TD_MESSAGE_SHRINK_ACCEPT) {
        handle_ending(core, s, slot, m);
    } else if (s->state == TD_SHRINK_PROPOSING &&
               m->u.shrink_accept.view == td_shrink_view_hash(c) && s->vote[slot] != TD_VOTE_LOST) {
        s->vote[slot] = TD_VOTE_ACCEPTED;
        td_core_queue(core, &s->task);
    }
}

/* ---- replies ---- */

static void reply_lost(struct td_core *core, const struct td_shrink *s, uint32_t local)
{
    const struct td_communicator *c = s->communicator;
    bool left = c->seat[local].state == TD_SEAT_LEFT;
    if (core->stopping && !left) { /* the others go on without this node because it says so */
        td_reply_error(core, s->call[local].client, s->call[local].request, TD_ERR_SHUTDOWN,
                       "the daemon is stopping");
        return;
    }
    td_reply_error(core, s->call[local].client, s->call[local].request,
                   left ? TD_ERR_RANK_FAILED : TD_ERR_PARTITIONED,
                   td_core_format(core,
                                  left ? "rank %u of job %s has left the group"
                                       : "the shrink excludes rank %u of job %s: the other nodes "
                                         "have lost contact with its node, and go on without it: "
                                         "join a new job",
                                  td_communicator_job_rank(c, c->seat[local].rank), c->name));
}

static void answer(struct td_core *core, const struct td_shrink *s, uint32_t local)
{
    const struct td_communicator *c = s->communicator;
    const struct td_shrink_call *call = &s->call[local];
    struct td_bitmap lost = {0};
    uint32_t rank = c->seat[local].rank;
    struct td_communicator *made = td_communicator_find(core, s->decided.made, TD_GROUP_MADE);
    const struct td_seat *seat = NULL;
    for (uint32_t i = 0; made && i < made->ranks; i++)
        if (made->seat[i].client && made->seat[i].client->id == call->client)
            seat = &made->seat[i];
    if (s->decided.error != TD_OK) {
        td_reply_failed(
            core, call->client, call->request, s->decided.error, s->decided.text,
            &(struct td_failed_call){.job = c->name, .group = c->index, .operation = -1});
    } else if (td_bit(s->decided.lost, rank)) {
        reply_lost(core, s, local);
    } else if (!seat || !put_bitmap(core, s, s->decided.lost, &lost)) {
        td_reply_error(core, call->client, call->request, TD_ERR_NO_MEMORY,
                       td_account_no_memory(core, c->account, "the group of the survivors"));
    } else {
        struct td_reply *r =
            td_communicator_joined(core, made, call->client, call->request, seat->rank);
        r->u.joined.lost = lost;
    }
}

/* answer_all answers calls whose shrink is decided, and calls of ranks that other nodes have given
 * up. It returns false when the action list is full. */
static bool answer_all(struct td_core *core, struct td_shrink *s)
{
    const struct td_communicator *c = s->communicator;
    for (uint32_t i = 0; i < c->ranks; i++) {
        struct td_shrink_call *call = &s->call[i];
        bool decided = call->state == TD_SHRINK_CALL_DECIDED;
        bool lost = call->state == TD_SHRINK_CALL_WAITING && td_bit(c->lost_rank, c->seat[i].rank);
        if (!decided && !lost)
            continue;
        if (!td_core_room(core))
            return false;
        if (decided)
            answer(core, s, i);
        else
            reply_lost(core, s, i);
        td_shrink_call_transition(call, TD_SHRINK_CALL_ANSWER);
    }
    return true;
}

/* part ends all calls, here and (at the head) on the nodes that it hears: a node is silent, and
 * there is no quorum. It returns false when the action list is full. */
static bool part(struct td_core *core, struct td_shrink *s)
{
    const struct td_communicator *c = s->communicator;
    struct td_message m;
    for (; s->parted < c->group.slots; s->parted++) {
        if (!td_core_room(core))
            return false;
        start_message(s, TD_MESSAGE_SHRINK_PARTITIONED, &m);
        m.u.shrink_partitioned.shrink = s->number;
        if (s->parted != c->slot && td_shrink_view_lives(c, s->parted) &&
            !td_shrink_view_silent(core, c, s->parted))
            send(core, c->group.node[s->parted], &m);
    }
    for (uint32_t i = 0; i < c->ranks; i++) {
        if (s->call[i].state != TD_SHRINK_CALL_WAITING)
            continue;
        if (!td_core_room(core))
            return false;
        td_reply_error(core, s->call[i].client, s->call[i].request, TD_ERR_PARTITIONED,
                       td_core_format(core,
                                      "shrink of job %s: nodes are silent or were restarted, and "
                                      "those that answer are no majority of the machine: call "
                                      "again when the network works, or join a new job",
                                      c->name));
        td_shrink_call_transition(&s->call[i], TD_SHRINK_CALL_ANSWER);
        s->call[i].next--;
    }
    s->parting = false;
    s->appeal_error = TD_OK;
    s->expires_at = s->hurry_at = TD_TIME_NEVER;
    td_shrink_transition(s, TD_SHRINK_PART);
    begin_round(core, s);
    return true;
}

/* tell_unmade tells the other nodes of a new group that this node had no memory for it. It returns
 * false when the action list is full. */
static bool tell_unmade(struct td_core *core, struct td_shrink *s)
{
    const struct td_communicator *c = s->communicator;
    for (; s->unmade_to < c->group.slots; s->unmade_to++) {
        if (!td_core_room(core))
            return false;
        if (s->unmade_to != c->slot && td_shrink_view_lives(c, s->unmade_to))
            send_gone(core, c->group.node[s->unmade_to], s->unmade,
                      "are refused: it has no memory for the group");
    }
    return true;
}

static bool advance(struct td_core *core, struct td_task *task)
{
    struct td_shrink *s = (struct td_shrink *)task;
    struct td_communicator *c = s->communicator;
    uint32_t head = td_shrink_view_head(core, c);
    if (!td_core_room(core) || !answer_all(core, s))
        return false;
    if (s->parting && !part(core, s))
        return false;
    if (!td_shrink_coordinator_announce(core, s) || !tell_unmade(core, s))
        return false;
    if (td_shrink_is_under_way(s) && head == c->slot && !td_shrink_coordinator_advance(core, s))
        return false;
    if (td_shrink_is_under_way(s) && head != UINT32_MAX && head != c->slot) {
        struct td_message m;
        if (s->vote_due)
            send_vote(core, s, c->group.node[head]);
        start_message(s, TD_MESSAGE_SHRINK_ACCEPT, &m);
        m.u.shrink_accept = (struct td_message_shrink_accept){s->number, td_shrink_view_hash(c)};
        if (s->accept_due)
            send(core, c->group.node[head], &m);
        s->vote_due = s->accept_due = false;
    }
    /* no coordinator needs more of this node than a vote that says that its ranks are lost */
    if (td_shrink_is_under_way(s) && !s->accepted_round && !td_shrink_view_lives(c, c->slot))
        td_shrink_withdraw(s);
    td_core_queue(core, &c->task); /* the group may have stayed for this shrink only */
    return true;
}

/* An outcome is decided when all nodes with live ranks have accepted it. So one that a node without
 * live ranks has accepted is known to the others, or was not decided. */
bool td_shrink_keeps(const struct td_communicator *c)
{
    const struct td_shrink *s = c->shrink;
    return s && (s->task.queued || (s->accepted_round && td_shrink_view_lives(c, c->slot)));
}

/* ---- local ranks ---- */

void td_shrink_request(struct td_core *core, struct td_client *client, const struct td_request *q)
{
    struct td_communicator *c = NULL;
    struct td_seat *seat = td_communicator_seat(core, client, q->u.shrink.group, &c);
    struct td_shrink *s = seat && !core->stopping ? obtain(core, c) : NULL;
    if (!s) {
        td_reply_error(core, client->id, q->id, seat ? TD_ERR_SHUTDOWN : TD_ERR_INVALID,
                       seat ? "the daemon is stopping"
                            : "this process is not in the group: it has not joined, or has left");
        return;
    }
    struct td_shrink_call *call = &s->call[seat - c->seat];
    if (call->state != TD_SHRINK_CALL_NONE) {
        td_reply_error(
            core, client->id, q->id, TD_ERR_BUSY,
            td_core_format(core, "rank %u has already called a shrink of this group", seat->rank));
        return;
    }
    call->client = client->id;
    call->request = q->id;
    if (call->next++ < s->number) { /* the shrink was decided without this rank */
        td_shrink_call_transition(call, TD_SHRINK_CALL_MAKE_LATE);
    } else {
        activate(core, s);
        td_shrink_call_transition(call, TD_SHRINK_CALL_MAKE);
        s->vote_due = true;
        int64_t limit = q->u.shrink.timeout_ns;
        td_time at = td_core_after(core, limit < 0 ? core->settings.arrival_timeout_ns : limit);
        call->expires_at = at;
        s->expires_at = at < s->expires_at ? at : s->expires_at;
        td_core_alarm(core, s->expires_at);
        td_shrink_hurry(core, s);
    }
    td_core_queue(core, &s->task);
}

static void appeal(struct td_core *core, struct td_shrink *s, td_err error, const char *text)
{
    s->appeal_error = error;
    snprintf(s->appeal_text, sizeof s->appeal_text, "%s", text);
    s->vote_due = true;
    td_core_queue(core, &s->task);
}

bool td_shrink_end(struct td_core *core, struct td_communicator *c, const char *by)
{
    struct td_shrink *s = c->shrink;
    bool waits = false;
    for (uint32_t i = 0; s && i < c->ranks; i++)
        waits = waits || s->call[i].state == TD_SHRINK_CALL_WAITING;
    if (!waits || !td_shrink_is_under_way(s) || s->appeal_error == TD_ERR_CANCELLED)
        return false;
    appeal(core, s, TD_ERR_CANCELLED,
           td_core_format(core, "the shrink of job %s was cancelled by %s", c->name, by));
    return true;
}

bool td_shrink_cancel(struct td_core *core, struct td_client *client, uint64_t request)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        for (uint32_t i = 0; c->shrink && i < c->ranks; i++) {
            const struct td_shrink_call *call = &c->shrink->call[i];
            if (call->state != TD_SHRINK_CALL_WAITING || call->client != client->id ||
                call->request != request)
                continue;
            appeal(core, c->shrink, TD_ERR_CANCELLED,
                   td_core_format(core, "rank %u cancelled the shrink of job %s",
                                  td_communicator_job_rank(c, c->seat[i].rank), c->name));
            return true;
        }
    return false;
}

void td_shrink_seat_died(struct td_communicator *c, uint32_t local)
{
    struct td_shrink *s = c->shrink;
    if (!s)
        return;
    td_shrink_call_transition(&s->call[local], TD_SHRINK_CALL_LEAVE);
    s->expires_at = TD_TIME_NEVER;
    for (uint32_t i = 0; i < c->ranks; i++)
        if (s->call[i].state == TD_SHRINK_CALL_WAITING && s->call[i].expires_at < s->expires_at)
            s->expires_at = s->call[i].expires_at;
}

void td_shrink_timers(struct td_core *core, struct td_communicator *c)
{
    struct td_shrink *s = c->shrink;
    if (!s)
        return;
    if (core->now >= s->expires_at) {
        s->expires_at = TD_TIME_NEVER;
        if (s->appeal_error == TD_OK)
            appeal(core, s, TD_ERR_TIMEOUT, "");
    }
    td_core_alarm(core, s->expires_at);
    if (core->now >= s->hurry_at) {
        s->hurry_at = TD_TIME_NEVER;
        (void)td_shrink_exclude(core, s);
        td_shrink_hurry(core, s);
    }
    td_core_alarm(core, s->hurry_at);
    if (core->now >= s->again_at) {
        s->again_at = TD_TIME_NEVER;
        if (td_shrink_is_under_way(s))
            repeat(core, s);
    }
    td_core_alarm(core, s->again_at);
}

void td_shrink_arrived(const struct td_shrink *s, uint8_t *bits)
{
    const struct td_communicator *c = s->communicator;
    memcpy(bits, c->lost_rank, td_bit_bytes(c->group.size));
    for (uint32_t i = 0; i < c->ranks; i++)
        if (s->call[i].state == TD_SHRINK_CALL_WAITING)
            td_bit_set(bits, c->seat[i].rank);
    for (uint32_t slot = 0; slot < c->group.slots; slot++)
        for (uint32_t i = 0; i < td_group_slot_ranks(&c->group, slot); i++) {
            uint32_t rank = td_group_rank(&c->group, slot, i);
            if (s->vote[slot] >= TD_VOTE_WAITING && !td_bit(s->missing, rank))
                td_bit_set(bits, rank); /* only the coordinator knows votes */
        }
}
