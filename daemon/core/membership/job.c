/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/net/link.h"
#include "epoch.h"
#include "forming.h"
#include "rank_report.h"
#include "registry.h"
#include "core/net/session.h"
#include "succession.h"

enum { GRACE_NS = 2000000000, ROOM_NS = 1000000 };

static bool refuse(struct td_core *core, struct td_task *task);

void td_job_init(struct td_core *core)
{
    struct td_joins *joins = core->joins;
    joins->task.advance = refuse;
    td_rank_report_init(core);
    joins->next_token = core->options.incarnation << 32 | 1;
    uint32_t count = td_terms_settings(TD_TERMS_SETTINGS, &core->settings, joins->setting);
    joins->terms.list[TD_TERMS_SETTINGS] = (struct td_term_list){count, joins->setting};
    joins->terms.list[TD_TERMS_COSTS] = core->options.costs;
    joins->terms.list[TD_TERMS_METHODS] = core->options.methods;
}

/* send_unjoin withdraws a join, unless JOIN was never sent. */
static void send_unjoin(struct td_core *core, const struct td_join *j)
{
    if (!j->again_at)
        return;
    struct td_message m = {.kind = TD_MESSAGE_UNJOIN, .u.unjoin.token = j->token};
    td_session_send(core, j->registry, &m);
}

/* left_ns returns how long the registry waits for the other ranks. */
static int64_t left_ns(const struct td_core *core, const struct td_join *j)
{
    if (j->expires_at == TD_TIME_NEVER)
        return j->timeout_ns;
    td_time until = j->expires_at - GRACE_NS;
    return until > core->now ? (int64_t)(until - core->now) : 0;
}

/* ask sends the JOIN, or does so later if the link has no room. On the registry's node the answer
 * comes at once, and may free the join. */
static void ask(struct td_core *core, struct td_join *j, bool is_reminder)
{
    if (j->registry != core->node && !td_session_has_room(core, j->registry)) {
        td_core_alarm(core, core->now + ROOM_NS);
        return;
    }
    struct td_message m = {.kind = TD_MESSAGE_JOIN,
                           .u.join = {.token = j->token,
                                      .uid = j->uid,
                                      .pid = j->pid,
                                      .timeout_ns = left_ns(core, j),
                                      .name = j->name,
                                      .size = j->size,
                                      .rank = j->rank,
                                      .is_reminder = is_reminder,
                                      .epoch = core->epochs->known,
                                      .granted = j->granted,
                                      .granter = j->granter,
                                      .terms = core->joins->terms,
                                      .refused = j->over ? TD_ERR_BUSY : TD_OK,
                                      .refusal = j->over}};
    td_join_transition(j, TD_JOIN_SEND);
    j->again_at = td_core_after(core, core->settings.progress_timeout_ns);
    td_core_alarm(core, j->again_at);
    td_session_send(core, j->registry, &m);
}

/* note_grant records that a join that was granted to an instance will not be seated there. The
 * membership is still accepted, so that the other nodes hear that the rank is lost. */
static void note_grant(struct td_core *core, uint64_t instance)
{
    struct td_joins *joins = core->joins;
    if (instance)
        joins->grant[joins->grants++ % TD_GRANTS_MAX] = instance;
}

/* ---- the lists ---- */

static struct td_join **of_token(const struct td_core *core, uint64_t token)
{
    return &core->joins->by_token[token % TD_JOIN_LISTS];
}

static void enlist(struct td_core *core, struct td_join *j)
{
    struct td_joins *joins = core->joins;
    struct td_join **same = of_token(core, j->token);
    j->next = joins->first;
    if (j->next)
        j->next->before = j;
    joins->first = j;
    j->same_list = *same;
    *same = j;
}

static void delist(struct td_core *core, const struct td_join *j)
{
    if (j->next)
        j->next->before = j->before;
    *(j->before ? &j->before->next : &core->joins->first) = j->next;
    struct td_join **at = of_token(core, j->token);
    while (*at != j)
        at = &(*at)->same_list;
    *at = j->same_list;
}

static struct td_join *find_join(const struct td_core *core, uint64_t token)
{
    struct td_join *j = *of_token(core, token);
    while (j && j->token != token)
        j = j->same_list;
    return j;
}

static void drop_join(struct td_core *core, struct td_join *j)
{
    delist(core, j);
    note_grant(core, j->granted);
    td_link_unwatch(core, j->registry);
    if (!j->over)
        td_account_drop(core, j->account, TD_HOLD_GROUPS, 1);
    td_join_transition(j, TD_JOIN_END);
    struct td_account *account = j->account;
    td_core_free(core, j->over);
    td_core_free(core, j);
    td_account_close(core, account);
}

/* check_join returns NULL, or a sentence on the fault of the request. */
static const char *check_join(struct td_core *core, const struct td_client *client,
                              const struct td_request *q, td_err *error)
{
    const char *name = q->u.join.name;
    char fault[TD_TEXT_FAULT_MAX], shown[2 * TD_NAME_MAX];
    *error = TD_ERR_INVALID;
    if (core->stopping) {
        *error = TD_ERR_SHUTDOWN;
        return "the daemon is stopping";
    }
    if (!name || !name[0] || strlen(name) >= TD_NAME_MAX)
        return "a job name must have 1 to 127 bytes";
    if (td_text_fault(name, fault))
        return td_core_format(core,
                              "the job name \"%s\" is not plain text: %s; a name is UTF-8 without "
                              "control characters",
                              td_text_show(name, shown, sizeof shown), fault);
    if (q->u.join.size == 0 || q->u.join.size > TD_JOB_RANKS_MAX)
        return td_core_format(core, "a job can have 1 to %d ranks, not %u", TD_JOB_RANKS_MAX,
                              q->u.join.size);
    if (q->u.join.rank < -1 || q->u.join.rank >= (int64_t)q->u.join.size)
        return td_core_format(
            core, "rank %lld is not in a job of size %u: ranks are 0 to %u (TORUS_RANK)",
            (long long)q->u.join.rank, q->u.join.size, q->u.join.size - 1);
    uint32_t ranks = 0;
    for (const struct td_join *j = core->joins->first; j; j = j->next)
        if (j->client == client->id) {
            ranks++;
            if (strcmp(j->name, name) == 0)
                return "this process is already joining the job";
        }
    for (const struct td_communicator *c = core->communicators; c; c = c->next)
        for (uint32_t i = 0; i < c->ranks; i++)
            if (c->index == 0 && c->seat[i].client == client) {
                ranks++;
                if (strcmp(c->name, name) == 0)
                    return td_core_format(core,
                                          "this process is already rank %u of the job: open "
                                          "another context for another rank",
                                          c->seat[i].rank);
            }
    if (ranks >= TD_CLIENT_RANKS_MAX)
        return td_core_format(
            core, "a process can be in at most %d jobs at a time: call torus_leave first",
            TD_CLIENT_RANKS_MAX);
    *error = TD_OK;
    return NULL;
}

/* check_share returns NULL, or a sentence on the limit that another join would exceed: the job
 * makes a group here. */
static const char *check_share(struct td_core *core, const struct td_client *client)
{
    const char *share = td_account_refuses(core, client->account, TD_HOLD_GROUPS, 1);
    return share ? share : td_account_refuses(core, client->account, TD_HOLD_MEMORY, 1);
}

/* is_over_often returns true if a user has as many joins beyond the share as one job may have ranks
 * here: their records count in no limit of groups. */
static bool is_over_often(const struct td_core *core, const struct td_client *client)
{
    uint32_t over = 0;
    for (const struct td_join *j = core->joins->first; j; j = j->next)
        over += j->over && j->uid == client->uid;
    return over >= TD_NODE_RANKS_MAX;
}

/* start_join makes the record of a join, without its request, or returns NULL if memory runs out.
 */
static struct td_join *start_join(struct td_core *core, const struct td_client *client,
                                  const char *over)
{
    struct td_arena *arena = client->account->arena;
    struct td_join *j = td_arena_alloc(arena, sizeof *j);
    if (j && over && !(j->over = td_core_copy_text(arena, over))) {
        td_core_free(core, j);
        return NULL;
    }
    if (!j)
        return NULL;
    j->account = td_account_open(core, client->uid); /* the client's: it exists */
    if (!j->over)
        td_account_add(core, j->account, TD_HOLD_GROUPS, 1);
    return j;
}

void td_job_request(struct td_core *core, struct td_client *client, const struct td_request *q)
{
    td_err error = TD_OK;
    const char *wrong = check_join(core, client, q, &error);
    const char *over = wrong ? NULL : check_share(core, client);
    if (over && is_over_often(core, client)) { /* the other ranks of the job do not hear of it */
        wrong = over;
        error = TD_ERR_BUSY;
    }
    struct td_join *j = wrong ? NULL : start_join(core, client, over);
    if (!j) {
        td_reply_error(core, client->id, q->id, wrong ? error : TD_ERR_NO_MEMORY,
                       wrong ? wrong : td_account_no_memory(core, client->account, "another join"));
        return;
    }
    int64_t limit = q->u.join.timeout_ns;
    j->token = core->joins->next_token++;
    j->client = client->id;
    j->request = q->id;
    j->uid = client->uid;
    j->pid = client->pid;
    snprintf(j->name, sizeof j->name, "%s", q->u.join.name);
    j->size = q->u.join.size;
    j->rank = q->u.join.rank < 0 ? UINT32_MAX : (uint32_t)q->u.join.rank;
    j->timeout_ns = limit < 0 ? core->settings.join_timeout_ns : limit;
    j->asked_at = core->now;
    j->expires_at = td_core_after(core, j->timeout_ns);
    if (j->expires_at < TD_TIME_NEVER - GRACE_NS)
        j->expires_at += GRACE_NS;
    enlist(core, j);
    td_core_alarm(core, j->expires_at);
    j->registry = td_succession_registry(core);
    td_link_watch(core, j->registry);
    ask(core, j, false);
}

static void end_join(struct td_core *core, struct td_join *j, td_err error, const char *text)
{
    td_reply_failed(core, j->client, j->request, error, text,
                    &(struct td_failed_call){.job = j->name, .operation = -1});
    drop_join(core, j);
}

uint32_t td_job_end_joins(struct td_core *core, const char *name, uint64_t uid, uint32_t most,
                          const char *text)
{
    uint32_t ended = 0;
    struct td_join *next = NULL;
    for (struct td_join *j = core->joins->first; j && ended < most; j = next) {
        next = j->next;
        if (j->uid != uid || strcmp(j->name, name) != 0)
            continue;
        send_unjoin(core, j);
        end_join(core, j, TD_ERR_CANCELLED, text);
        ended++;
    }
    return ended;
}

bool td_job_cancel(struct td_core *core, struct td_client *client, uint64_t request)
{
    for (struct td_join *j = core->joins->first; j; j = j->next)
        if (j->client == client->id && j->request == request) {
            send_unjoin(core, j);
            end_join(core, j, TD_ERR_CANCELLED, "the join was cancelled");
            return true;
        }
    return false;
}

void td_job_client_gone(struct td_core *core, struct td_client *client)
{
    struct td_join *next = NULL;
    for (struct td_join *j = core->joins->first; j; j = next) {
        next = j->next;
        if (j->client != client->id)
            continue;
        send_unjoin(core, j);
        drop_join(core, j);
    }
}

void td_job_stop(struct td_core *core)
{
    if (!td_succession_stop(core))
        return; /* goes on in the next step */
    while (core->joins->first && td_core_room(core)) {
        struct td_join *j = core->joins->first;
        send_unjoin(core, j);
        end_join(core, j, TD_ERR_SHUTDOWN, "the daemon is stopping");
    }
}

/* ---- answers ---- */

/* handle_refusal: only the registry that has the join refuses it. */
static void handle_refusal(struct td_core *core, uint32_t from, const struct td_message_refuse *m)
{
    struct td_join *j = find_join(core, m->token);
    if (j && j->registry == from)
        end_join(core, j, m->error, m->text);
}

/* leave_registry withdraws a join from the registry that it was sent to. */
static void leave_registry(struct td_core *core, const struct td_join *j)
{
    if (j->registry == core->node || !td_link_is_given_up(&core->link[j->registry]))
        send_unjoin(core, j);
}

/* seat_local assigns the seats of a new communicator to the joins that they came from. The
 * communicator answers the joins. */
static void seat_local(struct td_core *core, struct td_communicator *c)
{
    for (uint32_t i = 0; i < c->ranks; i++) {
        struct td_seat *seat = &c->seat[i];
        uint64_t token = c->rank_token[seat->rank];
        struct td_join *j = find_join(core, token);
        td_seat_transition(seat, TD_SEAT_ASSIGN);
        if (!j || j->granted != c->instance)
            continue; /* it left before the membership came, or is granted to another instance */
        if (j->registry != j->granter)
            leave_registry(core, j);
        seat->client = td_client_find(core, j->client);
        seat->pid = seat->client ? seat->client->pid : 0;
        if (seat->client)
            seat->client->groups++;
        seat->join = j->request;
        drop_join(core, j);
    }
}

/* why_unmade returns the sentence for a join of a job that this node had no memory for. */
static const char *why_unmade(struct td_core *core, const struct td_join *j)
{
    uint64_t arrays = j->size * (uint64_t)(2 * sizeof(uint32_t) + sizeof(uint64_t));
    const char *share = td_account_refuses(core, j->account, TD_HOLD_MEMORY,
                                           2 * sizeof(struct td_communicator) + arrays);
    return share ? share : "the daemon has no memory left for the job: raise [limits] memory";
}

/* refuse answers the joins that are refused, and takes them back at the registry: no rank of theirs
 * will leave the job. It returns false when the action list is full. */
static bool refuse(struct td_core *core, struct td_task *task)
{
    struct td_join *next = NULL;
    (void)task;
    for (struct td_join *j = core->joins->first; j; j = next) {
        next = j->next;
        if (j->refused == TD_OK)
            continue;
        if (!td_core_room(core))
            return false;
        send_unjoin(core, j);
        end_join(core, j, j->refused,
                 j->refused == TD_ERR_NO_MEMORY
                     ? why_unmade(core, j)
                     : td_core_format(core,
                                      "messages were lost while job %s formed, and its ranks are "
                                      "not known here: start the job again",
                                      j->name));
    }
    return true;
}

/* refuse_granted refuses the joins that are granted to an instance, and returns false if there are
 * none. They are answered later in the
 * step: on its own node the registry is still sending the membership. */
static bool refuse_granted(struct td_core *core, uint64_t instance, td_err error)
{
    bool any = false;
    for (struct td_join *j = core->joins->first; j; j = j->next) {
        if (j->refused != TD_OK || j->granted != instance)
            continue;
        j->refused = error;
        any = true;
    }
    td_core_queue(core, &core->joins->task);
    return any;
}

void td_job_missed(struct td_core *core, uint64_t instance)
{
    if (refuse_granted(core, instance, TD_ERR_NODE_FAILED))
        td_communicator_note_gone(core, instance);
}

/* refuse_membership: there is no memory for a job. The node that has sent the membership may be in
 * the job, and tells all others that no rank is here: its daemon, which may not have been met yet.
 */
static void refuse_membership(struct td_core *core, uint32_t from, uint64_t instance,
                              const struct td_message_members *members)
{
    struct td_message m = {.kind = TD_MESSAGE_RANK_LOST,
                           .instance = instance,
                           .u.rank_lost = {.rank = UINT32_MAX, .error = TD_ERR_RANK_FAILED}};
    if (!refuse_granted(core, instance, TD_ERR_NO_MEMORY))
        return;
    td_communicator_note_gone(core, instance);
    if (from == core->node)
        return;
    for (uint32_t i = 0; i < members->runs; i++)
        if (members->run[i].node == from)
            td_session_expect(core, from, td_token_daemon(members->run[i].token));
    m.u.rank_lost.text =
        td_core_format(core, "all ranks on %s are refused: it has no memory for the job",
                       td_core_node_name(core, core->node));
    td_session_send(core, from, &m);
}

/* fits returns true if the join with a token, if it still waits, asks for this rank of the job. */
static bool fits(const struct td_core *core, const struct td_message_members *m, uint64_t token,
                 uint32_t rank)
{
    const struct td_join *j = find_join(core, token);
    return !j || (j->uid == m->uid && j->size == m->size && strcmp(j->name, m->name) == 0 &&
                  (j->rank == rank || j->rank == UINT32_MAX));
}

/* was_granted returns true if a join of this node was granted to an instance, and (UINT32_MAX: any)
 * by which registry as far as it is known. Only the registry and the nodes of the job know the
 * instance before it forms. */
static bool was_granted(const struct td_core *core, uint64_t instance, uint32_t granter)
{
    for (const struct td_join *j = core->joins->first; j; j = j->next)
        if (j->granted == instance)
            return granter == UINT32_MAX || granter == j->granter;
    for (uint32_t i = 0; i < TD_GRANTS_MAX; i++)
        if (core->joins->grant[i] == instance)
            return true;
    return false;
}

/* is_sane returns true if all ranks are on nodes of the torus, and some of them, but not too many,
 * on this one, for joins of the job; and if the sender may send the membership: the registry to the
 * first node, and then the nodes of the job to each other. */
static bool is_sane(const struct td_core *core, const struct td_forming *f,
                    const struct td_message_members *m)
{
    uint64_t instance = f->instance;
    uint32_t here = 0, first = UINT32_MAX;
    bool member = false;
    for (uint32_t r = 0; r < f->size; r++) {
        uint32_t at = f->rank_node[r];
        if (at >= core->options.topology.nodes ||
            (at == core->node && !fits(core, m, f->rank_token[r], r)))
            return false;
        here += at == core->node;
        member = member || at == f->from;
        first = at < first ? at : first;
    }
    bool entitled = member || (first == core->node && was_granted(core, instance, f->from));
    return entitled && here > 0 && here <= TD_NODE_RANKS_MAX;
}

static void handle_members(struct td_core *core, uint32_t from, const struct td_message *message)
{
    const struct td_message_members *m = &message->u.members;
    uint64_t instance = message->instance;
    if (m->size == 0 || m->size > TD_JOB_RANKS_MAX || message->group != 0) {
        td_link_drop(core, from, "protocol violation: it sent a malformed membership");
        return;
    }
    if (!was_granted(core, instance, UINT32_MAX))
        return;
    struct td_forming *f = td_forming_find(core, from, instance);
    if (f && (f->size != m->size || f->account->uid != m->uid)) {
        td_forming_drop(core, f);
        td_link_drop(core, from, "protocol violation: it sent pieces of two memberships as one");
        return;
    }
    /* the pieces come in the order of the ranks: without the first, none is of use */
    bool begins = m->runs > 0 && m->run[0].first == 0;
    if (!f && !(f = begins ? td_forming_start(core, from, instance, m) : NULL)) {
        refuse_membership(core, from, instance, m);
        return;
    }
    td_forming_take(f, m);
    f->expires_at = td_core_after(core, core->settings.progress_timeout_ns);
    if (!m->is_last_piece) {
        td_core_alarm(core, f->expires_at);
        return;
    }
    struct td_communicator *c = NULL;
    bool sane = is_sane(core, f, m);
    if (sane && !td_communicator_find(core, instance, 0))
        c = td_communicator_create(core, instance, m->name, m->uid, m->size, f->rank_node,
                                   f->rank_token, from, NULL);
    if (c) {
        f->rank_node = NULL, f->rank_token = NULL; /* the communicator owns them */
        c->epoch = m->epoch;
        if (c->group.node[0] == core->node) /* the registry may be a node of the job, too */
            c->members_from = core->node;
    }
    td_forming_drop(core, f);
    if (c)
        seat_local(core, c);
    else if (sane)
        refuse_membership(core, from, instance, m);
}

/* ---- grants ---- */

/* grant grants a join to an instance, if the registry that asks has the join. */
static bool grant(struct td_core *core, uint32_t from, uint64_t instance, uint64_t token)
{
    struct td_join *j = find_join(core, token);
    if (!j || j->registry != from || j->refused != TD_OK || j->over)
        return false;
    if (j->granted != instance)
        note_grant(core, j->granted);
    j->granted = instance;
    j->granter = from;
    j->granted_at = core->now;
    return true;
}

/* handle_grant answers for runs of joins that have the same answer. */
static void handle_grant(struct td_core *core, uint32_t from, const struct td_message *message)
{
    const struct td_message_grant m = message->u.grant;
    uint64_t instance = message->instance;
    if (m.count > TD_NODE_RANKS_MAX || m.first >= TD_JOB_RANKS_MAX || instance == 0)
        return;
    struct td_message answer = {.kind = TD_MESSAGE_GRANTED, .instance = instance};
    struct td_message_granted *run = &answer.u.granted;
    for (uint32_t i = 0; i < m.count; i++) {
        bool granted = grant(core, from, instance, m.token + i);
        if (i == 0 || granted != run->is_granted) {
            if (i > 0 && td_core_room(core)) /* else the registry waits until the join's timeout */
                td_session_send(core, from, &answer);
            *run = (struct td_message_granted){.first = m.first + i, .is_granted = granted};
        }
        run->count++;
    }
    if (m.count > 0)
        td_session_send(core, from, &answer);
}

/* ---- another registry ---- */

/* may_move returns true if a join may be sent to another registry: the membership of the instance
 * that it was granted to would have come. */
static bool may_move(const struct td_core *core, const struct td_join *j)
{
    return !j->granted || core->now - j->granted_at >= (td_time)core->settings.progress_timeout_ns;
}

static void move(struct td_core *core, struct td_join *j, uint32_t registry)
{
    leave_registry(core, j);
    td_link_unwatch(core, j->registry);
    td_link_watch(core, registry);
    j->registry = registry;
    td_join_transition(j, TD_JOIN_LINK_BACK);
}

void td_job_registry_moved(struct td_core *core)
{
    if (!td_succession_keeps(core))
        td_registry_resign(core);
    else if (core->registry->jobs)
        (void)td_succession_knows(core); /* joins came before */
    td_core_alarm(core, core->now);      /* the timers move the joins */
}

/* is_needed returns true if a lower node that comes back is to hear of ranks or joins here. */
static bool is_needed(const struct td_core *core)
{
    return core->joins->first || core->communicators || core->registry->jobs;
}

/* ---- events ---- */

void td_job_message(struct td_core *core, uint32_t from, const struct td_message *m)
{
    if (m->kind == TD_MESSAGE_REFUSE)
        handle_refusal(core, from, &m->u.refuse);
    else if (m->kind == TD_MESSAGE_MEMBERS)
        handle_members(core, from, m);
    else if (m->kind == TD_MESSAGE_GRANT)
        handle_grant(core, from, m);
    else if (m->kind == TD_MESSAGE_REGISTRY_ASK)
        td_rank_report_ask(core, from, m->u.registry_ask.round);
    else if (m->kind == TD_MESSAGE_REGISTRY_ANSWER)
        td_succession_answer(core, from, &m->u.registry_answer);
    else if (m->kind == TD_MESSAGE_JOIN && core->stopping)
        td_succession_decline(core, from);
    else
        td_registry_message(core, from, m);
}

void td_job_node_back(struct td_core *core, uint32_t node)
{
    for (struct td_join *j = core->joins->first; j; j = j->next)
        if (j->registry == node)
            td_join_transition(j, TD_JOIN_LINK_BACK);
    td_rank_report_node_back(core, node);
    td_core_alarm(core, core->now);
}

void td_job_node_lost(struct td_core *core, uint32_t node)
{
    td_forming_end(core, node);
    td_rank_report_node_lost(core, node);
    td_registry_node_lost(core, node);
}

bool td_job_daemon_is(struct td_core *core, uint32_t node, uint32_t daemon, bool changed)
{
    return td_registry_daemon_is(core, node, daemon, changed);
}

/* expire ends a join that the registry has not answered in time. */
static void expire(struct td_core *core, struct td_join *j)
{
    const struct td_link *link = &core->link[j->registry];
    const char *why = j->registry == core->node || td_link_is_up(link) ? "it has not answered"
                                                                       : td_link_why(link);
    send_unjoin(core, j);
    end_join(core, j, TD_ERR_TIMEOUT,
             td_core_format(core, "job %s: %s, which keeps the list of jobs, cannot be reached: %s",
                            j->name, td_core_node_name(core, j->registry), why));
}

void td_job_timers(struct td_core *core)
{
    uint32_t registry = td_succession_registry(core);
    td_succession_timers(core, is_needed(core));
    td_registry_timers(core);
    td_forming_end(core, UINT32_MAX);
    td_rank_report_timers(core);
    struct td_join *next = NULL;
    for (struct td_join *j = core->joins->first; j; j = next) {
        next = j->next;
        if (!td_core_room(core)) {
            td_core_alarm(core, core->now);
            return;
        }
        if (core->now >= j->expires_at) {
            expire(core, j);
            continue;
        }
        if (j->registry != registry && may_move(core, j))
            move(core, j, registry);
        td_core_alarm(core, j->expires_at);
        td_core_alarm(core, j->again_at > core->now ? j->again_at : j->expires_at);
        if (j->state == TD_JOIN_UNSENT || core->now >= j->again_at)
            ask(core, j, j->state == TD_JOIN_SENT);
    }
}
