/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says of a link over which nothing comes, and of how the daemon at its far end ended.
 * The node is node 1 of two. */
#include "node.h"

#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "core/inspect.h"
#include "core/look.h"
#include "core/membership/waits.h"
#include "core/net/goodbye.h"
#include "core/net/health.h"
#include "core/net/link.h"

enum { HERE = 1, FAR = 0, DAEMON = 77 };
static const uint64_t SECOND = 1000000000;

static void up(uint64_t incarnation)
{
    node_step(&(struct td_event){.kind = TD_EVENT_LINK_UP,
                                 .u.link = {.node = FAR, .incarnation = incarnation}});
}

static void down(const char *text, bool refused, bool rejected)
{
    node_step(&(struct td_event){
        .kind = TD_EVENT_LINK_DOWN,
        .u.link = {.node = FAR, .text = text, .refused = refused, .rejected = rejected}});
}

/* pass passes time, in which heartbeats come from the far node if it `speaks`. */
static void pass(uint64_t ns, bool speaks)
{
    node_hear(speaks ? 1u << FAR : 0, ns);
}

static void begin(bool speaks)
{
    node_begin("2", HERE, NULL);
    up(DAEMON);
    pass(3 * SECOND, speaks);
}

/* link_error returns what the node says of its link to torusctl links. */
static const char *link_error(void)
{
    static struct td_reply page;
    assert_true(td_inspect_page(node.core, 1000, true, TD_STATUS_LINKS, 0, &page));
    assert_int_equal(page.u.status.rows, 1);
    return page.u.status.row[0].u.link.error;
}

static void a_link_over_which_nothing_has_come_names_what_to_check(void **state)
{
    (void)state;
    td_err error = TD_OK;
    begin(false);
    const char *said = link_error();
    assert_non_null(strstr(said, "nothing has come from it since node 1 connected to it"));
    assert_non_null(strstr(said, "[peers] there names another address for node 1 than "));
    said = td_look_why_not(node.core, FAR, &error);
    assert_int_equal(error, TD_ERR_BUSY);
    assert_non_null(strstr(said, "nothing has come from it since node 1 connected to it"));
    pass(3 * SECOND, true);
    assert_string_equal(link_error(), "");
    pass(3 * SECOND, false); /* it has been heard: its address here is right */
    assert_null(strstr(link_error(), "nothing has come"));
    assert_non_null(strstr(link_error(), "its host is down, or the network is cut"));
    node_end();
}

/* The log is told later than of a node that was heard before: it may be about to connect. */
static void the_log_is_told_once_of_a_link_over_which_nothing_comes(void **state)
{
    (void)state;
    struct td_note note;
    uint64_t lost = 0;
    begin(false);
    assert_false(td_core_take_note(node.core, &note, &lost));
    pass(3 * SECOND, false);
    assert_true(td_core_take_note(node.core, &note, &lost));
    assert_int_equal(note.kind, TD_NOTE_NODE_SILENT);
    assert_int_equal(note.node, FAR);
    assert_non_null(strstr(note.text, "nothing has come from it since node 1 connected to it"));
    pass(5 * SECOND, false);
    assert_false(td_core_take_note(node.core, &note, &lost));
    pass(SECOND, true);
    assert_true(td_core_take_note(node.core, &note, &lost));
    assert_int_equal(note.kind, TD_NOTE_NODE_HEARD);
    pass(3 * SECOND, false);
    assert_true(td_core_take_note(node.core, &note, &lost));
    assert_int_equal(note.kind, TD_NOTE_NODE_SILENT);
    assert_string_equal(note.text, "");
    node_end();
}

static const char *fault;

static bool own_fault(void *driver, uint32_t far, char *text, size_t bytes)
{
    assert_ptr_equal(driver, &fault);
    assert_int_equal(far, FAR);
    if (fault)
        snprintf(text, bytes, "%s", fault);
    return fault != NULL;
}

/* The network seems to be cut, and it is this host that has no way to it. */
static void a_silence_by_a_fault_of_this_host_blames_this_host(void **state)
{
    (void)state;
    struct td_note note;
    uint64_t lost = 0;
    td_err error = TD_OK;
    begin(true);
    node.core->options.driver = &fault;
    node.core->options.own_fault = own_fault;
    fault = "interface eth0 of node 0 is down";
    assert_string_equal(link_error(), "");
    pass(3 * SECOND, false);
    assert_string_equal(link_error(), fault);
    assert_true(td_core_take_note(node.core, &note, &lost));
    assert_int_equal(note.kind, TD_NOTE_NODE_SILENT);
    assert_string_equal(note.text, fault);
    assert_non_null(strstr(td_look_why_not(node.core, FAR, &error), fault));
    fault = NULL;
    assert_non_null(strstr(link_error(), "its host is down, or the network is cut"));
    node_end();
}

/* Node 0 can only tell that this node was silent, and the fault is over when somebody asks. */
static void a_fault_of_this_host_is_on_record_at_its_jobs(void **state)
{
    (void)state;
    begin(true);
    node.core->options.driver = &fault;
    node.core->options.own_fault = own_fault;
    fault = NULL;
    struct td_communicator *c = node_group(2);
    const struct td_wait_outage *o = c->waits->outage;
    pass(3 * SECOND, true);
    td_time heard = node.core->link[FAR].heard_at;
    pass(3 * SECOND, false); /* for another reason */
    assert_int_equal(o->kind, TD_OUTAGE_NONE);
    fault = "interface eth0 of node 1 is down";
    pass(5 * SECOND, false);
    assert_int_equal(o->kind, TD_OUTAGE_INTERFACE);
    assert_string_equal(o->text, fault);
    assert_int_equal(o->from, heard);
    assert_in_range(o->to, node.core->now - SECOND, node.core->now);
    assert_int_equal(o->count, 1);
    fault = NULL;
    td_time to = o->to;
    pass(20 * SECOND, true);
    assert_int_equal(o->to, to);
    fault = "interface eth0 of node 1 has no carrier: look at its cable and the switch";
    pass(5 * SECOND, true); /* nobody asks while nobody is silent */
    assert_int_equal(o->count, 1);
    pass(5 * SECOND, false);
    assert_int_equal(o->count, 2);
    assert_string_equal(o->text, fault);
    node_end();
}

static void a_daemon_that_was_heard_to_its_end_has_died(void **state)
{
    (void)state;
    begin(true);
    down("the connection was closed", false, false);
    assert_int_equal(td_core_daemon_end(node.core, FAR), TD_DAEMON_DIED);
    down("connection refused", true, false); /* an attempt changes nothing */
    up(DAEMON + 1);
    assert_true(node.core->goodbyes->of[FAR].died);
    assert_int_equal(node.core->goodbyes->of[FAR].silent_ns, 0);
    node_end();
}

/* Its goodbye could not have come: it may have been stopped. */
static void nobody_knows_how_a_daemon_ended_that_was_not_heard(void **state)
{
    (void)state;
    for (int speaks = 0; speaks < 2; speaks++) {
        begin(speaks);
        pass(3 * SECOND, false);
        down("the connection was closed", false, false);
        assert_int_equal(td_core_daemon_end(node.core, FAR), TD_DAEMON_UNKNOWN);
        up(DAEMON + 1);
        assert_false(node.core->goodbyes->of[FAR].died);
        node_end();
    }
}

/* A daemon is stopped, and started at another port: that is what its operator has to know. */
static void a_daemon_that_listens_somewhere_else_now_is_not_told_as_stopped(void **state)
{
    (void)state;
    begin(true);
    struct td_message m = {.kind = TD_MESSAGE_GOODBYE, .u.goodbye.incarnation = DAEMON};
    td_goodbye_hear(node.core, FAR, &m.u.goodbye);
    node_run();
    down(TD_GOODBYE_TEXT, false, false);
    assert_int_equal(td_core_daemon_end(node.core, FAR), TD_DAEMON_STOPPED);
    assert_true(td_health_is_stopped(node.core, FAR));
    down("connection refused", true, false);
    assert_string_equal(td_health_why(node.core, FAR), TD_GOODBYE_TEXT);
    down("its daemon runs, but not at this address", true, true);
    assert_false(td_health_is_stopped(node.core, FAR));
    assert_string_equal(td_health_why(node.core, FAR), "its daemon runs, but not at this address");
    node_end();
}

static void a_link_that_was_up_before_is_not_awaited_for_the_first_time(void **state)
{
    (void)state;
    td_err error = TD_OK;
    node_begin("2", HERE, NULL);
    assert_non_null(
        strstr(td_look_why_not(node.core, FAR, &error), " is not up yet: not connected yet"));
    node_end();
    begin(true);
    down("the cable is out", false, false);
    const char *said = td_look_why_not(node.core, FAR, &error);
    assert_int_equal(error, TD_ERR_BUSY);
    assert_non_null(strstr(said, " is not up: the cable is out"));
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_over_which_nothing_has_come_names_what_to_check),
        cmocka_unit_test(the_log_is_told_once_of_a_link_over_which_nothing_comes),
        cmocka_unit_test(a_silence_by_a_fault_of_this_host_blames_this_host),
        cmocka_unit_test(a_fault_of_this_host_is_on_record_at_its_jobs),
        cmocka_unit_test(a_daemon_that_was_heard_to_its_end_has_died),
        cmocka_unit_test(nobody_knows_how_a_daemon_ended_that_was_not_heard),
        cmocka_unit_test(a_daemon_that_listens_somewhere_else_now_is_not_told_as_stopped),
        cmocka_unit_test(a_link_that_was_up_before_is_not_awaited_for_the_first_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
