/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of arrays of one to four axes, of every kind, between any layouts, compared with FFTW
 * on the whole array in one process. TORUS_TEST_CASE=SEED runs one case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "compute/fft/step.h"
#include "job.h"
#include "transforms.h"
#include "seeds.h"

enum { SHIFT = 64, GUARD = 64, GUARD_BYTE = 0x5a };

static uint64_t relay_bytes; /* of a node: small, so that moves by relays have several segments */
static bool barriers_of_all; /* in phased ones */
static bool by_default;      /* the description has no layouts: rows before and after */

static uint64_t plan_of(struct job *job, const struct transform *t)
{
    const struct td_description description = {
        .fft = t->fft, .from = by_default ? "" : t->text[0], .to = by_default ? "" : t->text[1]};
    return job_agree(job, TD_KIND_PLAN_FFT, &description);
}

/* compare checks the results of all ranks, and their guards. */
static void compare(struct job *job, const struct transform *t)
{
    struct transform_error error = {0};
    char why[TRANSFORM_TEXT];
    for (uint32_t r = 0; r < job->size; r++) {
        const uint8_t *buffer = job_destination(job, r, 0);
        uint64_t bytes = transforms_compare(t, r, buffer + SHIFT, &error);
        for (uint64_t i = 0; i < job->half_bytes; i++)
            if (i < SHIFT || i >= SHIFT + bytes)
                EXPECT(buffer[i] == GUARD_BYTE, "rank %u: byte %llu beside its part of %llu", r,
                       (unsigned long long)i, (unsigned long long)bytes);
    }
    EXPECT(transforms_within(t, &error, why), "%s", why);
}

static void execute(struct job *job, const struct transform *t, uint64_t plan, bool in_place)
{
    struct td_call call = {.kind = TD_KIND_FFT, .plan = plan};
    for (uint32_t r = 0; r < job->size; r++) {
        memset(job_destination(job, r, 0), GUARD_BYTE, job->half_bytes);
        transforms_fill(t, r,
                        in_place ? job_destination(job, r, SHIFT) : job_source(job, r, SHIFT));
    }
    job_call_all(job, &call, SHIFT, in_place);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    compare(job, t);
}

static void more_scratch(struct td_sim_options *o)
{
    o->settings.scratch_bytes = 16 << 20;
    o->settings.tuning.relay_bytes = relay_bytes;
    o->settings.tuning.barriers_of_all = barriers_of_all;
}

static void run(const char *shape, struct transform *t, uint64_t seed, uint32_t ranks)
{
    struct td_sim *sim = job_world(shape, seed, more_scratch);
    struct td_arena *arena = td_arena_create(4 << 20);
    uint32_t nodes[JOB_RANKS_MAX];
    struct job job;
    char why[TRANSFORM_TEXT];
    EXPECT(transforms_read(t, arena, ranks, true, why), "%s", why);
    if (seed % 3)
        job_spread(sim, ranks, nodes);
    else
        for (uint32_t r = 0; r < ranks; r++)
            nodes[r] = (uint32_t)layouts_draw(td_sim_nodes(sim));
    job_form(&job, sim, "fft", nodes, ranks, SHIFT + transforms_most_bytes(t) + GUARD);
    uint64_t plan = plan_of(&job, t);
    bool returns =
        t->is_complex[0] == t->is_complex[1] && td_layout_same(&t->layout[0], &t->layout[1]);
    execute(&job, t, plan, false);
    if (seed % 5 == 0)
        td_sim_run(sim, 25 * SECOND); /* the scratch memory is returned to the system meanwhile */
    execute(&job, t, plan, returns);
    job_world_end(sim);
    transforms_free(t);
    td_arena_destroy(arena);
}

static void random_case(uint64_t seed)
{
    static const char *const shapes[] = {"1", "2", "3x3", "2x2x2", "4", "4mx2", "3x2", "2x2x2x2"};
    static struct transform t;
    job_case("TORUS_TEST_CASE=%llu test_fft_sim", (unsigned long long)seed);
    layouts_seed(seed * 131);
    transforms_random(&t);
    relay_bytes = layouts_draw(2) ? 1 << 20 : 4096;
    barriers_of_all = layouts_draw(4) == 0;
    run(shapes[layouts_draw(8)], &t, seed, 1 + (uint32_t)layouts_draw(16));
}

/* rows_case: arrays without layouts, in rows. Many have enough columns that the chunks of fft_rows
 * reuse their scratch memory. */
static void rows_case(uint64_t seed)
{
    static const char *const shapes[] = {"1", "2", "3x2", "4", "3x3", "12"};
    static struct transform t;
    job_case("TORUS_TEST_CASE=%llu test_fft_sim", (unsigned long long)seed);
    layouts_seed(seed * 977);
    bool deep = layouts_draw(2);
    t = (struct transform){
        .fft = {.dimensions = deep ? 3 : 2,
                .size = {1 + layouts_draw(40), 1 + layouts_draw(deep ? 30 : 2500),
                         1 + layouts_draw(deep ? 30 : 1)},
                .type = layouts_draw(2) ? TD_TYPE_COMPLEX_FLOAT : TD_TYPE_COMPLEX_DOUBLE,
                .sign = layouts_draw(2) ? TD_FFT_FORWARD : TD_FFT_BACKWARD,
                .scale = (uint32_t)layouts_draw(3)}};
    td_fft_all(&t.fft);
    for (int side = 0; side < 2; side++)
        strcpy(t.text[side], deep ? "(block, *, *)" : "(block, *)");
    by_default = true;
    run(shapes[layouts_draw(6)], &t, 2 * seed, 1 + (uint32_t)layouts_draw(16));
    by_default = false;
}

static void arrays_in_rows_are_transformed_chunk_by_chunk(void **unused)
{
    (void)unused;
    seeds_run(rows_case, 100, 10, 1000);
}

static void any_array_is_transformed_between_any_layouts(void **unused)
{
    (void)unused;
    seeds_run(random_case, 400, 35, 4000);
}

enum { ROW = 4 };
static uint32_t spoken[ROW][ROW]; /* counts that travelled alone, by sender and receiver */

static void count_counts(void *me, uint32_t from, uint32_t to, struct td_packet *header)
{
    (void)me;
    spoken[from][to] += header->kind == TD_PACKET_CREDIT;
}

static void with_counted_packets(struct td_sim_options *o)
{
    more_scratch(o);
    o->tamper.packet = count_counts;
}

/* The first packet of a node to another makes the driver connect, which takes several round trips.
 * With the plan each node sends its counts to the nodes that an execution sends to: of a job on
 * three of four nodes, these three. */
static void the_agreement_on_a_plan_opens_the_connections_of_its_executions(void **unused)
{
    (void)unused;
    static const uint32_t nodes[] = {0, 2, 3};
    enum { RANKS = 3, DIRECT = 2 };
    const struct td_fft fft = {
        .dimensions = 2, .size = {24, 24}, .type = TD_TYPE_COMPLEX_DOUBLE, .sign = TD_FFT_FORWARD};
    struct job job;
    job_case("test_fft_sim, the connections of a plan");
    struct td_sim *sim = job_world("4", DIRECT, with_counted_packets);
    job_form(&job, sim, "fft", nodes, RANKS, 1 << 16);
    memset(spoken, 0, sizeof spoken);
    (void)job_plan(&job, &fft);
    for (uint32_t from = 0; from < ROW; from++)
        for (uint32_t to = 0; to < ROW; to++) {
            bool used = from != to && from != 1 && to != 1;
            EXPECT(!spoken[from][to] == !used, "node %u sent its counts to node %u %u times", from,
                   to, spoken[from][to]);
        }
    job_world_end(sim);
}

enum { SHAPES_MAX = 64, RANKS_HERE = 4 };
/* Of each node: the shapes that were prepared, where its scratch memory was expected, and how many
 * transforms it performed. */
static struct td_shape prepared[ROW][SHAPES_MAX];
static unsigned prepared_count[ROW], performed[ROW];
static uint64_t expected_scratch[ROW], expected_bytes[ROW];

/* shapes_of writes the shapes of a step whose buffers begin at multiples of 64 and lie apart. */
static unsigned shapes_of(const struct td_step *step, struct td_shape shape[TD_STEP_SHAPES_MAX])
{
    static _Alignas(64) uint8_t memory[3][1 << 18];
    uint8_t *source[RANKS_HERE], *destination[RANKS_HERE];
    for (unsigned i = 0; i < RANKS_HERE; i++) {
        source[i] = memory[0];
        destination[i] = memory[1];
    }
    const struct td_bases bases = {
        .source = source, .destination = destination, .scratch = memory[2]};
    return td_step_shapes(step, &bases, shape);
}

static void note_prepared(void *me, uint32_t node, const struct td_action *a)
{
    (void)me;
    if (a->kind == TD_ACTION_PREPARE_SCRATCH) {
        expected_scratch[node] = a->u.scratch.offset;
        expected_bytes[node] = a->u.scratch.bytes;
        return;
    }
    EXPECT(prepared_count[node] + TD_STEP_SHAPES_MAX <= SHAPES_MAX, "too many shapes");
    prepared_count[node] += shapes_of(&a->u.transform.step, &prepared[node][prepared_count[node]]);
}

static td_err note_performed(void *me, uint32_t node, const struct td_compute *c, td_time *later)
{
    struct td_shape shape[TD_STEP_SHAPES_MAX];
    (void)me;
    (void)later;
    unsigned shapes = c->kind == TD_COMPUTE_STEP ? shapes_of(&c->step, shape) : 0;
    for (unsigned i = 0; i < shapes; i++) {
        bool known = false;
        for (unsigned j = 0; j < prepared_count[node]; j++)
            known |= memcmp(&prepared[node][j], &shape[i], sizeof shape[i]) == 0;
        EXPECT(known, "node %u transforms %lld x %lld points, which were not prepared", node,
               (long long)(shape[i].batch * shape[i].batch2), (long long)shape[i].length);
        EXPECT(c->view.scratch_offset == expected_scratch[node] || !expected_bytes[node],
               "node %u has its scratch memory elsewhere", node);
        performed[node]++;
    }
    return TD_OK;
}

static void with_noted_transforms(struct td_sim_options *o)
{
    more_scratch(o);
    o->workers.prepare = note_prepared;
    o->workers.compute = note_performed;
}

/* The estimate of a plan by FFTW takes as long as some transforms. The agreement on a plan names
 * all that its executions out of place will need, the odd chunks at the ends as well. */
static void the_agreement_on_a_plan_prepares_its_transforms_and_scratch_memory(void **unused)
{
    static const struct {
        const char *shape, *text;
        uint64_t size[3];
    } cases[] = {{"1", NULL, {64, 130, 1}},           {"4", NULL, {64, 130, 1}},
                 {"4", NULL, {17, 12, 10}},           {"1", NULL, {33, 30, 31}},
                 {"4", "(*, block, *)", {12, 13, 8}}, {"4", "(block, *, *)", {40, 40, 40}}};
    (void)unused;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct transform t;
        static const uint32_t nodes[] = {0, 0, 0, 0}, apart[] = {0, 1, 2, 3};
        struct td_arena *arena = td_arena_create(4 << 20);
        struct job job;
        char why[TRANSFORM_TEXT];
        bool single = cases[i].shape[0] == '1';
        job_case("test_fft_sim, what a plan prepares, case %u", i);
        t = (struct transform){.fft = {.dimensions = cases[i].size[2] > 1 ? 3 : 2,
                                       .type = TD_TYPE_COMPLEX_DOUBLE,
                                       .sign = TD_FFT_FORWARD}};
        memcpy(t.fft.size, cases[i].size, sizeof cases[i].size);
        td_fft_all(&t.fft);
        by_default = !cases[i].text;
        for (int side = 0; side < 2; side++)
            strcpy(t.text[side], cases[i].text           ? cases[i].text
                                 : t.fft.dimensions == 3 ? "(block, *, *)"
                                                         : "(block, *)");
        memset(prepared_count, 0, sizeof prepared_count);
        memset(performed, 0, sizeof performed);
        memset(expected_bytes, 0, sizeof expected_bytes);
        struct td_sim *sim = job_world(cases[i].shape, i, with_noted_transforms);
        EXPECT(transforms_read(&t, arena, RANKS_HERE, true, why), "%s", why);
        job_form(&job, sim, "fft", single ? nodes : apart, RANKS_HERE,
                 SHIFT + transforms_most_bytes(&t) + GUARD);
        uint64_t plan = plan_of(&job, &t);
        execute(&job, &t, plan, false);
        for (uint32_t node = 0; node < (single ? 1 : ROW); node++)
            EXPECT(performed[node] > 0 && expected_bytes[node] > 0, "node %u did nothing", node);
        job_world_end(sim);
        transforms_free(&t);
        td_arena_destroy(arena);
        by_default = false;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_array_is_transformed_between_any_layouts),
        cmocka_unit_test(arrays_in_rows_are_transformed_chunk_by_chunk),
        cmocka_unit_test(the_agreement_on_a_plan_opens_the_connections_of_its_executions),
        cmocka_unit_test(the_agreement_on_a_plan_prepares_its_transforms_and_scratch_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
