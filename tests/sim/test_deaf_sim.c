/* SPDX-License-Identifier: Apache-2.0 */
/* The link of two nodes is cut, and all other nodes hear both. A shrink of a job with ranks on both
 * leaves one of them out, and the new group works. TORUS_TEST_CASE=SEED runs one seed. */
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

enum { NODES_MAX = 6 };

static void impatient(struct td_sim_options *o)
{
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
    o->settings.tuning.fabric = TD_FABRIC_DIRECT; /* the routed one finds another route */
}

static void shrink(struct job *job, uint32_t i)
{
    struct td_request q = {.kind = TD_REQUEST_SHRINK};
    q.u.shrink.group = job->rank[i].group;
    q.u.shrink.timeout_ns = -1;
    job->rank[i].request = td_sim_request(job->sim, job->rank[i].client, &q);
}

static void run(uint64_t seed)
{
    static const char *const shapes[] = {"3", "2x2", "5", "2x3"};
    static const struct td_call call = {
        .kind = TD_KIND_ALLTOALL, .type = TD_TYPE_INT32, .count = 4};
    uint32_t nodes[NODES_MAX], count = 0, kept[NODES_MAX], good = 0;
    struct job job;
    job_case("TORUS_TEST_CASE=%llu test_deaf_sim", (unsigned long long)seed);
    struct td_sim *sim = job_world(shapes[seed % 4], seed, impatient);
    uint32_t size = td_sim_nodes(sim), a = (uint32_t)td_sim_random(sim, size),
             b = (a + 1 + (uint32_t)td_sim_random(sim, size - 1)) % size;
    for (uint32_t n = 0; n < size; n++)
        if (n == a || n == b || td_sim_random(sim, 3))
            nodes[count++] = n;
    job_form(&job, sim, "job", nodes, count, 4096);
    job_call_all(&job, &call, 0, false); /* all links come up */
    job_settle(&job);
    job_expect_all(&job, TD_OK, NULL);
    td_sim_run(sim, 3 * SECOND);
    td_sim_hold_link(sim, a, b);
    td_sim_hold_link(sim, b, a);
    td_sim_run(sim, td_sim_random(sim, 4 * SECOND));
    job_call_all(&job, &call, 0, false);
    td_sim_run(sim, 8 * SECOND);
    for (uint32_t i = 0; i < count; i++)
        shrink(&job, i);
    td_sim_run(sim, 12 * SECOND);
    uint64_t instance = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct td_reply *r = job_reply(&job, i);
        EXPECT(r && (r->error == TD_OK || r->error == TD_ERR_PARTITIONED), "rank %u: %d %s", i,
               r ? r->error : 0, r ? r->text : "no answer");
        EXPECT(r->error == TD_OK || nodes[i] == a || nodes[i] == b, "rank %u is left out: %s", i,
               r->text);
        if (r->error != TD_OK)
            continue;
        EXPECT(instance == 0 || instance == r->u.joined.instance, "two successors");
        EXPECT(r->u.joined.size == count - 1, "a group of %u ranks", r->u.joined.size);
        instance = r->u.joined.instance;
        job.rank[i].group = r->u.joined.group;
        job.rank[i].calls = 0;
        kept[good++] = i;
    }
    EXPECT(good == count - 1, "%u of %u ranks have a group", good, count);
    for (uint32_t k = 0; k < good; k++)
        job_call(&job, kept[k], &call, 0, false);
    td_sim_run(sim, 3 * SECOND);
    for (uint32_t k = 0; k < good; k++)
        job_expect(&job, kept[k], TD_OK, NULL);
    td_sim_heal(sim);
    td_sim_run(sim, 3 * SECOND);
    job_world_end(sim);
}

static void a_shrink_ends_although_two_nodes_do_not_hear_each_other(void **unused)
{
    (void)unused;
    seeds_run(run, 200, 20, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shrink_ends_although_two_nodes_do_not_hear_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
