/* SPDX-License-Identifier: Apache-2.0 */
/* Why operations do not end, from what the nodes say of their links: inspect/verdict.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "inspect/collect.h"
#include "inspect/facts.h"
#include "inspect/inspect.h"
#include "inspect/links.h"
#include "inspect/machine.h"
#include "inspect/verdict.h"

#define SECOND 1000000000LL

/* ---- what the daemons say ---- */

static json_t *links;      /* of the machine */
static const char *fabric; /* NULL: direct */

json_t *ins_links(struct ins_machine *m)
{
    (void)m;
    return json_incref(links);
}

bool ins_link_is_dead(const json_t *link)
{
    return strcmp(ins_string(link, "state"), "down") == 0;
}

json_int_t ins_setting(struct ins_machine *m, const char *name)
{
    (void)m;
    assert_string_equal(name, "network.heartbeat");
    return SECOND / 2;
}

void ins_setting_text(struct ins_machine *m, const char *name, char *text, size_t bytes)
{
    (void)m;
    assert_string_equal(name, "torus.fabric");
    snprintf(text, bytes, "%s", fabric ? fabric : "direct");
}

json_t *ins_machine_rows(struct ins_machine *m, uint32_t section,
                         json_t *(*row_json)(const struct td_status_row *row))
{
    (void)m;
    (void)section;
    (void)row_json;
    return NULL; /* records are not asked for here */
}

/* ---- the machine: nodes 0 to 3 with a rank each, whose tree has node 0 as its root ---- */

/* add_link adds a link that is up, and over which something has come `silent` ns ago. */
static void add_link(int from, int to, json_int_t silent)
{
    json_array_append_new(links, json_pack("{s:i s:i s:s s:I s:I s:s}", "from", from, "to", to,
                                           "state", "up", "silent_ns", silent, "busy_ns",
                                           (json_int_t)0, "error", ""));
}

/* causes returns the causes of a barrier that has waited for 5 s for the rank of node 2, which has
 * not answered, and was heard `silent` ns ago. */
static json_t *causes(json_int_t silent)
{
    struct ins_machine m = {.silent = json_pack("[{s:i s:I}]", "node", 2, "silent_ns", silent)};
    json_t *all = json_pack(
        "{s:[{s:s s:I s:[i,i,i] s:[i] s:[{s:i s:i s:i s:s s:I s:i s:s}] s:[{s:i s:i}, {s:i s:i}, "
        "{s:i s:i}]}] s:[]}",
        "operations", "phase", "waiting", "age_ns", 5 * SECOND, "arrived", 0, 1, 3, "missing", 2,
        "absent", "rank", 2, "job_rank", 2, "node", 2, "node_state", "up", "silent_ns",
        (json_int_t)0, "pid", 0, "process_state", "", "processes", "node", 0, "pid", 10, "node", 1,
        "pid", 11, "node", 3, "pid", 13, "peers");
    ins_verdicts(&m, all);
    json_t *list = json_incref(
        json_object_get(json_array_get(json_object_get(all, "operations"), 0), "causes"));
    json_decref(all);
    json_decref(m.silent);
    return list;
}

static void a_node_that_nobody_hears_is_silent_and_its_unused_links_are_not_dead(void **state)
{
    (void)state;
    links = json_array();
    add_link(0, 2, 5 * SECOND);  /* the tree: heartbeats came until 5 s ago */
    add_link(1, 2, 15 * SECOND); /* nothing has needed these links since the job formed */
    add_link(3, 2, 15 * SECOND);
    add_link(0, 1, SECOND / 4);
    json_t *found = causes(5 * SECOND);
    assert_int_equal(json_array_size(found), 1);
    const json_t *c = json_array_get(found, 0);
    assert_string_equal(ins_string(c, "cause"), "silent_node");
    assert_int_equal(ins_number(c, "node"), 2);
    assert_int_equal(ins_number(c, "silent_ns"), 5 * SECOND);
    json_decref(found);
    json_decref(links);
}

static void a_node_that_another_one_hears_has_a_dead_link(void **state)
{
    (void)state;
    links = json_array();
    add_link(0, 2, 5 * SECOND); /* the cut */
    add_link(1, 2, SECOND / 4);
    json_t *found = causes(SECOND / 4);
    assert_int_equal(json_array_size(found), 1);
    const json_t *c = json_array_get(found, 0);
    assert_string_equal(ins_string(c, "cause"), "dead_link");
    assert_int_equal(ins_number(c, "from"), 0);
    assert_int_equal(ins_number(c, "to"), 2);
    assert_int_equal(ins_number(c, "since_ns"), 5 * SECOND);
    assert_int_equal(ins_number(c, "silent_ns"), 5 * SECOND);
    assert_string_equal(ins_string(c, "error"), "node 0 hears nothing from node 2, but others do");
    json_decref(found);
    json_decref(links);
}

static void nodes_that_do_not_hear_each_other_are_told_as_such(void **state)
{
    (void)state;
    links = json_array();
    add_link(0, 2, 5 * SECOND);
    add_link(2, 0, 5 * SECOND);
    add_link(1, 2, SECOND / 4);
    add_link(1, 0, SECOND / 4);
    json_t *found = causes(SECOND / 4);
    assert_int_equal(json_array_size(found), 1); /* one for both directions */
    assert_string_equal(ins_string(json_array_get(found, 0), "error"),
                        "the nodes do not hear each other, but others hear them");
    json_decref(found);
    json_decref(links);
}

/* A wrong address of node 0 in [peers] of node 2, for example. */
static void what_the_daemon_knows_of_a_deaf_link_is_told(void **state)
{
    (void)state;
    links = json_array();
    add_link(0, 2, 5 * SECOND);
    json_object_set_new(json_array_get(links, 0), "error", json_string("nothing has come from it"));
    add_link(1, 2, SECOND / 4);
    json_t *found = causes(SECOND / 4);
    assert_int_equal(json_array_size(found), 1);
    assert_string_equal(ins_string(json_array_get(found, 0), "error"), "nothing has come from it");
    json_decref(found);
    json_decref(links);
}

/* add_dead adds a link that is down. */
static void add_dead(int from, int to)
{
    add_link(from, to, 9 * SECOND);
    json_t *l = json_array_get(links, json_array_size(links) - 1);
    json_object_set_new(l, "state", json_string("down"));
    json_object_set_new(l, "since_ns", json_integer(9 * SECOND));
    json_object_set_new(l, "error", json_string("connection refused"));
}

/* expect_node_1 plays three nodes: ranks 0 and 1 are on nodes 0 and 1, and node 1 is silent. Node 2
 * has no rank, and is silent, too. It compares the causes of an operation of a phase. */
static void expect_node_1(const char *phase, const char *cause)
{
    struct ins_machine m = {.silent = json_pack("[{s:i s:I}, {s:i s:I}]", "node", 1, "silent_ns",
                                                5 * SECOND, "node", 2, "silent_ns", 9 * SECOND)};
    json_t *all =
        json_pack("{s:[{s:s s:I s:[i,i] s:[] s:[] s:[{s:i s:i}] s:[i,i]}] s:[]}", "operations",
                  "phase", phase, "age_ns", 5 * SECOND, "arrived", 0, 1, "missing", "absent",
                  "processes", "node", 0, "pid", 10, "member_nodes", 0, 1, "peers");
    ins_verdicts(&m, all);
    const json_t *list =
        json_object_get(json_array_get(json_object_get(all, "operations"), 0), "causes");
    assert_int_equal(json_array_size(list), 1);
    const json_t *c = json_array_get(list, 0);
    assert_string_equal(ins_string(c, "cause"), cause);
    assert_int_equal(ins_number(c, json_object_get(c, "to") ? "to" : "node"), 1);
    json_decref(all);
    json_decref(m.silent);
}

static void a_dead_node_without_ranks_is_not_to_blame(void **state)
{
    static const char *const phases[] = {"running", "waiting"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        links = json_array();
        add_dead(0, 2); /* the links of neighbours are listed though no job uses them */
        add_link(0, 1, 5 * SECOND);
        expect_node_1(phases[i], "silent_node");
        add_dead(0, 1);
        expect_node_1(phases[i], "dead_link");
        json_decref(links);
    }
}

/* On a torus 2x5, ranks are on nodes 0 and 2. Packets between them pass node 1, and not nodes 4
 * and 5. */
static void on_the_routed_fabric_a_dead_node_between_the_ranks_is_to_blame(void **state)
{
    (void)state;
    struct ins_machine m = {.silent = json_pack("[{s:i s:I}, {s:i s:I}]", "node", 1, "silent_ns",
                                                9 * SECOND, "node", 4, "silent_ns", 9 * SECOND)};
    for (int routed = 0; routed < 2; routed++) {
        fabric = routed ? "routed" : NULL;
        links = json_array();
        add_dead(0, 4);
        add_dead(0, 5);
        add_dead(0, 1);
        json_t *all = json_pack(
            "{s:[{s:s s:I s:[i,i] s:[] s:[] s:[] s:[i,i]}] s:[] s:[i,i] s:[b,b]}", "operations",
            "phase", "running", "age_ns", 5 * SECOND, "arrived", 0, 1, "missing", "absent",
            "processes", "member_nodes", 0, 2, "peers", "shape", 2, 5, "wrap", 1, 1);
        ins_verdicts(&m, all);
        const json_t *list =
            json_object_get(json_array_get(json_object_get(all, "operations"), 0), "causes");
        assert_int_equal(json_array_size(list), routed);
        if (routed)
            assert_int_equal(ins_number(json_array_get(list, 0), "to"), 1);
        json_decref(all);
        json_decref(links);
    }
    fabric = NULL;
    json_decref(m.silent);
}

/* process returns the row of a rank on a node of its own. */
static json_t *process(int rank, const char *state, bool arrived)
{
    return json_pack("{s:i s:i s:i s:i s:s s:s s:b}", "rank", rank, "job_rank", rank, "node", rank,
                     "pid", 10 + rank, "program", "p", "process_state", state, "arrived", arrived);
}

/* Ranks 0 and 1 have not called, rank 1 is stopped; so is rank 2, which has called, and rank 3,
 * which no daemon describes. */
static void all_stopped_ranks_are_named_and_those_first_that_have_not_called(void **state)
{
    static const struct {
        const char *cause;
        int rank;
    } expected[] = {
        {"stopped_process", 1}, {"stopped_process", 3}, {"late_rank", 0}, {"stopped_caller", 2}};
    (void)state;
    struct ins_machine m = {.silent = json_array()};
    json_t *all = json_pack(
        "{s:[{s:s s:I s:[i] s:[i,i,i] s:[{s:i s:i s:i s:s s:i s:s}, {s:i s:i s:i s:s s:i s:s}] "
        "s:[o,o,o,o]}] s:[]}",
        "operations", "phase", "waiting", "age_ns", 5 * SECOND, "arrived", 2, "missing", 0, 1, 3,
        "absent", "rank", 0, "job_rank", 0, "node", 0, "node_state", "up", "pid", 10,
        "process_state", "S", "rank", 1, "job_rank", 1, "node", 1, "node_state", "up", "pid", 11,
        "process_state", "T", "processes", process(0, "S", false), process(1, "T", false),
        process(2, "T", true), process(3, "t", false), "peers");
    ins_verdicts(&m, all);
    const json_t *list =
        json_object_get(json_array_get(json_object_get(all, "operations"), 0), "causes");
    assert_int_equal(json_array_size(list), sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *c = json_array_get(list, i);
        assert_string_equal(ins_string(c, "cause"), expected[i].cause);
        assert_int_equal(ins_number(c, "rank"), expected[i].rank);
        assert_int_equal(ins_number(c, "pid"), 10 + expected[i].rank);
    }
    json_decref(all);
    json_decref(m.silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_stopped_ranks_are_named_and_those_first_that_have_not_called),
        cmocka_unit_test(a_node_that_nobody_hears_is_silent_and_its_unused_links_are_not_dead),
        cmocka_unit_test(a_node_that_another_one_hears_has_a_dead_link),
        cmocka_unit_test(nodes_that_do_not_hear_each_other_are_told_as_such),
        cmocka_unit_test(a_dead_node_without_ranks_is_not_to_blame),
        cmocka_unit_test(on_the_routed_fabric_a_dead_node_between_the_ranks_is_to_blame),
        cmocka_unit_test(what_the_daemon_knows_of_a_deaf_link_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
