/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of two to four nodes whose network is parted: every way to part them, at every phase of
 * a shrink, until the network heals or for good. On all nodes together a group has at most one
 * successor; every call ends; only the side with a quorum goes on without the other one, and the
 * other one hears PARTITIONED. After healing, ranks that no epoch has excluded shrink together.
 * TORUS_TEST_CASE=NUMBER runs one case. */
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

enum { NODES_MAX = 4, RANKS_MAX = 2 * NODES_MAX };

/* struct play: one case. */
struct play {
    struct td_sim *sim;
    struct job job;
    uint32_t nodes, cut;       /* cut: bitmap of the nodes on side 1 */
    td_time cut_at, healed_at; /* healed_at TD_TIME_NEVER: never */
    uint32_t dead;             /* a rank that dies before, or UINT32_MAX */
    td_time at;
    struct td_reply got[RANKS_MAX]; /* the reply to each rank's last shrink */
};

static void impatient(struct td_sim_options *o)
{
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
}

/* pass runs the world until `at`, and parts and heals the network on the way. */
static void pass(struct play *p, td_time at)
{
    bool set[NODES_MAX];
    for (uint32_t n = 0; n < p->nodes; n++)
        set[n] = (p->cut >> n & 1) != 0;
    while (p->at < at) {
        td_time next = at;
        if (p->at < p->cut_at && p->cut_at < next)
            next = p->cut_at;
        if (p->at < p->healed_at && p->healed_at < next)
            next = p->healed_at;
        td_sim_run(p->sim, next - p->at);
        p->at = next;
        if (next == p->cut_at)
            td_sim_partition(p->sim, set, false);
        if (next == p->healed_at)
            td_sim_heal(p->sim);
    }
}

static bool lives(const struct play *p, uint32_t i)
{
    return i != p->dead;
}

static void shrink(struct play *p, uint32_t i)
{
    struct td_request q = {.kind = TD_REQUEST_SHRINK};
    q.u.shrink.group = p->job.rank[i].group;
    q.u.shrink.timeout_ns = -1;
    p->job.rank[i].request = td_sim_request(p->sim, p->job.rank[i].client, &q);
}

/* for_good returns true if a rank will get no other reply: it has a group, or the others go on
 * without it. */
static bool for_good(const struct play *p, uint32_t i)
{
    const struct td_reply *r = job_reply(&p->job, i);
    return r && (r->error == TD_OK || strstr(r->text, "go on without"));
}

/* insist runs until `until`. Ranks that are told PARTITIONED call again after a while. It returns
 * true as soon as all have an answer for good. */
static bool insist(struct play *p, td_time until)
{
    bool all = false;
    while (!all && p->at < until) {
        pass(p, p->at + SECOND / 10 + td_sim_random(p->sim, SECOND / 10));
        all = true;
        for (uint32_t i = 0; i < p->job.size; i++) {
            const struct td_reply *r = lives(p, i) ? job_reply(&p->job, i) : NULL;
            EXPECT(!r || r->error == TD_OK || r->error == TD_ERR_PARTITIONED,
                   "rank %u was told %d: %s", i, r->error, r->text);
            all = all && (!lives(p, i) || for_good(p, i));
            if (r)
                p->got[i] = *r;
            if (r && !for_good(p, i))
                shrink(p, i);
        }
    }
    return all;
}

/* check_one: all ranks that got a group got the same one, of as many ranks as got it at least. */
static void check_one(const struct play *p)
{
    uint64_t instance = 0;
    for (uint32_t i = 0; i < p->job.size; i++) {
        const struct td_reply *r = &p->got[i];
        if (!lives(p, i) || r->error != TD_OK)
            continue;
        EXPECT(instance == 0 || r->u.joined.instance == instance, "rank %u has another successor",
               i);
        instance = r->u.joined.instance;
    }
}

/* has_quorum returns true if the nodes that a node reaches on its side may exclude the others. */
static bool has_quorum(const struct play *p, uint32_t node)
{
    bool other[NODES_MAX], reached[NODES_MAX];
    for (uint32_t n = 0; n < p->nodes; n++)
        other[n] = ((p->cut >> n ^ p->cut >> node) & 1) != 0;
    uint32_t count = job_reaches(p->sim, node, other, reached);
    return 2 * count > p->nodes || (2 * count == p->nodes && reached[0]);
}

static void begin(struct play *p, uint32_t nodes, uint64_t seed)
{
    static const char *const shapes[] = {"2", "3", "2x2"};
    uint32_t at[RANKS_MAX];
    *p = (struct play){.nodes = nodes, .cut_at = TD_TIME_NEVER, .healed_at = TD_TIME_NEVER};
    p->sim = job_world(shapes[nodes - 2], seed, impatient);
    for (uint32_t i = 0; i < nodes + 1; i++)
        at[i] = i % nodes; /* two ranks on node 0 */
    job_form(&p->job, p->sim, "job", at, nodes + 1, 4096);
    td_sim_run(p->sim, 3 * SECOND); /* all daemons vote */
    td_sim_forget(p->sim);
    p->dead = UINT32_MAX;
}

static uint32_t count_ok(const struct play *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->job.size; i++)
        count += lives(p, i) && p->got[i].error == TD_OK;
    return count;
}

/* check_for_good checks the endings of a cut that has outlasted the shrink. `before`: it began
 * before the shrink, which no side can have finished with the other one. */
static void check_for_good(struct play *p, bool before)
{
    for (uint32_t i = 0; i < p->job.size; i++) {
        bool good = lives(p, i) && p->got[i].error == TD_OK;
        EXPECT(!lives(p, i) || (good && !before) || good == has_quorum(p, p->job.rank[i].node),
               "rank %u was told %d: %s", i, p->got[i].error, p->got[i].text);
    }
}

/* When the network is parted, from the first call of the shrink on; before: negative. */
static const int64_t cut_after[] = {
    -(int64_t)(3 * SECOND),
    -(int64_t)(SECOND / 2),
    0,
    1000,
    5000,
    10000,
    20000,
    30000,
    40000,
    60000,
    80000,
    120000,
    200000,
    1000000,
    3000000,
};
/* When it heals, from the cut on. */
static const td_time heals_after[] = {
    SECOND / 3,     SECOND,     SECOND + SECOND / 10, SECOND + SECOND / 5,
    3 * SECOND / 2, 2 * SECOND, 5 * SECOND,           TD_TIME_NEVER,
};
enum {
    CUTS = sizeof cut_after / sizeof *cut_after,
    HEALS = sizeof heals_after / sizeof *heals_after,
    SEEDS = 4
};

static void run_shrink(uint64_t number)
{
    struct play p;
    uint64_t left = number;
    uint32_t nodes = 2 + (uint32_t)(left % 3);
    left /= 3;
    uint64_t seed = left % SEEDS;
    left /= SEEDS;
    td_time heals = heals_after[left % HEALS];
    left /= HEALS;
    int64_t cut = cut_after[left % CUTS];
    left /= CUTS;
    uint32_t side = (uint32_t)(left % ((1u << NODES_MAX) - 1)) + 1;
    if (side >= (1u << nodes) - 1 || side & 1)
        return; /* the same as another case */
    begin(&p, nodes, 12 * number + seed);
    p.cut = side;
    if (getenv("TORUS_TEST_TRACE"))
        printf("%u nodes, side %x, cut %lld ns, heals %lld ns, dead %u\n", nodes, side,
               (long long)cut, (long long)heals, p.dead);
    td_time first = 4 * SECOND; /* of the calls, from now on */
    p.cut_at = (td_time)((int64_t)first + cut);
    p.healed_at = heals == TD_TIME_NEVER ? heals : p.cut_at + heals;
    if (number / 7 % 2) {
        p.dead = (uint32_t)(number % p.job.size);
        td_sim_close(p.sim, p.job.rank[p.dead].client);
    }
    pass(&p, first);
    for (uint32_t i = 0; i < p.job.size; i++) {
        if (lives(&p, i))
            shrink(&p, i);
        pass(&p, p.at + td_sim_random(p.sim, 2000));
    }
    if (heals == TD_TIME_NEVER) {
        insist(&p, p.at + 8 * SECOND);
        check_one(&p);
        check_for_good(&p, cut < 0);
        p.healed_at = p.at + SECOND;
    }
    bool all = insist(&p, p.healed_at + 30 * SECOND);
    check_one(&p);
    for (uint32_t i = 0; i < p.job.size; i++)
        EXPECT(all || !lives(&p, i) || for_good(&p, i), "rank %u was told %d in the end: %s", i,
               p.got[i].error, p.got[i].text);
    EXPECT(count_ok(&p) > 0, "nobody has a group");
    if (p.at < p.healed_at + 3 * SECOND)
        pass(&p, p.healed_at + 3 * SECOND);
    job_world_end(p.sim);
}

static void a_group_has_one_successor_whenever_the_network_parts(void **unused)
{
    (void)unused;
    uint64_t cases = 3ull * SEEDS * HEALS * CUTS * ((1u << NODES_MAX) - 2);
    for (uint64_t number = 0; number < cases; number++) {
        if (!seeds_pick(number, 17))
            continue;
        job_case("TORUS_TEST_CASE=%llu test_partition_sim", (unsigned long long)number);
        run_shrink(number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_has_one_successor_whenever_the_network_parts),
    };
    uint64_t one = 0;
    if (!seeds_one(&one))
        return cmocka_run_group_tests(tests, NULL, NULL);
    job_case("TORUS_TEST_CASE=%llu test_partition_sim", (unsigned long long)one);
    run_shrink(one);
    return 0;
}
