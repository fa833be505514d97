/* SPDX-License-Identifier: Apache-2.0 */
/* Memberships of jobs at the nodes of their ranks, message by message: core/membership/job.h. */
#include "joins.h"

#include "collectives/planner.h"
#include "core/membership/client.h"
#include "core/membership/job.h"
#include "core/operation/arrival.h"

static void a_membership_seats_the_join_that_it_names(void **state)
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
    node_message(0, &m);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    assert_int_equal(node.reply.u.joined.rank, 1);
    assert_null(node.core->joins->first);
    struct td_communicator *c = td_communicator_find(node.core, 9, 0);
    assert_non_null(c);
    assert_int_equal(c->seat[0].state, TD_SEAT_TAKEN);
    node_end();
}

/* More joins than one step has actions. */
static void a_node_without_memory_refuses_all_joins_of_the_job(void **state)
{
    enum { JOINS = 300 };
    (void)state;
    node_begin("2", 1, NULL);
    for (uint32_t i = 0; i < JOINS; i++) {
        joins_request(i + 1, JOINS, i);
        node_forget();
    }
    uint64_t last = node.core->joins->first->token;
    joins_ask(0, 5, last - JOINS + 1, JOINS);
    const struct td_member_run run = {.count = JOINS, .node = 1, .token = last - JOINS + 1};
    struct td_message m = {.kind = TD_MESSAGE_MEMBERS, .instance = 5};
    m.u.members = (struct td_message_members){
        .uid = 1000, .name = "job", .size = JOINS, .run = &run, .runs = 1, .is_last_piece = true};
    while (td_arena_alloc(node.core->arena, 4096))
        continue;
    while (td_arena_alloc(node.core->arena, 64))
        continue;
    node_message(0, &m);
    assert_int_equal(node.replies, JOINS);
    assert_int_equal(node.reply.error, TD_ERR_NO_MEMORY);
    assert_null(node.core->joins->first);
    node_end();
}

static void a_membership_comes_from_the_registry_or_from_a_node_of_the_job(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(1, 2, 0);
    uint64_t token = node.core->joins->first->token;
    joins_members(2, "job", token); /* not granted */
    assert_null(node.core->communicators);
    joins_ask(0, 9, token, 1);
    joins_members(3, "job", token);   /* no node of the job */
    joins_members(2, "other", token); /* not what the process has asked for */
    assert_int_equal(node.replies, 0);
    assert_null(node.core->communicators);
    assert_non_null(node.core->joins->first);
    joins_members(2, "job", token);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    node_end();
    node_begin("4", 1, NULL);
    joins_request(1, 2, 0);
    joins_ask(0, 9, node.core->joins->first->token, 1);
    joins_members(0, "job", node.core->joins->first->token); /* this is the job's first node */
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    node_end();
    node_begin("4", 2, NULL);
    joins_request(1, 2, 1);
    joins_ask(0, 9, node.core->joins->first->token, 1);
    joins_members(0, "job", 3); /* this is not */
    assert_int_equal(node.replies, 0);
    node_end();
}

static void piece(uint32_t from, uint64_t instance, uint32_t size, bool is_last)
{
    static const struct td_member_run run = {.first = 0, .count = TD_JOB_RANKS_MAX, .node = 1};
    struct td_message m = {.kind = TD_MESSAGE_MEMBERS, .instance = instance};
    m.u.members = (struct td_message_members){
        .uid = 1000, .name = "job", .size = size, .is_last_piece = is_last, .runs = 1, .run = &run};
    node_message(from, &m);
}

/* The arrays of a membership have the size of its first piece. */
static void pieces_of_different_sizes_end_the_membership_and_the_link(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(1, 1, 0);
    joins_ask(0, 77, node.core->joins->first->token, 1);
    uint64_t used = td_arena_used(node.core->arena);
    piece(0, 77, 1, false);
    piece(0, 77, TD_JOB_RANKS_MAX, true);
    assert_int_equal(node.dropped_links, 1);
    assert_null(td_communicator_find(node.core, 77, 0));
    assert_int_equal(td_arena_used(node.core->arena), used);
    node_end();
}

/* pass_pieces sends a membership of three pieces to node 1, which has rank 0 with this token. */
static void pass_pieces(uint64_t token)
{
    enum { RANKS = 2 * TD_MEMBERS_PER_MESSAGE + 40 };
    static struct td_member_run run[RANKS];
    struct td_message m = {.kind = TD_MESSAGE_MEMBERS, .instance = 77};
    for (uint32_t i = 0; i < RANKS; i++)
        run[i] = (struct td_member_run){i, 1, i ? 2 + i % 2 : 1, i ? 1000 + i : token};
    node_forget();
    for (uint32_t at = 0; at < RANKS; at += TD_MEMBERS_PER_MESSAGE) {
        uint32_t rest = RANKS - at;
        bool last = rest <= TD_MEMBERS_PER_MESSAGE;
        m.u.members = (struct td_message_members){.uid = 1000,
                                                  .name = "job",
                                                  .size = RANKS,
                                                  .is_last_piece = last,
                                                  .runs = last ? rest : TD_MEMBERS_PER_MESSAGE,
                                                  .run = run + at};
        assert_int_equal(node.replies, 0);
        node_message(0, &m);
    }
    assert_int_equal(node_count(TD_MESSAGE_MEMBERS), 2 * 3); /* to nodes 2 and 3 */
}

static void a_membership_of_many_runs_is_passed_on_in_pieces(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(1, 2 * TD_MEMBERS_PER_MESSAGE + 40, 0);
    uint64_t token = node.core->joins->first->token;
    joins_ask(0, 77, token, 1);
    pass_pieces(token);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    node_end();
}

/* The ranks of the first piece would be missing. */
static void pieces_that_follow_a_refused_one_make_no_group(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(1, 2, 0);
    joins_ask(0, 9, node.core->joins->first->token, 1);
    const struct td_member_run run = {.first = 1, .count = 1, .node = 1, .token = 5};
    struct td_message m = {.kind = TD_MESSAGE_MEMBERS, .instance = 9};
    m.u.members = (struct td_message_members){
        .uid = 1000, .name = "job", .size = 2, .is_last_piece = true, .runs = 1, .run = &run};
    assert_null(node.core->joins->forming);
    node_message(0, &m);
    assert_null(td_communicator_find(node.core, 9, 0));
    assert_null(node.core->joins->forming);
    assert_int_equal(node.reply.error, TD_ERR_NO_MEMORY);
    node_end();
}

static void a_node_sends_a_limited_number_of_memberships_at_a_time(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(1, 100, 0);
    uint64_t used = td_arena_used(node.core->arena);
    for (uint64_t i = 1; i < 4 * TD_FORMING_MAX; i++) {
        if (!node.core->joins->first) /* it was refused, with the membership */
            joins_request((uint32_t)i + 1, 100, 0);
        joins_ask(0, i, node.core->joins->first->token, 1);
        piece(0, i, 100, false);
        node_forget();
    }
    uint64_t most = td_arena_used(node.core->arena);
    assert_true(most > used);
    joins_request(1000, 100, 0);
    joins_ask(0, 1000, node.core->joins->first->token, 1);
    piece(0, 1000, 100, false);
    assert_int_equal(node.reply.error, TD_ERR_NO_MEMORY);
    joins_request(1001, 100, 0);
    most = td_arena_used(node.core->arena);
    joins_ask(0, 1000, node.core->joins->first->token, 1);
    piece(2, 1000, 100, false); /* of another node */
    assert_true(td_arena_used(node.core->arena) > most);
    node_end();
}

static void memberships_without_an_end_are_dropped_in_time_or_with_their_sender(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(1, 100, 0);
    joins_ask(0, 78, node.core->joins->first->token, 1);
    joins_ask(0, 77, node.core->joins->first->token, 1);
    uint64_t used = td_arena_used(node.core->arena);
    piece(0, 77, 100, false);
    assert_true(td_arena_used(node.core->arena) > used);
    td_job_node_lost(node.core, 0);
    assert_int_equal(td_arena_used(node.core->arena), used);
    piece(2, 78, 100, false);
    node_pass(NULL, (uint64_t)node.core->settings.progress_timeout_ns + 1);
    assert_int_equal(td_arena_used(node.core->arena), used);
    node_end();
}

static void a_membership_with_too_many_ranks_here_makes_no_group(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    joins_request(1, TD_NODE_RANKS_MAX + 1, 0);
    joins_ask(0, 77, node.core->joins->first->token, 1);
    piece(0, 77, TD_NODE_RANKS_MAX + 1, true);
    assert_null(td_communicator_find(node.core, 77, 0));
    node_end();
}

static void a_group_finds_each_of_its_plans(void **state)
{
    (void)state;
    node_begin("2", 0, NULL);
    struct td_communicator *c = node_group(2);
    struct td_plan older = {.number = 1}, newer = {.number = 2, .next = &older};
    c->plans = &newer;
    assert_ptr_equal(td_communicator_plan(c, 2), &newer);
    assert_ptr_equal(td_communicator_plan(c, 1), &older);
    assert_null(td_communicator_plan(c, 3));
    c->plans = NULL;
    node_end();
}

static void a_plan_is_freed_with_its_last_holder(void **state)
{
    (void)state;
    node_begin("2", 0, NULL);
    struct td_communicator *c = node_group(2);
    uint64_t used = td_arena_used(node.core->arena);
    struct td_plan *plan = td_arena_alloc(node.core->arena, sizeof *plan);
    *plan = (struct td_plan){.number = 1, .users = 1};
    c->plans = plan;
    td_communicator_hold(plan, 0);
    struct td_request q = {.kind = TD_REQUEST_UNPLAN, .id = 4};
    q.u.unplan.group = c->number;
    q.u.unplan.plan = 1;
    td_communicator_unplan(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    assert_null(c->plans);
    assert_int_equal(td_arena_used(node.core->arena), used);
    node_end();
}

/* call_plan makes the group's rank ask for a plan, whose tables a worker then makes. It returns the
 * memory that was used before. */
static uint64_t call_plan(struct td_communicator **c)
{
    node_begin("1", 0, NULL);
    node.core->options.planner = td_collectives_planner;
    *c = node_group(1);
    uint64_t used = td_arena_used(node.core->arena);
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 10};
    q.u.operation.group = (*c)->number;
    q.u.operation.call.kind = TD_KIND_PLAN_REDIST;
    q.u.operation.description.redist =
        (struct td_redist){.dimensions = 1, .element = 8, .size = {8}};
    q.u.operation.description.from = q.u.operation.description.to = "";
    q.u.operation.timeout_ns = -1;
    td_arrival_request(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
    assert_int_equal(node.compute.kind, TD_COMPUTE_PLAN);
    assert_int_equal(node.replies, 0);
    return used;
}

static void computed(td_err error)
{
    node_step(&(struct td_event){.kind = TD_EVENT_COMPUTED,
                                 .u.computed = {.handle = node.handle, .error = error}});
}

static void a_plan_that_the_ranks_have_agreed_on_is_gone_when_all_have_freed_it(void **state)
{
    (void)state;
    struct td_communicator *c = NULL;
    uint64_t used = call_plan(&c);
    assert_true(td_collectives_planner.make(&node.compute.plan, node.compute.tables));
    computed(TD_OK);
    assert_int_equal(node.reply.kind, TD_REPLY_PLANNED);
    assert_non_null(c->plans);
    assert_int_equal(c->plans->holders, 1);
    struct td_request q = {.kind = TD_REQUEST_UNPLAN, .id = 11};
    q.u.unplan.group = c->number;
    q.u.unplan.plan = node.reply.u.planned.plan;
    td_communicator_unplan(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    assert_null(c->plans);
    assert_int_equal(td_arena_used(node.core->arena), used);
    node_end();
}

static void tables_that_do_not_fit_are_made_again_in_more_memory(void **state)
{
    (void)state;
    struct td_communicator *c = NULL;
    uint64_t used = call_plan(&c);
    for (uint64_t bytes = 0, before = 0; node.replies == 0; before = bytes) {
        bytes = td_arena_used(node.core->arena);
        assert_true(bytes > before);
        computed(TD_ERR_NO_MEMORY); /* until the memory ends */
    }
    assert_int_equal(node.reply.error, TD_ERR_NO_MEMORY);
    assert_non_null(strstr(node.text, "raise [limits] memory"));
    assert_null(c->plans);
    assert_true(td_arena_used(node.core->arena) <= used + 4096);
    node_end();
}

static void a_plan_whose_rank_leaves_meanwhile_is_freed_when_its_tables_are_made(void **state)
{
    (void)state;
    struct td_communicator *c = NULL;
    (void)call_plan(&c);
    struct td_compute compute = node.compute;
    node_step(&(struct td_event){.kind = TD_EVENT_CLIENT_CLOSED, .u.closed.client = NODE_CLIENT});
    assert_true(td_collectives_planner.make(&compute.plan, compute.tables)); /* it lives until */
    computed(TD_OK);
    assert_int_equal(node.core->operations->count, 0);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_without_memory_refuses_all_joins_of_the_job),
        cmocka_unit_test(a_membership_comes_from_the_registry_or_from_a_node_of_the_job),
        cmocka_unit_test(a_group_finds_each_of_its_plans),
        cmocka_unit_test(a_plan_is_freed_with_its_last_holder),
        cmocka_unit_test(a_plan_that_the_ranks_have_agreed_on_is_gone_when_all_have_freed_it),
        cmocka_unit_test(tables_that_do_not_fit_are_made_again_in_more_memory),
        cmocka_unit_test(a_plan_whose_rank_leaves_meanwhile_is_freed_when_its_tables_are_made),
        cmocka_unit_test(a_membership_of_many_runs_is_passed_on_in_pieces),
        cmocka_unit_test(pieces_that_follow_a_refused_one_make_no_group),
        cmocka_unit_test(a_membership_seats_the_join_that_it_names),
        cmocka_unit_test(pieces_of_different_sizes_end_the_membership_and_the_link),
        cmocka_unit_test(a_node_sends_a_limited_number_of_memberships_at_a_time),
        cmocka_unit_test(memberships_without_an_end_are_dropped_in_time_or_with_their_sender),
        cmocka_unit_test(a_membership_with_too_many_ranks_here_makes_no_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
