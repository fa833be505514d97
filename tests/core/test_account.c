/* SPDX-License-Identifier: Apache-2.0 */
/* What one user may hold: core/membership/account.h, base/allowance.h, and the limits of a client.
 */
#include "node.h"

#include <stdio.h>

#include "base/allowance.h"
#include "collectives/planner.h"
#include "core/core.h"
#include "core/membership/job.h"
#include "core/membership/subgroup.h"
#include "core/operation/arrival.h"
#include "core/operation/operation.h"

enum { SECOND = 1000000000, ALICE = 1000, BOB = 1001, ROOT = 0 };

static uint32_t last_client = 100;

static bool open_client(uint64_t uid)
{
    uint32_t before = node.replies;
    td_client_open(node.core, ++last_client, uid, 1);
    node_run();
    return node.replies == before;
}

static uint32_t open_all(uint64_t uid)
{
    uint32_t count = 0;
    while (open_client(uid))
        count++;
    return count;
}

static void one_user_has_most_of_an_idle_limit_and_none_of_a_full_one(void **state)
{
    (void)state;
    assert_int_equal(td_allowance(1024, 0, 75, false), 720);
    assert_int_equal(td_allowance(1024, 720, 75, false), 180);
    assert_int_equal(td_allowance(1024, 959, 75, false), 1);
    assert_int_equal(td_allowance(1024, 960, 75, false), 0);
    assert_int_equal(td_allowance(1024, 2000, 75, false), 0);
    assert_int_equal(td_allowance(1024, 960, 75, true), 64);
    assert_int_equal(td_allowance(4, 0, 75, false), 3);
    assert_int_equal(td_allowance(1, 0, 75, false), 1);
    assert_true(td_allowance(UINT64_MAX, 0, 100, false) > UINT64_MAX / 16 * 14);
}

static void few_clients(struct td_settings *s)
{
    s->clients_max = 32;
    s->groups_max = 32;
    s->client_groups_max = 8;
    s->regions_max = 32;
    s->operations_max = 16;
    s->arena_bytes = 4 << 20;
}

static void clients_have_shares_and_root_gets_in(void **state)
{
    (void)state;
    node_begin("2", 0, few_clients);
    assert_int_equal(open_all(ALICE), 23);
    assert_int_equal(node.reply.error, TD_ERR_BUSY);
    assert_non_null(strstr(node.text, "user 1000 has 23 connections on node 0"));
    node_forget();
    assert_int_equal(open_all(BOB), 6);
    assert_true(open_all(1002) >= 1);
    node_forget();
    assert_true(open_client(ROOT));
    assert_true(open_client(ROOT));
    node_end();
}

/* asks_to_join returns the error of a join by a new connection of root. */
static td_err asks_to_join(void)
{
    struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 2};
    q.u.join.name = "job";
    q.u.join.size = 1;
    td_client_request(node.core, last_client, &(struct td_request){.kind = TD_REQUEST_HELLO});
    node_forget();
    bool passed_on = td_client_request(node.core, last_client, &q) != NULL;
    node_run();
    return passed_on ? TD_OK : node.reply.error;
}

static void root_can_look_at_a_full_node_but_not_join(void **state)
{
    (void)state;
    node_begin("2", 0, few_clients);
    uint32_t most = node.core->settings.clients_max;
    assert_int_equal(open_all(ROOT), most + TD_CLIENTS_SPARE);
    assert_non_null(strstr(node.text, "connections, the maximum: raise [limits] clients"));
    assert_int_equal(node.core->accounts->held[TD_HOLD_CLIENTS], most);
    last_client--; /* the last one that was accepted */
    assert_int_equal(asks_to_join(), TD_ERR_BUSY);
    assert_non_null(strstr(node.text, "connections, the maximum: raise [limits] clients"));
    td_client_close(node.core, last_client - TD_CLIENTS_SPARE); /* one that had a place */
    node_run();
    assert_int_equal(asks_to_join(), TD_OK);
    assert_int_equal(node.core->accounts->held[TD_HOLD_CLIENTS], most);
    assert_int_equal(node.core->clients->spare, TD_CLIENTS_SPARE - 1);
    td_client_close(node.core, last_client);
    td_client_close(node.core, last_client - 1);
    node_run();
    assert_int_equal(node.core->accounts->held[TD_HOLD_CLIENTS], most - 1);
    assert_int_equal(node.core->clients->spare, TD_CLIENTS_SPARE - 2);
    node_end();
}

static void a_client_without_hello_is_expelled(void **state)
{
    (void)state;
    node_begin("2", 0, few_clients);
    assert_true(open_client(ALICE));
    uint32_t silent = last_client;
    assert_true(open_client(ALICE));
    td_client_request(node.core, last_client, &(struct td_request){.kind = TD_REQUEST_HELLO});
    node_forget();
    node.core->now += 4ull * SECOND;
    td_client_timers(node.core);
    assert_int_equal(node.replies, 0);
    node.core->now += 2ull * SECOND;
    td_client_timers(node.core);
    node_run();
    assert_int_equal(node.replies, 1);
    assert_int_equal(node.reply.error, TD_ERR_TIMEOUT);
    assert_null(td_client_find(node.core, silent));
    assert_non_null(td_client_find(node.core, last_client));
    assert_int_equal(node.core->clients->silent, 0);
    node_end();
}

/* make_group asks for a group of all ranks. */
static void make_group(const struct td_communicator *c, uint64_t number)
{
    const uint64_t member[] = {0, 1, 2, 3};
    struct td_request q = {.kind = TD_REQUEST_GROUP, .id = 9};
    q.u.make.group = c->number;
    q.u.make.number = number;
    q.u.make.members = c->group.size;
    q.u.make.member = member;
    td_subgroup_make(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
}

static void groups_of_a_process_and_of_a_user_are_limited(void **state)
{
    (void)state;
    node_begin("2", 0, few_clients);
    struct td_communicator *c = node_group(2);
    td_client_find(node.core, NODE_CLIENT)->groups = 1; /* as by a join */
    for (uint64_t i = 0; i < 7; i++) {
        make_group(c, i);
        assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    }
    make_group(c, 7);
    assert_int_equal(node.reply.error, TD_ERR_BUSY);
    assert_non_null(strstr(node.text, "on node 0 is in 8 groups, the maximum"));
    node.core->settings.client_groups_max = 1000;
    for (uint64_t i = 8; i < 23; i++) {
        make_group(c, i);
        assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    }
    make_group(c, 23);
    assert_int_equal(node.reply.error, TD_ERR_BUSY);
    assert_non_null(strstr(node.text, "user 1000 has 23 groups and joins"));
    assert_non_null(strstr(node.text, "[limits] groups or share"));
    node_end();
}

/* The others may all wait for this node already: one of them has to hear that it made no group. */
static void a_refusal_without_memory_for_the_tree_goes_to_the_members(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    struct td_communicator *c = node_group(4);
    while (td_arena_alloc(node.core->arena, 16))
        continue;
    make_group(c, 0);
    assert_int_equal(node.reply.error, TD_ERR_BUSY);
    assert_non_null(strstr(node.text, "raise [limits] memory"));
    for (uint32_t to = 0; to < 4; to++) {
        const struct td_message *m = node_sent_to(to, TD_MESSAGE_RANK_LOST);
        assert_int_equal(m != NULL, to != 1);
        assert_true(!m || m->u.rank_lost.error == TD_ERR_BUSY);
    }
    node_end();
}

static uint32_t count_joins(void)
{
    uint32_t count = 0;
    for (const struct td_join *j = node.core->joins->first; j; j = j->next)
        count++;
    return count;
}

static void many_clients(struct td_settings *s)
{
    few_clients(s);
    s->clients_max = 256;
}

/* Joins beyond the share wait for the registry, which refuses their whole jobs. */
static void joins_beyond_the_share_are_limited(void **state)
{
    (void)state;
    node_begin("2", 1, many_clients);
    uint32_t share = 0, joins = 0;
    char name[32];
    for (node.reply.error = TD_OK; node.reply.error == TD_OK; joins++) {
        if (joins % TD_CLIENT_RANKS_MAX == 0)
            assert_true(open_client(ALICE));
        snprintf(name, sizeof name, "job %u", joins);
        struct td_request q = {.kind = TD_REQUEST_JOIN, .id = joins + 1};
        q.u.join.name = name;
        q.u.join.size = 2;
        q.u.join.rank = 0;
        q.u.join.timeout_ns = SECOND;
        td_job_request(node.core, td_client_find(node.core, last_client), &q);
        share += !node.core->joins->first->over;
        node_run();
        node_forget();
    }
    assert_int_equal(node.reply.error, TD_ERR_BUSY);
    assert_non_null(strstr(node.text, "[limits] groups or share"));
    assert_int_equal(count_joins(), joins - 1);
    assert_true(share > 0);
    assert_int_equal(joins - 1, share + TD_NODE_RANKS_MAX);
    node_end();
}

static struct td_message join(uint64_t token, uint64_t uid, const char *name)
{
    struct td_message m = {.kind = TD_MESSAGE_JOIN};
    m.u.join = (struct td_message_join){.token = token,
                                        .uid = uid,
                                        .timeout_ns = 10LL * SECOND,
                                        .name = name,
                                        .size = TD_JOB_RANKS_MAX,
                                        .rank = UINT32_MAX};
    return m;
}

static uint32_t start_jobs(uint64_t uid)
{
    static uint64_t token = 10;
    uint32_t jobs = 0;
    for (node_forget(); jobs < 100; jobs++) {
        char name[16];
        snprintf(name, sizeof name, "job %u", jobs);
        struct td_message m = join(token++, uid, name);
        node_message(1, &m);
        if (node_sent_to(1, TD_MESSAGE_REFUSE))
            break;
    }
    return jobs;
}

static void jobs_that_do_not_form_leave_memory_to_others(void **state)
{
    (void)state;
    node_begin("2", 0, few_clients);
    uint32_t alice = start_jobs(ALICE);
    assert_in_range(alice, 1, 4); /* of 512 KiB each, in 2 MiB */
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_REFUSE);
    assert_non_null(strstr(m->u.refuse.text, "bytes of groups, plans and jobs"));
    node_forget();
    struct td_message small = join(5, BOB, "small");
    small.u.join.size = 100;
    node_message(1, &small);
    assert_null(node_sent_to(1, TD_MESSAGE_REFUSE));
    node_end();
}

static void regions_are_counted_by_user(void **state)
{
    (void)state;
    uint32_t count = 0;
    node_begin("2", 0, few_clients);
    assert_true(open_client(ALICE));
    td_client_request(node.core, last_client, &(struct td_request){.kind = TD_REQUEST_HELLO});
    node_forget();
    struct td_request q = {.kind = TD_REQUEST_REGION, .id = 2};
    q.u.region.bytes = 4096;
    while (node.reply.error == TD_OK && count < 100) {
        q.u.region.region = q.u.region.handle = ++count;
        td_client_request(node.core, last_client, &q);
        node_run();
    }
    assert_int_equal(count, 24);
    assert_non_null(strstr(node.text, "user 1000 has 23 shared regions"));
    q = (struct td_request){.kind = TD_REQUEST_UNREGION, .id = 3, .u.unregion.region = 1};
    td_client_request(node.core, last_client, &q);
    node_run();
    assert_int_equal(node.core->accounts->held[TD_HOLD_REGIONS], 22);
    td_client_close(node.core, last_client);
    node_run();
    assert_int_equal(node.core->accounts->held[TD_HOLD_REGIONS], 0);
    assert_int_equal(node.core->accounts->held[TD_HOLD_CLIENTS], 0);
    node_end();
}

static void operations_are_counted_by_user(void **state)
{
    (void)state;
    uint32_t count = 0;
    node_begin("2", 0, few_clients);
    struct td_communicator *c = node_group(2);
    for (; node.reply.error == TD_OK && count < 100; count++)
        node_call(c, -1);
    assert_int_equal(count, 13);                         /* 12 of 16, and the one that is refused */
    assert_int_equal(node.reply.kind, TD_REPLY_NO_ROOM); /* it waits until one of them ends */
    assert_int_equal(node.reply.error, TD_ERR_BUSY);
    assert_true(node.reply.refused);
    assert_non_null(strstr(node.text, "user 1000 has 12 operations on record"));
    node_end();
}

enum { MANY = 1024 };

/* call_counts makes the local rank call an all-to-all with counts, all of which are zero. */
static void call_counts(struct td_communicator *c)
{
    static const uint64_t zero[MANY];
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 10};
    q.u.operation.group = c->number;
    q.u.operation.call.kind = TD_KIND_ALLTOALLV;
    q.u.operation.call.type = TD_TYPE_BYTE;
    q.u.operation.timeout_ns = -1;
    q.u.operation.sequence = c->seat[0].next_sequence;
    q.u.operation.from = q.u.operation.to =
        (struct td_rank_counts){.count = zero, .counts = c->group.size};
    td_arrival_request(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
}

static void little_memory(struct td_settings *s)
{
    s->arena_bytes = 8 << 20;
}

/* fill takes memory of the calls of a user, until less than `rest` is left of what they may have.
 */
static void *fill(const struct td_communicator *c, uint64_t rest)
{
    uint64_t most = td_account_most(node.core, c->account, TD_HOLD_CALLS);
    uint64_t left = most - td_arena_used(c->account->arena);
    void *filling = td_arena_alloc(c->account->calls, left > rest ? left - rest : 0);
    assert_non_null(filling);
    return filling;
}

/* One user has 0.75 * 15/16 of 8 MiB, and calls have seven eighths of it. A table of counts has
 * 32 KiB. */
static void memory_of_calls_is_charged_to_their_user(void **state)
{
    (void)state;
    const uint64_t table = td_arena_piece_bytes(2 * MANY * sizeof(struct td_part));
    node_begin("32x32", 0, little_memory);
    struct td_communicator *c = node_group(MANY);
    const struct td_account *account = c->account;
    uint64_t member[MANY];
    struct td_request q = {.kind = TD_REQUEST_GROUP, .id = 9};
    for (uint64_t i = 0; i < MANY; i++)
        member[i] = i;
    q.u.make.group = c->number;
    q.u.make.members = MANY;
    q.u.make.member = member;
    td_subgroup_make(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    struct td_communicator *other = node.core->communicators;

    uint32_t calls = 0;
    for (node_forget(); node.replies == 0; calls++) {
        call_counts(c);
        td_core_renew(node.core);
    }
    calls--;
    uint64_t most = td_account_most(node.core, account, TD_HOLD_CALLS);
    assert_int_equal(node.reply.kind, TD_REPLY_NO_ROOM); /* it waits for the others */
    assert_true(td_account_held(account, TD_HOLD_CALLS) >=
                calls * (table + td_operation_record_bytes(c)));
    assert_int_equal(td_account_held(account, TD_HOLD_CALLS), td_arena_count(account->calls));
    assert_true(td_arena_used(account->arena) <= most);
    assert_true(td_arena_used(account->arena) + table + td_operation_record_bytes(c) > most);
    assert_non_null(strstr(node.text, "user 1000 has "));
    assert_non_null(strstr(node.text, "bytes of memory on node 0, the share of one user"));
    assert_non_null(strstr(node.text, "raise [limits] memory or share"));

    void *filling = fill(c, table); /* the oldest call of a group has a record in any case */
    node_forget();
    call_counts(other); /* but others may wait for it: it does not wait */
    assert_int_equal(node.reply.kind, TD_REPLY_ERROR);
    assert_int_equal(node.reply.error, TD_ERR_NO_MEMORY);
    assert_true(node.reply.refused);
    node_forget();
    node_call(other, -1); /* it brings no table */
    assert_int_equal(node.replies, 0);

    td_arena_free(node.core->arena, filling);
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    assert_int_equal(td_arena_used(node.core->accounts->arena), 0);
    node_end();
}

/* A call that finds no record needs room for the record, too. */
static void a_call_waits_for_the_memory_of_its_record(void **state)
{
    (void)state;
    const uint64_t table = td_arena_piece_bytes(2 * MANY * sizeof(struct td_part));
    node_begin("32x32", 0, little_memory);
    struct td_communicator *c = node_group(MANY);
    node_forget();
    call_counts(c);
    (void)fill(c, table + td_operation_record_bytes(c) / 2);
    call_counts(c);
    assert_int_equal(node.reply.kind, TD_REPLY_NO_ROOM);
    assert_null(c->operation[1]);
    node_end();
}

/* A call that is alone may take what is left of the share: no other would end for it. */
static void one_large_call_alone_is_accepted(void **state)
{
    (void)state;
    const uint64_t table = td_arena_piece_bytes(2 * MANY * sizeof(struct td_part));
    node_begin("32x32", 0, little_memory);
    struct td_communicator *c = node_group(MANY);
    (void)fill(c, table / 2);
    node_forget();
    call_counts(c);
    assert_int_equal(node.replies, 0);
    call_counts(c);
    assert_int_equal(node.reply.kind, TD_REPLY_NO_ROOM);
    node_end();
}

/* ---- one user takes all that one user may take; the others work ---- */

enum { TEAM = 2 };

/* struct team: a group of two ranks on this node, each with a client of its own. */
struct team {
    struct td_communicator *c;
    uint32_t client[TEAM];
    uint64_t uid;
};

/* form_team joins a job of two ranks through the registry of this node. */
static struct team form_team(uint64_t uid, const char *name)
{
    struct team t = {.uid = uid};
    for (uint32_t r = 0; r < TEAM; r++) {
        struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 3};
        q.u.join.name = name;
        q.u.join.size = TEAM;
        q.u.join.rank = r;
        q.u.join.timeout_ns = SECOND;
        node_forget();
        assert_true(open_client(uid));
        t.client[r] = last_client;
        td_client_request(node.core, t.client[r], &(struct td_request){.kind = TD_REQUEST_HELLO});
        node_step(&(struct td_event){.kind = TD_EVENT_CLIENT_REQUEST,
                                     .u.request = {.client = t.client[r], .request = &q}});
    }
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    t.c = node.core->communicators;
    return t;
}

/* make_tables makes the tables of a plan as a worker does, again if they do not fit. */
static void make_tables(void)
{
    for (uint32_t seen = 0; node.computes > seen && node.compute.kind == TD_COMPUTE_PLAN;) {
        bool made = td_collectives_planner.make(&node.compute.plan, node.compute.tables);
        td_err error = made ? TD_OK : TD_ERR_NO_MEMORY;
        seen = node.computes;
        node_step(&(struct td_event){.kind = TD_EVENT_COMPUTED,
                                     .u.computed = {.handle = node.handle, .error = error}});
    }
}

/* team_calls makes `ranks` ranks of a team call. It returns false if the last of them is refused.
 */
static bool team_calls(const struct team *t, uint32_t ranks, const struct td_request *call)
{
    struct td_request q = *call;
    q.kind = TD_REQUEST_OPERATION;
    q.id = 10;
    q.u.operation.group = t->c->number;
    q.u.operation.timeout_ns = -1;
    for (uint32_t r = 0; r < ranks; r++) {
        q.u.operation.sequence = t->c->seat[r].next_sequence;
        node_forget();
        td_arrival_request(node.core, td_client_find(node.core, t->client[r]), &q);
        node_run();
    }
    make_tables();
    return node.replies == 0 || node.reply.error == TD_OK;
}

static bool team_barrier(const struct team *t)
{
    struct td_request q = {.u.operation.call.kind = TD_KIND_BARRIER};
    return team_calls(t, TEAM, &q);
}

/* The parts of a common period of the two layouts are as many as `block`. */
static bool team_redist(const struct team *t, unsigned block)
{
    struct td_request q = {.u.operation.call.kind = TD_KIND_PLAN_REDIST};
    char from[32], to[32];
    snprintf(from, sizeof from, "cyclic(%u)", block);
    snprintf(to, sizeof to, "cyclic(%u)", block - 2);
    q.u.operation.description.redist =
        (struct td_redist){.dimensions = 1, .element = 1, .size = {1ull << 40}};
    q.u.operation.description.from = from;
    q.u.operation.description.to = to;
    return team_calls(t, TEAM, &q);
}

static bool team_fft(const struct team *t, uint64_t points)
{
    struct td_request q = {.u.operation.call.kind = TD_KIND_PLAN_FFT};
    struct td_fft *fft = &q.u.operation.description.fft;
    *fft = (struct td_fft){
        .type = TD_TYPE_COMPLEX_DOUBLE, .sign = TD_FFT_FORWARD, .dimensions = 1, .size = {points}};
    td_fft_all(fft);
    q.u.operation.description.from = q.u.operation.description.to = "";
    return team_calls(t, TEAM, &q);
}

/* Each of these makes one request of a kind, of which the first rank of a team alone calls, so that
 * no call ends. It returns false if the request is refused. */
static bool ask_connection(const struct team *t, unsigned i)
{
    (void)i;
    return open_client(t->uid);
}

static bool ask_region(const struct team *t, unsigned i)
{
    struct td_request q = {.kind = TD_REQUEST_REGION, .id = 2};
    q.u.region.bytes = 4096;
    q.u.region.region = q.u.region.handle = i + 1;
    node_forget();
    td_client_request(node.core, t->client[0], &q);
    node_run();
    return node.reply.error == TD_OK;
}

static bool ask_join(const struct team *t, unsigned i)
{
    char name[32];
    struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 1000 + i};
    snprintf(name, sizeof name, "job %u", i);
    q.u.join.name = name;
    q.u.join.size = i % 2 ? TD_JOB_RANKS_MAX : 2;
    q.u.join.rank = 0;
    q.u.join.timeout_ns = SECOND;
    node_forget();
    if (i % (TD_CLIENT_RANKS_MAX - 1) == 0)
        (void)open_client(t->uid);
    td_job_request(node.core, td_client_find(node.core, last_client), &q);
    node_run();
    return node.replies == 0;
}

static bool ask_group(const struct team *t, unsigned i)
{
    const uint64_t member[] = {0, 1};
    struct td_request q = {.kind = TD_REQUEST_GROUP, .id = 9};
    q.u.make.group = t->c->number;
    q.u.make.number = i;
    q.u.make.members = TEAM;
    q.u.make.member = member;
    node_forget();
    td_subgroup_make(node.core, td_client_find(node.core, t->client[0]), &q);
    node_run();
    return node.reply.error == TD_OK;
}

static bool ask_redist(const struct team *t, unsigned i)
{
    return team_redist(t, 4729 - 2 * i) || team_redist(t, 307 - 2 * (i % 100));
}

static bool ask_fft(const struct team *t, unsigned i)
{
    return team_fft(t, 1024 + i);
}

static bool ask_counts(const struct team *t, unsigned i)
{
    static const uint64_t zero[TEAM];
    struct td_request q = {.u.operation.call = {.kind = TD_KIND_ALLTOALLV, .type = TD_TYPE_BYTE}};
    (void)i;
    q.u.operation.from = q.u.operation.to = (struct td_rank_counts){.count = zero, .counts = TEAM};
    return team_calls(t, 1, &q);
}

/* The buffer of each call has a form of as many loops as a form may have. */
static bool ask_form(const struct team *t, unsigned i)
{
    static _Alignas(struct td_form) unsigned char
        memory[sizeof(struct td_form) + TD_FORM_LOOPS_MAX * sizeof(struct td_form_loop)];
    struct td_form *form = (struct td_form *)memory;
    struct td_request q = {.u.operation.call = {.kind = TD_KIND_BROADCAST, .type = TD_TYPE_BYTE}};
    (void)i;
    *form = (struct td_form){
        .bytes = TD_FORM_LOOPS_MAX, .extent = 2 * TD_FORM_LOOPS_MAX, .loops = TD_FORM_LOOPS_MAX};
    for (int l = 0; l < TD_FORM_LOOPS_MAX; l++)
        form->loop[l] = (struct td_form_loop){.at = 2 * l, .stride = 2, .count = 1, .bytes = 1};
    q.u.operation.call.count = TD_FORM_LOOPS_MAX;
    q.u.operation.source = q.u.operation.destination =
        (struct td_place){.region = 1, .bytes = 4096, .form = form};
    return team_calls(t, 1, &q);
}

static bool ask_barrier(const struct team *t, unsigned i)
{
    struct td_request q = {.u.operation.call.kind = TD_KIND_BARRIER};
    (void)i;
    return team_calls(t, 1, &q);
}

static void must_work(uint64_t uid, const char *name)
{
    struct team t = form_team(uid, name);
    assert_true(team_barrier(&t));
    assert_true(team_redist(&t, 101));
    assert_true(team_fft(&t, 4096));
    assert_true(ask_region(&t, 0));
    assert_true(ask_group(&t, 0));
    assert_true(team_barrier(&t));
}

static void small_limits(struct td_settings *s)
{
    few_clients(s);
    s->clients_max = s->groups_max = s->client_groups_max = s->regions_max = 256;
    s->operations_max = 1024;
}

/* with_everything_taken lets one user take all of the kinds of a mask, and others work. */
static void with_everything_taken(uint32_t kinds)
{
    static bool (*const ask[])(const struct team *, unsigned) = {
        ask_region, ask_redist, ask_fft,     ask_group,     ask_join,
        ask_form,   ask_counts, ask_barrier, ask_connection};
    enum { KINDS = sizeof ask / sizeof *ask, MOST = 4000 };
    node_begin("1", 0, small_limits);
    node.core->options.planner = td_collectives_planner;
    struct team alice = form_team(ALICE, "alice");
    for (unsigned k = 0; k < KINDS; k++) {
        unsigned i = 0;
        while (kinds >> k & 1 && i < MOST && ask[k](&alice, i))
            i++;
        assert_true(i < MOST);
    }
    assert_true(td_arena_used(alice.c->account->arena) <=
                td_account_most(node.core, alice.c->account, TD_HOLD_MEMORY) / 3 * 4 + 4);
    node.core->now += 1; /* a user may have more while no other holds anything */
    must_work(BOB, "bob");
    must_work(ROOT, "root");
    must_work(1002, "carol");
    node_end();
}

static void whatever_one_user_takes_others_and_root_work(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 9; k++)
        with_everything_taken(1u << k);
    with_everything_taken(0x1ff);
    with_everything_taken(0x1f6); /* without plans of redistributions there is more of the others */
}

/* Four plans of such layouts filled the memory of a node. */
static void plans_are_refused_at_the_share_of_their_user(void **state)
{
    (void)state;
    unsigned plans = 0;
    node_begin("1", 0, small_limits);
    node.core->options.planner = td_collectives_planner;
    struct team alice = form_team(ALICE, "alice");
    while (plans < 100 && team_redist(&alice, 2003 - 2 * plans))
        plans++;
    assert_in_range(plans, 1, 20);
    assert_int_equal(node.reply.error, TD_ERR_NO_MEMORY);
    assert_non_null(strstr(node.text, "no memory on node 0 for "));
    assert_non_null(strstr(node.text, "user 1000 has "));
    assert_non_null(strstr(node.text, "bytes of groups, plans and jobs, and one user may have "));
    assert_non_null(strstr(node.text, "free groups or plans, or raise [limits] memory or share"));
    assert_true(team_barrier(&alice)); /* a quarter of the share is for calls */
    uint64_t held = td_account_held(alice.c->account, TD_HOLD_MEMORY);
    assert_int_equal(held, td_arena_count(alice.c->account->lasting));
    while (alice.c->plans) {
        struct td_request q = {.kind = TD_REQUEST_UNPLAN};
        q.u.unplan.group = alice.c->number;
        q.u.unplan.plan = alice.c->plans->number;
        for (uint32_t r = 0; r < TEAM; r++)
            td_communicator_unplan(node.core, td_client_find(node.core, alice.client[r]), &q);
    }
    assert_true(td_account_held(alice.c->account, TD_HOLD_MEMORY) < held / 10);
    assert_true(team_redist(&alice, 2003));
    node_end();
}

static void an_error_without_memory_for_its_sentence_has_one_all_the_same(void **state)
{
    (void)state;
    node_begin("2", 1, NULL);
    node_client(NODE_CLIENT);
    const char *text = td_core_format(node.core, "%s", "a sentence");
    assert_string_equal(text, "a sentence");
    node.core->pad_used = TD_PAD_BYTES - TD_TEXT_MAX / 2;
    text = td_core_format(node.core, "%s", "a sentence");
    assert_non_null(strstr(text, "node 1"));
    node.core->pad_used = TD_PAD_BYTES - (sizeof(struct td_reply) + 15) / 16 * 16;
    td_reply_error(node.core, NODE_CLIENT, 7, TD_ERR_NO_MEMORY, "a sentence");
    node_run();
    assert_int_equal(node.reply.error, TD_ERR_NO_MEMORY);
    assert_non_null(strstr(node.text, "node 1"));
    node_end();
}

/* A step may free more memory than the next one can join to what is free. */
static void memory_that_is_freed_is_joined_in_several_steps(void **state)
{
    (void)state;
    enum { FREED = 1200 };
    static void *held[FREED];
    node_begin("5", 0, NULL);
    const struct td_event wake = {.kind = TD_EVENT_WAKE};
    td_time now = node.core->now;
    do
        td_core_step(node.core, now, &wake, &node.actions);
    while (td_core_deadline(node.core) <= now);
    for (int i = 0; i < FREED; i++)
        assert_non_null(held[i] = td_arena_alloc(node.core->arena, 80));
    for (int i = 0; i < FREED; i++)
        td_core_free(node.core, held[i]);
    assert_true(td_core_deadline(node.core) > now);
    int steps = 0;
    do {
        td_core_step(node.core, now, &wake, &node.actions);
        steps++;
    } while (td_core_deadline(node.core) <= now);
    assert_in_range(steps, 2, 10);
    assert_ptr_equal(td_arena_alloc(node.core->arena, FREED * 80), held[0]);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_freed_is_joined_in_several_steps),
        cmocka_unit_test(one_user_has_most_of_an_idle_limit_and_none_of_a_full_one),
        cmocka_unit_test(clients_have_shares_and_root_gets_in),
        cmocka_unit_test(root_can_look_at_a_full_node_but_not_join),
        cmocka_unit_test(a_client_without_hello_is_expelled),
        cmocka_unit_test(groups_of_a_process_and_of_a_user_are_limited),
        cmocka_unit_test(a_refusal_without_memory_for_the_tree_goes_to_the_members),
        cmocka_unit_test(joins_beyond_the_share_are_limited),
        cmocka_unit_test(jobs_that_do_not_form_leave_memory_to_others),
        cmocka_unit_test(regions_are_counted_by_user),
        cmocka_unit_test(operations_are_counted_by_user),
        cmocka_unit_test(memory_of_calls_is_charged_to_their_user),
        cmocka_unit_test(a_call_waits_for_the_memory_of_its_record),
        cmocka_unit_test(one_large_call_alone_is_accepted),
        cmocka_unit_test(whatever_one_user_takes_others_and_root_work),
        cmocka_unit_test(plans_are_refused_at_the_share_of_their_user),
        cmocka_unit_test(an_error_without_memory_for_its_sentence_has_one_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
