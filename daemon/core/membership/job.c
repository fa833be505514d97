/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/net/link.h"
#include "epoch.h"
#include "registry.h"
#include "core/net/session.h"

enum { GRACE_NS = 2000000000 };

static bool refuse(struct td_core *core, struct td_task *task);

void td_job_init(struct td_core *core)
{
    struct td_joins *joins = core->joins;
    joins->task.advance = refuse;
    joins->next_token = core->options.incarnation << 32 | 1;
    uint32_t count = td_terms_settings(TD_TERMS_SETTINGS, &core->settings, joins->setting);
    joins->terms.list[TD_TERMS_SETTINGS] = (struct td_term_list){count, joins->setting};
    joins->terms.list[TD_TERMS_COSTS] = core->options.costs;
    joins->terms.list[TD_TERMS_METHODS] = core->options.methods;
}

static void send_unjoin(struct td_core *core, const struct td_join *j)
{
    struct td_message m = {.kind = TD_MESSAGE_UNJOIN, .u.unjoin.token = j->token};
    td_session_send(core, 0, &m);
}

/* ask sends the JOIN. On node 0 the answer comes at once, and may free the join. */
static void ask(struct td_core *core, struct td_join *j, bool is_reminder)
{
    struct td_message m = {.kind = TD_MESSAGE_JOIN,
                           .u.join = {.token = j->token,
                                      .uid = j->uid,
                                      .pid = j->pid,
                                      .timeout_ns = j->timeout_ns,
                                      .name = j->name,
                                      .size = j->size,
                                      .rank = j->rank,
                                      .is_reminder = is_reminder,
                                      .minor = core->options.minor,
                                      .epoch = core->epochs->known,
                                      .terms = core->joins->terms}};
    td_join_transition(j, TD_JOIN_SEND);
    j->again_at = td_core_after(core, core->settings.progress_timeout_ns);
    td_core_alarm(core, j->again_at);
    td_session_send(core, 0, &m);
}

static void drop_join(struct td_core *core, struct td_join *j)
{
    struct td_join **link = &core->joins->first;
    while (*link != j)
        link = &(*link)->next;
    *link = j->next;
    td_link_unwatch(core, 0);
    td_account_drop(core, j->account, TD_HOLD_GROUPS, 1);
    td_account_close(core, j->account);
    td_join_transition(j, TD_JOIN_END);
    td_core_free(core, j);
}

/* check_join returns NULL, or a sentence on the fault of the request. */
static const char *check_join(struct td_core *core, const struct td_client *client,
                              const struct td_request *q, td_err *error)
{
    const char *name = q->u.join.name;
    *error = TD_ERR_INVALID;
    if (core->stopping) {
        *error = TD_ERR_SHUTDOWN;
        return "the daemon is stopping";
    }
    if (!name || !name[0] || strlen(name) >= TD_NAME_MAX)
        return "a job name must have 1 to 127 bytes";
    if (q->u.join.size == 0 || q->u.join.size > TD_JOB_RANKS_MAX)
        return td_core_format(core, "a job can have 1 to %d ranks, not %u", TD_JOB_RANKS_MAX,
                              q->u.join.size);
    if (q->u.join.rank < -1 || q->u.join.rank >= (int64_t)q->u.join.size)
        return td_core_format(core, "rank %lld is not in a job of size %u",
                              (long long)q->u.join.rank, q->u.join.size);
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
    /* the job will make a group here */
    const char *share = td_account_refuses(core, client->account, TD_HOLD_GROUPS, 1);
    if (!share)
        share = td_account_refuses(core, client->account, TD_HOLD_MEMORY, 1);
    *error = share ? TD_ERR_BUSY : TD_OK;
    return share;
}

void td_job_request(struct td_core *core, struct td_client *client, const struct td_request *q)
{
    td_err error = TD_OK;
    const char *wrong = check_join(core, client, q, &error);
    struct td_join *j = wrong ? NULL : td_arena_alloc(core->arena, sizeof *j);
    if (!j) {
        td_reply_error(core, client->id, q->id, wrong ? error : TD_ERR_NO_MEMORY,
                       wrong ? wrong : "the daemon has no memory left: raise [limits] memory");
        return;
    }
    int64_t limit = q->u.join.timeout_ns;
    j->token = core->joins->next_token++;
    j->client = client->id;
    j->request = q->id;
    j->uid = client->uid;
    j->account = td_account_open(core, client->uid); /* the client's: it exists */
    td_account_add(core, j->account, TD_HOLD_GROUPS, 1);
    j->pid = client->pid;
    snprintf(j->name, sizeof j->name, "%s", q->u.join.name);
    j->size = q->u.join.size;
    j->rank = q->u.join.rank < 0 ? UINT32_MAX : (uint32_t)q->u.join.rank;
    j->timeout_ns = limit < 0 ? core->settings.join_timeout_ns : limit;
    j->expires_at = td_core_after(core, j->timeout_ns);
    if (j->expires_at < TD_TIME_NEVER - GRACE_NS)
        j->expires_at += GRACE_NS;
    j->next = core->joins->first;
    core->joins->first = j;
    td_core_alarm(core, j->expires_at);
    td_link_watch(core, 0);
    ask(core, j, false);
}

static void end_join(struct td_core *core, struct td_join *j, td_err error, const char *text)
{
    td_reply_error(core, j->client, j->request, error, text);
    drop_join(core, j);
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
    while (core->joins->first && td_core_room(core)) {
        struct td_join *j = core->joins->first;
        send_unjoin(core, j);
        end_join(core, j, TD_ERR_SHUTDOWN, "the daemon is stopping");
    }
}

/* ---- answers ---- */

static void handle_refusal(struct td_core *core, const struct td_message_refuse *m)
{
    for (struct td_join *j = core->joins->first; j; j = j->next)
        if (j->token == m->token) {
            end_join(core, j, m->error, m->text);
            return;
        }
}

/* seat_local assigns the seats of a new communicator to the joins that they came from. The
 * communicator answers the joins. */
static void seat_local(struct td_core *core, struct td_communicator *c)
{
    for (uint32_t i = 0; i < c->ranks; i++) {
        struct td_seat *seat = &c->seat[i];
        uint64_t token = c->rank_token[seat->rank];
        struct td_join *j = core->joins->first;
        while (j && j->token != token)
            j = j->next;
        td_seat_transition(seat, TD_SEAT_ASSIGN);
        if (!j)
            continue; /* it left before the membership came */
        seat->client = td_client_find(core, j->client);
        if (seat->client)
            seat->client->groups++;
        seat->join = j->request;
        drop_join(core, j);
    }
}

/* struct td_forming: a membership whose pieces have not all come. It lives until its last piece,
 * or until its sender is lost or sends nothing more of it for progress_timeout. */
struct td_forming {
    struct td_forming *next;
    uint64_t instance;
    uint32_t from, size; /* from: the node that sends it */
    td_time expires_at;
    uint32_t *rank_node; /* [size] */
    uint64_t *rank_token;
};

static void drop_forming(struct td_core *core, struct td_forming *f)
{
    struct td_forming **link = &core->joins->forming;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    td_core_free(core, f->rank_node);
    td_core_free(core, f->rank_token);
    td_core_free(core, f);
}

/* forming_full returns true if a node already sends as many memberships as it may at a time. */
static bool forming_full(const struct td_core *core, uint32_t from)
{
    uint32_t count = 0;
    for (const struct td_forming *f = core->joins->forming; f; f = f->next)
        count += f->from == from;
    return count >= TD_FORMING_MAX;
}

static struct td_forming *start_forming(struct td_core *core, uint32_t from, uint64_t instance,
                                        uint32_t size)
{
    struct td_forming *f = forming_full(core, from) ? NULL : td_arena_alloc(core->arena, sizeof *f);
    if (!f)
        return NULL;
    f->instance = instance;
    f->from = from;
    f->size = size;
    f->rank_node = td_arena_alloc(core->arena, size * sizeof *f->rank_node);
    f->rank_token = td_arena_alloc(core->arena, size * sizeof *f->rank_token);
    f->next = core->joins->forming;
    core->joins->forming = f;
    if (f->rank_node && f->rank_token)
        return f;
    drop_forming(core, f);
    return NULL;
}

static struct td_forming *find_forming(struct td_core *core, uint32_t from, uint64_t instance)
{
    struct td_forming *f = core->joins->forming;
    while (f && (f->instance != instance || f->from != from))
        f = f->next;
    return f;
}

/* refuse answers the joins that are refused, and takes them back at node 0: no rank of theirs will
 * leave the job. It returns false when the action list is full. */
static bool refuse(struct td_core *core, struct td_task *task)
{
    struct td_join *next = NULL;
    (void)task;
    for (struct td_join *j = core->joins->first; j; j = next) {
        next = j->next;
        if (!j->refused)
            continue;
        if (!td_core_room(core))
            return false;
        send_unjoin(core, j);
        end_join(core, j, TD_ERR_NO_MEMORY,
                 "the daemon has no memory left for the job: raise [limits] memory");
    }
    return true;
}

/* refuse_all refuses the joins of a job. They are answered later in the step: on node 0 the
 * registry is still sending the membership. */
static void refuse_all(struct td_core *core, const struct td_message_members *m)
{
    for (struct td_join *j = core->joins->first; j; j = j->next)
        if (j->uid == m->uid && strcmp(j->name, m->name) == 0)
            j->refused = true;
    td_core_queue(core, &core->joins->task);
}

static void take_runs(struct td_forming *f, const struct td_message_members *m)
{
    for (uint32_t i = 0; i < m->runs; i++) {
        const struct td_member_run *run = &m->run[i];
        for (uint32_t k = 0; k < run->count && run->first + k < f->size; k++) {
            f->rank_node[run->first + k] = run->node;
            f->rank_token[run->first + k] = run->token + k;
        }
    }
}

/* is_sane returns true if all ranks are on nodes of the torus, and some of them, but not too many,
 * on this one. */
static bool is_sane(const struct td_core *core, const struct td_forming *f)
{
    uint32_t here = 0;
    for (uint32_t r = 0; r < f->size; r++) {
        if (f->rank_node[r] >= core->options.topology.nodes)
            return false;
        here += f->rank_node[r] == core->node;
    }
    return here > 0 && here <= TD_NODE_RANKS_MAX;
}

static void handle_members(struct td_core *core, uint32_t from, const struct td_message *message)
{
    const struct td_message_members *m = &message->u.members;
    uint64_t instance = message->instance;
    if (m->size == 0 || m->size > TD_JOB_RANKS_MAX || message->group != 0) {
        td_link_drop(core, from, "protocol violation: it sent a malformed membership");
        return;
    }
    struct td_forming *f = find_forming(core, from, instance);
    if (f && f->size != m->size) {
        drop_forming(core, f);
        td_link_drop(core, from, "protocol violation: it sent pieces of two memberships as one");
        return;
    }
    /* the pieces come in the order of the ranks: without the first, none is of use */
    bool begins = m->runs > 0 && m->run[0].first == 0;
    if (!f && !(f = begins ? start_forming(core, from, instance, m->size) : NULL)) {
        refuse_all(core, m);
        return;
    }
    take_runs(f, m);
    f->expires_at = td_core_after(core, core->settings.progress_timeout_ns);
    if (!m->is_last_piece) {
        td_core_alarm(core, f->expires_at);
        return;
    }
    struct td_communicator *c = NULL;
    bool sane = is_sane(core, f);
    if (sane && !td_communicator_find(core, instance, 0))
        c = td_communicator_create(core, instance, m->name, m->uid, m->size, f->rank_node,
                                   f->rank_token, from, NULL);
    if (c) {
        f->rank_node = NULL, f->rank_token = NULL; /* the communicator owns them */
        c->minor = m->minor;
        c->epoch = m->epoch;
    }
    drop_forming(core, f);
    if (c)
        seat_local(core, c);
    else if (sane)
        refuse_all(core, m);
}

/* drop_formings ends the memberships that a node sends, or those that are overdue (UINT32_MAX). */
static void drop_formings(struct td_core *core, uint32_t from)
{
    struct td_forming *next = NULL;
    for (struct td_forming *f = core->joins->forming; f; f = next) {
        next = f->next;
        if (f->from == from || (from == UINT32_MAX && core->now >= f->expires_at))
            drop_forming(core, f);
        else
            td_core_alarm(core, f->expires_at);
    }
}

void td_job_message(struct td_core *core, uint32_t from, const struct td_message *m)
{
    if (m->kind == TD_MESSAGE_REFUSE)
        handle_refusal(core, &m->u.refuse);
    else if (m->kind == TD_MESSAGE_MEMBERS)
        handle_members(core, from, m);
    else if (core->node == 0)
        td_registry_message(core, from, m);
}

void td_job_node_back(struct td_core *core, uint32_t node)
{
    for (struct td_join *j = core->joins->first; node == 0 && j; j = j->next)
        td_join_transition(j, TD_JOIN_LINK_BACK);
    td_core_alarm(core, core->now);
}

void td_job_node_lost(struct td_core *core, uint32_t node)
{
    drop_formings(core, node);
    if (core->node == 0)
        td_registry_node_lost(core, node);
}

bool td_job_daemon_is(struct td_core *core, uint32_t node, uint32_t daemon, bool changed)
{
    return core->node == 0 && td_registry_daemon_is(core, node, daemon, changed);
}

void td_job_timers(struct td_core *core)
{
    if (core->node == 0)
        td_registry_timers(core);
    drop_formings(core, UINT32_MAX);
    struct td_join *next = NULL;
    for (struct td_join *j = core->joins->first; j; j = next) {
        next = j->next;
        if (!td_core_room(core)) {
            td_core_alarm(core, core->now);
            return;
        }
        if (core->now >= j->expires_at) {
            send_unjoin(core, j);
            end_join(core, j, TD_ERR_TIMEOUT,
                     td_core_format(core,
                                    "job %s: %s, which keeps the list of jobs, cannot be "
                                    "reached: %s",
                                    j->name, td_core_node_name(core, 0),
                                    td_link_why(&core->link[0])));
        } else {
            td_core_alarm(core, j->expires_at);
            td_core_alarm(core, j->again_at > core->now ? j->again_at : j->expires_at);
            if (j->state == TD_JOIN_UNSENT || core->now >= j->again_at)
                ask(core, j, j->state == TD_JOIN_SENT);
        }
    }
}
