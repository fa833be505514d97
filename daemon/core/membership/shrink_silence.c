/* SPDX-License-Identifier: Apache-2.0 */
#include "shrink_silence.h"

#include "communicator_losses.h"
#include "core/net/link.h"
#include "epoch.h"
#include "shrink_view.h"

static bool awaits(const struct td_core *core, const struct td_shrink *s, uint32_t slot)
{
    return s->vote[slot] != TD_VOTE_ACCEPTED && td_shrink_view_silent(core, s->communicator, slot);
}

bool td_shrink_awaits_any(const struct td_core *core, const struct td_shrink *s)
{
    uint32_t slot = 0, slots = s->communicator->group.slots;
    while (slot < slots && !awaits(core, s, slot))
        slot++;
    return slot < slots;
}

bool td_shrink_has_calls(const struct td_shrink *s)
{
    const struct td_communicator *c = s->communicator;
    for (uint32_t slot = 0; slot < c->group.slots; slot++)
        for (uint32_t i = 0; i < td_group_slot_ranks(&c->group, slot); i++) {
            uint32_t rank = td_group_rank(&c->group, slot, i);
            if (s->vote[slot] >= TD_VOTE_WAITING && s->vote[slot] != TD_VOTE_LOST &&
                !td_bit(s->missing, rank) && !td_bit(c->lost_rank, rank))
                return true;
        }
    for (uint32_t i = 0; i < c->ranks; i++)
        if (s->call[i].state == TD_SHRINK_CALL_WAITING)
            return true;
    return false;
}

/* is_in_doubt returns true at the coordinator if a node is dead that may have gone on without this
 * one while this one was away. Nodes that live tell so themselves. */
static bool is_in_doubt(const struct td_core *core, const struct td_communicator *c)
{
    uint32_t slot = 0;
    while (slot < c->group.slots && td_shrink_view_lives(c, slot))
        slot++;
    return c->was_away && slot < c->group.slots && td_shrink_view_head(core, c) == c->slot;
}

/* catch_up applies exclusions that did not concern the group before it was broken. It returns true
 * if a slot is lost by them. */
static bool catch_up(struct td_core *core, struct td_communicator *c)
{
    uint32_t before = td_shrink_view_count_lost(c);
    if (core->epochs->known > c->epoch)
        td_communicator_exclude(core, c);
    return td_shrink_view_count_lost(c) != before;
}

bool td_shrink_exclude(struct td_core *core, struct td_shrink *s)
{
    struct td_communicator *c = s->communicator;
    bool silent = false, calls = td_shrink_is_under_way(s) && td_shrink_has_calls(s);
    if (calls && catch_up(core, c))
        return true; /* a new round has begun */
    for (uint32_t slot = 0; slot < c->group.slots; slot++) {
        if (!awaits(core, s, slot))
            continue;
        silent = true;
        if (calls && !td_epoch_excluded(core, core->node, c->epoch))
            td_epoch_want(core, c->group.node[slot]);
    }
    if (silent && calls && td_epoch_excluded(core, core->node, c->epoch))
        td_shrink_no_quorum(core);
    if (silent || !calls || !is_in_doubt(core, c))
        return silent;
    td_epoch_confirm(core);
    return true;
}

void td_shrink_hurry(struct td_core *core, struct td_shrink *s)
{
    const struct td_communicator *c = s->communicator;
    if (s->hurry_at == TD_TIME_NEVER && td_shrink_is_under_way(s) &&
        td_shrink_awaits_any(core, s)) {
        s->hurry_at = td_core_after(core, core->settings.progress_timeout_ns);
        for (uint32_t slot = 0; slot < c->group.slots && td_core_room(core); slot++)
            if (awaits(core, s, slot)) /* it may only be that nobody has connected */
                td_link_want(core, &core->link[c->group.node[slot]]);
    }
    td_core_alarm(core, s->hurry_at);
}

void td_shrink_slot_silent(struct td_core *core, struct td_communicator *c, uint32_t slot)
{
    struct td_shrink *s = c->shrink;
    if (!s)
        return;
    if (s->vote[slot] != TD_VOTE_LOST && s->vote[slot] != TD_VOTE_ACCEPTED)
        s->vote[slot] = TD_VOTE_NONE;
    if (slot < td_shrink_view_head(core, c)) /* it may have been the head */
        s->vote_due = td_shrink_is_under_way(s);
    td_shrink_hurry(core, s);
    td_core_queue(core, &s->task);
}

/* slot_back repeats what may be lost with the slot's earlier session, and votes again, because
 * this node or that one may have been deaf. */
static void slot_back(struct td_shrink *s, uint32_t slot, uint32_t head)
{
    s->vote_due = td_shrink_is_under_way(s);
    if (head != s->communicator->slot || s->vote[slot] == TD_VOTE_LOST)
        return;
    if (s->state == TD_SHRINK_PROPOSING) /* a node is proposed to after it has voted */
        s->vote[slot] = s->vote[slot] == TD_VOTE_ACCEPTED ? TD_VOTE_ACCEPTED : TD_VOTE_READY;
    else
        s->vote[slot] = TD_VOTE_NONE;
    s->next = 0;
}

void td_shrink_node_back(struct td_core *core, uint32_t node)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next) {
        uint32_t slot = td_group_slot(&c->group, node);
        if (!c->shrink || slot == UINT32_MAX)
            continue;
        slot_back(c->shrink, slot, td_shrink_view_head(core, c));
        td_core_queue(core, &c->shrink->task);
    }
}

/* begin_parting makes the calls of a shrink end with PARTITIONED. */
static void begin_parting(struct td_core *core, struct td_shrink *s)
{
    const struct td_communicator *c = s->communicator;
    s->parting = true;
    s->parted = td_shrink_view_head(core, c) == c->slot ? 0 : c->group.slots;
    td_core_queue(core, &s->task);
}

void td_shrink_no_quorum(struct td_core *core)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        if (c->shrink && td_shrink_is_under_way(c->shrink) && td_shrink_awaits_any(core, c->shrink))
            begin_parting(core, c->shrink);
}

void td_shrink_confirmed(struct td_core *core, bool is_known)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next) {
        struct td_shrink *s = c->shrink;
        if (s && td_shrink_is_under_way(s) && !is_known && is_in_doubt(core, c))
            begin_parting(core, s);
        else if (s)
            td_core_queue(core, &s->task);
        c->was_away = c->was_away && !is_known;
    }
}
