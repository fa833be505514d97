/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of different releases and configurations: a job whose nodes differ in what they must share
 * is refused with both values; jobs of nodes that agree work beside it. */
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

static void memory_may_differ(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct job job;
        uint32_t nodes[NODES] = {0, 1, 2, 3};
        odd = (uint32_t)(seed / 2 % NODES);
        differ = another_scratch;
        struct td_sim *sim = world("2x2", seed, "may differ");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_with_different_constants_form_no_group),
        cmocka_unit_test(nodes_with_different_versions_of_a_method_form_no_group),
        cmocka_unit_test(a_node_with_a_new_method_forms_no_group_with_others),
        cmocka_unit_test(nodes_with_different_settings_form_no_group),
        cmocka_unit_test(memory_may_differ),
        cmocka_unit_test(a_restart_with_other_settings_concerns_later_groups_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
