/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of two to nine nodes whose network is parted and heals, once or several times, while
 * jobs call inside the parts and across them. All ranks call allreduces for ever: call n of a rank
 * adds a number that n and the rank determine, so a sum shows whether calls of equal numbers have
 * met. Calls across a cut end: NODE_FAILED on the side with a quorum, PARTITIONED elsewhere, with
 * one sentence on each side. Calls inside a part go on. After healing, the ranks of a job that no
 * epoch has excluded meet again; all others have been told that they never will.
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

enum { NODES_MAX = 9, JOBS_MAX = 5, RANKS_MAX = 2 * NODES_MAX, COUNT_MAX = 3000 };
#define MS (SECOND / 1000)

/* struct player: a rank that calls again and again. */
struct player {
    bool waits, refused, over; /* over: told that its group will never work again; or dead */
    bool dead;
    td_time next, called, ended; /* of its next call, its latest call and the latest reply */
    uint64_t good;               /* number of its latest call that has ended well, from 1 */
    td_time good_at;
    td_err error; /* of the latest call */
    uint64_t number;
    char text[TD_TEXT_MAX];
};

struct play {
    struct td_sim *sim;
    uint32_t nodes, jobs, part[NODES_MAX]; /* part: of each node now */
    bool is_cut, is_direct;
    struct job job[JOBS_MAX];
    struct player player[JOBS_MAX][RANKS_MAX];
    bool strict[JOBS_MAX]; /* the ranks of the job have always heard one another */
    bool hurt[JOBS_MAX];   /* a rank of it has died */
    td_time cut_at;
};

static void impatient(struct td_sim_options *o)
{
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
}

/* ---- the network ---- */

/* reach returns the number of nodes that a node reaches within its part, and writes them. */
static uint32_t reach(const struct play *p, uint32_t node, bool *reached)
{
    bool other[NODES_MAX];
    for (uint32_t n = 0; n < p->nodes; n++)
        other[n] = p->part[n] != p->part[node];
    return job_reaches(p->sim, node, other, reached);
}

static bool has_quorum(const struct play *p, uint32_t node)
{
    bool reached[NODES_MAX];
    uint32_t count = reach(p, node, reached);
    return 2 * count > p->nodes || (2 * count == p->nodes && reached[0]);
}

/* hears returns true if the ranks of a job are on nodes that reach each other now. */
static bool hears(const struct play *p, int j)
{
    bool reached[NODES_MAX];
    (void)reach(p, p->job[j].rank[0].node, reached);
    for (uint32_t i = 0; i < p->job[j].size; i++)
        if (!reached[p->job[j].rank[i].node])
            return false;
    return true;
}

static void cut(struct play *p, const uint32_t *part)
{
    memcpy(p->part, part, p->nodes * sizeof *part);
    for (uint32_t a = 0; a < p->nodes; a++)
        for (uint32_t b = 0; b < p->nodes; b++)
            if (part[a] != part[b])
                td_sim_hold_link(p->sim, a, b);
    p->cut_at = td_sim_now(p->sim);
    p->is_cut = true;
    for (int j = 0; j < (int)p->jobs; j++)
        p->strict[j] = p->strict[j] && hears(p, j);
}

static void heal(struct play *p)
{
    td_sim_heal(p->sim);
    memset(p->part, 0, sizeof p->part);
    p->is_cut = false;
}

/* ---- calls ---- */

static int64_t number_of(uint64_t call, uint32_t rank)
{
    return (int64_t)(call * 1000003 + rank * 4099 + 1);
}

static uint64_t count_of(uint64_t call)
{
    static const uint64_t counts[] = {1, 64, 1, COUNT_MAX};
    return counts[call % 4];
}

static void make_call(struct play *p, int j, uint32_t i)
{
    struct job *job = &p->job[j];
    struct player *w = &p->player[j][i];
    uint64_t call = job->rank[i].calls, count = count_of(call);
    int64_t *source = job_source(job, i, 0);
    for (uint64_t k = 0; k < count; k++)
        source[k] = number_of(call, i);
    memset(job_destination(job, i, 0), 0xff, count * sizeof *source);
    w->waits = true;
    w->called = td_sim_now(p->sim);
    w->number = call;
    job_call(job, i,
             &(struct td_call){
                 .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT64, .op = TD_OP_SUM, .count = count},
             0, false);
}

static void check_sum(struct play *p, int j, uint32_t i, uint64_t call)
{
    const int64_t *sum = job_destination(&p->job[j], i, 0);
    int64_t want = 0;
    for (uint32_t r = 0; r < p->job[j].size; r++)
        want += number_of(call, r);
    for (uint64_t k = 0; k < count_of(call); k++)
        EXPECT(sum[k] == want, "job %d, rank %u, call %llu: element %llu is %lld, not %lld", j, i,
               (unsigned long long)call, (unsigned long long)k, (long long)sum[k], (long long)want);
    for (uint32_t r = 0; r < p->job[j].size; r++)
        EXPECT(p->job[j].rank[r].calls > call,
               "job %d: call %llu of rank %u ended before rank %u "
               "made it",
               j, (unsigned long long)call, i, r);
}

/* check_error checks an error against those that others got for the same call. */
static void check_error(struct play *p, int j, uint32_t i, const struct td_reply *r)
{
    struct player *w = &p->player[j][i];
    bool ours = r->error == TD_ERR_PARTITIONED || r->error == TD_ERR_NODE_FAILED ||
                (r->error == TD_ERR_RANK_FAILED && p->hurt[j]);
    EXPECT(ours, "job %d, rank %u, call %llu: %d %s", j, i, (unsigned long long)w->number, r->error,
           r->text);
    EXPECT(!p->strict[j] || !p->is_direct || p->hurt[j],
           "job %d, rank %u hears all ranks, and was told %d %s", j, i, r->error, r->text);
    if (!p->is_cut || !p->is_direct || p->hurt[j])
        return;
    for (uint32_t o = 0; o < p->job[j].size; o++) {
        const struct player *other = &p->player[j][o];
        bool same = o != i && p->part[p->job[j].rank[o].node] == p->part[p->job[j].rank[i].node] &&
                    other->number == w->number && !other->waits && other->error != TD_OK &&
                    other->called < p->cut_at && w->called < p->cut_at && other->ended > p->cut_at;
        EXPECT(!same || (other->error == r->error && !strcmp(other->text, r->text)),
               "job %d, call %llu: rank %u was told %d %s, and rank %u %d %s", j,
               (unsigned long long)w->number, o, other->error, other->text, i, r->error, r->text);
    }
}

static void take_reply(struct play *p, int j, uint32_t i, const struct td_reply *r)
{
    struct player *w = &p->player[j][i];
    w->waits = false;
    w->next = td_sim_now(p->sim) + td_sim_random(p->sim, 40 * MS);
    if (r->error == TD_ERR_BUSY) { /* the call does not count */
        p->job[j].rank[i].calls--;
        return;
    }
    if (r->error == TD_OK) {
        check_sum(p, j, i, w->number);
        w->good = w->number + 1;
        w->good_at = td_sim_now(p->sim);
    } else {
        check_error(p, j, i, r);
        w->over = r->error != TD_ERR_PARTITIONED || strstr(r->text, "go on without");
    }
    w->error = r->error;
    w->ended = td_sim_now(p->sim);
    snprintf(w->text, sizeof w->text, "%s", r->text);
}

/* pass lets time pass, in which all ranks call. */
static void pass(struct play *p, td_time ns)
{
    for (td_time end = td_sim_now(p->sim) + ns; td_sim_now(p->sim) < end;) {
        td_time left = end - td_sim_now(p->sim), step = 1 + td_sim_random(p->sim, 10 * MS);
        td_sim_run(p->sim, step < left ? step : left);
        for (int j = 0; j < (int)p->jobs; j++)
            for (uint32_t i = 0; i < p->job[j].size; i++) {
                struct player *w = &p->player[j][i];
                const struct td_reply *r = w->waits && !w->dead ? job_reply(&p->job[j], i) : NULL;
                if (r)
                    take_reply(p, j, i, r);
                if (!w->waits && !w->over && td_sim_now(p->sim) >= w->next)
                    make_call(p, j, i);
            }
    }
}

static void kill_rank(struct play *p, int j)
{
    uint32_t i = (uint32_t)td_sim_random(p->sim, p->job[j].size);
    if (p->player[j][i].dead)
        return;
    p->player[j][i].dead = p->player[j][i].over = true;
    p->hurt[j] = true;
    td_sim_close(p->sim, p->job[j].rank[i].client);
}

/* ---- jobs ---- */

static void begin(struct play *p, const char *shape, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->sim = job_world(shape, seed, impatient);
    p->nodes = td_sim_nodes(p->sim);
    p->is_direct = seed % 2 == 0;
}

/* form makes a job of a rank on each node of the set, and a second one on the last of them. */
static void form(struct play *p, const bool *set)
{
    static const char *const names[] = {"zero", "one", "two", "three", "four"};
    uint32_t at[RANKS_MAX], size = 0;
    for (uint32_t n = 0; n < p->nodes; n++)
        if (set[n])
            at[size++] = n;
    if (size == 0 || p->jobs == JOBS_MAX)
        return;
    at[size] = at[size - 1];
    p->strict[p->jobs] = true;
    job_form(&p->job[p->jobs], p->sim, names[p->jobs], at, size + 1, COUNT_MAX * 8);
    p->jobs++;
}

static void form_parts(struct play *p, const uint32_t *part, uint32_t parts)
{
    bool set[NODES_MAX];
    memset(set, true, sizeof set);
    form(p, set);
    for (uint32_t k = 0; k < parts; k++) {
        for (uint32_t n = 0; n < p->nodes; n++)
            set[n] = part[n] == k;
        form(p, set);
    }
}

/* check_cut checks what callers know after a cut that has lasted for `ns`, long enough for all
 * sides to notice. */
static void check_cut(const struct play *p)
{
    for (int j = 0; j < (int)p->jobs; j++)
        for (uint32_t i = 0; i < p->job[j].size; i++) {
            const struct player *w = &p->player[j][i];
            if (w->over || p->hurt[j])
                continue;
            td_time since = td_sim_now(p->sim) - w->good_at;
            if (p->strict[j] && p->is_direct) {
                EXPECT(since < SECOND, "job %d, rank %u: its calls do not go on", j, i);
                continue;
            }
            if (hears(p, j))
                continue;
            bool quorum = has_quorum(p, p->job[j].rank[i].node);
            EXPECT(w->ended > p->cut_at && w->error != TD_OK, "job %d, rank %u waits for %llu ms",
                   j, i, (unsigned long long)(td_sim_now(p->sim) - w->called) / MS);
            EXPECT(!p->is_direct || w->error == TD_ERR_PARTITIONED || quorum,
                   "job %d, rank %u without a quorum was told %d %s", j, i, w->error, w->text);
        }
}

/* check_end checks that all ranks of each job meet in calls, or know that they never will. */
static void check_end(struct play *p)
{
    for (int j = 0; j < (int)p->jobs; j++) {
        uint32_t over = 0, alive = 0, meet = 0;
        for (uint32_t i = 0; i < p->job[j].size; i++) {
            const struct player *w = &p->player[j][i];
            alive += !w->dead;
            over += !w->dead && w->over;
            meet += !w->dead && td_sim_now(p->sim) - w->good_at < 2 * SECOND;
        }
        for (uint32_t i = 0; i < p->job[j].size; i++) {
            const struct player *w = &p->player[j][i];
            EXPECT(over == alive || meet == alive,
                   "job %d: of %u ranks %u are over and %u meet; rank %u %s call %llu for %llu ms, "
                   "the latest ended with %d %s",
                   j, alive, over, meet, i, w->waits ? "waits in" : "is after",
                   (unsigned long long)w->number,
                   (unsigned long long)(td_sim_now(p->sim) - w->called) / MS, w->error, w->text);
        }
        EXPECT(!p->hurt[j] || over == alive, "job %d goes on without a rank", j);
        EXPECT(!p->strict[j] || !p->is_direct || p->hurt[j] || meet == alive,
               "job %d heard all its nodes, and has ended", j);
    }
}

/* ---- every small machine ---- */

static const td_time phases[] = {0, 500, 1500, 3000, 6000, 10000, 25000, 100000};
static const td_time lengths[] = {SECOND / 2,         SECOND,           11 * SECOND / 10,
                                  115 * SECOND / 100, 12 * SECOND / 10, 14 * SECOND / 10,
                                  2 * SECOND,         6 * SECOND};
enum {
    PHASES = sizeof phases / sizeof *phases,
    LENGTHS = sizeof lengths / sizeof *lengths,
    SMALL = 3 * 2 * PHASES * LENGTHS * 14,
};

/* run_small parts two to four nodes into two, at a phase of a call of all ranks. */
static void run_small(uint64_t number)
{
    static const char *const shapes[] = {"2", "3", "2x2"};
    static struct play p;
    uint32_t part[NODES_MAX], sides = 0;
    uint64_t left = number;
    uint32_t nodes = 2 + (uint32_t)(left % 3);
    left /= 3;
    uint64_t fabric = left % 2;
    left /= 2;
    td_time phase = phases[left % PHASES];
    left /= PHASES;
    td_time length = lengths[left % LENGTHS];
    left /= LENGTHS;
    uint32_t side = 2 * (uint32_t)(left % 7 + 1);
    if (side >= 1u << nodes || left >= 7)
        return;
    job_case("TORUS_TEST_CASE=%llu test_parted_sim", (unsigned long long)number);
    begin(&p, shapes[nodes - 2], 2 * number + fabric);
    for (uint32_t n = 0; n < nodes; n++) {
        part[n] = side >> n & 1;
        sides |= 1u << part[n];
    }
    form_parts(&p, part, 2);
    pass(&p, 2 * SECOND); /* all daemons vote */
    td_sim_run(p.sim, phase);
    cut(&p, part);
    pass(&p, length);
    if (length >= 5 * SECOND)
        check_cut(&p);
    heal(&p);
    pass(&p, 12 * SECOND);
    check_end(&p);
    job_world_end(p.sim);
}

static void calls_go_on_inside_the_parts_and_after_healing(void **unused)
{
    (void)unused;
    for (uint64_t number = 0; number < SMALL; number++)
        if (seeds_pick(number, 17) && (seeds_long() || number % 11 == 0))
            run_small(number);
}

/* ---- machines of all sizes ---- */

static void run_random(uint64_t seed)
{
    static const char *const shapes[] = {"2", "3", "2x2", "5", "2x3", "7", "2x4", "3x3"};
    static struct play p;
    uint32_t part[NODES_MAX];
    job_case("TORUS_TEST_CASE=%llu test_parted_sim", (unsigned long long)(seed + SMALL));
    begin(&p, shapes[seed / 2 % 8], seed);
    uint32_t parts = 2 + (uint32_t)td_sim_random(p.sim, p.nodes < 4 ? p.nodes - 1 : 3);
    for (uint32_t n = 0; n < p.nodes; n++)
        part[n] = n < parts ? n : (uint32_t)td_sim_random(p.sim, parts);
    form_parts(&p, part, parts);
    if (td_sim_random(p.sim, 4)) /* else some daemons do not vote yet */
        pass(&p, 2 * SECOND);
    uint64_t cuts = 1 + td_sim_random(p.sim, 3);
    while (cuts-- > 0) {
        bool is_long = td_sim_random(p.sim, 2);
        pass(&p, td_sim_random(p.sim, SECOND / (1 + 9 * td_sim_random(p.sim, 2))));
        cut(&p, part);
        pass(&p, td_sim_random(p.sim, SECOND));
        if (td_sim_random(p.sim, 4) == 0)
            kill_rank(&p, (int)td_sim_random(p.sim, p.jobs));
        pass(&p, is_long ? 6 * SECOND : td_sim_random(p.sim, 2 * SECOND));
        if (is_long)
            check_cut(&p);
        heal(&p);
        for (uint32_t n = 0; n < p.nodes && td_sim_random(p.sim, 2); n++)
            part[n] = (uint32_t)td_sim_random(p.sim, parts);
    }
    pass(&p, 15 * SECOND);
    check_end(&p);
    job_world_end(p.sim);
}

static void calls_meet_again_after_any_cuts(void **unused)
{
    (void)unused;
    seeds_run(run_random, 100, 15, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_go_on_inside_the_parts_and_after_healing),
        cmocka_unit_test(calls_meet_again_after_any_cuts),
    };
    uint64_t one = 0;
    if (!seeds_one(&one))
        return cmocka_run_group_tests(tests, NULL, NULL);
    if (one < SMALL)
        run_small(one);
    else
        run_random(one - SMALL);
    return 0;
}
