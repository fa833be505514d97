/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs whose nodes differ in their terms, message by message: core/membership/registry.h. */
#include "joins.h"

#include "core/membership/registry.h"

/* arrive_with lets a rank join from a node with a method of some version. */
static void arrive_with(uint32_t from, uint64_t token, uint32_t size, uint64_t version)
{
    struct td_message m = joins_message(token, size, ANY);
    m.u.join.terms.list[TD_TERMS_METHODS] = (struct td_term_list){1, &version};
    node_message(from, &m);
}

static void withdraw(uint32_t from, uint64_t token)
{
    struct td_message m = {.kind = TD_MESSAGE_UNJOIN, .u.unjoin.token = token};
    node_message(from, &m);
}

static void all_ranks_hear_how_their_nodes_differ(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    uint64_t used = td_arena_used(node.core->arena);
    arrive_with(1, 10, 3, 1);
    arrive_with(2, 20, 3, 2);
    assert_int_equal(node_count(TD_MESSAGE_REFUSE), 0); /* rank 2 is to hear of it, too */
    arrive_with(3, 30, 3, 1);
    assert_int_equal(node.core->registry->jobs->state, TD_JOB_REFUSING);
    node_pass(NULL, 1);
    for (uint32_t n = 1; n < 4; n++) {
        const struct td_message *m = node_sent_to(n, TD_MESSAGE_REFUSE);
        assert_non_null(m);
        assert_int_equal(m->u.refuse.error, TD_ERR_MISMATCH);
        assert_non_null(strstr(m->u.refuse.text,
                               "job job: the version of the method with number 0 is 1 on node 1 "
                               "(1), but 2 on node 2 (2): run the same release"));
    }
    assert_int_equal(node_count(TD_MESSAGE_MEMBERS), 0);
    assert_null(node.core->registry->jobs);
    node_forget();
    assert_int_equal(td_arena_used(node.core->arena), used);
    node_end();
}

static void ranks_hear_of_a_difference_when_others_do_not_join(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    arrive_with(1, 10, 3, 1);
    arrive_with(2, 20, 3, 2);
    node_pass(NULL, 11ull * SECOND);
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_REFUSE);
    assert_non_null(m);
    assert_int_equal(m->u.refuse.error, TD_ERR_MISMATCH);
    assert_int_equal(node_count(TD_MESSAGE_REFUSE), 2);
    node_end();
}

static void a_job_forms_when_the_rank_that_differs_has_left(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    arrive_with(1, 10, 2, 1);
    arrive_with(1, 11, 3, 1); /* of another size */
    withdraw(1, 10);
    arrive_with(1, 10, 3, 1);
    arrive_with(2, 20, 3, 2);
    withdraw(2, 20);
    arrive_with(3, 30, 3, 1);
    arrive_with(3, 31, 3, 1);
    joins_answer();
    assert_int_equal(node.core->registry->jobs->state, TD_JOB_FORMED);
    assert_non_null(node_sent_to(1, TD_MESSAGE_MEMBERS));
    node_end();
}

static void ranks_are_refused_when_only_those_that_differ_are_left(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    arrive_with(1, 10, 3, 1);
    arrive_with(2, 20, 3, 2);
    withdraw(1, 10);
    node_pass(NULL, 1);
    assert_non_null(node_sent_to(2, TD_MESSAGE_REFUSE));
    assert_null(node.core->registry->jobs);
    arrive_with(2, 21, 2, 2); /* it may try again */
    arrive_with(3, 30, 2, 2);
    joins_answer();
    assert_non_null(node_sent_to(2, TD_MESSAGE_MEMBERS));
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_hear_how_their_nodes_differ),
        cmocka_unit_test(ranks_hear_of_a_difference_when_others_do_not_join),
        cmocka_unit_test(a_job_forms_when_the_rank_that_differs_has_left),
        cmocka_unit_test(ranks_are_refused_when_only_those_that_differ_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
