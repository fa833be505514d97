/* SPDX-License-Identifier: Apache-2.0 */
/* Joins, and jobs at the registry, message by message: core/membership/job.h and registry.h. */
#include "joins.h"

#include "core/inspect.h"
#include "core/membership/communicator_losses.h"
#include "core/membership/job.h"
#include "core/membership/registry.h"
#include "core/membership/succession.h"
#include "core/membership/client.h"
#include "core/net/link.h"
#include "core/net/session.h"
#include "core/notes.h"

static void a_job_forms_when_its_last_rank_joins(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_arrive(2, 20, 3, ANY);
    joins_arrive(3, 30, 3, ANY);
    assert_int_equal(node.core->registry->jobs->state, TD_JOB_FORMING);
    assert_int_equal(node_count(TD_MESSAGE_MEMBERS), 0);
    joins_arrive(2, 21, 3, ANY);
    const struct td_message *m = node_sent_to(2, TD_MESSAGE_MEMBERS);
    assert_non_null(m); /* node 2 is the job's first node */
    assert_int_equal(m->u.members.size, 3);
    assert_true(m->u.members.is_last_piece);
    assert_int_equal(node.core->registry->jobs->state, TD_JOB_FORMED);
    node_end();
}

static void ranks_are_given_as_asked_and_the_others_node_by_node(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_arrive(3, 30, 4, ANY);
    joins_arrive(1, 10, 4, ANY);
    joins_arrive(3, 31, 4, 0);
    joins_arrive(1, 11, 4, ANY);
    const struct td_entry *e = node.core->registry->jobs->entry;
    assert_int_equal(e[0].token, 31); /* as requested */
    assert_int_equal(e[1].token, 10);
    assert_int_equal(e[2].token, 11);
    assert_int_equal(e[3].token, 30);
    node_end();
}

static void a_taken_rank_is_refused_with_the_process_that_has_it(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_arrive(1, 10, 3, 1);
    joins_arrive(2, 20, 3, 1);
    const struct td_message *m = node_sent_to(2, TD_MESSAGE_REFUSE);
    assert_non_null(m);
    assert_int_equal(m->u.refuse.error, TD_ERR_RANK_TAKEN);
    assert_non_null(strstr(m->u.refuse.text, "process 110"));
    assert_int_equal(node.core->registry->jobs->joined, 1);
    node_end();
}

/* forming_ns returns how long the job "job" has formed, as this node tells torusctl. */
static uint64_t forming_ns(void)
{
    static struct td_reply page;
    assert_true(td_inspect_page(node.core, 1000, true, TD_STATUS_JOBS, 0, &page));
    assert_int_equal(page.u.status.rows, 1);
    return page.u.status.row[0].u.job.forming_ns;
}

static void a_job_that_forms_has_an_age_since_its_first_join(void **state)
{
    (void)state;
    node_begin("4", 0, NULL); /* the registry */
    joins_arrive(2, 20, 3, ANY);
    node_pass(NULL, SECOND);
    joins_arrive(3, 30, 3, ANY);
    assert_in_range(forming_ns(), SECOND, SECOND + 10);
    joins_arrive(2, 21, 3, ANY);
    assert_int_equal(forming_ns(), 0);
    node_end();
    node_begin("4", 3, NULL);
    joins_request(1, 3, -1);
    node_pass(NULL, SECOND);
    joins_request(2, 3, -1);
    assert_in_range(forming_ns(), SECOND, SECOND + 10);
    node_end();
}

static void a_repeated_join_changes_nothing(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_arrive(1, 10, 3, 1);
    joins_arrive(1, 10, 3, 1);
    assert_int_equal(node.core->registry->jobs->joined, 1);
    assert_int_equal(node_count(TD_MESSAGE_REFUSE), 0);
    node_end();
}

static void a_lost_node_gives_its_rank_back_while_the_job_forms(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_arrive(1, 10, 2, 1);
    joins_arrive(2, 20, 2, 0);
    td_registry_node_lost(node.core, 2); /* the job has formed: the rank is lost */
    assert_int_equal(node.core->registry->jobs->gone, 1);
    td_registry_node_lost(node.core, 1);
    assert_null(node.core->registry->jobs);
    joins_arrive(1, 11, 2, 1);
    td_registry_node_lost(node.core, 1); /* still forming: the job ends with its last join */
    assert_null(node.core->registry->jobs);
    node_end();
}

static void joins_of_a_job_that_is_late_are_refused_with_the_missing_ranks(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_arrive(1, 10, 4, 1);
    node_pass(NULL, 11ull * SECOND);
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_REFUSE);
    assert_non_null(m);
    assert_int_equal(m->u.refuse.error, TD_ERR_TIMEOUT);
    assert_non_null(strstr(m->u.refuse.text, "ranks 0, 2-3"));
    assert_null(node.core->registry->jobs);
    node_end();
}

static void a_job_without_memory_refuses_its_ranks_and_those_that_follow(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_arrive(1, 10, 2, ANY);
    while (td_arena_alloc(node.core->arena, 16)) /* the arena is full */
        ;
    joins_arrive(1, 11, 2, ANY);
    assert_int_equal(node.core->registry->jobs->state, TD_JOB_REFUSING);
    joins_arrive(2, 20, 2, ANY); /* in the same step, before the timers */
    assert_int_equal(node.core->registry->jobs->joined, 2);
    const struct td_message *m = node_sent_to(2, TD_MESSAGE_REFUSE);
    assert_non_null(m);
    assert_int_equal(m->u.refuse.error, TD_ERR_NO_MEMORY);
    node_pass(NULL, 1);
    assert_null(node.core->registry->jobs);
    assert_int_equal(node_count(TD_MESSAGE_REFUSE), 3);
    node_end();
}

static void a_join_that_node_0_refuses_at_once_is_answered_once(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_arrive(1, 10, 2, 0);
    joins_request(1, 2, 0);
    assert_int_equal(node.replies, 1);
    assert_int_equal(node.reply.error, TD_ERR_RANK_TAKEN);
    assert_null(node.core->joins->first);
    node_pass(NULL, 60ull * SECOND);
    assert_int_equal(node.replies, 1);
    node_end();
}

static void a_join_is_sent_again_in_a_new_session_and_after_a_while(void **state)
{
    (void)state;
    node_begin("4", 3, NULL);
    joins_request(1, 2, -1);
    const struct td_message *m = node_sent_to(0, TD_MESSAGE_JOIN);
    assert_non_null(m);
    assert_false(m->u.join.is_reminder);
    assert_int_equal(node.core->joins->first->state, TD_JOIN_SENT);
    node_forget();
    td_core_notices.node_back(node.core, 0);
    assert_int_equal(node.core->joins->first->state, TD_JOIN_UNSENT);
    node_pass(NULL, 1);
    m = node_sent_to(0, TD_MESSAGE_JOIN);
    assert_non_null(m);
    assert_false(m->u.join.is_reminder);
    node_forget();
    node_pass(NULL, (uint64_t)node.core->settings.progress_timeout_ns);
    m = node_sent_to(0, TD_MESSAGE_JOIN);
    assert_non_null(m);
    assert_true(m->u.join.is_reminder);
    node_end();
}

static void users_whose_jobs_have_one_name_hear_of_each_other_in_time(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    struct td_message m = joins_message(20, 2, 0), other = joins_message(30, 2, 1);
    other.u.join.uid = 1001;
    node_message(2, &m);
    node_message(3, &other);
    assert_int_equal(node_count(TD_MESSAGE_MEMBERS), 0);
    node_pass(NULL, 10ull * SECOND);
    const struct td_message *refused = node_sent_to(2, TD_MESSAGE_REFUSE);
    assert_non_null(refused);
    assert_non_null(strstr(refused->u.refuse.text, "rank 1. User 1001 has a job of the same name"));
    refused = node_sent_to(3, TD_MESSAGE_REFUSE);
    assert_non_null(refused);
    assert_non_null(strstr(refused->u.refuse.text, "rank 0. User 1000 has a job of the same name"));
    node_end();
}

static void only_the_registry_refuses_a_join(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(1, 2, 0);
    struct td_message m = {.kind = TD_MESSAGE_REFUSE};
    m.u.refuse = (struct td_message_refuse){
        .token = node.core->joins->first->token, .error = TD_ERR_MISMATCH, .text = "no"};
    node_message(2, &m);
    assert_int_equal(node.replies, 0);
    node_message(0, &m);
    assert_int_equal(node.reply.error, TD_ERR_MISMATCH);
    node_end();
}

/* lose makes this node give up another one. */
static void lose(uint32_t other)
{
    td_link_transition(&node.core->link[other], TD_LINK_LOSE_SESSION);
    td_core_notices.node_lost(node.core, other, "it is silent");
    node_run();
}

static void a_join_is_granted_to_the_registry_that_has_it_and_to_one_instance(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(1, 2, 0);
    uint64_t token = node.core->joins->first->token;
    joins_ask(2, 8, token, 1); /* it does not have the join */
    assert_false(node_sent_to(2, TD_MESSAGE_GRANTED)->u.granted.is_granted);
    joins_ask(0, 9, token, 2);
    const struct td_message *m = node_sent_to(0, TD_MESSAGE_GRANTED);
    assert_true(m->u.granted.is_granted && m->u.granted.count == 1);
    assert_int_equal(node_count(TD_MESSAGE_GRANTED), 3); /* no join has the second token */
    joins_ask(0, 10, token, 1);
    joins_members(2, "job", token); /* of instance 9: the others hear that the rank is lost */
    assert_int_equal(node.replies, 0);
    assert_int_equal(node_sent_to(2, TD_MESSAGE_RANK_LOST)->u.rank_lost.rank, 0);
    assert_non_null(node.core->joins->first);
    node_end();
}

/* told_here sends the membership of a job of two ranks, on nodes 1 and 2, to node 2. */
static void told_here(uint32_t from, uint64_t token)
{
    const struct td_member_run run[] = {{0, 1, 1, 5}, {1, 1, 2, token}};
    struct td_message m = {.kind = TD_MESSAGE_MEMBERS, .instance = 9};
    m.u.members = (struct td_message_members){
        .uid = 1000, .name = "job", .size = 2, .is_last_piece = true, .runs = 2, .run = run};
    node_message(from, &m);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
}

/* The registry that formed the job knows the rank; an UNJOIN would remove it. A registry that the
 * join moved to meanwhile would wait for the other ranks. */
static void a_seated_join_is_withdrawn_only_from_a_registry_that_did_not_form_the_job(void **state)
{
    (void)state;
    node_begin("4", 2, NULL);
    joins_request(1, 2, 1);
    uint64_t token = node.core->joins->first->token;
    joins_ask(0, 9, token, 1);
    told_here(1, token);
    assert_int_equal(node_count(TD_MESSAGE_UNJOIN), 0);
    node_end();
    node_begin("4", 2, NULL);
    joins_request(1, 2, 1);
    joins_ask(0, 9, node.core->joins->first->token, 1);
    lose(0);
    node_pass(NULL, (uint64_t)node.core->settings.progress_timeout_ns);
    assert_non_null(node_sent_to(1, TD_MESSAGE_JOIN));
    told_here(1, token);
    assert_int_equal(node_sent_to(1, TD_MESSAGE_UNJOIN)->u.unjoin.token, token);
    assert_int_equal(node_count(TD_MESSAGE_UNJOIN), 1);
    node_end();
}

static void a_join_moves_to_the_next_registry_when_it_is_not_granted(void **state)
{
    (void)state;
    node_begin("4", 3, NULL);
    joins_request(1, 2, 0);
    joins_request(2, 2, 1);
    joins_ask(0, 9, node.core->joins->first->token, 1); /* rank 1 */
    lose(0);
    node_pass(NULL, 1);
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_JOIN);
    assert_non_null(m);
    assert_int_equal(m->u.join.rank, 0);
    node_forget();
    node_pass(NULL, (uint64_t)node.core->settings.progress_timeout_ns);
    m = node_sent_to(1, TD_MESSAGE_JOIN);
    assert_non_null(m);
    assert_int_equal(m->u.join.rank, 1);
    assert_int_equal(m->u.join.granted, 9);
    assert_int_equal(m->u.join.granter, 0);
    node_forget();
    td_link_transition(&node.core->link[0], TD_LINK_COME_UP);
    td_core_notices.node_back(node.core, 0);
    node_pass(NULL, 1);
    assert_non_null(node_sent_to(1, TD_MESSAGE_UNJOIN));
    assert_non_null(node_sent_to(0, TD_MESSAGE_JOIN));
    m = &(struct td_message){.kind = TD_MESSAGE_REGISTRY_ANSWER,
                             .u.registry_answer = {.is_draining = true}};
    node_message(0, m);
    node_forget();
    node_pass(NULL, (uint64_t)node.core->settings.progress_timeout_ns);
    assert_non_null(node_sent_to(1, TD_MESSAGE_JOIN));
    assert_null(node_sent_to(0, TD_MESSAGE_JOIN));
    node_end();
}

static void reports(uint32_t from, uint64_t instance, uint32_t rank)
{
    struct td_message m = joins_message((uint64_t)7 << 32, 2, rank);
    m.instance = instance;
    node_message(from, &m);
}

/* The nodes that a successor hears tell it which ranks are taken. */
static void a_successor_forms_no_job_before_it_knows_the_ranks_of_others(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    lose(0);
    td_link_transition(&node.core->link[2], TD_LINK_COME_UP);
    joins_from(2, 20, 2, 0);
    joins_from(3, 30, 2, 1);
    const struct td_message *m = node_sent_to(2, TD_MESSAGE_REGISTRY_ASK);
    assert_non_null(m);
    assert_int_equal(node_count(TD_MESSAGE_GRANT), 0);
    reports(2, 9, 1);
    assert_int_equal(node_sent_to(3, TD_MESSAGE_REFUSE)->u.refuse.error, TD_ERR_RANK_TAKEN);
    struct td_message answer = {.kind = TD_MESSAGE_REGISTRY_ANSWER};
    answer.u.registry_answer.round = m->u.registry_ask.round;
    node_message(2, &answer);
    assert_int_equal(node.core->succession->state, TD_SUCCESSION_KEEPING);
    joins_arrive(3, 31, 2, 1);
    assert_int_equal(node.core->registry->jobs->next->joined, 1); /* of instance 9 */
    struct td_message left = {.kind = TD_MESSAGE_RANK_LEFT, .instance = 9};
    left.u.rank_left.rank = 1;
    node_message(2, &left);
    joins_arrive(3, 32, 2, 1);
    assert_non_null(node_sent_to(2, TD_MESSAGE_MEMBERS));
    node_end();
}

/* A job is not formed twice: its membership may have reached others. */
static void a_join_of_a_job_that_an_earlier_registry_has_formed_is_refused(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    lose(0);
    reports(2, 9, 1);
    struct td_message m = joins_message(30, 2, 0);
    m.u.join.granted = 9;
    node_message(3, &m);
    assert_null(node_sent_to(3, TD_MESSAGE_REFUSE));
    node_pass(NULL, (uint64_t)node.core->settings.progress_timeout_ns);
    m.u.join.is_reminder = true;
    node_message(3, &m);
    const struct td_message *refused = node_sent_to(3, TD_MESSAGE_REFUSE);
    assert_int_equal(refused->u.refuse.error, TD_ERR_NODE_FAILED);
    assert_non_null(strstr(refused->u.refuse.text, "job job lost node 0 (0) while"));
    node_end();
}

/* become_successor makes node 1 the registry, and lets node 2 report rank 1 of instance 9. */
static const struct td_job *become_successor(void)
{
    node_begin("4", 1, NULL);
    lose(0);
    reports(2, 9, 1);
    const struct td_job *job = node.core->registry->jobs;
    assert_int_equal(job->joined, 1);
    return job;
}

static void a_report_that_fits_no_job_is_ignored(void **state)
{
    (void)state;
    const struct td_job *job = become_successor();
    reports(3, 9, 2); /* the job has 2 ranks */
    reports(3, 10, 2);
    struct td_message m = joins_message((uint64_t)8 << 32, 3, 0);
    m.instance = 9;
    node_message(3, &m); /* another size */
    m.u.join.size = 2;
    m.u.join.name = "another";
    node_message(3, &m);
    m.u.join.name = "job";
    m.u.join.uid = 1001;
    node_message(3, &m);
    assert_int_equal(job->joined, 1);
    assert_true(node.core->registry->jobs == job && !job->next);
    reports(3, 9, 1); /* node 2 has it */
    assert_int_equal(job->entry[0].node, 2);
    reports(3, 9, 0);
    assert_int_equal(job->joined, 2);
    node_end();
    node_begin("4", 1, NULL);
    reports(2, 9, 1); /* node 0 is the registry */
    assert_null(node.core->registry->jobs);
    node_end();
}

static void a_reported_rank_is_refused_to_the_join_that_asked_for_it_only(void **state)
{
    (void)state;
    become_successor();
    joins_from(3, 31, 4, 2);
    joins_from(3, 32, 4, 3);
    joins_from(3, 33, 4, 0);
    node_forget();
    reports(2, 10, 1); /* of another instance with 2 ranks */
    assert_int_equal(node_count(TD_MESSAGE_REFUSE), 0);
    reports(2, 10, 0);
    assert_int_equal(node_count(TD_MESSAGE_REFUSE), 1);
    assert_int_equal(node_sent_to(3, TD_MESSAGE_REFUSE)->u.refuse.token, 33);
    const struct td_job *forming = node.core->registry->jobs;
    while (forming->instance)
        forming = forming->next;
    assert_int_equal(forming->joined, 2);
    assert_int_equal(forming->entry[0].token, 31);
    assert_int_equal(forming->entry[1].token, 32);
    node_end();
}

static void an_answer_beyond_the_ranks_of_a_job_is_ignored(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_from(2, 20, 2, 0);
    joins_from(2, 21, 2, 1);
    const struct td_message *grant = node_sent_to(2, TD_MESSAGE_GRANT);
    struct td_message m = {.kind = TD_MESSAGE_GRANTED, .instance = grant->instance};
    static const uint32_t wrong[][2] = {{2, 0}, {2, 1}, {0, 3}, {1, 2}, {1, UINT32_MAX}};
    const struct td_job *job = node.core->registry->jobs;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        m.u.granted = (struct td_message_granted){
            .first = wrong[i][0], .count = wrong[i][1], .is_granted = true};
        node_message(2, &m);
        assert_int_equal(job->granted, 0);
        assert_int_equal(job->state, TD_JOB_GRANTING);
    }
    m.u.granted = (struct td_message_granted){.first = 0, .count = 2, .is_granted = true};
    node_message(3, &m); /* it has none of the joins */
    assert_int_equal(job->granted, 0);
    node_message(2, &m);
    assert_int_equal(job->state, TD_JOB_FORMED);
    node_end();
}

static void jobs_of_other_names_or_users_that_formed_are_no_namesakes(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    struct td_message m = joins_message(20, 2, 0), other = joins_message(30, 2, 1);
    other.u.join.uid = 1001;
    other.u.join.name = "another";
    node_message(2, &m);
    node_message(3, &other);
    for (const struct td_job *job = node.core->registry->jobs; job; job = job->next)
        assert_int_equal(job->namesake, 0);
    joins_arrive(2, 21, 2, 1); /* it forms */
    other.u.join.token = 31;
    other.u.join.name = "job";
    node_message(3, &other);
    for (const struct td_job *job = node.core->registry->jobs; job; job = job->next)
        assert_int_equal(job->namesake, 0);
    node_end();
}

static void a_job_waits_for_another_join_if_one_is_not_granted(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_from(2, 20, 2, 0);
    joins_from(3, 30, 2, 1);
    const struct td_message *q = node_sent_to(3, TD_MESSAGE_GRANT);
    struct td_message m = {.kind = TD_MESSAGE_GRANTED, .instance = q->instance};
    m.u.granted.first = q->u.grant.first;
    m.u.granted.count = 1;
    node_message(3, &m);
    assert_int_equal(node.core->registry->jobs->state, TD_JOB_FORMING);
    assert_int_equal(node.core->registry->jobs->joined, 1);
    node_forget();
    joins_arrive(3, 31, 2, 1);
    assert_non_null(node_sent_to(2, TD_MESSAGE_MEMBERS));
    node_end();
}

/* Node 0 counts the ranks of a job that have left: else it would keep the job. */
static void a_node_without_memory_takes_its_joins_back(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(1, 2, -1);
    uint64_t token = node.core->joins->first->token;
    joins_ask(0, 9, token, 1);
    const struct td_member_run run[] = {{0, 1, 0, 5}, {1, 1, 1, token}};
    struct td_message m = {.kind = TD_MESSAGE_MEMBERS, .instance = 9};
    m.u.members = (struct td_message_members){
        .uid = 1000, .name = "job", .size = 2, .is_last_piece = true, .runs = 2, .run = run};
    while (td_arena_alloc(node.core->arena, 16))
        continue;
    node_message(0, &m);
    assert_int_equal(node.reply.error, TD_ERR_NO_MEMORY);
    const struct td_message *back = node_sent_to(0, TD_MESSAGE_UNJOIN);
    assert_non_null(back);
    assert_int_equal(back->u.unjoin.token, token);
    node_end();
}

/* Node 0 itself has no memory for the membership, while it sends it. */
static void node_0_without_memory_for_its_own_group_forgets_the_job(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_request(1, 2, 0);
    joins_arrive(2, 77, 2, 1);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    node_end();
    node_begin("4", 0, NULL);
    node.core->options.uid = 1000; /* who may have all memory */
    joins_request(1, 200, 0);
    for (uint32_t i = 1; i < 199; i++) {
        joins_arrive(2, 77 + i, 200, i);
        node_forget();
    }
    struct td_entry *spare = td_arena_alloc(node.core->arena, 200 * sizeof *spare);
    void *arrays[2] = {td_arena_alloc(node.core->arena, 200 * sizeof(uint64_t)),
                       td_arena_alloc(node.core->arena, 200 * sizeof(uint32_t))};
    while (td_arena_alloc(node.core->arena, 16)) /* the rest of the arena holds only the job */
        continue;
    td_arena_free(node.core->arena, spare);
    td_arena_free(node.core->arena, arrays[0]);
    td_arena_free(node.core->arena, arrays[1]);
    joins_arrive(2, 500, 200, 199);
    assert_int_equal(node.reply.error, TD_ERR_NO_MEMORY);
    assert_int_equal(node.core->registry->jobs->gone, 1);
    td_registry_node_lost(node.core, 2);
    assert_null(node.core->registry->jobs);
    node_end();
}

/* There is memory for two of the three arrays that number the ranks. */
static void a_registry_without_memory_to_number_the_ranks_refuses_all_joins(void **state)
{
    enum { RANKS = 200 };
    (void)state;
    node_begin("4", 0, NULL);
    for (uint32_t i = 0; i < RANKS - 1; i++) {
        joins_from(2, 20 + i, RANKS, i);
        node_forget();
    }
    uint64_t before = td_arena_used(node.core->arena);
    void *arrays[2] = {td_arena_alloc(node.core->arena, RANKS * sizeof(uint32_t)),
                       td_arena_alloc(node.core->arena, RANKS * sizeof(uint64_t))};
    uint64_t with_arrays = td_arena_used(node.core->arena);
    while (td_arena_alloc(node.core->arena, 16))
        continue;
    uint64_t full = td_arena_used(node.core->arena);
    td_arena_free(node.core->arena, arrays[0]);
    td_arena_free(node.core->arena, arrays[1]);
    joins_from(3, 500, RANKS, RANKS - 1);
    const struct td_job *job = node.core->registry->jobs;
    assert_int_equal(job->state, TD_JOB_REFUSING);
    assert_null(job->rank_node);
    assert_null(job->rank_token);
    assert_int_equal(td_arena_used(node.core->arena), full - (with_arrays - before));
    node_pass(NULL, 0);
    assert_non_null(node_sent_to(3, TD_MESSAGE_REFUSE));
    node_end();
}

static void ranks_beyond_the_limit_of_a_node_are_refused(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    for (uint32_t i = 0; i < TD_NODE_RANKS_MAX; i++) {
        joins_arrive(2, 20 + i, TD_NODE_RANKS_MAX + 2, ANY);
        node_forget();
    }
    joins_arrive(2, 20 + TD_NODE_RANKS_MAX, TD_NODE_RANKS_MAX + 2, ANY);
    const struct td_message *m = node_sent_to(2, TD_MESSAGE_REFUSE);
    assert_non_null(m);
    assert_non_null(strstr(m->u.refuse.text, "1024 ranks of job job on node 2"));
    joins_arrive(3, 30, TD_NODE_RANKS_MAX + 2, ANY); /* another node has room */
    assert_null(node_sent_to(3, TD_MESSAGE_REFUSE));
    node_end();
}

/* A join may end before the membership reaches its node, which then never learns its rank. */
static void a_join_that_ends_late_leaves_the_job(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_arrive(2, 20, 2, ANY);
    joins_arrive(3, 30, 2, ANY);
    for (uint32_t node_number = 2; node_number < 4; node_number++) {
        struct td_message m = {.kind = TD_MESSAGE_UNJOIN, .u.unjoin.token = 10 * node_number};
        node_message(node_number, &m);
    }
    assert_null(node.core->registry->jobs);
    node_end();
}

static void the_registry_notes_the_node_that_a_job_has_lost(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_request(1, 2, 0);
    joins_arrive(2, 20, 2, 1);
    assert_int_equal(node.core->registry->jobs->lost, UINT32_MAX);
    td_communicator_lose_node(node.core, node.core->communicators, 2, true, "it was restarted");
    node_run();
    assert_non_null(node.core->registry->jobs);
    assert_int_equal(node.core->registry->jobs->lost, 2);
    node_end();
}

static void the_next_registry_knows_since_when_a_process_here_has_waited(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(NODE_CLIENT, 3, -1);
    node_pass(NULL, 2 * (uint64_t)SECOND);
    assert_null(node.core->registry->jobs);
    lose(0);
    node_pass(NULL, 2 * (uint64_t)SECOND);
    assert_non_null(node.core->registry->jobs);
    assert_true(forming_ns() >= 4 * (uint64_t)SECOND);
    node_end();
}

/* Joins that are sent and withdrawn in a loop would overrun the link. */
static void a_join_waits_until_the_link_to_the_registry_has_room(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    struct td_link *link = &node.core->link[0];
    uint64_t sent = link->tree_sent;
    while (td_session_has_room(node.core, 0))
        link->tree_sent++;
    joins_request(1, 2, 0);
    joins_request(2, 2, 1);
    assert_int_equal(node_count(TD_MESSAGE_JOIN), 0);
    td_client_close(node.core, 1); /* nobody hears of this one */
    node_run();
    assert_int_equal(node_count(TD_MESSAGE_UNJOIN), 0);
    link->tree_sent = sent;
    node_pass(NULL, SECOND / 100);
    assert_int_equal(node_count(TD_MESSAGE_JOIN), 1);
    td_client_close(node.core, 2);
    node_run();
    assert_int_equal(node_count(TD_MESSAGE_UNJOIN), 1);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_registry_knows_since_when_a_process_here_has_waited),
        cmocka_unit_test(the_registry_notes_the_node_that_a_job_has_lost),
        cmocka_unit_test(a_node_without_memory_takes_its_joins_back),
        cmocka_unit_test(only_the_registry_refuses_a_join),
        cmocka_unit_test(a_join_is_granted_to_the_registry_that_has_it_and_to_one_instance),
        cmocka_unit_test(a_join_moves_to_the_next_registry_when_it_is_not_granted),
        cmocka_unit_test(a_seated_join_is_withdrawn_only_from_a_registry_that_did_not_form_the_job),
        cmocka_unit_test(a_successor_forms_no_job_before_it_knows_the_ranks_of_others),
        cmocka_unit_test(a_join_of_a_job_that_an_earlier_registry_has_formed_is_refused),
        cmocka_unit_test(a_report_that_fits_no_job_is_ignored),
        cmocka_unit_test(a_reported_rank_is_refused_to_the_join_that_asked_for_it_only),
        cmocka_unit_test(an_answer_beyond_the_ranks_of_a_job_is_ignored),
        cmocka_unit_test(jobs_of_other_names_or_users_that_formed_are_no_namesakes),
        cmocka_unit_test(a_job_waits_for_another_join_if_one_is_not_granted),
        cmocka_unit_test(node_0_without_memory_for_its_own_group_forgets_the_job),
        cmocka_unit_test(a_registry_without_memory_to_number_the_ranks_refuses_all_joins),
        cmocka_unit_test(ranks_beyond_the_limit_of_a_node_are_refused),
        cmocka_unit_test(a_job_forms_when_its_last_rank_joins),
        cmocka_unit_test(ranks_are_given_as_asked_and_the_others_node_by_node),
        cmocka_unit_test(a_taken_rank_is_refused_with_the_process_that_has_it),
        cmocka_unit_test(a_job_that_forms_has_an_age_since_its_first_join),
        cmocka_unit_test(a_repeated_join_changes_nothing),
        cmocka_unit_test(a_lost_node_gives_its_rank_back_while_the_job_forms),
        cmocka_unit_test(joins_of_a_job_that_is_late_are_refused_with_the_missing_ranks),
        cmocka_unit_test(a_job_without_memory_refuses_its_ranks_and_those_that_follow),
        cmocka_unit_test(a_join_that_node_0_refuses_at_once_is_answered_once),
        cmocka_unit_test(a_join_is_sent_again_in_a_new_session_and_after_a_while),
        cmocka_unit_test(users_whose_jobs_have_one_name_hear_of_each_other_in_time),
        cmocka_unit_test(a_join_that_ends_late_leaves_the_job),
        cmocka_unit_test(a_join_waits_until_the_link_to_the_registry_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
