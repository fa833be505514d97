/* SPDX-License-Identifier: Apache-2.0 */
#include "shrink_coordinator.h"

#include <stdio.h>
#include <string.h>

#include "shrink_silence.h"
#include "shrink_view.h"

void td_shrink_coordinator_vote(struct td_core *core, struct td_shrink *s, uint32_t slot,
                                const struct td_message_shrink_vote *m)
{
    const struct td_communicator *c = s->communicator;
    if (m->error != TD_OK && s->appeal_error == TD_OK) {
        s->appeal_error = m->error;
        snprintf(s->appeal_text, sizeof s->appeal_text, "%s", m->text);
    }
    if (s->state == TD_SHRINK_PROPOSING || s->vote[slot] == TD_VOTE_LOST)
        return;
    /* a deaf node votes again when it hears all nodes, or when an epoch excludes one of them */
    s->vote[slot] = m->is_deaf || m->missing.bytes ? TD_VOTE_WAITING : TD_VOTE_READY;
    for (uint32_t i = 0; i < td_group_slot_ranks(&c->group, slot); i++) {
        uint32_t rank = td_group_rank(&c->group, slot, i);
        if (i / 8 < m->missing.bytes && td_bit(m->missing.bits, i))
            td_bit_set(s->missing, rank);
        else
            td_bit_clear(s->missing, rank);
    }
    td_core_queue(core, &s->task);
}

/* propose finds the outcome to propose. It returns false if votes are missing. */
static bool propose(struct td_core *core, struct td_shrink *s)
{
    struct td_communicator *c = s->communicator;
    bool waits = false;
    char missing[200];
    for (uint32_t slot = 0; slot < c->group.slots; slot++) {
        if (s->vote[slot] == TD_VOTE_NONE || s->vote[slot] == TD_VOTE_ASKED)
            return false;
        waits = waits || s->vote[slot] == TD_VOTE_WAITING;
    }
    uint32_t round = td_shrink_view_round(c);
    if (s->accepted_round) {
        s->accepted_round = round;
    } else if (!waits) {
        td_shrink_accept(s, round, TD_OK, c->lost_rank, "");
    } else if (s->appeal_error == TD_OK) {
        return false;
    } else if (s->appeal_error == TD_ERR_TIMEOUT && s->state == TD_SHRINK_VOTING) {
        /* ask once more, so that no rank that has called meanwhile is named */
        td_shrink_transition(s, TD_SHRINK_ASK_AGAIN);
        s->next = 0;
        for (uint32_t slot = 0; slot < c->group.slots; slot++)
            if (s->vote[slot] == TD_VOTE_WAITING)
                s->vote[slot] = TD_VOTE_NONE;
        td_core_queue(core, &s->task);
        return false;
    } else if (s->appeal_error == TD_ERR_TIMEOUT) {
        uint32_t count =
            td_communicator_print_ranks(core, c, s->missing, true, missing, sizeof missing);
        td_shrink_accept(
            s, round, TD_ERR_TIMEOUT, NULL,
            count == 0
                ? td_core_format(core,
                                 "shrink of job %s: some of its nodes do not hear "
                                 "each other: call again when the network works",
                                 c->name)
                : td_core_format(core,
                                 "shrink of job %s: %u of %u live ranks did not call it in "
                                 "time: rank%s %s",
                                 c->name, count, c->group.size - td_shrink_view_count_lost(c),
                                 count == 1 ? "" : "s", missing));
    } else {
        td_shrink_accept(s, round, s->appeal_error, NULL, s->appeal_text);
    }
    td_shrink_transition(s, TD_SHRINK_PROPOSE);
    s->next = 0;
    s->vote[c->slot] = TD_VOTE_ACCEPTED;
    return true;
}

static void vote_here(struct td_shrink *s)
{
    const struct td_communicator *c = s->communicator;
    uint8_t waits[TD_NODE_RANKS_MAX / 8];
    s->vote[c->slot] = td_shrink_waits_here(s, waits) ? TD_VOTE_WAITING : TD_VOTE_READY;
    for (uint32_t i = 0; i < c->ranks; i++)
        if (td_bit(waits, i))
            td_bit_set(s->missing, c->seat[i].rank);
        else
            td_bit_clear(s->missing, c->seat[i].rank);
}

static bool all_accepted(const struct td_shrink *s)
{
    for (uint32_t slot = 0; slot < s->communicator->group.slots; slot++)
        if (s->vote[slot] != TD_VOTE_ACCEPTED && s->vote[slot] != TD_VOTE_LOST)
            return false;
    return true;
}

/* ask_all and propose_all go on where there was no room before. */
static bool ask_all(struct td_core *core, struct td_shrink *s)
{
    const struct td_group *g = &s->communicator->group;
    for (; s->next < g->slots; s->next++) {
        if (s->vote[s->next] != TD_VOTE_NONE ||
            td_shrink_view_silent(core, s->communicator, s->next))
            continue;
        if (!td_core_room(core))
            return false;
        td_shrink_ask(core, s, g->node[s->next], false);
        s->vote[s->next] = TD_VOTE_ASKED;
    }
    return true;
}

static bool propose_all(struct td_core *core, struct td_shrink *s)
{
    const struct td_group *g = &s->communicator->group;
    for (; s->next < g->slots; s->next++) {
        if (s->vote[s->next] != TD_VOTE_WAITING && s->vote[s->next] != TD_VOTE_READY)
            continue;
        if (!td_core_room(core))
            return false;
        td_shrink_propose(core, s, g->node[s->next]);
        s->vote[s->next] = TD_VOTE_PROPOSED;
    }
    return true;
}

bool td_shrink_coordinator_announce(struct td_core *core, struct td_shrink *s)
{
    const struct td_communicator *c = s->communicator;
    for (; s->announced < c->group.slots; s->announced++) {
        if (s->announced == c->slot || td_bit(c->lost_slot, s->announced) ||
            (s->decided.error == TD_OK &&
             !td_shrink_view_has_rank_besides(c, s->announced, s->decided.lost)))
            continue;
        if (!td_core_room(core))
            return false;
        td_shrink_tell_decided(core, s, c->group.node[s->announced]);
    }
    return true;
}

/* is_abandoned returns true if nobody waits for the shrink any more: all live nodes have voted, and
 * each rank that had called is lost. An appeal ends the shrink with an error. */
static bool is_abandoned(const struct td_shrink *s)
{
    const struct td_communicator *c = s->communicator;
    if (s->state != TD_SHRINK_VOTING || s->accepted_round || s->appeal_error != TD_OK)
        return false;
    for (uint32_t slot = 0; slot < c->group.slots; slot++)
        if (s->vote[slot] == TD_VOTE_NONE || s->vote[slot] == TD_VOTE_ASKED)
            return false;
    return !td_shrink_has_calls(s);
}

bool td_shrink_coordinator_advance(struct td_core *core, struct td_shrink *s)
{
    if (s->state != TD_SHRINK_PROPOSING) {
        vote_here(s);
        if (!ask_all(core, s))
            return false;
    }
    if (is_abandoned(s)) {
        td_shrink_withdraw(s);
        return true;
    }
    if (td_shrink_exclude(core, s))
        return true;
    if (s->state != TD_SHRINK_PROPOSING && !propose(core, s))
        return true;
    if (!propose_all(core, s))
        return false;
    if (all_accepted(s))
        td_shrink_decide(core, s);
    return true;
}
