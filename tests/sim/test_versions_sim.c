/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of different releases and configurations: a job whose nodes differ in what they must share
 * is refused with both values; jobs of nodes that agree work beside it; neighbouring minor versions
 * speak with each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "collectives/terms.h"
#include "job.h"

enum { BYTES = 1 << 16, NODES = 4 };

/* ---- the odd node ---- */

static uint32_t odd;                   /* the node that differs */
static uint64_t changed[TD_TERMS_MAX]; /* a list of its terms */

static struct td_term_list change(enum td_terms_list list, uint32_t index, uint64_t by)
{
    struct td_term_list terms = td_collectives_terms(list);
    memcpy(changed, terms.value, terms.count * sizeof *terms.value);
    if (index >= terms.count)
        changed[terms.count++] = 0; /* a newer release has more */
    changed[index] += by;
    return (struct td_term_list){terms.count, changed};
}

static void another_constant(uint32_t node, struct td_core_options *o)
{
    if (node == odd)
        o->costs = change(TD_TERMS_COSTS, 0, 1);
}

static void another_version(uint32_t node, struct td_core_options *o)
{
    if (node == odd)
        o->methods = change(TD_TERMS_METHODS, 10, 1);
}

static void one_method_more(uint32_t node, struct td_core_options *o)
{
    if (node == odd)
        o->methods = change(TD_TERMS_METHODS, td_collectives_terms(TD_TERMS_METHODS).count, 1);
}

static void another_burst(uint32_t node, struct td_core_options *o)
{
    if (node == odd)
        o->settings.tuning.burst = 4;
}

static void another_method(uint32_t node, struct td_core_options *o)
{
    if (node == odd)
        o->settings.tuning.alltoall = TD_ALLTOALL_PHASED;
}

static void another_scratch(uint32_t node, struct td_core_options *o)
{
    if (node == odd)
        o->settings.scratch_bytes *= 2;
}

static void a_later_minor(uint32_t node, struct td_core_options *o)
{
    if (node == odd)
        o->minor++;
}

/* ---- worlds ---- */

static void (*differ)(uint32_t node, struct td_core_options *o); /* may change between starts */

static void make_differ(uint32_t node, struct td_core_options *o)
{
    if (differ)
        differ(node, o);
}

static void change_options(struct td_sim_options *o)
{
    o->differ = make_differ;
    o->settings.progress_timeout_ns = SECOND;
    o->settings.heartbeat_ns = SECOND / 10;
}

static struct td_sim *world(const char *shape, uint64_t seed, const char *name)
{
    job_case("TORUS_TEST_CASE=%llu test_versions_sim (%s, odd node %u)", (unsigned long long)seed,
             name, odd);
    return job_world(shape, seed, change_options);
}

static void sums(struct job *job)
{
    const struct td_call sum = {
        .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = 3000};
    for (uint32_t i = 0; i < job->size; i++)
        *(int32_t *)job_source(job, i, 0) = (int32_t)i + 1;
    job_call_all(job, &sum, 0, false);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    for (uint32_t i = 0; i < job->size; i++)
        CHECK(*(int32_t *)job_destination(job, i, 0) == (int32_t)(job->size * (job->size + 1) / 2));
}

/* form_over forms a job with a rank on each node but the odd one. */
static void form_over(struct job *job, struct td_sim *sim, const char *name)
{
    uint32_t nodes[NODES], size = 0;
    for (uint32_t n = 0; n < td_sim_nodes(sim); n++)
        if (n != odd)
            nodes[size++] = n;
    job_form(job, sim, name, nodes, size, BYTES);
}

/* is_refused tries a job over all nodes: each rank gets a sentence with all the parts. */
static void is_refused(struct td_sim *sim, const char *const *part)
{
    struct job job;
    uint32_t nodes[NODES];
    char place[16];
    for (uint32_t n = 0; n < NODES; n++)
        nodes[n] = n;
    job_open(&job, sim, "mixed", nodes, NODES, 0);
    for (uint32_t i = 0; i < NODES; i++)
        job_join(&job, i, i, 10 * (int64_t)SECOND);
    job_settle(&job);
    snprintf(place, sizeof place, "node %u (", odd);
    for (uint32_t i = 0; i < NODES; i++) {
        for (const char *const *at = part; *at; at++)
            job_expect(&job, i, TD_ERR_MISMATCH, *at);
        job_expect(&job, i, TD_ERR_MISMATCH, place);
        job_expect(&job, i, TD_ERR_MISMATCH, "job mixed");
    }
}

/* ---- groups ---- */

static void with_odd_nodes(void (*how)(uint32_t, struct td_core_options *), const char *name,
                           const char *const *part)
{
    differ = how;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct job others, alone;
        odd = (uint32_t)(seed / 2 % NODES); /* on both fabrics */
        struct td_sim *sim = world("2x2", seed, name);
        form_over(&others, sim, "others");
        is_refused(sim, part);
        sums(&others); /* it goes on */
        job_form(&alone, sim, "alone", &odd, 1, BYTES);
        sums(&alone);
        form_over(&others, sim, "mixed"); /* the name is free again */
        sums(&others);
        CHECK(td_sim_drops(sim) == 0);
        job_world_end(sim);
    }
}

static void nodes_with_different_constants_form_no_group(void **unused)
{
    (void)unused;
    static const char *const part[] = {"the cost constant SWING_SHARE4 is ", "7 on node ",
                                       "8 on node ", "run the same release", NULL};
    with_odd_nodes(another_constant, "constant", part);
}

static void nodes_with_different_versions_of_a_method_form_no_group(void **unused)
{
    (void)unused;
    static const char *const part[] = {"the version of the method reduce_swing is ", "2 on node ",
                                       "3 on node ", "run the same release", NULL};
    with_odd_nodes(another_version, "version", part);
}

static void a_node_with_a_new_method_forms_no_group_with_others(void **unused)
{
    (void)unused;
    char number[80];
    snprintf(number, sizeof number, "the version of the method with number %u is ",
             td_collectives_terms(TD_TERMS_METHODS).count);
    const char *const part[] = {number, "0 on node ", "1 on node ", NULL};
    with_odd_nodes(one_method_more, "more", part);
}

static void nodes_with_different_settings_form_no_group(void **unused)
{
    (void)unused;
    static const char *const burst[] = {"[alltoall] burst is ",     "1 on node ",     "4 on node ",
                                        "configure the same value", "restart torusd", NULL};
    static const char *const method[] = {"[torus] alltoall is ", "auto on node ", "phased on node ",
                                         NULL};
    with_odd_nodes(another_burst, "burst", burst);
    with_odd_nodes(another_method, "method", method);
}

static void memory_and_later_minor_versions_may_differ(void **unused)
{
    (void)unused;
    static void (*const hows[])(uint32_t, struct td_core_options *) = {another_scratch,
                                                                       a_later_minor};
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct job job;
        uint32_t nodes[NODES] = {0, 1, 2, 3};
        odd = (uint32_t)(seed / 2 % NODES);
        differ = hows[seed % 2];
        struct td_sim *sim = world("2x2", seed / 2, "may differ");
        job_form(&job, sim, "job", nodes, NODES, BYTES);
        sums(&job);
        job_world_end(sim);
    }
}

/* A daemon gets other settings by a restart, which ends its groups. Later groups compare them. */
static void a_restart_with_other_settings_concerns_later_groups_only(void **unused)
{
    (void)unused;
    static const char *const part[] = {"[alltoall] burst is ", NULL};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct job others;
        odd = 2;
        differ = NULL;
        struct td_sim *sim = world("2x2", seed, "restart");
        form_over(&others, sim, "others");
        sums(&others);
        td_sim_kill_node(sim, odd);
        td_sim_run(sim, SECOND / 10);
        differ = another_burst;
        td_sim_start_node(sim, odd);
        td_sim_run(sim, 3 * SECOND);
        if (seed % 2 == 0) /* on the routed fabric its loss may cut routes */
            sums(&others);
        is_refused(sim, part);
        job_world_end(sim);
    }
}

/* ---- 4.1 ---- */

static bool old[NODES]; /* the nodes that run 4.1 */
static uint32_t spares;

static void as_first(uint32_t node, struct td_core_options *o)
{
    if (old[node])
        o->minor = 0;
}

/* as_old removes what 4.1 does not send, and counts what it does not understand. */
static bool as_old(void *me, uint32_t from, uint32_t to, struct td_message *m)
{
    (void)me;
    if (m->kind == TD_MESSAGE_ANNOUNCE_AGAIN && m->u.announce_again.without_scratch) {
        EXPECT(!old[to], "4.1 got a message that it does not understand");
        spares++;
    }
    if (old[from] && m->kind == TD_MESSAGE_JOIN) {
        m->u.join.minor = 0;
        m->u.join.terms = (struct td_terms){0};
    }
    if (old[from] && m->kind == TD_MESSAGE_MEMBERS)
        m->u.members.minor = 0;
    return true;
}

static void tampering(struct td_sim_options *o)
{
    o->settings.progress_timeout_ns = SECOND;
    o->settings.heartbeat_ns = SECOND / 10;
    o->tamper.message = as_old;
    o->differ = as_first;
}

/* late makes the last rank call long after the others, which therefore give scratch back. */
static void late(struct job *job)
{
    const struct td_call all = {.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = 5000};
    for (uint32_t i = 0; i + 1 < job->size; i++)
        job_call(job, i, &all, 0, false);
    td_sim_run(job->sim, 3 * SECOND);
    job_call(job, job->size - 1, &all, 0, false);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
}

static void a_group_uses_what_its_oldest_daemon_understands(void **unused)
{
    (void)unused;
    uint32_t spared[2] = {0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct job job;
        uint32_t nodes[NODES] = {0, 1, 2, 3};
        bool mixed = seed % 3;
        job_case("TORUS_TEST_CASE=%llu test_versions_sim (4.1)", (unsigned long long)seed);
        memset(old, 0, sizeof old);
        old[seed % NODES] = mixed; /* node 0 among them */
        old[3] = old[3] || seed % 3 == 2;
        spares = 0;
        struct td_sim *sim = job_world("2x2", seed, tampering);
        job_form(&job, sim, "job", nodes, NODES, BYTES);
        sums(&job);
        late(&job);
        spared[mixed] += spares;
        EXPECT(!mixed || spares == 0, "a group with 4.1 gave scratch back");
        CHECK(td_sim_drops(sim) == 0);
        job_world_end(sim);
    }
    assert_true(spared[0] > 0);
}

/* ---- long rides ---- */

static uint32_t long_payloads;

static bool count_long(void *me, uint32_t from, uint32_t to, struct td_message *m)
{
    (void)me;
    (void)from;
    (void)to;
    if (m->kind == TD_MESSAGE_ARRIVE && m->u.arrive.payload.bytes > TD_RIDE_BYTES_MAX)
        long_payloads++;
    if (m->kind == TD_MESSAGE_RELEASE && m->u.release.payload.bytes > TD_RIDE_BYTES_MAX)
        long_payloads++;
    return true;
}

static void before_long_rides(uint32_t node, struct td_core_options *o)
{
    if (old[node])
        o->minor = TD_MINOR_LONG_RIDES - 1;
}

static void counting(struct td_sim_options *o)
{
    tampering(o);
    o->tamper.message = count_long;
    o->differ = before_long_rides;
}

/* exchange makes an all-to-all, and checks its result. */
static void exchange(struct job *job, uint32_t block)
{
    const struct td_call all = {.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = block};
    for (uint32_t i = 0; i < job->size; i++)
        for (uint32_t k = 0; k < job->size * block; k++)
            ((uint8_t *)job_source(job, i, 0))[k] = (uint8_t)(7 * i + 3 * (k / block) + k);
    job_call_all(job, &all, 0, false);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    for (uint32_t i = 0; i < job->size; i++)
        for (uint32_t k = 0; k < job->size * block; k++) {
            uint32_t from = k / block, at = i * block + k % block;
            CHECK(((uint8_t *)job_destination(job, i, 0))[k] == (uint8_t)(7 * from + 3 * i + at));
        }
}

static void long_payloads_travel_if_every_daemon_knows_them(void **unused)
{
    (void)unused;
    for (uint64_t seed = 2; seed <= 12; seed += 2) { /* on the direct fabric */
        struct job job;
        uint32_t nodes[NODES] = {0, 1, 2, 3};
        job_case("TORUS_TEST_CASE=%llu test_versions_sim (6.8)", (unsigned long long)seed);
        memset(old, 0, sizeof old);
        old[seed / 2 % NODES] = seed > 4;
        long_payloads = 0;
        struct td_sim *sim = job_world("2x2", seed, counting);
        job_form(&job, sim, "job", nodes, NODES, BYTES);
        exchange(&job, 1000); /* a node announces 4000 bytes */
        CHECK(long_payloads == (seed > 4 ? 0 : 2 * (NODES - 1)));
        CHECK(td_sim_drops(sim) == 0);
        job_world_end(sim);
    }
}

/* ---- short messages without packets ---- */

static uint32_t carried, packets;

static bool count_carried(void *me, uint32_t from, uint32_t to, struct td_message *m)
{
    (void)me;
    (void)from;
    (void)to;
    carried += m->kind == TD_MESSAGE_CARRY;
    return true;
}

static void count_packets(void *me, uint32_t from, uint32_t to, struct td_packet *p)
{
    (void)me;
    (void)from;
    (void)to;
    packets += p->kind == TD_PACKET_DATA;
}

static void before_carries(uint32_t node, struct td_core_options *o)
{
    if (old[node])
        o->minor = TD_MINOR_CARRY_SHORT - 1;
}

static void carrying(struct td_sim_options *o)
{
    tampering(o);
    o->settings.carry_bytes = 16000;
    o->tamper.message = count_carried;
    o->tamper.packet = count_packets;
    o->differ = before_carries;
}

static void short_messages_need_no_packets_if_every_daemon_carries_them(void **unused)
{
    (void)unused;
    enum { MESSAGES = NODES * (NODES - 1) };
    for (uint64_t seed = 2; seed <= 12; seed += 2) { /* on the direct fabric */
        struct job job;
        uint32_t nodes[NODES] = {0, 1, 2, 3};
        job_case("TORUS_TEST_CASE=%llu test_versions_sim (6.9)", (unsigned long long)seed);
        memset(old, 0, sizeof old);
        bool mixed = old[seed / 2 % NODES] = seed > 4;
        struct td_sim *sim = job_world("2x2", seed, carrying);
        job_form(&job, sim, "job", nodes, NODES, BYTES);
        carried = packets = 0;
        exchange(&job, 16000);
        CHECK(carried == (mixed ? 0 : MESSAGES) && (packets > 0) == mixed);
        packets = 0;
        exchange(&job, 16001); /* one byte too long */
        CHECK(carried == (mixed ? 0 : MESSAGES) && packets >= MESSAGES);
        CHECK(td_sim_drops(sim) == 0);
        job_world_end(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_with_different_constants_form_no_group),
        cmocka_unit_test(nodes_with_different_versions_of_a_method_form_no_group),
        cmocka_unit_test(a_node_with_a_new_method_forms_no_group_with_others),
        cmocka_unit_test(nodes_with_different_settings_form_no_group),
        cmocka_unit_test(memory_and_later_minor_versions_may_differ),
        cmocka_unit_test(a_restart_with_other_settings_concerns_later_groups_only),
        cmocka_unit_test(a_group_uses_what_its_oldest_daemon_understands),
        cmocka_unit_test(long_payloads_travel_if_every_daemon_knows_them),
        cmocka_unit_test(short_messages_need_no_packets_if_every_daemon_carries_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
