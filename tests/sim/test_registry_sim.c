/* SPDX-License-Identifier: Apache-2.0 */
/* The node that keeps the list of jobs dies, falls silent, drains, is cut off or is restarted,
 * while processes join jobs. These always hold: no rank of a job is in two instances of it; every
 * join is answered; each side of a cut forms jobs of its own; after healing, the joins of both
 * sides meet, and a job of all nodes forms. TORUS_TEST_CASE=SEED runs one seed of the last test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"
#include "sim/disturbances.h"

enum { NODES_MAX = 9, JOBS = 4, RANKS_MAX = 2 * NODES_MAX };

static void impatient(struct td_sim_options *o)
{
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
}

/* settle runs until all ranks that live have answers, at most so long. */
static bool settle(struct job *job, const bool *dead, td_time ns)
{
    bool all = false;
    for (td_time at = 0; !all && at < ns; at += SECOND / 10) {
        td_sim_run(job->sim, SECOND / 10);
        all = true;
        for (uint32_t i = 0; i < job->size; i++)
            all = all && (dead[job->rank[i].node] || job_reply(job, i));
    }
    return all;
}

/* check_formed: all ranks are in one instance. */
static void check_formed(const struct job *job)
{
    uint64_t instance = 0;
    for (uint32_t i = 0; i < job->size; i++) {
        const struct td_reply *r = job_reply(job, i);
        EXPECT(r && r->error == TD_OK, "job %s, rank %u: %d, %s", job->name, i, r ? r->error : 0,
               r ? r->text : "no answer");
        EXPECT(instance == 0 || instance == r->u.joined.instance, "job %s has two instances",
               job->name);
        instance = r->u.joined.instance;
    }
}

static void begin(struct job *job, struct td_sim *sim, const char *name, const uint32_t *nodes,
                  uint32_t size)
{
    job_open(job, sim, name, nodes, size, 0);
}

static void join_all(struct job *job)
{
    for (uint32_t i = 0; i < job->size; i++)
        job_join(job, i, i, 60 * (int64_t)SECOND);
}

enum fault { KILLED, SILENT, DRAINING, FAULTS };

static void hurt(struct td_sim *sim, uint32_t node, enum fault fault)
{
    if (fault == KILLED)
        td_sim_kill_node(sim, node);
    else if (fault == SILENT)
        td_sim_freeze_node(sim, node);
    else
        td_sim_stop_node(sim, node);
}

/* Some ranks join before the registry is lost, the others after it. */
static void a_successor_finds_the_joins_that_wait(void **unused)
{
    static const char *const shapes[] = {"3", "2x2", "3x3"};
    (void)unused;
    for (uint64_t number = 0; number < 3ull * 2 * FAULTS * 3 * 4; number++) {
        uint64_t left = number;
        const char *shape = shapes[left % 3];
        enum fault fault = (enum fault)(left / 3 % FAULTS);
        uint32_t before = (uint32_t)(left / 3 / FAULTS % 3), lost = 1 + left / 9 / FAULTS % 2;
        bool dead[NODES_MAX] = {false};
        uint32_t nodes[RANKS_MAX], count = 0;
        struct job job;
        job_case("test_registry_sim (case %llu)", (unsigned long long)number);
        struct td_sim *sim = job_world(shape, number, impatient);
        for (uint32_t n = 2; n < td_sim_nodes(sim); n++)
            nodes[count++] = n;
        nodes[count++] = 2; /* two ranks on node 2 */
        begin(&job, sim, "job", nodes, count);
        for (uint32_t i = 0; i < before && i < count; i++)
            job_join(&job, i, i, 60 * (int64_t)SECOND);
        td_sim_run(sim, number % 2 ? SECOND : 1000 * (number % 50));
        for (uint32_t n = 0; n < lost; n++) {
            hurt(sim, n, fault);
            dead[n] = true;
        }
        for (uint32_t i = before; i < count; i++)
            job_join(&job, i, i, 60 * (int64_t)SECOND);
        EXPECT(settle(&job, dead, 20 * SECOND), "not all joins were answered");
        check_formed(&job);
        job_world_end(sim);
    }
}

/* Both sides of a cut form jobs; a job of both forms when the network works again. */
static void each_side_forms_jobs_and_both_meet_after_healing(void **unused)
{
    (void)unused;
    for (uint64_t number = 0; number < 16; number++) {
        static const uint32_t low[] = {0, 1, 1}, high[] = {2, 3, 3}, all[] = {0, 1, 2, 3};
        const bool set[] = {false, false, true, true}, dead[4] = {false};
        struct job one, two, both, after;
        job_case("test_registry_sim (cut %llu)", (unsigned long long)number);
        struct td_sim *sim = job_world("2x2", number, impatient);
        begin(&both, sim, "both", all, 4);
        if (number & 2)
            join_all(&both);
        td_sim_run(sim, SECOND);
        if (!(number & 2)) {
            td_sim_partition(sim, set, (number & 4) != 0);
            join_all(&both);
        } else {
            check_formed(&both);
            td_sim_partition(sim, set, (number & 4) != 0);
        }
        begin(&one, sim, "one", low, 3);
        begin(&two, sim, "two", high, 3);
        td_sim_run(sim, number & 8 ? 4 * SECOND : 0);
        join_all(&one);
        join_all(&two);
        EXPECT(settle(&one, dead, 12 * SECOND), "the side of node 0 forms no job");
        EXPECT(settle(&two, dead, 12 * SECOND), "the other side forms no job");
        check_formed(&one);
        check_formed(&two);
        td_sim_heal(sim);
        EXPECT(settle(&both, dead, 12 * SECOND), "the sides do not meet");
        check_formed(&both);
        begin(&after, sim, "two", high, 3); /* the ranks are taken, as node 0 learns */
        join_all(&after);
        EXPECT(settle(&after, dead, 12 * SECOND), "no answer after healing");
        for (uint32_t i = 0; i < 3; i++)
            EXPECT(job_reply(&after, i)->error == TD_ERR_RANK_TAKEN, "a job has two instances: %d",
                   job_reply(&after, i)->error);
        job_world_end(sim);
    }
}

/* ---- random faults ---- */

struct play {
    struct td_sim *sim;
    uint32_t nodes;
    bool dead[NODES_MAX], gone[NODES_MAX]; /* gone: it was dead once, and so are its clients */
    struct job job[JOBS];
    bool joined[JOBS][RANKS_MAX];
};

/* check_instances: the ranks of a job that have their seats are in one instance, since each rank
 * has one process. */
static void check_instances(const struct play *p)
{
    for (uint32_t k = 0; k < JOBS; k++) {
        uint64_t instance = 0;
        for (uint32_t i = 0; i < p->job[k].size; i++) {
            const struct td_reply *r = p->joined[k][i] && !p->gone[p->job[k].rank[i].node]
                                           ? job_reply(&p->job[k], i)
                                           : NULL;
            if (!r || r->error != TD_OK)
                continue;
            EXPECT(instance == 0 || instance == r->u.joined.instance,
                   "job %u has two instances: rank %u", k, i);
            instance = r->u.joined.instance;
        }
    }
}

static void disturb(struct play *p)
{
    uint32_t node = (uint32_t)td_sim_random(p->sim, td_sim_random(p->sim, 2) ? 2 : p->nodes);
    bool set[NODES_MAX];
    switch (td_sim_random(p->sim, 5)) {
    case 0:
        if (!p->dead[node])
            td_sim_kill_node(p->sim, node);
        p->dead[node] = p->gone[node] = true;
        return;
    case 1:
        for (uint32_t n = 0; n < p->nodes; n++) {
            if (p->dead[n])
                td_sim_start_node(p->sim, n);
            p->dead[n] = false;
        }
        return;
    case 2:
        for (uint32_t n = 0; n < p->nodes; n++)
            set[n] = td_sim_random(p->sim, 2);
        td_sim_partition(p->sim, set, td_sim_random(p->sim, 2));
        return;
    case 3:
        td_sim_heal(p->sim);
        return;
    default:
        td_sim_break_link(p->sim, node, (node + 1) % p->nodes);
        return;
    }
}

static void run_random(uint64_t seed)
{
    static const char *const shapes[] = {"2", "3", "2x2", "5", "2x3", "3x3"};
    struct play p = {.sim = job_world(shapes[seed % 6], seed, impatient)};
    p.nodes = td_sim_nodes(p.sim);
    for (uint32_t k = 0; k < JOBS; k++) {
        uint32_t nodes[RANKS_MAX], size = 1 + (uint32_t)td_sim_random(p.sim, p.nodes + 2);
        for (uint32_t i = 0; i < size; i++)
            nodes[i] = (uint32_t)td_sim_random(p.sim, p.nodes);
        char name[8];
        snprintf(name, sizeof name, "job%u", k);
        begin(&p.job[k], p.sim, name, nodes, size);
    }
    for (uint32_t step = 0; step < 12; step++) {
        for (uint32_t k = 0; k < JOBS; k++)
            for (uint32_t i = 0; i < p.job[k].size; i++)
                if (!p.joined[k][i] && !p.gone[p.job[k].rank[i].node] &&
                    td_sim_random(p.sim, 4) == 0) {
                    p.joined[k][i] = true;
                    job_join(&p.job[k], i, td_sim_random(p.sim, 3) ? (int64_t)i : -1,
                             20 * (int64_t)SECOND);
                }
        static const td_time steps[] = {10000, 100000, SECOND / 10, SECOND, 2 * SECOND};
        td_sim_run(p.sim, td_sim_random(p.sim, steps[td_sim_random(p.sim, 5)]));
        check_instances(&p);
        if (td_sim_random(p.sim, 2))
            disturb(&p);
    }
    td_sim_heal(p.sim);
    for (uint32_t n = 0; n < p.nodes; n++)
        if (p.dead[n])
            td_sim_start_node(p.sim, n);
    td_sim_run(p.sim, 40 * SECOND);
    check_instances(&p);
    for (uint32_t k = 0; k < JOBS; k++)
        for (uint32_t i = 0; i < p.job[k].size; i++)
            EXPECT(!p.joined[k][i] || p.gone[p.job[k].rank[i].node] || job_reply(&p.job[k], i),
                   "job %u, rank %u: the join has no answer", k, i);
    struct job job;
    uint32_t nodes[NODES_MAX];
    for (uint32_t n = 0; n < p.nodes; n++)
        nodes[n] = n;
    job_form(&job, p.sim, "after", nodes, p.nodes, 0);
    job_world_end(p.sim);
}

static void joins_survive_random_faults(void **unused)
{
    (void)unused;
    seeds_run(run_random, 300, 15, 20000);
}

static uint64_t absent_set;

static void without_some(struct td_sim_options *o)
{
    impatient(o);
    for (uint32_t n = 0; n < 64; n++)
        if (absent_set >> n & 1)
            td_settings_set_absent(&o->settings, n);
}

/* Nodes that have no vote keep no list. Their processes join like all others. */
static void absent_nodes_keep_no_list_and_may_have_ranks(void **unused)
{
    (void)unused;
    for (uint64_t number = 0; number < 2 * 2 * 7; number++) {
        static const uint32_t all[] = {0, 1, 2};
        const bool dead[3] = {false};
        struct job job;
        absent_set = number % 7;
        job_case("test_registry_sim (absent %llu)", (unsigned long long)number);
        struct td_sim *sim = job_world("3", number, without_some);
        begin(&job, sim, "job", all, 3);
        td_sim_run(sim, number / 7 % 2 ? SECOND : 0);
        join_all(&job);
        EXPECT(settle(&job, dead, 20 * SECOND), "not all joins were answered");
        check_formed(&job);
        job_world_end(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_successor_finds_the_joins_that_wait),
        cmocka_unit_test(each_side_forms_jobs_and_both_meet_after_healing),
        cmocka_unit_test(absent_nodes_keep_no_list_and_may_have_ranks),
        cmocka_unit_test(joins_survive_random_faults),
    };
    uint64_t one = 0;
    if (!seeds_one(&one))
        return cmocka_run_group_tests(tests, NULL, NULL);
    run_random(one);
    return 0;
}
