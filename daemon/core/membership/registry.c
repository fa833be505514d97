/* SPDX-License-Identifier: Apache-2.0 */
#include "registry.h"

#include <stdio.h>
#include <string.h>

#include "core/net/link.h"
#include "epoch.h"
#include "job_terms.h"
#include "members.h"
#include "core/net/session.h"
#include "succession.h"
#include "unformed.h"

static void free_job(struct td_core *core, struct td_job *job)
{
    struct td_job **link = &core->registry->jobs;
    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
    for (uint32_t i = 0; i < job->joined; i++)
        if (!job->entry[i].gone)
            td_link_unwatch(core, job->entry[i].node);
    td_core_unqueue(core, &job->task);
    td_job_transition(job, TD_JOB_END);
    struct td_account *account = job->account;
    td_core_free(core, job->taken);
    td_core_free(core, job->ever);
    td_core_free(core, job->entry);
    td_core_free(core, job->terms);
    td_core_free(core, job->refusal);
    td_core_free(core, job->cancelled);
    td_core_free(core, job->rank_node);
    td_core_free(core, job->rank_token);
    td_core_free(core, job);
    td_account_close(core, account);
}

static void refuse(struct td_core *core, uint32_t node, uint64_t token, td_err error,
                   const char *text)
{
    struct td_message m = {.kind = TD_MESSAGE_REFUSE,
                           .u.refuse = {.token = token, .error = error, .text = text}};
    td_session_send(core, node, &m);
}

/* ---- forming ---- */

/* take_rank returns the first rank from *rank on that nobody has asked for, and moves *rank behind
 * it. */
static uint32_t take_rank(const struct td_job *job, uint32_t *rank)
{
    while (td_bit(job->taken, *rank))
        (*rank)++;
    return (*rank)++;
}

/* assign_others gives `others` entries without a rank those that nobody has asked for, node by
 * node, so that each node has consecutive ones. It returns false if memory runs out. */
static bool assign_others(struct td_core *core, struct td_job *job, uint32_t others)
{
    struct td_arena *arena = job->account->lasting;
    uint32_t nodes = core->options.topology.nodes, rank = 0;
    uint32_t *order = td_arena_alloc(arena, others * sizeof *order); /* of entries */
    uint32_t *from = td_arena_alloc(arena, (nodes + 1) * sizeof *from);
    bool good = order && from;
    for (uint32_t i = 0; good && i < job->size; i++)
        from[job->entry[i].node + 1] += job->entry[i].asked == UINT32_MAX;
    for (uint32_t n = 0; good && n < nodes; n++)
        from[n + 1] += from[n];
    for (uint32_t i = 0; good && i < job->size; i++)
        if (job->entry[i].asked == UINT32_MAX)
            order[from[job->entry[i].node]++] = i;
    for (uint32_t k = 0; good && k < others; k++)
        job->entry[order[k]].rank = take_rank(job, &rank);
    td_core_free(core, order);
    td_core_free(core, from);
    return good;
}

/* assign_ranks gives each entry its rank: the rank that it asked for, or another one. It sorts the
 * entries by rank, and returns false if memory runs out. */
static bool assign_ranks(struct td_core *core, struct td_job *job)
{
    struct td_entry *sorted = td_arena_alloc(job->account->lasting, job->size * sizeof *sorted);
    uint32_t others = 0;
    for (uint32_t i = 0; i < job->size; i++) {
        job->entry[i].rank = job->entry[i].asked;
        others += job->entry[i].asked == UINT32_MAX;
    }
    if (!sorted || (others > 0 && !assign_others(core, job, others))) {
        td_core_free(core, sorted);
        return false;
    }
    for (uint32_t i = 0; i < job->size; i++)
        sorted[job->entry[i].rank] = job->entry[i];
    td_core_free(core, job->entry);
    job->entry = sorted;
    return true;
}

/* lose_join puts a job back into FORMING, if its joins were being granted. */
static void lose_join(struct td_core *core, struct td_job *job)
{
    if (job->state != TD_JOB_GRANTING)
        return;
    td_job_transition(job, TD_JOB_LOSE_JOIN);
    td_core_free(core, job->rank_node);
    td_core_free(core, job->rank_token);
    job->rank_node = NULL;
    job->rank_token = NULL;
}

static void remove_entry(struct td_core *core, struct td_job *job, uint32_t i);

/* drop_denied removes the joins that were not granted: their nodes have lost or ended them. It
 * returns false if that freed the job. */
static bool drop_denied(struct td_core *core, struct td_job *job)
{
    for (uint32_t i = job->joined; i-- > 0 && !job->instance;) {
        bool last = job->joined == 1, denied = job->entry[i].denied;
        if (denied)
            remove_entry(core, job, i);
        if (denied && last)
            return false;
    }
    return true;
}

/* ask_grants asks the nodes for the joins, by runs of joins that have consecutive tokens. It
 * returns false when the action list is full. */
static bool ask_grants(struct td_core *core, struct td_job *job)
{
    while (job->asked < job->size) {
        if (!td_core_room(core))
            return false;
        const struct td_entry *e = &job->entry[job->asked];
        struct td_message_grant grant = {.first = job->asked, .count = 1, .token = e->token};
        while (job->asked + grant.count < job->size && e[grant.count].node == e->node &&
               e[grant.count].token == e->token + grant.count)
            grant.count++;
        job->asked += grant.count;
        struct td_message m = {
            .kind = TD_MESSAGE_GRANT, .instance = job->proposal, .u.grant = grant};
        td_session_send(core, e->node, &m);
    }
    return true;
}

/* form makes the job an instance: all nodes have granted their joins. */
static void form(struct td_core *core, struct td_job *job)
{
    if (core->epochs->known > job->epoch)
        job->epoch = core->epochs->known;
    td_job_transition(job, TD_JOB_FORM);
    job->instance = job->proposal;
    job->lost = job->unjoined = UINT32_MAX;
    job->expires_at = TD_TIME_NEVER;
    job->formed_at = core->now;
}

static bool advance(struct td_core *core, struct td_task *task)
{
    struct td_job *job = (struct td_job *)task;
    if (!drop_denied(core, job))
        return true;
    if (job->state == TD_JOB_GRANTING && !ask_grants(core, job))
        return false;
    if (job->state == TD_JOB_GRANTING && job->granted == job->size)
        form(core, job);
    while (job->state == TD_JOB_ANNOUNCING) {
        if (!td_core_room(core))
            return false;
        struct td_message m = {
            .kind = TD_MESSAGE_MEMBERS,
            .instance = job->instance,
            .u.members = {
                .uid = job->uid, .name = job->name, .size = job->size, .epoch = job->epoch}};
        job->members_sent =
            td_members_fill(core, job->rank_node, job->rank_token, job->members_sent, &m.u.members);
        if (m.u.members.is_last_piece) {
            td_core_free(core, job->rank_node);
            td_core_free(core, job->rank_token);
            job->rank_node = NULL;
            job->rank_token = NULL;
            td_job_transition(job, TD_JOB_MEMBERS_SENT);
        }
        td_session_send(core, job->first_node, &m);
    }
    bool over = job->instance && job->gone == job->joined;
    if (over || (job->state == TD_JOB_FORMED && !td_succession_keeps(core)))
        free_job(core, job);
    return true;
}

/* end_forming makes the timers refuse all joins. */
static void end_forming(struct td_core *core, struct td_job *job, enum td_job_event why)
{
    td_job_transition(job, why);
    job->expires_at = core->now;
    td_core_alarm(core, core->now);
}

/* keep_refusal keeps the first reason why a job cannot form: all ranks hear of it when the last one
 * has joined. It returns false if memory runs out. */
static bool keep_refusal(struct td_job *job, td_err error, const char *text)
{
    if (job->refusal)
        return true;
    job->refusal_error = error;
    job->refusal = td_core_copy_text(job->account->arena, text);
    return job->refusal;
}

/* begin_grants numbers the ranks and asks the nodes. */
static void begin_grants(struct td_core *core, struct td_job *job)
{
    struct td_arena *arena = job->account->lasting;
    job->rank_node = td_arena_alloc(arena, job->size * sizeof *job->rank_node);
    job->rank_token = td_arena_alloc(arena, job->size * sizeof *job->rank_token);
    if (!job->rank_node || !job->rank_token || !assign_ranks(core, job)) {
        td_core_free(core, job->rank_node);
        td_core_free(core, job->rank_token);
        job->rank_node = NULL;
        job->rank_token = NULL;
        (void)keep_refusal(job, TD_ERR_NO_MEMORY,
                           td_account_no_memory(core, job->account, "the ranks of the job"));
        end_forming(core, job, TD_JOB_LACK_MEMORY);
        return;
    }
    job->first_node = UINT32_MAX;
    for (uint32_t r = 0; r < job->size; r++) {
        job->rank_node[r] = job->entry[r].node;
        job->rank_token[r] = job->entry[r].token;
        if (job->entry[r].node < job->first_node)
            job->first_node = job->entry[r].node;
        job->entry[r].granted = job->entry[r].denied = false;
    }
    td_job_transition(job, TD_JOB_ASK);
    job->proposal = td_core_random(core) | 1;
    job->asked = job->granted = 0;
    td_core_queue(core, &job->task);
}

/* is_complete returns true if a job that forms has all its ranks. */
static bool is_complete(const struct td_job *job)
{
    return job->state == TD_JOB_FORMING && job->joined == job->size && !job->refusal;
}

void td_registry_knows(struct td_core *core)
{
    for (struct td_job *job = core->registry->jobs; job; job = job->next)
        if (is_complete(job))
            begin_grants(core, job);
}

void td_registry_resign(struct td_core *core)
{
    for (struct td_job *job = core->registry->jobs, *next = NULL; job; job = next) {
        next = job->next;
        if (job->state == TD_JOB_FORMED)
            free_job(core, job);
    }
}

/* no_memory returns the sentence of a registry without memory. */
static const char *no_memory(struct td_core *core)
{
    return td_core_format(core, "%s has no memory left for another job: raise [limits] memory",
                          td_core_node_name(core, core->node));
}

/* meet_namesakes notes the users that form a job of the same name: their ranks never meet, which
 * they hear when time runs out. */
static void meet_namesakes(struct td_core *core, struct td_job *job)
{
    for (struct td_job *other = core->registry->jobs; other; other = other->next)
        if (!other->instance && other->uid != job->uid && strcmp(other->name, job->name) == 0) {
            job->namesake = 1 + other->uid;
            other->namesake = 1 + job->uid;
        }
}

/* start_job makes a job's record. On an error it returns NULL with a sentence. */
static struct td_job *start_job(struct td_core *core, const struct td_message_join *m,
                                const char **wrong)
{
    struct td_account *account = td_account_open(core, m->uid);
    struct td_job *job = account ? td_arena_alloc(account->lasting, sizeof *job) : NULL;
    if (!job) {
        *wrong = td_account_no_memory(core, account, "another job");
        td_account_close(core, account);
        return NULL;
    }
    job->account = account;
    snprintf(job->name, sizeof job->name, "%s", m->name);
    job->uid = m->uid;
    job->size = m->size;
    job->begun_at = core->now;
    job->expires_at = TD_TIME_NEVER;
    job->task.advance = advance;
    job->next = core->registry->jobs;
    core->registry->jobs = job;
    meet_namesakes(core, job);
    job->entry = td_arena_alloc(account->lasting, m->size * sizeof *job->entry);
    job->taken = td_arena_alloc(account->lasting, td_bit_bytes(m->size));
    job->ever = td_arena_alloc(account->lasting, td_bit_bytes(m->size));
    if (job->entry && job->taken && job->ever)
        return job;
    *wrong = td_account_no_memory(core, account, "another job");
    free_job(core, job);
    return NULL;
}

/* holder returns the entry that has a rank, in a job that forms or has formed, or NULL. */
static const struct td_entry *holder(const struct td_job *job, uint32_t rank)
{
    for (uint32_t i = 0; i < job->joined; i++)
        if (!job->entry[i].gone &&
            (job->instance ? job->entry[i].rank : job->entry[i].asked) == rank)
            return &job->entry[i];
    return NULL;
}

static bool named(const struct td_job *job, const struct td_message_join *m)
{
    return job->uid == m->uid && strcmp(job->name, m->name) == 0;
}

static uint32_t ranks_on(const struct td_job *job, uint32_t node)
{
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < job->joined; i++)
        ranks += job->entry[i].node == node;
    return ranks;
}

/* why_refused returns the sentence for all joins of a job that cannot form, or for which the
 * registry has no memory. */
static const char *why_refused(struct td_core *core, const struct td_job *job, td_err *error)
{
    *error = job->refusal ? job->refusal_error : TD_ERR_NO_MEMORY;
    return job->refusal ? job->refusal : no_memory(core);
}

/* told returns true if a rank of the node whose terms the job has is still there. */
static bool told(const struct td_job *job)
{
    for (uint32_t i = 0; i < job->joined; i++)
        if (job->entry[i].node == job->terms->node)
            return true;
    return false;
}

/* compare_terms compares the terms of a join with those of the job, which are those of its first
 * node. It returns false if memory runs out. */
static bool compare_terms(struct td_core *core, struct td_job *job, uint32_t node,
                          const struct td_message_join *m, bool *differs)
{
    *differs = false;
    if (!job->terms) {
        job->terms = td_job_terms_create(job->account->lasting, node, &m->terms);
        return job->terms;
    }
    if (!told(job))
        job->terms->node = job->entry[0].node; /* it has the same terms */
    const char *text = td_job_terms_compare(core, job->terms, job->name, node, &m->terms);
    *differs = text != NULL;
    return !text || keep_refusal(job, TD_ERR_MISMATCH, text);
}

/* check_join keeps the reason why a job cannot form with a join, if it cannot. It returns false if
 * memory runs out. */
static bool check_join(struct td_core *core, struct td_job *job, uint32_t node,
                       const struct td_message_join *m, bool *differs)
{
    if (!compare_terms(core, job, node, m, differs))
        return false;
    if (m->refused == TD_OK)
        return true;
    *differs = true;
    return keep_refusal(job, m->refused, m->refusal);
}

/* compare_again is called when a rank has left a job that forms. Without ranks that differ, the job
 * may form. If only they are left, they are refused: whether they agree is not known. */
static void compare_again(struct td_core *core, struct td_job *job)
{
    uint32_t differ = 0;
    for (uint32_t i = 0; i < job->joined; i++)
        differ += job->entry[i].differs;
    if (job->state != TD_JOB_FORMING || (differ > 0 && differ < job->joined))
        return;
    if (differ == 0) {
        td_core_free(core, job->refusal);
        job->refusal = NULL;
        return;
    }
    end_forming(core, job, TD_JOB_DIFFER);
}

/* say_taken returns the sentence for a join of a rank that another process has. */
static const char *say_taken(struct td_core *core, const struct td_message_join *m, uint64_t pid,
                             uint32_t node)
{
    return td_core_format(core,
                          "rank %u of job %s is taken by process %llu on %s: end that process, or "
                          "give this process another rank or job (TORUS_RANK, TORUS_JOB)",
                          m->rank, m->name, (unsigned long long)pid, td_core_node_name(core, node));
}

/* admissible returns NULL, or a sentence on why the join is refused. */
static const char *admissible(struct td_core *core, uint32_t node, const struct td_message_join *m,
                              struct td_job **forming, td_err *error)
{
    *forming = NULL;
    for (struct td_job *job = core->registry->jobs; job; job = job->next) {
        if (!named(job, m))
            continue;
        if (job->instance == 0 && job->state != TD_JOB_GRANTING && !is_complete(job))
            *forming = job;
        const struct td_entry *e = m->rank == UINT32_MAX ? NULL : holder(job, m->rank);
        if (e) {
            *error = TD_ERR_RANK_TAKEN;
            return say_taken(core, m, e->pid, e->node);
        }
    }
    if (*forming && (*forming)->state == TD_JOB_REFUSING)
        return why_refused(core, *forming, error);
    if (*forming && (*forming)->size != m->size) {
        *error = TD_ERR_MISMATCH;
        return td_core_format(core,
                              "job %s has size %u; this process asked for size %u (TORUS_SIZE)",
                              m->name, (*forming)->size, m->size);
    }
    if (*forming && ranks_on(*forming, node) >= TD_NODE_RANKS_MAX) {
        *error = TD_ERR_BUSY;
        return td_core_format(core,
                              "there are already %d ranks of job %s on %s, the maximum: start the "
                              "other ranks on other nodes",
                              TD_NODE_RANKS_MAX, m->name, td_core_node_name(core, node));
    }
    return NULL;
}

/* why_missed returns the sentence for a join that has missed the membership of its job. It names
 * the node that was lost since the job formed, or else one that has withdrawn joins, since it may
 * have had no memory to pass the membership on; or else the registry that formed it; UINT32_MAX:
 * this one, and nobody is known to be lost. */
static const char *why_missed(struct td_core *core, const struct td_job *job, uint32_t other)
{
    if (job->lost == UINT32_MAX && job->unjoined == UINT32_MAX && other == UINT32_MAX)
        return td_core_format(core,
                              "messages were lost while job %s formed, and its ranks are not known "
                              "here: start the job again",
                              job->name);
    bool withdrawn = job->lost == UINT32_MAX && job->unjoined != UINT32_MAX;
    uint32_t node = withdrawn ? job->unjoined : job->lost < UINT32_MAX ? job->lost : other;
    return td_core_format(core,
                          withdrawn ? "job %s lost ranks on %s while they were joining: start the "
                                      "job again"
                                    : "job %s lost %s while its ranks were joining: start the job "
                                      "again",
                          job->name, td_core_node_name(core, node));
}

/* repeat_join handles a repeated JOIN. Its entry waits for the other ranks or for the membership.
 * If the membership was lost with a daemon, the join is refused. */
static void repeat_join(struct td_core *core, struct td_job *job, uint32_t i)
{
    const struct td_entry *e = &job->entry[i];
    uint64_t patience = (uint64_t)core->settings.progress_timeout_ns;
    if (!job->instance || e->gone || core->now - job->formed_at < patience)
        return;
    refuse(core, e->node, e->token, TD_ERR_NODE_FAILED, why_missed(core, job, UINT32_MAX));
    remove_entry(core, job, i);
}

static struct td_job *find_instance(struct td_core *core, uint64_t instance)
{
    struct td_job *job = core->registry->jobs;
    while (job && (job->instance != instance || instance == 0))
        job = job->next;
    return job;
}

/* missed returns true if an earlier registry has formed the job that a join was granted to. It
 * refuses the join if the membership has not reached the join's node in time, and names that
 * registry, or the node that the job has lost since. */
static bool missed(struct td_core *core, uint32_t node, const struct td_message_join *m)
{
    struct td_job *job = find_instance(core, m->granted);
    if (job && core->now - job->formed_at >= (uint64_t)core->settings.progress_timeout_ns)
        refuse(core, node, m->token, TD_ERR_NODE_FAILED, why_missed(core, job, m->granter));
    return job;
}

static void join(struct td_core *core, uint32_t node, const struct td_message_join *m)
{
    struct td_job *job = NULL;
    td_err error = TD_OK;
    for (job = core->registry->jobs; job; job = job->next)
        for (uint32_t i = 0; i < job->joined; i++)
            if (job->entry[i].node == node && job->entry[i].token == m->token) {
                repeat_join(core, job, i);
                return;
            }
    if (missed(core, node, m) || m->is_reminder)
        return; /* it was refused, and the answer is on its way */
    const char *wrong = admissible(core, node, m, &job, &error);
    if (!wrong && !job) {
        job = start_job(core, m, &wrong);
        error = TD_ERR_NO_MEMORY;
    }
    bool differs = false;
    if (job && !wrong && !check_join(core, job, node, m, &differs)) {
        error = TD_ERR_NO_MEMORY;
        wrong = td_account_no_memory(core, job->account, "the terms of the job");
    }
    if (!job || wrong) {
        refuse(core, node, m->token, error, wrong);
        if (job && job->joined == 0)
            free_job(core, job);
        return;
    }
    if (m->rank != UINT32_MAX) {
        td_bit_set(job->taken, m->rank);
        td_bit_set(job->ever, m->rank);
    }
    job->any = job->any || m->rank == UINT32_MAX;
    job->entry[job->joined++] = (struct td_entry){
        .token = m->token,
        .pid = m->pid,
        .node = node,
        .rank = m->rank,
        .asked = m->rank,
        .differs = differs,
    };
    job->most = job->joined > job->most ? job->joined : job->most;
    td_unformed_join(core, job);
    job->epoch = m->epoch > job->epoch ? m->epoch : job->epoch;
    td_link_watch(core, node);
    td_time expires = td_core_after(core, m->timeout_ns);
    if (expires < job->expires_at) {
        job->expires_at = expires;
        td_core_alarm(core, expires);
    }
    if (job->joined == job->size && job->refusal)
        end_forming(core, job, TD_JOB_DIFFER);
    else if (td_succession_knows(core) && is_complete(job))
        begin_grants(core, job);
}

/* take_answer takes a node's answer to a GRANT. */
static void take_answer(struct td_core *core, uint32_t node, const struct td_message *message)
{
    const struct td_message_granted *m = &message->u.granted;
    struct td_job *job = core->registry->jobs;
    while (job && (job->state != TD_JOB_GRANTING || job->proposal != message->instance))
        job = job->next;
    if (!job || m->first >= job->size || m->count > job->size - m->first)
        return;
    for (uint32_t i = m->first; i < m->first + m->count; i++) {
        struct td_entry *e = &job->entry[i];
        if (e->node != node || e->granted)
            continue;
        e->granted = m->is_granted;
        e->denied = !m->is_granted;
        job->granted += m->is_granted;
    }
    td_core_queue(core, &job->task);
}

/* ---- ranks of jobs that an earlier registry has formed ---- */

/* free_rank refuses the joins that ask for a rank that was taken before. */
static void free_rank(struct td_core *core, const struct td_message_join *m, uint32_t node)
{
    struct td_job *next = NULL;
    for (struct td_job *job = core->registry->jobs; job; job = next) {
        next = job->next;
        for (uint32_t i = job->joined; named(job, m) && !job->instance && i-- > 0;) {
            const struct td_entry e = job->entry[i];
            if (e.asked != m->rank)
                continue;
            refuse(core, e.node, e.token, TD_ERR_RANK_TAKEN, say_taken(core, m, m->pid, node));
            remove_entry(core, job, i);
            break; /* no other join has the rank; the job may be gone */
        }
    }
}

/* new_record makes the record of a job that has formed, without its ranks. */
static struct td_job *new_record(struct td_core *core, uint64_t instance,
                                 const struct td_message_join *m)
{
    const char *wrong = NULL;
    struct td_job *job = start_job(core, m, &wrong);
    if (!job)
        return NULL; /* its ranks can be taken again: no worse than without a record */
    td_job_transition(job, TD_JOB_REPORT);
    job->instance = instance;
    job->formed_at = core->now;
    job->lost = job->unjoined = UINT32_MAX;
    return job;
}

/* report records a rank of a job that has formed. */
static void report(struct td_core *core, uint32_t node, uint64_t instance,
                   const struct td_message_join *m)
{
    struct td_job *job = find_instance(core, instance);
    if (m->rank >= m->size || !td_succession_keeps(core))
        return;
    if (!job && !(job = new_record(core, instance, m)))
        return;
    if (job->size != m->size || !named(job, m))
        return;
    uint32_t i = 0;
    while (i < job->joined && job->entry[i].rank != m->rank)
        i++;
    struct td_entry *e = &job->entry[i];
    if (i < job->joined && (!e->gone || e->node != node))
        return;
    bool back = i < job->joined;
    *e = (struct td_entry){
        .token = m->token, .pid = m->pid, .node = node, .rank = m->rank, .asked = m->rank};
    job->gone -= back;
    job->joined += !back;
    td_link_watch(core, node);
    free_rank(core, m, node);
}

/* ---- leaving ---- */

static void remove_entry(struct td_core *core, struct td_job *job, uint32_t i)
{
    struct td_entry *e = &job->entry[i];
    if (e->gone)
        return;
    td_link_unwatch(core, e->node);
    if (job->instance) {
        e->gone = true;
        if (++job->gone == job->joined && job->state == TD_JOB_FORMED)
            free_job(core, job);
        return;
    }
    lose_join(core, job);
    if (e->asked != UINT32_MAX)
        td_bit_clear(job->taken, e->asked);
    memmove(e, e + 1, (job->joined - i - 1) * sizeof *e);
    if (--job->joined == 0)
        free_job(core, job);
    else if (job->refusal)
        compare_again(core, job);
}

/* rank_left removes the entry of a rank from a job that has formed. */
static void rank_left(struct td_core *core, uint32_t node, uint64_t instance, uint32_t rank)
{
    for (struct td_job *job = core->registry->jobs; job; job = job->next)
        for (uint32_t i = 0; i < job->joined; i++) {
            const struct td_entry *e = &job->entry[i];
            if (job->instance && job->instance == instance && e->rank == rank && e->node == node) {
                remove_entry(core, job, i);
                return;
            }
        }
}

/* note_last notes that a job did not form, before its last entry is removed. At a node that is no
 * longer the registry, the joins have only moved on. */
static void note_last(struct td_core *core, struct td_job *job, td_err error)
{
    if (!job->instance && job->joined == 1 && td_succession_keeps(core))
        td_unformed_note(core, job, error, td_unformed_why_gone(core, job));
}

/* unjoin removes the entry of a join. If the job has formed, its membership may never have reached
 * the node: then no RANK_LEFT follows. */
static void unjoin(struct td_core *core, uint32_t node, uint64_t token)
{
    for (struct td_job *job = core->registry->jobs; job; job = job->next)
        for (uint32_t i = 0; i < job->joined; i++) {
            const struct td_entry *e = &job->entry[i];
            if (e->token == token && e->node == node) {
                if (job->instance && job->unjoined == UINT32_MAX)
                    job->unjoined = node;
                note_last(core, job, TD_ERR_CANCELLED);
                remove_entry(core, job, i);
                return;
            }
        }
}

void td_registry_message(struct td_core *core, uint32_t from, const struct td_message *m)
{
    const struct td_message_join *q = &m->u.join;
    if (m->kind == TD_MESSAGE_UNJOIN)
        unjoin(core, from, m->u.unjoin.token);
    else if (m->kind == TD_MESSAGE_RANK_LEFT)
        rank_left(core, from, m->instance, m->u.rank_left.rank);
    else if (m->kind == TD_MESSAGE_GRANTED)
        take_answer(core, from, m);
    else if (q->size == 0 || q->size > TD_JOB_RANKS_MAX ||
             (q->rank != UINT32_MAX && q->rank >= q->size) ||
             q->granter >= core->options.topology.nodes)
        return;
    else if (m->instance)
        report(core, from, m->instance, q);
    else
        join(core, from, q);
}

void td_registry_job_lost(struct td_core *core, uint64_t instance, uint32_t node)
{
    for (struct td_job *job = core->registry->jobs; job; job = job->next)
        if (job->instance == instance)
            job->lost = node;
}

/* lose_entry removes the entry of a rank whose node or daemon is lost. It returns false if that
 * freed the job. */
static bool lose_entry(struct td_core *core, struct td_job *job, uint32_t i)
{
    if (job->instance)
        job->lost = job->entry[i].node;
    else
        job->lost_joins = true;
    bool last = job->instance ? job->gone + 1 == job->joined && job->state == TD_JOB_FORMED
                              : job->joined == 1;
    note_last(core, job, TD_ERR_NODE_FAILED);
    remove_entry(core, job, i);
    return !last;
}

void td_registry_node_lost(struct td_core *core, uint32_t node)
{
    struct td_job *next = NULL;
    for (struct td_job *job = core->registry->jobs; job; job = next) {
        next = job->next;
        /* from the last on, so that removing moves no entry that is still to be looked at */
        for (uint32_t i = job->joined; i-- > 0;)
            if (job->entry[i].node == node && !job->entry[i].gone && !lose_entry(core, job, i))
                break;
    }
}

bool td_registry_daemon_is(struct td_core *core, uint32_t node, uint32_t daemon, bool changed)
{
    struct td_job *next = NULL;
    bool needed = false;
    for (struct td_job *job = core->registry->jobs; job; job = next) {
        next = job->next;
        for (uint32_t i = job->joined; i-- > 0;) {
            const struct td_entry *e = &job->entry[i];
            if (e->node != node || e->gone)
                continue;
            uint32_t known = td_token_daemon(e->token);
            if (known == daemon)
                needed = true;
            else if ((known || changed) && !lose_entry(core, job, i))
                break;
        }
    }
    return needed;
}

/* expire ends a job that has not formed in time. All of its joins hear one sentence, also if a step
 * has no room for all of them. */
static void expire(struct td_core *core, struct td_job *job)
{
    td_err error = TD_OK;
    if (job->noted)
        return;
    if (job->state != TD_JOB_REFUSING) {
        keep_refusal(job, TD_ERR_TIMEOUT, td_unformed_why_late(core, job));
        td_job_transition(job, TD_JOB_EXPIRE);
    }
    const char *text = why_refused(core, job, &error);
    td_unformed_note(core, job, error, text);
}

void td_registry_timers(struct td_core *core)
{
    struct td_job *next = NULL;
    for (struct td_job *job = core->registry->jobs; job; job = next) {
        next = job->next;
        if (job->instance || core->now < job->expires_at) {
            td_core_alarm(core, job->expires_at);
            continue;
        }
        td_err error = TD_OK;
        expire(core, job);
        const char *text = why_refused(core, job, &error);
        /* as room allows; the removal of the last entry frees the job */
        while (job->joined && td_core_room(core)) {
            const struct td_entry e = job->entry[job->joined - 1];
            bool last = job->joined == 1;
            refuse(core, e.node, e.token, error, text);
            remove_entry(core, job, job->joined - 1);
            if (last)
                break;
        }
        if (!td_core_room(core)) {
            td_core_alarm(core, core->now);
            return;
        }
    }
}
