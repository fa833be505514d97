/* SPDX-License-Identifier: Apache-2.0 */
#include "subgroup.h"

#include <string.h>

#include "base/hash.h"
#include "core/net/link.h"
#include "core/net/session.h"
#include "communicator_losses.h"
#include "departure.h"
#include "endings.h"
#include "job.h"
#include "parting.h"
#include "waits.h"

/* check_members returns NULL, or a sentence on the fault of the list. *own is the caller's rank in
 * the new group. */
static const char *check_members(struct td_core *core, const struct td_communicator *parent,
                                 const struct td_seat *seat, const struct td_request *q,
                                 uint32_t *own)
{
    uint32_t size = parent->group.size, bytes = td_bit_bytes(size);
    uint8_t *seen = td_core_pad(core, bytes);
    if (!seen)
        return "the daemon has no memory for the list of ranks: raise [limits] memory";
    memset(seen, 0, bytes);
    *own = UINT32_MAX;
    for (uint32_t i = 0; i < q->u.make.members; i++) {
        uint64_t rank = q->u.make.member[i];
        if (rank >= size)
            return td_core_format(core, "rank %llu is not in the group, which has %u rank%s",
                                  (unsigned long long)rank, size, size == 1 ? "" : "s");
        if (td_bit(seen, (uint32_t)rank))
            return td_core_format(core, "rank %llu is in the list twice", (unsigned long long)rank);
        td_bit_set(seen, (uint32_t)rank);
        if (rank == seat->rank)
            *own = i;
    }
    if (*own == UINT32_MAX)
        return td_core_format(
            core, "rank %u requests a group without itself: add it to the list of ranks",
            seat->rank);
    return NULL;
}

/* inherit_seats gives the local members the clients that they have in the parent group. The group's
 * task loses the seats of dead members that there is no room for now: they have no client. */
static void inherit_seats(struct td_core *core, struct td_communicator *c,
                          const struct td_communicator *parent, const uint64_t *members)
{
    for (uint32_t i = 0; i < c->ranks; i++) {
        uint32_t slot = 0, local = 0;
        td_group_locate(&parent->group, (uint32_t)members[c->seat[i].rank], &slot, &local);
        c->seat[i].client = parent->seat[local].client;
        c->seat[i].pid = parent->seat[local].pid;
        if (c->seat[i].client)
            c->seat[i].client->groups++;
        bool left = parent->seat[local].state == TD_SEAT_LEFT;
        if (left || td_seat_occupied(&parent->seat[local]))
            td_seat_transition(&c->seat[i], TD_SEAT_INHERIT);
        if (td_seat_occupied(&parent->seat[local]))
            continue;
        if (!td_communicator_broken(c) && td_core_room(core))
            td_communicator_seat_lost(core, c, &c->seat[i], !left);
        else if (left)
            td_seat_transition(&c->seat[i], TD_SEAT_LEAVE);
        else if (!td_communicator_broken(c))
            td_seat_transition(&c->seat[i], TD_SEAT_ASSIGN);
        else
            td_core_notices.rank_lost(core, c, c->seat[i].rank);
    }
}

/* doubt_silent puts a new group in doubt about the nodes that are silent already. */
static void doubt_silent(struct td_core *core, struct td_communicator *c,
                         const struct td_communicator *parent)
{
    for (uint32_t slot = 0; slot < parent->group.slots; slot++) {
        uint32_t node = parent->group.node[slot];
        bool gone = td_bit(parent->lost_slot, slot) || td_link_is_given_up(&core->link[node]);
        if (gone && td_group_slot(&c->group, node) != UINT32_MAX)
            td_parting_route_lost(core, c, node, "it was lost while the group was created");
    }
}

/* locate returns the nodes of some ranks of the parent group, or NULL if memory runs out. */
static uint32_t *locate(struct td_arena *arena, const struct td_communicator *parent,
                        const uint64_t *members, uint32_t size)
{
    uint32_t *rank_node = td_arena_alloc(arena, size * sizeof *rank_node);
    for (uint32_t i = 0; rank_node && i < size; i++) {
        uint32_t slot = 0, local = 0;
        td_group_locate(&parent->group, (uint32_t)members[i], &slot, &local);
        rank_node[i] = parent->group.node[slot];
    }
    return rank_node;
}

static struct td_communicator *make(struct td_core *core, const struct td_communicator *parent,
                                    uint64_t instance, const uint64_t *members, uint32_t size)
{
    struct td_arena *arena = parent->account->lasting;
    uint32_t *rank_node = locate(arena, parent, members, size);
    uint32_t *member = td_arena_alloc(arena, size * sizeof *member);
    for (uint32_t i = 0; member && i < size; i++) {
        uint32_t rank = (uint32_t)members[i];
        member[i] = parent->member ? parent->member[rank] : rank;
    }
    struct td_communicator *c = NULL;
    if (rank_node && member)
        c = td_communicator_create(core, instance, parent->name, parent->uid, size, rank_node, NULL,
                                   UINT32_MAX, parent);
    if (!c) {
        td_core_free(core, rank_node);
        td_core_free(core, member);
        return NULL;
    }
    td_core_free(core, c->rank_node);
    c->rank_node = NULL; /* every member has the list: it is not sent */
    c->index = TD_GROUP_MADE;
    c->member = member;
    c->made_late = td_endings_has(core, instance);
    inherit_seats(core, c, parent, members);
    doubt_silent(core, c, parent);
    return c;
}

/* check_share returns NULL, or a sentence on the limit that another group would exceed. */
static const char *check_share(struct td_core *core, const struct td_client *client,
                               const struct td_communicator *parent, const struct td_seat *seat)
{
    if (client->groups >= core->settings.client_groups_max)
        return td_core_format(core,
                              "rank %u of job %s on node %u is in %u groups, the maximum: free "
                              "some with torus_group_free, or raise [limits] groups_per_process",
                              td_communicator_job_rank(parent, seat->rank), parent->name,
                              core->node, client->groups);
    const char *share = td_account_refuses(core, parent->account, TD_HOLD_GROUPS, 1);
    return share ? share : td_account_refuses(core, parent->account, TD_HOLD_MEMORY, 1);
}

/* refused returns the error with which this node has refused to make a group, or TD_OK. */
static td_err refused(struct td_core *core, uint64_t instance)
{
    const struct td_departure *departure = td_departure_find(core, instance);
    const struct td_gone *gone = td_communicator_gone(core, instance);
    if (departure)
        return departure->error == TD_ERR_RANK_FAILED ? TD_OK : departure->error;
    return gone ? gone->refused : TD_OK;
}

/* why_refused returns the sentence of a refusal, or another one: there was no memory to keep it. */
static const char *why_refused(struct td_core *core, uint64_t instance)
{
    const struct td_departure *departure = td_departure_find(core, instance);
    if (departure && departure->text)
        return td_core_format(core, "%s", departure->text);
    return td_core_format(core,
                          "node %u has refused to make the group, with many others: it is at "
                          "[limits] groups, groups_per_process or memory",
                          core->node);
}

/* neighbours_of writes the neighbours of this node in the tree of a group that it does not make,
 * and returns their number. UINT32_MAX: memory runs out. */
static uint32_t neighbours_of(struct td_core *core, const struct td_communicator *parent,
                              const struct td_request *q, uint32_t node[TD_TREE_CHILDREN_MAX + 1])
{
    struct td_arena *arena = parent->account->arena;
    uint32_t *rank_node = locate(arena, parent, q->u.make.member, q->u.make.members);
    if (!rank_node)
        return UINT32_MAX;
    uint32_t nodes = td_communicator_neighbours(core, arena, rank_node, q->u.make.members, node);
    td_core_free(core, rank_node);
    return nodes;
}

/* others_here returns how many ranks of this node, besides one, may ask for a group. */
static uint32_t others_here(const struct td_communicator *parent, const struct td_request *q)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < q->u.make.members; i++) {
        uint32_t slot = 0, local = 0;
        td_group_locate(&parent->group, (uint32_t)q->u.make.member[i], &slot, &local);
        count += slot == parent->slot && td_seat_occupied(&parent->seat[local]);
    }
    return count - 1;
}

/* tell_members sends a message to the nodes of a group, as far as the step has room. It needs no
 * memory. A node is told again for each run of its ranks. */
static void tell_members(struct td_core *core, const struct td_communicator *parent,
                         const struct td_request *q, const struct td_message *m)
{
    uint32_t told = core->node;
    for (uint32_t i = 0; i < q->u.make.members && td_core_room(core); i++) {
        uint32_t slot = 0, local = 0;
        td_group_locate(&parent->group, (uint32_t)q->u.make.member[i], &slot, &local);
        uint32_t node = parent->group.node[slot];
        if (node != core->node && node != told)
            td_session_send(core, node, m);
        told = node;
    }
}

/* refuse_group refuses to make a group: no node waits for this one any more. Its neighbours in the
 * group's tree hear of it now, or, if they have not made the group yet, when their ranks have
 * called; those above pass it on to the root. Without memory to keep that, a short list of refusals
 * does; without memory for the tree, all nodes of the group are told. */
static void refuse_group(struct td_core *core, const struct td_client *client,
                         const struct td_communicator *parent, const struct td_request *q,
                         uint64_t instance, td_err error, const char *text)
{
    const struct td_message m = {.kind = TD_MESSAGE_RANK_LOST,
                                 .instance = instance,
                                 .group = TD_GROUP_MADE,
                                 .u.rank_lost = {.rank = UINT32_MAX, .error = error, .text = text}};
    td_reply_failed(
        core, client->id, q->id, error, text,
        &(struct td_failed_call){.job = parent->name, .group = TD_GROUP_MADE, .operation = -1});
    td_communicator_note_refused(core, instance, error);
    uint32_t node[TD_TREE_CHILDREN_MAX + 1];
    uint32_t nodes = neighbours_of(core, parent, q, node);
    if (nodes != UINT32_MAX && td_departure_refuse(core, parent, instance, node, nodes,
                                                   others_here(parent, q), error, text))
        return;
    td_endings_note(core, instance, TD_ENDING_OF_CREATION, error, text);
    if (nodes == UINT32_MAX)
        tell_members(core, parent, q, &m);
}

/* is_refused answers the creation of a group that the other ranks do not wait for any more, and
 * returns true. If its first call has ended for them, this rank gets the same sentence. */
static bool is_refused(struct td_core *core, const struct td_client *client,
                       const struct td_request *q, uint64_t instance)
{
    const struct td_ending *ending = td_endings_find(core, instance, TD_ENDING_OF_CREATION);
    if (!ending && td_departure_is_over(core, instance))
        ending = td_endings_find(core, instance, 0);
    td_err error = refused(core, instance);
    if (ending)
        td_reply_error(core, client->id, q->id, ending->error, ending->text);
    else if (error != TD_OK)
        td_reply_error(core, client->id, q->id, error, why_refused(core, instance));
    td_departure_asked(core, instance);
    return ending || error != TD_OK;
}

void td_subgroup_make(struct td_core *core, struct td_client *client, const struct td_request *q)
{
    struct td_communicator *parent = NULL, *c = NULL;
    struct td_seat *seat = td_communicator_seat(core, client, q->u.make.group, &parent);
    uint32_t own = 0;
    const char *wrong = seat ? check_members(core, parent, seat, q, &own)
                             : "this process is not in the group: it has not joined, or has left";
    if (wrong) {
        td_reply_error(core, client->id, q->id, TD_ERR_INVALID, wrong);
        return;
    }
    uint64_t instance = td_hash_add(td_hash_add(TD_HASH_START, parent->instance), q->u.make.number);
    for (uint32_t i = 0; i < q->u.make.members; i++)
        instance = td_hash_add(instance, q->u.make.member[i]);
    c = td_communicator_find(core, instance, TD_GROUP_MADE);
    if (c && (c->world != parent->world || c->uid != parent->uid ||
              c->group.size != q->u.make.members)) { /* a client chooses the number */
        td_reply_error(core, client->id, q->id, TD_ERR_INVALID,
                       "another group has the identity of this one: choose another number");
        return;
    }
    if (!c && is_refused(core, client, q, instance))
        return;
    const char *share = c ? NULL : check_share(core, client, parent, seat);
    if (share) {
        refuse_group(core, client, parent, q, instance, TD_ERR_BUSY, share);
        return;
    }
    bool is_new = !c;
    if (!c && !(c = make(core, parent, instance, q->u.make.member, q->u.make.members))) {
        refuse_group(core, client, parent, q, instance, TD_ERR_NO_MEMORY,
                     td_account_no_memory(core, parent->account, "another group"));
        return;
    }
    if (is_new)
        td_communicator_inherit(core, c, parent);
    (void)td_communicator_joined(core, c, client->id, q->id, own);
}

/* ---- survivors ---- */

uint64_t td_subgroup_survivors_instance(const struct td_communicator *c, uint64_t number,
                                        const uint8_t *lost)
{
    uint64_t instance = td_hash_add(td_hash_add(0x9e3779b97f4a7c15u, c->instance), number);
    for (uint32_t i = 0; i < td_bit_bytes(c->group.size); i++)
        instance = td_hash_add(instance, lost[i]);
    return instance;
}

bool td_subgroup_make_survivors(struct td_core *core, struct td_communicator *parent,
                                uint64_t instance, const uint8_t *lost)
{
    uint32_t size = parent->group.size, left = 0;
    uint64_t *members = td_arena_alloc(parent->account->arena, size * sizeof *members);
    bool here = false, fits = true;
    for (uint32_t rank = 0; members && rank < size; rank++)
        if (!td_bit(lost, rank))
            members[left++] = rank;
    for (uint32_t i = 0; i < parent->ranks; i++)
        here = here || !td_bit(lost, parent->seat[i].rank);
    if (here && !td_communicator_find(core, instance, TD_GROUP_MADE)) {
        struct td_communicator *c = members ? make(core, parent, instance, members, left) : NULL;
        fits = c != NULL;
        if (!c)
            td_communicator_note_gone(core, instance);
    }
    td_core_free(core, members);
    return fits;
}

/* why_over says that the ranks of a group that was here are gone. */
static const char *why_over(struct td_core *core, const struct td_message *m)
{
    const char *here = td_core_node_name(core, core->node), *death = NULL;
    const struct td_departure *departure = td_departure_find(core, m->instance);
    if (departure && departure->text)
        return td_core_format(core, "%s", departure->text);
    if (m->group == TD_GROUP_MADE)
        return td_core_format(core, "all ranks on %s have left or died", here);
    death = td_waits_death(core, m->instance);
    return death ? td_core_format(core, "all ranks on %s are gone: %s", here, death)
                 : td_core_format(
                       core, "all ranks on %s have left or died, or their joins have ended", here);
}

/* ending_of returns how the creation of a group that is not here has ended. If it ends now, ranks
 * of this node that come later get the same ending. `over`: the group was here. */
static struct td_message_rank_lost ending_of(struct td_core *core, const struct td_message *m,
                                             bool over)
{
    const struct td_ending *ending = td_endings_find(core, m->instance, TD_ENDING_OF_CREATION);
    if (ending)
        return (struct td_message_rank_lost){
            .rank = UINT32_MAX, .error = ending->error, .text = ending->text};
    td_err error = refused(core, m->instance);
    if (error != TD_OK)
        return (struct td_message_rank_lost){
            .rank = UINT32_MAX, .error = error, .text = why_refused(core, m->instance)};
    if (over)
        return (struct td_message_rank_lost){
            .rank = UINT32_MAX, .error = TD_ERR_RANK_FAILED, .text = why_over(core, m)};
    struct td_message_rank_lost lost = {
        .rank = UINT32_MAX,
        .error = TD_ERR_TIMEOUT,
        .text = td_core_format(core, "no rank on %s created the group in time",
                               td_core_node_name(core, core->node))};
    td_endings_note(core, m->instance, TD_ENDING_OF_CREATION, lost.error, lost.text);
    return lost;
}

void td_subgroup_unknown(struct td_core *core, uint32_t from, const struct td_message *m)
{
    struct td_message answer = {
        .instance = m->instance, .group = m->group, .sequence = m->sequence};
    if (m->kind == TD_MESSAGE_VERDICT && m->group == TD_GROUP_MADE && !m->u.verdict.is_running)
        td_endings_note(core, m->instance, m->sequence, m->u.verdict.error, m->u.verdict.text);
    bool early = m->group == TD_GROUP_MADE; /* the membership of a job comes before all others */
    bool departed = td_departure_find(core, m->instance) != NULL;
    bool over = !early || td_departure_is_over(core, m->instance);
    bool ended = early && (refused(core, m->instance) != TD_OK ||
                           td_endings_find(core, m->instance, TD_ENDING_OF_CREATION));
    bool cancels = m->kind == TD_MESSAGE_APPEAL && m->u.appeal.error != TD_ERR_TIMEOUT &&
                   m->u.appeal.error != TD_ERR_RANK_FAILED;
    if (cancels && early && !over && !ended) { /* the root hears of it when the group is made */
        td_endings_appeal(core, m->instance, m->sequence, m->u.appeal.error, m->u.appeal.text);
        return;
    }
    bool late = m->kind == TD_MESSAGE_APPEAL; /* its sender has waited until a time limit */
    bool asks = m->kind == TD_MESSAGE_PARTING &&
                (m->u.parting.step == TD_PARTING_ASK || m->u.parting.step == TD_PARTING_HEARD);
    if (asks && !over) {
        answer.kind = TD_MESSAGE_PARTING;
        answer.u.parting = (struct td_message_parting){
            .step = TD_PARTING_UNREADY, .round = m->u.parting.round, .text = ""};
        td_session_send(core, from, &answer);
        return;
    }
    /* A rank that is lost to a group ends no creation of the group: the sender repeats a loss. */
    bool announces = asks || m->kind == TD_MESSAGE_ARRIVE || m->kind == TD_MESSAGE_RANK_GONE;
    bool waits =
        m->kind == TD_MESSAGE_REPORT || (m->kind == TD_MESSAGE_WAITING && (ended || departed));
    if (!announces && !waits && !late)
        return; /* a job that is unknown here is over: its ranks here have gone */
    if (over && m->group == 0)
        td_job_missed(core, m->instance);
    if (over || late || ended) {
        answer.kind = TD_MESSAGE_RANK_LOST;
        answer.u.rank_lost = ending_of(core, m, over);
        td_session_send(core, from, &answer);
    } else if (announces) {
        answer.kind = TD_MESSAGE_ANNOUNCE_AGAIN;
        answer.u.announce_again = (struct td_message_announce_again){.is_surveyed = false};
        td_session_send(core, from, &answer);
    }
}
