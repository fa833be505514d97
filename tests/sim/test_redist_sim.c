/* SPDX-License-Identifier: Apache-2.0 */
/* Redistributions of arrays between any layouts, compared bit for bit with ownership, with guard
 * bytes around every buffer. TORUS_TEST_CASE=SEED runs one of the random cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "job.h"
#include "moves.h"
#include "seeds.h"

enum { SHIFT = 64, GUARD = 64, GUARD_BYTE = 0x5a };

static bool long_run;

static void read_layouts(struct move *m, struct td_arena *arena, uint32_t ranks)
{
    char why[MOVE_TEXT];
    EXPECT(moves_read(m, arena, ranks, why), "%s", why);
}

static uint64_t plan_of(struct job *job, const struct move *m)
{
    const struct td_description description = {
        .redist = m->redist, .from = m->text[0], .to = m->text[1]};
    return job_agree(job, TD_KIND_PLAN_REDIST, &description);
}

static void move(struct job *job, const struct move *m, uint64_t plan)
{
    struct td_call call = {.kind = TD_KIND_REDIST, .plan = plan};
    uint8_t *want = malloc(job->half_bytes);
    for (uint32_t r = 0; r < job->size; r++) {
        moves_fill(m, 0, r, job_source(job, r, SHIFT));
        memset(job_destination(job, r, 0), GUARD_BYTE, job->half_bytes);
    }
    job_call_all(job, &call, SHIFT, false);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    for (uint32_t r = 0; r < job->size; r++) {
        memset(want, GUARD_BYTE, job->half_bytes);
        moves_fill(m, 1, r, want + SHIFT);
        EXPECT(memcmp(job_destination(job, r, 0), want, job->half_bytes) == 0,
               "rank %u has not what it should have of %s -> %s", r, m->text[0], m->text[1]);
    }
    free(want);
}

/* ---- random layouts ---- */

static void random_case(uint64_t seed)
{
    static const char *const shapes[] = {"1", "2", "3x3", "2x2x2", "4", "4mx2", "3x2"};
    job_case("TORUS_TEST_CASE=%llu test_redist_sim", (unsigned long long)seed);
    layouts_seed(seed * 77);
    struct td_sim *sim = job_world(shapes[layouts_draw(7)], seed, NULL);
    struct td_arena *arena = td_arena_create(4 << 20);
    uint32_t ranks = 1 + (uint32_t)layouts_draw(16), nodes[16];
    static struct move m[3];
    uint64_t most = 1, plan[3];
    for (int i = 0; i < 3; i++) {
        moves_random(&m[i], ranks);
        read_layouts(&m[i], arena, ranks);
        uint64_t bytes = moves_most_bytes(&m[i]);
        most = bytes > most ? bytes : most;
    }
    for (uint32_t r = 0; r < ranks; r++)
        nodes[r] = (uint32_t)layouts_draw(td_sim_nodes(sim));
    struct job job;
    job_form(&job, sim, "redist", nodes, ranks, SHIFT + most + GUARD);
    for (int i = 0; i < 3; i++) {
        plan[i] = plan_of(&job, &m[i]);
        move(&job, &m[i], plan[i]);
    }
    for (int i = 0; i < 3; i++) {
        move(&job, &m[i], plan[i]);
        job_unplan(&job, plan[i]);
    }
    job_world_end(sim);
    td_arena_destroy(arena);
}

static void any_layout_becomes_any_other(void **unused)
{
    (void)unused;
    seeds_run(random_case, 250, 30, 3000);
}

/* ---- block-cyclic, all P and Q ---- */

static void cyclic_case(uint32_t p, uint32_t q, uint32_t k, uint32_t x)
{
    job_case("cyclic(%u) on %u -> cyclic(%u) on %u", x, p, k * x, q);
    uint64_t seed = p * 31 + q * 17 + k * 5 + x;
    uint32_t ranks = p + q, nodes[40];
    layouts_seed(seed);
    uint32_t first =
        (uint32_t)layouts_draw(p + 1); /* of Q: the same ranks, some of them, or others */
    struct move m = {.redist = {.dimensions = 1, .element = 1 + seed % 16, .axes = {0}}};
    m.redist.size[0] = layouts_draw((uint64_t)3 * p * q * k * x) + 1;
    m.redist.size[0] = m.redist.size[0] > 5000 ? 5000 - layouts_draw(99) : m.redist.size[0];
    snprintf(m.text[0], MOVE_TEXT, "cyclic(%u)@0-%u", x, p - 1);
    snprintf(m.text[1], MOVE_TEXT, "cyclic(%u)@%u-%u", k * x, first, first + q - 1);
    struct td_sim *sim = job_world("2x2", seed, NULL);
    struct td_arena *arena = td_arena_create(4 << 20);
    read_layouts(&m, arena, ranks);
    job_spread(sim, ranks, nodes);
    struct job job;
    job_form(&job, sim, "cyclic", nodes, ranks, SHIFT + moves_most_bytes(&m) + GUARD);
    move(&job, &m, plan_of(&job, &m));
    char text[MOVE_TEXT]; /* and back */
    memcpy(text, m.text[0], MOVE_TEXT);
    memcpy(m.text[0], m.text[1], MOVE_TEXT);
    memcpy(m.text[1], text, MOVE_TEXT);
    read_layouts(&m, arena, ranks);
    move(&job, &m, plan_of(&job, &m));
    job_world_end(sim);
    td_arena_destroy(arena);
}

static void block_cyclic_arrays_change_hands(void **unused)
{
    (void)unused;
    static const uint32_t blocks[] = {1, 2, 3, 7};
    for (uint32_t p = 1; p <= 16; p++)
        for (uint32_t q = 1; q <= 16; q++)
            for (uint32_t k = 1; k <= 12; k++)
                for (unsigned x = 0; x < 4; x++)
                    if (long_run || (p * 16 + q + k * 7 + x) % 97 == 0)
                        cyclic_case(p, q, k, blocks[x]);
}

/* ---- what is refused ---- */

static void refuse(struct job *job, const struct move *m, const char *part)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.call.kind = TD_KIND_PLAN_REDIST;
    q.u.operation.timeout_ns = -1;
    q.u.operation.description =
        (struct td_description){.redist = m->redist, .from = m->text[0], .to = m->text[1]};
    for (uint32_t i = 0; i < job->size; i++) {
        job_make(job, i, &q);
        job->rank[i].calls--; /* a refused call does not count */
    }
    job_settle(job);
    job_expect_all(job, TD_ERR_INVALID, part);
}

static void wrong_layouts_are_refused_and_nothing_moves(void **unused)
{
    (void)unused;
    job_case("wrong layouts");
    struct td_sim *sim = job_world("2x2", 1, NULL);
    uint32_t nodes[4] = {0, 1, 2, 3};
    struct job job;
    job_form(&job, sim, "wrong", nodes, 4, 1000);
    struct move m = {.redist = {.dimensions = 2, .element = 8, .size = {10, 9}, .axes = {0, 1}},
                     .text = {"(block, *)", "(cyclik, *)"}};
    refuse(&job, &m, "the layout after, \"(cyclik, *)\", at character 2: expected block");
    strcpy(m.text[1], "(block, *) @0-4");
    refuse(&job, &m, "rank 4 is not in the group of 4 ranks");
    strcpy(m.text[1], "boxes 0:10,0:5 0:10,4:9 @0,1");
    refuse(&job, &m, "the boxes of ranks 0 and 1 overlap");
    strcpy(m.text[1], "boxes 0:10,0:5 @3");
    refuse(&job, &m, "no box covers 40 of the array's 90 elements");
    strcpy(m.text[1], "(*, block)");
    m.redist.axes[1] = 0;
    refuse(&job, &m, "must name every axis once");
    m.redist.axes[1] = 1;
    m.redist.size[0] = UINT64_MAX / 4;
    refuse(&job, &m, "overflows");
    m.redist.size[0] = 10;
    m.redist.element = 0;
    refuse(&job, &m, "1 byte to 1 MiB");
    m.redist.element = 8;
    struct td_arena *arena = td_arena_create(1 << 20);
    read_layouts(&m, arena, 4);
    move(&job, &m, plan_of(&job, &m)); /* the group works as before */
    td_arena_destroy(arena);
    job_world_end(sim);
}

static void unplan(struct job *job, uint32_t i, uint64_t plan, td_err error)
{
    struct td_request q = {.kind = TD_REQUEST_UNPLAN};
    q.u.unplan.group = job->rank[i].group;
    q.u.unplan.plan = plan;
    job->rank[i].request = td_sim_request(job->sim, job->rank[i].client, &q);
    job_settle(job);
    job_expect(job, i, error, NULL);
}

static void a_rank_frees_a_plan_once_and_not_for_others(void **unused)
{
    (void)unused;
    job_case("a plan freed twice");
    struct td_sim *sim = job_world("1", 2, NULL);
    struct td_arena *arena = td_arena_create(1 << 20);
    uint32_t nodes[3] = {0};
    struct job job;
    struct move m = {.redist = {.dimensions = 1, .element = 4, .size = {100}},
                     .text = {"block", "cyclic"}};
    job_form(&job, sim, "twice", nodes, 3, 1000);
    read_layouts(&m, arena, 3);
    uint64_t plan = plan_of(&job, &m);
    unplan(&job, 0, plan, TD_OK);
    for (int i = 0; i < 3; i++)
        unplan(&job, 0, plan, TD_ERR_INVALID);
    move(&job, &m, plan);
    unplan(&job, 1, plan, TD_OK);
    unplan(&job, 2, plan, TD_OK);
    unplan(&job, 2, plan, TD_ERR_INVALID);
    job_world_end(sim);
    td_arena_destroy(arena);
}

static void different_descriptions_are_a_mismatch(void **unused)
{
    (void)unused;
    job_case("different descriptions");
    struct td_sim *sim = job_world("2x2", 2, NULL);
    uint32_t nodes[4] = {0, 1, 2, 3};
    struct job job;
    job_form(&job, sim, "differ", nodes, 4, 1000);
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.call.kind = TD_KIND_PLAN_REDIST;
    q.u.operation.timeout_ns = -1;
    q.u.operation.description = (struct td_description){
        .redist = {.dimensions = 1, .element = 8, .size = {100}}, .from = "block", .to = "cyclic"};
    for (uint32_t i = 0; i < 4; i++) {
        q.u.operation.description.to = i == 2 ? "cyclic(2)" : "cyclic";
        job_make(&job, i, &q);
    }
    job_settle(&job);
    job_expect_all(&job, TD_ERR_MISMATCH, ": the layout after differs; ");
    job_world_end(sim);
}

int main(void)
{
    long_run = seeds_long();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_layout_becomes_any_other),
        cmocka_unit_test(block_cyclic_arrays_change_hands),
        cmocka_unit_test(wrong_layouts_are_refused_and_nothing_moves),
        cmocka_unit_test(a_rank_frees_a_plan_once_and_not_for_others),
        cmocka_unit_test(different_descriptions_are_a_mismatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
