/* SPDX-License-Identifier: Apache-2.0 */
#include "later_losses.h"

#include "communicator_losses.h"
#include "core/net/session.h"

/* a node asks each neighbour about at most this many ranks at a time, and about others next time */
enum { ASKS_MAX = 8, PARENT = TD_TREE_CHILDREN_MAX };

static uint32_t all_neighbours(const struct td_communicator *c)
{
    uint32_t children = ((uint32_t)1 << c->children) - 1;
    return c->has_parent ? children | (uint32_t)1 << PARENT : children;
}

/* may_ask returns true if a neighbour may not have made a group that is not broken. */
static bool may_ask(const struct td_communicator *c)
{
    return c->index == TD_GROUP_MADE && c->makers != all_neighbours(c) &&
           !td_communicator_broken(c);
}

void td_later_losses_wait(struct td_core *core, struct td_communicator *c)
{
    if (c->ask_at != TD_TIME_NEVER || !may_ask(c))
        return;
    c->ask_at = td_core_after(core, (int64_t)TD_LOSS_AGAIN_NS);
    td_core_alarm(core, c->ask_at);
}

void td_later_losses_made(struct td_communicator *c, uint32_t from, const struct td_message *m)
{
    /* a node that has not made the group asks for another announcement, too, without a reason */
    bool again = m->kind == TD_MESSAGE_ANNOUNCE_AGAIN &&
                 (m->u.announce_again.without_scratch || m->u.announce_again.is_surveyed);
    bool down = again || m->kind == TD_MESSAGE_RELEASE || m->kind == TD_MESSAGE_VERDICT ||
                m->kind == TD_MESSAGE_WAITING;
    bool up = m->kind == TD_MESSAGE_ARRIVE || m->kind == TD_MESSAGE_REPORT;
    if (down && c->has_parent && from == c->parent)
        c->makers |= (uint32_t)1 << PARENT;
    for (uint32_t i = 0; up && i < c->children; i++)
        if (c->child[i] == from)
            c->makers |= (uint32_t)1 << i;
}

bool td_later_losses_parent_made(const struct td_communicator *c)
{
    return c->makers >> PARENT & 1;
}

/* ask_child asks a child for a report on an operation that waits. If the child has left the group,
 * it says so. */
static void ask_child(struct td_core *core, const struct td_communicator *c, uint32_t node)
{
    const struct td_operation *waits = NULL;
    struct td_message m = {.kind = TD_MESSAGE_WAITING,
                           .instance = c->instance,
                           .group = c->index,
                           .sequence = c->first_sequence};
    m.u.waiting.reply_requested = true;
    while (m.sequence < c->first_sequence + TD_GROUP_OPERATIONS_MAX && !waits)
        waits = c->operation[m.sequence++ % TD_GROUP_OPERATIONS_MAX];
    m.sequence--;
    if (waits && td_core_room(core) && td_session_has_room(core, node))
        td_session_send(core, node, &m);
}

/* ask asks a node about ASKS_MAX of its ranks, from its rank number `first` on, cyclically. It
 * returns false if some of the questions have no room. */
static bool ask(struct td_core *core, const struct td_communicator *c, uint32_t node,
                uint32_t first)
{
    uint32_t slot = td_group_slot(&c->group, node), ranks = td_group_slot_ranks(&c->group, slot);
    if (!td_session_has_room(core, node))
        return false;
    for (uint32_t i = 0; i < ranks && i < ASKS_MAX; i++) {
        if (!td_core_room(core))
            return false;
        uint32_t rank = td_group_rank(&c->group, slot, (first + i) % ranks);
        const struct td_message m = {
            .kind = TD_MESSAGE_RANK_GONE,
            .instance = c->world,
            .u.rank_gone = {
                .rank = c->member[rank], .error = TD_ERR_RANK_FAILED, .of_job = true, .text = ""}};
        td_session_send(core, node, &m);
    }
    return true;
}

/* is_told returns true if the job's tree tells its nodes of losses. */
static bool is_told(struct td_core *core, const struct td_communicator *c)
{
    const struct td_communicator *world = td_communicator_find(core, c->world, 0);
    return world && !td_communicator_broken(world);
}

void td_later_losses_ask(struct td_core *core, const struct td_communicator *c, uint32_t node,
                         uint32_t turn)
{
    if (c->index == TD_GROUP_MADE && !is_told(core, c))
        (void)ask(core, c, node, turn * ASKS_MAX);
}

void td_later_losses_timers(struct td_core *core, struct td_communicator *c)
{
    if (core->now < c->ask_at) {
        td_core_alarm(core, c->ask_at);
        return;
    }
    c->ask_at = TD_TIME_NEVER;
    if (c->recorded == 0 || !may_ask(c))
        return;
    bool asks = !is_told(core, c);
    bool asked = false; /* a neighbour that missed a turn has it next time round */
    for (uint32_t i = 0; i < c->children; i++) {
        if (c->makers >> i & 1)
            continue;
        ask_child(core, c, c->child[i]);
        asked |= asks && ask(core, c, c->child[i], c->asked);
    }
    if (asks && c->has_parent && !(c->makers >> PARENT & 1))
        asked |= ask(core, c, c->parent, c->asked);
    c->asked += asked ? ASKS_MAX : 0;
    td_later_losses_wait(core, c);
}

bool td_later_losses_answer(struct td_core *core, const struct td_communicator *c, uint32_t from,
                            const struct td_message *m)
{
    const struct td_seat *seat = NULL;
    for (uint32_t i = 0; c->index == 0 && i < c->ranks; i++)
        if (c->seat[i].rank == m->u.rank_gone.rank)
            seat = &c->seat[i];
    if (!seat)
        return false;
    bool gone = seat->state == TD_SEAT_LEFT || seat->state == TD_SEAT_DIED;
    if (!gone || td_group_slot(&c->group, from) == UINT32_MAX)
        return true;
    const struct td_message answer = {
        .kind = TD_MESSAGE_RANK_LOST,
        .instance = c->instance,
        .u.rank_lost = {.rank = seat->rank,
                        .error = TD_ERR_RANK_FAILED,
                        .of_job = true,
                        .text =
                            td_communicator_gone_text(core, c, seat, seat->state == TD_SEAT_DIED)}};
    td_session_send(core, from, &answer);
    return true;
}

/* lose_own notes that a rank of the job (UINT32_MAX: each rank) that is on a node is lost to a
 * group. It returns its rank in the group, or UINT32_MAX: the group has no such rank. */
static uint32_t lose_own(struct td_core *core, struct td_communicator *c, uint32_t node,
                         uint32_t rank)
{
    uint32_t slot = td_group_slot(&c->group, node), first = UINT32_MAX;
    for (uint32_t i = 0; slot != UINT32_MAX && i < td_group_slot_ranks(&c->group, slot); i++) {
        uint32_t own = td_group_rank(&c->group, slot, i);
        if (rank != UINT32_MAX && td_communicator_job_rank(c, own) != rank)
            continue;
        td_core_notices.rank_lost(core, c, own);
        first = first == UINT32_MAX ? own : first;
    }
    return first;
}

void td_later_losses_hear(struct td_core *core, uint32_t from, const struct td_message *m)
{
    const struct td_message_rank_lost *lost = &m->u.rank_lost;
    struct td_communicator *world = td_communicator_find(core, m->instance, 0);
    if (m->group != 0 || lost->error != TD_ERR_RANK_FAILED ||
        (world && !td_communicator_broken(world)))
        return;
    if (world)
        (void)lose_own(core, world, from, lost->rank); /* groups that are made later inherit it */
    for (struct td_communicator *c = core->communicators; c; c = c->next) {
        bool made = c->index == TD_GROUP_MADE && c->world == m->instance;
        uint32_t rank = made ? lose_own(core, c, from, lost->rank) : UINT32_MAX;
        if (rank != UINT32_MAX &&
            !td_communicator_broken(c)) /* its first loss has ended its calls */
            td_communicator_tell_root(core, c, rank, lost->error, true, lost->text);
    }
}
