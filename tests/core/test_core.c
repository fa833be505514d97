/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of a single core, event by event, for cases that a whole world would hide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collectives/select.h"
#include "core/core.h"

static struct td_core *core;
static struct td_actions actions;
static td_time now;
/* the last reply to each client, and the number of replies */
static struct td_reply reply[8];
static char text[8][TD_TEXT_MAX];
static int replies[8], closed[8];
static struct td_action reloaded; /* the last RELOAD */
static int released_regions;
static uint64_t made[8]; /* calls of a client */

static void step(const struct td_event *event)
{
    struct td_event wake = {.kind = TD_EVENT_WAKE};
    do {
        td_core_step(core, now, event, &actions);
        for (uint32_t i = 0; i < actions.count; i++) {
            const struct td_action *a = &actions.action[i];
            if (a->kind == TD_ACTION_REPLY) {
                uint32_t c = a->u.reply.client;
                reply[c] = *a->u.reply.reply;
                strcpy(text[c], reply[c].text);
                replies[c]++;
            } else if (a->kind == TD_ACTION_CLOSE_CLIENT) {
                closed[a->u.close.client]++;
            } else if (a->kind == TD_ACTION_RELOAD) {
                reloaded = *a;
            } else if (a->kind == TD_ACTION_RELEASE_REGION) {
                released_regions++;
            }
        }
        event = &wake;
    } while (td_core_deadline(core) <= now);
}

static void pass(int64_t ns)
{
    struct td_event wake = {.kind = TD_EVENT_WAKE};
    td_time until = now + (uint64_t)ns;
    while (td_core_deadline(core) <= until) {
        now = td_core_deadline(core) > now ? td_core_deadline(core) : now;
        step(&wake);
    }
    now = until;
}

static void ask(uint32_t client, struct td_request q)
{
    bool call = q.kind == TD_REQUEST_OPERATION;
    if (call)
        q.u.operation.sequence = made[client]++;
    step(&(struct td_event){.kind = TD_EVENT_CLIENT_REQUEST,
                            .u.request = {.client = client, .request = &q}});
    if (call && reply[client].id == q.id && reply[client].refused)
        made[client]--;
}

static void open_client(uint32_t client)
{
    step(&(struct td_event){.kind = TD_EVENT_CLIENT_OPENED,
                            .u.opened = {.client = client, .uid = 1000, .pid = 100 + client}});
    ask(client, (struct td_request){.kind = TD_REQUEST_HELLO, .id = 1});
    assert_int_equal(reply[client].kind, TD_REPLY_WELCOME);
}

static const char *job_name = "job";

static void join(uint32_t client, uint32_t size, int64_t rank, int64_t timeout_ns)
{
    struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 2};
    q.u.join.name = job_name;
    q.u.join.size = size;
    q.u.join.rank = rank;
    q.u.join.timeout_ns = timeout_ns;
    ask(client, q);
}

static void barrier(uint32_t client, uint64_t id)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = id};
    q.u.operation.group = reply[client].u.joined.group ? reply[client].u.joined.group : 1;
    q.u.operation.call.kind = TD_KIND_BARRIER;
    q.u.operation.timeout_ns = -1;
    ask(client, q);
}

static int setup(void **state)
{
    (void)state;
    struct td_core_options o = {.incarnation = 1, .seed = 1, .compile = td_select_compile};
    size_t at = 0;
    const char *why = NULL;
    td_topology_parse(&o.topology, "1", &at, &why);
    td_settings_default(&o.settings);
    o.settings.trace_events = 0;
    o.settings.arena_bytes = 8 << 20;
    memset(replies, 0, sizeof replies);
    memset(closed, 0, sizeof closed);
    memset(made, 0, sizeof made);
    released_regions = 0;
    now = 1;
    return td_core_create(&core, &o) == TD_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    struct td_usage counts;
    for (uint32_t c = 0; c < 8; c++)
        step(&(struct td_event){.kind = TD_EVENT_CLIENT_CLOSED, .u.closed.client = c});
    td_core_usage(core, &counts);
    assert_int_equal(counts.clients + counts.regions + counts.jobs + counts.groups, 0);
    assert_int_equal(counts.operations + counts.plans + counts.computing, 0);
    td_core_destroy(core);
    return 0;
}

static void two_ranks(void)
{
    for (uint32_t c = 0; c < 2; c++)
        open_client(c);
    for (uint32_t c = 0; c < 2; c++)
        join(c, 2, c, -1);
    for (uint32_t c = 0; c < 2; c++) {
        assert_int_equal(reply[c].kind, TD_REPLY_JOINED);
        assert_int_equal(reply[c].u.joined.rank, c);
    }
}

static void barrier_holds_until_the_last_member_arrives(void **state)
{
    (void)state;
    two_ranks();
    barrier(0, 10);
    pass(5000000000);
    assert_int_equal(reply[0].id, 2);
    barrier(1, 11);
    assert_int_equal(reply[0].id, 10);
    assert_int_equal(reply[0].kind, TD_REPLY_DONE);
    assert_int_equal(reply[1].id, 11);
}

static void idle_core_wants_to_wake_for_heartbeats_only(void **state)
{
    (void)state;
    two_ranks();
    barrier(0, 10);
    pass(10000000000);
    int wakes = 0;
    for (td_time end = now + 10000000000; td_core_deadline(core) < end; wakes++) {
        now = td_core_deadline(core);
        step(&(struct td_event){.kind = TD_EVENT_WAKE});
    }
    assert_in_range(wakes, 1, 21); /* two a second */
}

static void join_limit_names_the_missing_ranks(void **state)
{
    (void)state;
    open_client(0);
    join(0, 4, 1, 1000000000);
    pass(2000000000);
    assert_int_equal(reply[0].error, TD_ERR_TIMEOUT);
    assert_non_null(strstr(text[0], "ranks 0, 2-3"));
}

static void a_job_name_that_is_not_plain_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *said;
    } cases[] = {
        {"wait\x1b[31m\nforged",
         "the job name \"wait\\u001b[31m\\u000aforged\" is not plain text: byte 5 is "
         "the control character U+001B"},
        /* NOLINTNEXTLINE(misc-misleading-bidirectional): the name that is refused */
        {"a\xe2\x80\xae"
         "b",
         "byte 2 is the bidirectional control U+202E"},
        {"a\xff", "\"a\\377\" is not plain text: byte 2, 0xFF, is not UTF-8"},
        {"", "must have 1 to 127 bytes"},
    };
    open_client(0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        job_name = cases[i].name;
        join(0, 1, 0, -1);
        assert_int_equal(reply[0].error, TD_ERR_INVALID);
        assert_non_null(strstr(text[0], cases[i].said));
    }
    job_name = "W\xc3\xa4rme 3 <&>";
    join(0, 1, 0, -1);
    assert_int_equal(reply[0].kind, TD_REPLY_JOINED);
    job_name = "job";
}

static void only_root_and_the_user_of_the_daemon_may_reload(void **state)
{
    (void)state;
    open_client(0); /* user 1000; the daemon runs as root here */
    ask(0, (struct td_request){.kind = TD_REQUEST_RELOAD, .id = 5});
    assert_int_equal(reply[0].error, TD_ERR_PERMISSION);
    assert_non_null(strstr(text[0], "user 1000 may not reload torusd: only root and user 0"));
    step(&(struct td_event){.kind = TD_EVENT_CLIENT_OPENED, .u.opened = {.client = 1, .pid = 101}});
    ask(1, (struct td_request){.kind = TD_REQUEST_HELLO, .id = 1});
    ask(1, (struct td_request){.kind = TD_REQUEST_RELOAD, .id = 6});
    assert_int_equal(reloaded.u.reload.client, 1);
    assert_int_equal(reloaded.u.reload.request, 6);
}

static void rank_is_refused_when_taken_or_out_of_range(void **state)
{
    (void)state;
    open_client(0);
    open_client(1);
    join(0, 2, 0, -1);
    join(1, 2, 0, -1);
    assert_int_equal(reply[1].error, TD_ERR_RANK_TAKEN);
    assert_non_null(strstr(text[1], "process 100"));
    join(1, 2, 2, -1);
    assert_int_equal(reply[1].error, TD_ERR_INVALID);
    join(1, 3, 1, -1);
    assert_int_equal(reply[1].error, TD_ERR_MISMATCH);
    join(1, 2, 1, -1);
    assert_int_equal(reply[0].kind, TD_REPLY_JOINED);
    assert_int_equal(reply[1].kind, TD_REPLY_JOINED);
}

static void death_of_a_rank_fails_the_others_by_name(void **state)
{
    (void)state;
    two_ranks();
    barrier(0, 10);
    step(&(struct td_event){.kind = TD_EVENT_CLIENT_CLOSED, .u.closed.client = 1});
    assert_int_equal(reply[0].error, TD_ERR_RANK_FAILED);
    assert_non_null(strstr(text[0], "rank 1 of job job died"));
    barrier(0, 11);
    assert_int_equal(reply[0].id, 11);
    assert_int_equal(reply[0].error, TD_ERR_RANK_FAILED);
}

static void leaving_is_named_as_leaving(void **state)
{
    (void)state;
    two_ranks();
    struct td_request q = {.kind = TD_REQUEST_LEAVE, .id = 5};
    q.u.leave.group = reply[1].u.joined.group;
    ask(1, q);
    assert_int_equal(reply[1].kind, TD_REPLY_DONE);
    barrier(0, 11);
    assert_int_equal(reply[0].error, TD_ERR_RANK_FAILED);
    assert_non_null(strstr(text[0], "left"));
}

static void different_calls_are_named_on_both_sides_and_the_group_goes_on(void **state)
{
    (void)state;
    two_ranks();
    barrier(0, 10);
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 20};
    q.u.operation.group = 1;
    q.u.operation.call =
        (struct td_call){.kind = TD_KIND_BROADCAST, .type = TD_TYPE_BYTE, .count = 0};
    q.u.operation.timeout_ns = -1;
    ask(1, q);
    for (uint32_t c = 0; c < 2; c++) {
        assert_int_equal(reply[c].error, TD_ERR_MISMATCH);
        assert_non_null(strstr(text[c], "rank 0 called barrier"));
        assert_non_null(strstr(text[c], "rank 1 called broadcast"));
    }
    barrier(0, 30);
    barrier(1, 31);
    assert_int_equal(reply[0].id, 30);
    assert_int_equal(reply[0].error, TD_OK);
}

static void arrival_limit_names_who_is_missing(void **state)
{
    (void)state;
    two_ranks();
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 10};
    q.u.operation.group = 1;
    q.u.operation.call.kind = TD_KIND_BARRIER;
    q.u.operation.timeout_ns = 1000000000;
    ask(0, q);
    pass(3000000000);
    assert_int_equal(reply[0].error, TD_ERR_TIMEOUT);
    assert_non_null(strstr(text[0], "rank 1"));
    barrier(1, 11); /* the late rank receives the verdict */
    assert_int_equal(reply[1].id, 11);
    assert_int_equal(reply[1].error, TD_ERR_TIMEOUT);
    barrier(0, 12);
    barrier(1, 13);
    assert_int_equal(reply[1].error, TD_OK);
}

static void cancel_ends_the_operation_on_every_rank(void **state)
{
    (void)state;
    two_ranks();
    barrier(0, 10);
    struct td_request q = {.kind = TD_REQUEST_CANCEL, .id = 0};
    q.u.cancel.request = 10;
    ask(0, q);
    assert_int_equal(reply[0].error, TD_ERR_CANCELLED);
    barrier(1, 11);
    assert_int_equal(reply[1].error, TD_ERR_CANCELLED);
    assert_non_null(strstr(text[1], "rank 0 cancelled"));
}

static void a_refused_call_is_not_made_and_neither_are_those_after_it(void **state)
{
    (void)state;
    two_ranks();
    for (uint64_t i = 0; i < TD_GROUP_OPERATIONS_MAX; i++)
        barrier(0, 100 + i);
    barrier(0, 1000);
    assert_int_equal(reply[0].id, 1000);
    assert_int_equal(reply[0].error, TD_ERR_BUSY);
    barrier(1, 2000); /* there is room now */
    assert_int_equal(reply[1].error, TD_OK);
    made[0]++; /* sent before the client saw the refusal */
    barrier(0, 1001);
    made[0]--;
    assert_int_equal(reply[0].id, 1001);
    assert_int_equal(reply[0].error, TD_ERR_BUSY);
    assert_non_null(strstr(text[0], "operation 256"));
    for (uint64_t i = 1; i < TD_GROUP_OPERATIONS_MAX; i++)
        barrier(1, 2000 + i);
    barrier(0, 1002);
    barrier(1, 3000);
    assert_int_equal(reply[0].id, 1002);
    assert_int_equal(reply[0].error, TD_OK);
    assert_int_equal(reply[1].error, TD_OK);
    made[1] = 3; /* a number that was used before */
    barrier(1, 3001);
    assert_int_equal(reply[1].error, TD_ERR_PROTOCOL);
    assert_int_equal(closed[1], 1);
}

/* shared_allreduce is a call of client 0 on its region 1, of 4096 bytes, which is shared first. */
static struct td_request shared_allreduce(void)
{
    struct td_request r = {.kind = TD_REQUEST_REGION, .id = 6};
    r.u.region.region = 1;
    r.u.region.bytes = 4096;
    r.u.region.handle = 9;
    ask(0, r);
    assert_int_equal(reply[0].kind, TD_REPLY_DONE);
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 7};
    q.u.operation.group = 1;
    q.u.operation.call = (struct td_call){
        .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_DOUBLE, .op = TD_OP_SUM, .count = 8};
    q.u.operation.timeout_ns = -1;
    return q;
}

static void take_back(void)
{
    struct td_request r = {.kind = TD_REQUEST_UNREGION};
    r.u.unregion.region = 1;
    ask(0, r);
}

/* handle_of returns the handle that a client gets for a region of a rank of the group. */
static uint32_t handle_of(uint32_t client, uint32_t group, uint32_t rank, uint32_t region)
{
    struct td_request q = {.kind = TD_REQUEST_PEER_REGION, .id = 20};
    q.u.peer_region.group = group;
    q.u.peer_region.rank = rank;
    q.u.peer_region.region = region;
    ask(client, q);
    assert_int_equal(reply[client].id, 20);
    assert_int_equal(reply[client].kind, TD_REPLY_PEER_REGION);
    return reply[client].u.peer_region.handle;
}

static void a_region_is_for_the_ranks_of_a_group_of_its_owner(void **state)
{
    (void)state;
    two_ranks();
    open_client(2);
    (void)shared_allreduce();
    assert_int_equal(handle_of(1, 1, 0, 1), 9);
    assert_int_equal(handle_of(0, 1, 0, 1), 9);
    assert_int_equal(handle_of(1, 1, 0, 2), 0);
    assert_int_equal(handle_of(1, 1, 1, 1), 0);
    assert_int_equal(handle_of(1, 1, UINT32_MAX, 1), 0);
    assert_int_equal(handle_of(1, 2, 0, 1), 0);
    assert_int_equal(handle_of(2, 1, 0, 1), 0); /* in no group */
    step(&(struct td_event){.kind = TD_EVENT_REGION_FAILED, .u.region.handle = 9});
    assert_int_equal(handle_of(1, 1, 0, 1), 0);
    take_back();
    assert_int_equal(handle_of(1, 1, 0, 1), 0);
}

static void memory_that_a_call_on_record_names_can_be_taken_back(void **state)
{
    (void)state;
    two_ranks();
    struct td_request q = shared_allreduce();
    q.u.operation.source = q.u.operation.destination = (struct td_place){1, 0, 64, NULL};
    ask(0, q);
    struct td_request cancel = {.kind = TD_REQUEST_CANCEL};
    cancel.u.cancel.request = 7;
    ask(0, cancel);
    assert_int_equal(reply[0].error, TD_ERR_CANCELLED);
    int before = replies[0];
    take_back();
    take_back(); /* a request without an id gets no reply, even if it is wrong */
    struct td_request unplan = {.kind = TD_REQUEST_UNPLAN};
    ask(0, unplan);
    assert_int_equal(replies[0], before);
    assert_int_equal(closed[0], 0);
    assert_int_equal(released_regions, 0);
    barrier(1, 8); /* the last one to receive it */
    assert_int_equal(reply[1].error, TD_ERR_CANCELLED);
    assert_int_equal(released_regions, 1);
}

static void slices_outside_their_region_are_refused(void **state)
{
    (void)state;
    two_ranks();
    struct td_request q = shared_allreduce();
    const struct td_place wrong[] = {
        {1, 4090, 64, NULL}, {1, UINT64_MAX - 8, 64, NULL}, {2, 0, 64, NULL}, {1, 0, 8, NULL}};
    for (size_t i = 0; i < 4; i++) {
        q.u.operation.source = q.u.operation.destination = wrong[i];
        ask(0, q);
        assert_int_equal(reply[0].id, 7);
        assert_int_equal(reply[0].error, TD_ERR_INVALID);
    }
    barrier(0, 8); /* nothing was consumed: the ranks are still in step */
    barrier(1, 9);
    assert_int_equal(reply[1].error, TD_OK);
    take_back();
    assert_int_equal(released_regions, 1);
}

/* a form is refused if it is malformed, or if its elements end after the place or the region */
static void forms_outside_their_place_are_refused(void **state)
{
    (void)state;
    two_ranks();
    struct td_request q = shared_allreduce(); /* of 64 bytes: four elements, spanning 120 bytes */
    struct td_form *f = calloc(1, td_form_size(1));
    assert_non_null(f);
    const struct {
        struct td_place place;
        int64_t at, stride;
        uint64_t bytes, extent;
    } wrong[] = {
        {{1, 0, 4096, f}, 0, 0, 8, 9}, /* the sum differs */
        {{1, 0, 4096, f}, -8, 16, 16, 32},       {{1, 0, 4096, f}, 0, -16, 16, 32},
        {{1, 0, 4096, f}, 0, 4096, 16, 32},      {{1, 0, 4096, f}, 0, 16, 16, UINT64_MAX / 2},
        {{1, 4096 - 64, 120, f}, 0, 16, 16, 32}, /* the region ends */
        {{1, 0, 119, f}, 0, 16, 16, 32},         /* the place ends */
    };
    for (size_t i = 0; i < 2 * sizeof wrong / sizeof wrong[0]; i++) {
        struct td_place *side = i % 2 ? &q.u.operation.source : &q.u.operation.destination;
        q.u.operation.source = q.u.operation.destination = (struct td_place){1, 0, 64, NULL};
        *side = wrong[i / 2].place;
        *f = (struct td_form){
            .bytes = wrong[i / 2].bytes, .extent = wrong[i / 2].extent, .loops = 1};
        f->loop[0] = (struct td_form_loop){wrong[i / 2].at, wrong[i / 2].stride, 2, 8, 0, 0};
        int before = replies[0];
        ask(0, q);
        assert_int_equal(replies[0], before + 1);
        assert_int_equal(reply[0].error, TD_ERR_INVALID);
    }
    int before = replies[0];
    q.u.operation.source = q.u.operation.destination = (struct td_place){1, 1, 120, f};
    ask(0, q); /* runs between gaps need no alignment */
    assert_int_equal(replies[0], before);
    struct td_request cancel = {.kind = TD_REQUEST_CANCEL};
    cancel.u.cancel.request = 7;
    ask(0, cancel);
    assert_int_equal(reply[0].error, TD_ERR_CANCELLED);
    free(f);
}

static void garbage_expels_that_client_alone(void **state)
{
    (void)state;
    two_ranks();
    open_client(2);
    step(&(struct td_event){
        .kind = TD_EVENT_CLIENT_INVALID,
        .u.invalid = {.client = 2, .error = TD_ERR_PROTOCOL, .text = "no message"}});
    assert_int_equal(closed[2], 1);
    assert_int_equal(reply[2].error, TD_ERR_PROTOCOL);
    barrier(0, 10);
    barrier(1, 11);
    assert_int_equal(reply[1].error, TD_OK);
}

static void stop_refuses_drains_and_says_so(void **state)
{
    (void)state;
    two_ranks();
    barrier(0, 10);
    step(&(struct td_event){.kind = TD_EVENT_STOP});
    assert_int_equal(reply[0].id, 10);
    assert_int_equal(reply[0].error, TD_ERR_NODE_FAILED);
    bool stopped = false;
    for (uint32_t i = 0; i < actions.count; i++)
        stopped = stopped || actions.action[i].kind == TD_ACTION_STOPPED;
    assert_true(stopped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(barrier_holds_until_the_last_member_arrives, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(idle_core_wants_to_wake_for_heartbeats_only, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(join_limit_names_the_missing_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_name_that_is_not_plain_text_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(only_root_and_the_user_of_the_daemon_may_reload, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(rank_is_refused_when_taken_or_out_of_range, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(death_of_a_rank_fails_the_others_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(leaving_is_named_as_leaving, setup, teardown),
        cmocka_unit_test_setup_teardown(
            different_calls_are_named_on_both_sides_and_the_group_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(arrival_limit_names_who_is_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(cancel_ends_the_operation_on_every_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refused_call_is_not_made_and_neither_are_those_after_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_region_is_for_the_ranks_of_a_group_of_its_owner, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(memory_that_a_call_on_record_names_can_be_taken_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(slices_outside_their_region_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(forms_outside_their_place_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(garbage_expels_that_client_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(stop_refuses_drains_and_says_so, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
