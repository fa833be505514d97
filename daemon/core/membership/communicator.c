/* SPDX-License-Identifier: Apache-2.0 */
#include "communicator.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "communicator_losses.h"
#include "departure.h"
#include "members.h"
#include "registry.h"
#include "core/recorder.h"
#include "core/net/link.h"
#include "model/planes_best.h"
#include "model/planes_call.h"
#include "core/net/fabric.h"
#include "core/net/session.h"
#include "succession.h"
#include "waits.h"

static bool advance(struct td_core *core, struct td_task *task);

/* ---- coming and going ---- */

static void free_arrays(struct td_core *core, struct td_communicator *c)
{
    td_core_notices.group_freed(core, c);
    td_core_free(core, c->lost_rank);
    td_core_free(core, c->lost_slot);
    td_core_free(core, c->parting.silent);
    td_core_free(core, c->daemon);
    td_group_free(&c->group, core->arena);
    td_tree_free(&c->tree, core->arena);
    td_communicator_tree_release(core, c->call_tree);
    td_core_free(core, c->seat);
    td_core_free(core, c->rank_node);
    td_core_free(core, c->rank_token);
    td_core_free(core, c->member);
    td_core_free(core, c->departure);
}

/* build_tree builds the group and its tree. It returns false if memory runs out. */
static bool build_tree(struct td_core *core, struct td_arena *arena, struct td_group *g,
                       struct td_tree *tree, const uint32_t *rank_node, uint32_t size)
{
    if (td_group_build(g, arena, rank_node, size) != TD_OK)
        return false;
    td_err error = core->fabric->routed
                       ? td_planes_best(tree, arena, &core->options.topology, g->node, g->slots)
                       : td_tree_heap(tree, arena, g->slots);
    return error == TD_OK;
}

uint32_t td_communicator_neighbours(struct td_core *core, struct td_arena *arena,
                                    const uint32_t *rank_node, uint32_t size,
                                    uint32_t node[TD_TREE_CHILDREN_MAX + 1])
{
    struct td_group g = {0};
    struct td_tree tree = {0};
    uint32_t nodes = UINT32_MAX;
    if (build_tree(core, arena, &g, &tree, rank_node, size)) {
        uint32_t slot = td_group_slot(&g, core->node);
        nodes = td_tree_children(&tree, slot, node);
        if (slot != tree.root)
            node[nodes++] = tree.parent[slot];
        for (uint32_t i = 0; i < nodes; i++)
            node[i] = g.node[node[i]];
    }
    td_tree_free(&tree, arena);
    td_group_free(&g, arena);
    return nodes;
}

/* find_place builds the group and its tree, and finds this node's place in both. */
static bool find_place(struct td_core *core, struct td_communicator *c, const uint32_t *rank_node,
                       uint32_t size)
{
    struct td_arena *arena = c->account->lasting;
    struct td_group *g = &c->group;
    if (!build_tree(core, arena, g, &c->tree, rank_node, size))
        return false;
    c->closed = td_planes_closed(&core->options.topology, g->node, g->slots);
    c->slot = td_group_slot(g, core->node);
    c->ranks = td_group_slot_ranks(g, c->slot);
    c->seat = td_arena_alloc(arena, c->ranks * sizeof *c->seat);
    c->lost_rank = td_arena_alloc(arena, td_bit_bytes(g->size));
    c->lost_slot = td_arena_alloc(arena, td_bit_bytes(g->slots));
    c->parting.silent = td_arena_alloc(arena, td_bit_bytes(g->slots));
    c->daemon = td_arena_alloc(arena, g->slots * sizeof *c->daemon);
    c->has_parent = c->slot != c->tree.root;
    c->parent = g->node[c->tree.parent[c->slot]];
    c->children = td_tree_children(&c->tree, c->slot, c->child);
    for (uint32_t i = 0; i < c->children; i++)
        c->child[i] = g->node[c->child[i]];
    return c->seat && c->lost_rank && c->lost_slot && c->parting.silent && c->daemon;
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

struct td_note *td_communicator_note(struct td_core *core, const struct td_communicator *c,
                                     enum td_note_kind kind)
{
    struct td_note *note = td_notes_add(core->notes, kind);
    if (!note)
        return NULL;
    snprintf(note->job, sizeof note->job, "%s", c->name);
    note->uid = c->uid;
    note->instance = c->instance;
    note->size = c->group.size;
    note->group = c->index;
    return note;
}

/* describe_end completes the note of a job that is over here: its age and its first failure, or, if
 * no call has failed, the death of a rank. */
static void describe_end(struct td_core *core, const struct td_communicator *c,
                         struct td_note *note)
{
    if (!c->waits)
        return;
    note->age_ns = core->now - c->waits->formed_at;
    note->error = c->waits->error;
    snprintf(note->text, sizeof note->text, "%s", c->waits->text);
    if (c->waits->error != TD_OK) {
        note->rank = c->waits->failed_rank;
        note->node = c->waits->failed_node;
    }
    if (c->waits->error != TD_OK || !c->waits->died_at)
        return;
    note->rank = c->waits->died_rank;
    note->node = core->node;
    char paused[100] = "";
    if (c->waits->died_paused_ns)
        snprintf(paused, sizeof paused, "torusd did not run for %.1f s, and ",
                 1e-9 * (double)c->waits->died_paused_ns);
    snprintf(note->text, sizeof note->text, "%srank %u %s %.3f s before: process %llu on %s",
             paused, c->waits->died_rank,
             paused[0] ? "gave it up or died meanwhile, noticed" : "died",
             1e-9 * (double)(core->now - c->waits->died_at), (unsigned long long)c->waits->died_pid,
             td_core_node_name(core, core->node));
}

/* ---- the lists ---- */

static struct td_communicator **of_instance(const struct td_core *core, uint64_t instance)
{
    return &core->groups->by_instance[instance % TD_COMMUNICATOR_LISTS];
}

static struct td_communicator **of_number(const struct td_core *core, uint32_t number)
{
    return &core->groups->by_number[number % TD_COMMUNICATOR_LISTS];
}

static void enlist(struct td_core *core, struct td_communicator *c)
{
    struct td_communicator **same = of_instance(core, c->instance),
                           **numbered = of_number(core, c->number);
    c->next = core->communicators;
    core->communicators = c;
    c->same_instance = *same;
    *same = c;
    c->same_number = *numbered;
    *numbered = c;
}

static void delist(struct td_core *core, const struct td_communicator *c)
{
    struct td_communicator **at = &core->communicators;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    for (at = of_instance(core, c->instance); *at != c;)
        at = &(*at)->same_instance;
    *at = c->same_instance;
    for (at = of_number(core, c->number); *at != c;)
        at = &(*at)->same_number;
    *at = c->same_number;
}

/* note_job notes that this node has, or drops, the first group of a job. */
static void note_job(struct td_core *core, const struct td_communicator *c, enum td_note_kind kind)
{
    struct td_note *note = c->index == 0 ? td_communicator_note(core, c, kind) : NULL;
    if (note && kind == TD_NOTE_JOB_ENDED)
        describe_end(core, c, note);
}

void td_communicator_note_stop(struct td_core *core)
{
    for (const struct td_communicator *c = core->communicators; c; c = c->next) {
        uint32_t connected = 0;
        for (uint32_t i = 0; i < c->ranks; i++)
            connected += c->seat[i].client != NULL;
        struct td_note *note =
            c->index == 0 && connected ? td_communicator_note(core, c, TD_NOTE_JOB_ENDED) : NULL;
        if (!note)
            continue;
        describe_end(core, c, note);
        if (!note->text[0])
            snprintf(note->text, sizeof note->text, "it stopped while %u of them %s connected",
                     connected, connected == 1 ? "was" : "were");
    }
}

struct td_communicator *td_communicator_create(struct td_core *core, uint64_t instance,
                                               const char *name, uint64_t uid, uint32_t size,
                                               uint32_t *rank_node, uint64_t *rank_token,
                                               uint32_t from, const struct td_communicator *parent)
{
    struct td_account *account = td_account_open(core, uid);
    struct td_communicator *c = account ? td_arena_alloc(account->lasting, sizeof *c) : NULL;
    if (!c) {
        td_account_close(core, account);
        return NULL;
    }
    c->account = account;
    c->task.advance = advance;
    c->resume_at = c->ask_at = TD_TIME_NEVER;
    c->parting = (struct td_parting){.communicator = c,
                                     .doubt_at = TD_TIME_NEVER,
                                     .rejoin_at = TD_TIME_NEVER,
                                     .telling = UINT32_MAX};
    c->instance = c->world = instance;
    c->uid = uid;
    c->number = ++core->groups->numbers;
    snprintf(c->name, sizeof c->name, "%s", name);
    c->departure = parent ? td_arena_alloc(account->lasting, sizeof *c->departure) : NULL;
    if ((parent && !c->departure) || !find_place(core, c, rank_node, size) ||
        !td_core_notices.group_made(c)) {
        free_arrays(core, c);
        td_core_free(core, c);
        td_account_close(core, account);
        return NULL;
    }
    c->rank_node = rank_node;
    c->rank_token = rank_token;
    c->members_from = from;
    for (uint32_t i = 0; i < c->ranks; i++)
        c->seat[i] =
            (struct td_seat){.rank = td_group_rank(&c->group, c->slot, i), .called_at = core->now};
    for (uint32_t s = 0; s < c->group.slots; s++)
        if (s != c->slot)
            td_link_watch(core, c->group.node[s]);
    note_daemons(core, c, parent);
    c->epoch = parent ? parent->epoch : 0;
    td_account_add(core, c->account, TD_HOLD_GROUPS, 1);
    enlist(core, c);
    if (parent)
        c->world = parent->world;
    td_waits_open(core, c);
    note_job(core, c, TD_NOTE_JOB_FORMED);
    td_core_queue(core, &c->task);
    return c;
}

/* find_gone returns the record of a group that is over on this node, or NULL. */
static struct td_gone *find_gone(const struct td_core *core, uint64_t instance)
{
    for (uint32_t i = 0; i < TD_GONE_MAX; i++)
        if (core->groups->gone[i].instance == instance)
            return &core->groups->gone[i];
    return NULL;
}

static struct td_gone *obtain_gone(struct td_core *core, uint64_t instance)
{
    struct td_gone *gone = find_gone(core, instance);
    if (gone)
        return gone;
    gone = &core->groups->gone[core->groups->next_gone++ % TD_GONE_MAX];
    *gone = (struct td_gone){.instance = instance};
    return gone;
}

void td_communicator_note_gone(struct td_core *core, uint64_t instance)
{
    (void)obtain_gone(core, instance);
}

void td_communicator_note_refused(struct td_core *core, uint64_t instance, td_err error)
{
    obtain_gone(core, instance)->refused = error;
}

const struct td_gone *td_communicator_gone(const struct td_core *core, uint64_t instance)
{
    return find_gone(core, instance);
}

static void destroy(struct td_core *core, struct td_communicator *c)
{
    delist(core, c);
    core->ends++;
    *obtain_gone(core, c->instance) = (struct td_gone){.instance = c->instance};
    note_job(core, c, TD_NOTE_JOB_ENDED);
    if (c->index == 0)
        td_departure_end_job(core, c);
    td_waits_close(core, c);
    for (uint32_t s = 0; s < c->group.slots; s++)
        if (s != c->slot)
            td_link_unwatch(core, c->group.node[s]);
    while (c->plans) {
        struct td_plan *plan = c->plans;
        c->plans = plan->next;
        td_plan_free(plan, core->arena);
    }
    td_core_unqueue(core, &c->task);
    td_core_unqueue(core, &c->parting.task);
    td_account_drop(core, c->account, TD_HOLD_GROUPS, 1);
    struct td_account *account = c->account;
    free_arrays(core, c);
    td_core_free(core, c);
    td_account_close(core, account);
}

struct td_communicator *td_communicator_find(struct td_core *core, uint64_t instance,
                                             uint32_t index)
{
    struct td_communicator *c = *of_instance(core, instance);
    while (c && (c->instance != instance || c->index != index))
        c = c->same_instance;
    return c;
}

bool td_communicator_all_lost(const struct td_communicator *c, uint32_t node)
{
    uint32_t slot = td_group_slot(&c->group, node), i = 0;
    while (i < td_group_slot_ranks(&c->group, slot) &&
           td_bit(c->lost_rank, td_group_rank(&c->group, slot, i)))
        i++;
    return td_bit(c->lost_slot, slot) || i == td_group_slot_ranks(&c->group, slot);
}

bool td_communicator_has_left(const struct td_communicator *c, uint32_t slot)
{
    return !td_bit(c->lost_slot, slot) && td_communicator_all_lost(c, c->group.node[slot]);
}

uint32_t td_communicator_hearer(const struct td_communicator *c, uint32_t slot)
{
    uint32_t above = c->tree.parent[slot];
    while (above != c->tree.root && td_communicator_has_left(c, above))
        above = c->tree.parent[above];
    return above;
}

bool td_communicator_tells(const struct td_communicator *c, uint32_t slot)
{
    return slot != c->tree.root && td_communicator_hearer(c, slot) == c->slot;
}

bool td_communicator_is_below(const struct td_communicator *c, uint32_t node)
{
    uint32_t slot = c->slot;
    while (slot != c->tree.root) {
        slot = c->tree.parent[slot];
        if (c->group.node[slot] == node)
            return true;
    }
    return false;
}

struct td_seat *td_communicator_seat(struct td_core *core, const struct td_client *client,
                                     uint32_t number, struct td_communicator **communicator)
{
    struct td_communicator *c = *of_number(core, number);
    while (c && c->number != number)
        c = c->same_number;
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
    uint32_t place = (uint32_t)(sequence % TD_GROUP_OPERATIONS_MAX);
    assert(c->recorded > 0);
    c->operation[place] = NULL;
    c->recorded--;
    c->retired[place] = true;
    c->ended_unrecorded[place] = 0;
    while (c->retired[c->first_sequence % TD_GROUP_OPERATIONS_MAX]) {
        c->retired[c->first_sequence % TD_GROUP_OPERATIONS_MAX] = false;
        c->first_sequence++;
    }
    td_client_room(core);
    if (c->state != TD_COMMUNICATOR_ACTIVE)
        td_core_queue(core, &c->task); /* it may have been the last */
    if (c->state == TD_COMMUNICATOR_HELD)
        td_core_queue(core, &c->parting.task); /* which has begun the round */
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
        struct td_arena *arena = c->account->arena;
        struct td_call_tree *made = td_arena_alloc(arena, sizeof *made);
        if (!made)
            return false;
        if (td_planes_of_call(&made->tree, arena, &core->options.topology, &c->group, call) !=
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

/* release_plan ends a local rank's hold on the plan at *link; the last one takes it off the list
 * and frees it. It returns false if the rank does not hold the plan. */
static bool release_plan(struct td_core *core, struct td_plan **link, uint32_t local)
{
    struct td_plan *plan = *link;
    if (!(plan->held[local / 8] >> local % 8 & 1))
        return false;
    plan->held[local / 8] = (uint8_t)(plan->held[local / 8] & ~(1u << local % 8));
    if (--plan->holders > 0)
        return true;
    *link = plan->next;
    td_plan_free(plan, core->arena);
    return true;
}

static struct td_plan **place_of_plan(struct td_communicator *c, uint64_t number)
{
    struct td_plan **link = &c->plans;
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    return link;
}

void td_communicator_unplan(struct td_core *core, struct td_client *client,
                            const struct td_request *q)
{
    struct td_communicator *c = NULL;
    struct td_seat *seat = td_communicator_seat(core, client, q->u.unplan.group, &c);
    struct td_plan **link = seat ? place_of_plan(c, q->u.unplan.plan) : NULL;
    if (!link || !*link || !release_plan(core, link, (uint32_t)(seat - c->seat))) {
        if (q->id)
            td_reply_error(core, client->id, q->id, TD_ERR_INVALID,
                           "the plan belongs to another group, or was freed");
        return;
    }
    td_reply_done(core, client->id, q->id);
}

/* ---- seats ---- */

#define AFTER_ERROR_NS UINT64_C(5000000000) /* most programs end at once when a call has failed */

/* may_have_given_up returns true if a rank that has closed its connection now may have given this
 * daemon up: the daemon did not run for so long that the library may have waited in vain. A rank
 * that died meanwhile looks the same. */
static bool may_have_given_up(const struct td_core *core)
{
    return core->now < core->given_up_until;
}

/* record_death tells the flight recorder that the process of a rank has ended without leaving its
 * job. */
static void record_death(struct td_core *core, const struct td_communicator *c,
                         const struct td_seat *seat)
{
    if (!core->recorder)
        return;
    struct td_trace_event *e = td_recorder_add(core->recorder, TD_TRACE_DIED, core->now);
    e->world = c->world;
    e->sequence = 0;
    e->a = may_have_given_up(core) ? core->given_up_ns : seat->after_error;
    e->b = seat->pid;
    e->group = e->call = 0;
    e->error = (uint16_t)-TD_ERR_RANK_FAILED;
    e->subject = td_communicator_job_rank(c, seat->rank);
    td_recorder_rare(core->recorder, e);
}

const char *td_communicator_gone_text(struct td_core *core, const struct td_communicator *c,
                                      const struct td_seat *seat, bool died)
{
    uint32_t rank = td_communicator_job_rank(c, seat->rank);
    uint64_t pid = seat->client ? seat->client->pid : seat->pid;
    const char *here = td_core_node_name(core, core->node);
    if (pid == 0)
        return td_core_format(core,
                              "rank %u of job %s is gone: its process on %s, or its call to join, "
                              "ended before",
                              rank, c->name, here);
    if (died && !seat->after_error && may_have_given_up(core))
        return td_core_format(core,
                              "torusd on %s did not run for %llu.%llu s, and rank %u of job %s "
                              "gave it up or died: process %llu",
                              here, (unsigned long long)core->given_up_ns / 1000000000,
                              (unsigned long long)core->given_up_ns / 100000000 % 10, rank, c->name,
                              (unsigned long long)pid);
    return td_core_format(core,
                          !died && c->index   ? "rank %u has left a group of job %s: process "
                                                "%llu on %s"
                          : !died             ? "rank %u has left job %s: process %llu on %s"
                          : seat->after_error ? "rank %u of job %s ended after its call had "
                                                "failed: process %llu on %s"
                                              : "rank %u of job %s died: process %llu on %s",
                          rank, c->name, (unsigned long long)pid, here);
}

/* breaking_text says why a group breaks by the loss of a rank: its process is gone; and if its last
 * call had failed, and the first of the job just before, that failure is the cause. */
static const char *breaking_text(struct td_core *core, const struct td_communicator *c,
                                 const struct td_seat *seat, const char *gone)
{
    const struct td_waits_job *record = c->waits;
    td_time failed_at = seat->client ? seat->client->failed_at : 0;
    bool follows = failed_at && record && record->error != TD_OK &&
                   failed_at < record->failed_at + AFTER_ERROR_NS;
    return follows ? td_core_format(core, "%s; the first call of the job that failed: %s", gone,
                                    record->text)
                   : gone;
}

void td_communicator_seat_lost(struct td_core *core, struct td_communicator *c,
                               struct td_seat *seat, bool died)
{
    uint32_t local = (uint32_t)(seat - c->seat), rank = td_communicator_job_rank(c, seat->rank);
    seat->after_error = died && seat->client && seat->client->failed_at &&
                        core->now < seat->client->failed_at + AFTER_ERROR_NS;
    const char *text = td_communicator_gone_text(core, c, seat, died);
    const char *why = breaking_text(core, c, seat, text);
    struct td_note *note =
        died && c->index == 0 ? td_communicator_note(core, c, TD_NOTE_RANK_DIED) : NULL;
    if (died && c->index == 0)
        record_death(core, c, seat);
    if (died && c->index == 0 && !seat->after_error)
        td_waits_died(core, c, seat, may_have_given_up(core) ? core->given_up_ns : 0);
    if (note) {
        note->rank = rank;
        note->node = core->node;
        note->error = TD_ERR_RANK_FAILED;
        snprintf(note->text, sizeof note->text, "%s", text);
    }
    td_seat_transition(seat, died ? TD_SEAT_DIE : TD_SEAT_LEAVE);
    core->ends++;
    if (seat->client)
        seat->client->groups--;
    seat->client = NULL;
    td_core_notices.seat_lost(core, c, local);
    for (struct td_plan **link = &c->plans, *plan; (plan = *link);) {
        (void)release_plan(core, link, local);
        if (*link == plan)
            link = &plan->next;
    }
    if (c->index == 0)
        td_succession_rank_left(core, c->instance, seat->rank);
    if (died)
        td_core_notices.seat_died(c, local);
    td_core_notices.rank_lost(core, c, seat->rank);
    if (!td_communicator_broken(c))
        td_communicator_tell_root(core, c, seat->rank, TD_ERR_RANK_FAILED, died || c->index == 0,
                                  why);
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

/* has_left returns true if a client that is gone has lost its seat of a group before. */
static bool has_left(const struct td_client *client, const struct td_communicator *c)
{
    return c->number > client->left_from && c->number <= client->left_to;
}

bool td_communicator_client_gone(struct td_core *core, struct td_client *client)
{
    for (struct td_communicator *c = core->communicators; c && client->groups > 0; c = c->next)
        for (uint32_t i = 0; !has_left(client, c) && i < c->ranks; i++) {
            if (c->seat[i].client != client)
                continue;
            if (!td_core_room(core)) {
                client->left_to = core->groups->numbers;
                client->left_from = c->number;
                return false;
            }
            td_communicator_seat_lost(core, c, &c->seat[i], true);
        }
    return true;
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
        struct td_message m = {
            .kind = TD_MESSAGE_MEMBERS,
            .instance = c->instance,
            .group = c->index,
            .u.members = {.uid = c->uid, .name = c->name, .size = size, .epoch = c->epoch}};
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
    r->u.joined.job = c->name;
    r->u.joined.index = c->index;
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
        c->gone_due = c->gone_due || td_communicator_owes_loss(c);
        td_core_queue(core, &c->task);
    }
    td_core_alarm(core, c->resume_at);
}

/* may_go returns true if nothing here needs the record of a group. The record of a job waits for
 * its root's word on the loss of its last rank here. That of a subgroup does not: its root may make
 * the subgroup later, or never. */
static bool may_go(const struct td_communicator *c)
{
    bool told = td_communicator_rests(c) || (c->index == TD_GROUP_MADE && c->has_parent);
    return !has_seats(c) && !c->recorded && told && !c->gone_due &&
           !td_core_notices.group_needed(c);
}

/* go frees the record of a group. It returns false when the action list is full. */
static bool go(struct td_core *core, struct td_communicator *c)
{
    if (!td_core_room(core))
        return false;
    if (c->index == TD_GROUP_MADE && !td_departure_begin(core, c)) {
        c->resume_at = td_core_after(core, TD_LINK_PATIENCE_NS);
        td_core_alarm(core, c->resume_at);
    } else {
        destroy(core, c);
    }
    return true;
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
        core->ends++;
        td_waits_segment(core, c);
        td_core_act(core, TD_ACTION_CLOSE_SEGMENT)->u.segment.group = c->number;
        if (!td_core_room(core))
            return false;
    }
    if (!td_communicator_send_notices(core, c))
        return false;
    if (!has_seats(c) && c->parting.doubt_at != TD_TIME_NEVER) {
        c->parting.doubt_at = TD_TIME_NEVER; /* nobody here waits for the verdict */
        td_communicator_part(core, c,
                             td_core_format(core, "all ranks on %s have left or died",
                                            td_core_node_name(core, core->node)));
    }
    return !may_go(c) || go(core, c);
}
