/* SPDX-License-Identifier: Apache-2.0 */
/* Redistributions of arrays between any layouts, bit for bit against what ownership says, with
 * guard bytes around every buffer. TORUS_TEST_CASE=SEED runs one case of the random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/arena.h"
#include "core/layout_text.h"
#include "job.h"

enum { SHIFT = 64, GUARD = 64, GUARD_BYTE = 0x5a, TEXT = 1500 };

static bool long_run;
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % below;
}

/* struct move: what is asked for, with the layouts as they were asked for and as read. */
struct move {
    struct td_redist redist;
    char text[2][TEXT];
    struct td_layout layout[2]; /* each with its own axes */
};

static bool read_layouts(struct move *m, struct td_arena *arena, uint32_t ranks)
{
    struct td_layout_wrong wrong;
    for (unsigned side = 0; side < 2; side++) {
        uint64_t size[TD_DIMENSIONS_MAX];
        for (uint32_t d = 0; d < m->redist.dimensions; d++)
            size[d] = m->redist.size[side ? m->redist.axes[d] : d];
        if (!td_layout_parse(&m->layout[side], arena, m->text[side], m->redist.dimensions, size,
                             ranks, &wrong))
            job_fail(__FILE__, __LINE__, "%s: at %zu: %s", m->text[side], wrong.at, wrong.text);
    }
    return true;
}

/* tag writes what an element is known by: its number in the whole array, and the element size. */
static void tag(uint8_t *at, uint64_t number, uint64_t element)
{
    for (uint64_t b = 0; b < element; b++)
        at[b] = (uint8_t)(number >> 8 * (b % 8) ^ b * 37);
}

/* number_of returns an element's place in the source's whole array. */
static uint64_t number_of(const struct move *m, unsigned side, const uint64_t *index)
{
    uint64_t source[TD_DIMENSIONS_MAX], number = 0;
    for (uint32_t d = 0; d < m->redist.dimensions; d++)
        source[side ? m->redist.axes[d] : d] = index[d];
    for (uint32_t d = 0; d < m->redist.dimensions; d++)
        number = number * m->redist.size[d] + source[d];
    return number;
}

/* fill writes what a rank should have on a side; returns the bytes. */
static uint64_t fill(const struct move *m, unsigned side, uint32_t rank, uint8_t *to)
{
    const struct td_layout *l = &m->layout[side];
    uint32_t owner = td_layout_owner(l, rank), dimensions = l->dimensions;
    uint64_t count[TD_DIMENSIONS_MAX], stride[TD_DIMENSIONS_MAX];
    if (owner == UINT32_MAX)
        return 0;
    uint64_t elements = td_layout_local(l, owner, count);
    td_layout_strides(l, owner, stride);
    for (uint64_t e = 0; e < elements; e++) {
        uint64_t index[TD_DIMENSIONS_MAX], rest = e, place = 0;
        for (uint32_t d = dimensions; d-- > 0; rest /= count[d]) {
            struct td_owned owned = td_layout_owned(l, d, td_layout_coordinate(l, owner, d));
            index[d] = td_owned_at(&owned, rest % count[d]);
            place += rest % count[d] * stride[d];
        }
        tag(to + place * m->redist.element, number_of(m, side, index), m->redist.element);
    }
    return elements * m->redist.element;
}

static uint64_t plan_of(struct job *job, const struct move *m)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.call.kind = TD_KIND_PLAN_REDIST;
    q.u.operation.timeout_ns = -1;
    q.u.operation.description.redist = m->redist;
    q.u.operation.description.from = m->text[0];
    q.u.operation.description.to = m->text[1];
    for (uint32_t i = 0; i < job->size; i++)
        job_make(job, i, &q);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    return job_reply(job, 0)->u.planned.plan;
}

static void move(struct job *job, const struct move *m, uint64_t plan)
{
    struct td_call call = {.kind = TD_KIND_REDIST, .plan = plan};
    uint8_t *want = malloc(job->half_bytes);
    for (uint32_t r = 0; r < job->size; r++) {
        fill(m, 0, r, job_source(job, r, SHIFT));
        memset(job_destination(job, r, 0), GUARD_BYTE, job->half_bytes);
    }
    job_call_all(job, &call, SHIFT, false);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    for (uint32_t r = 0; r < job->size; r++) {
        memset(want, GUARD_BYTE, job->half_bytes);
        fill(m, 1, r, want + SHIFT);
        EXPECT(memcmp(job_destination(job, r, 0), want, job->half_bytes) == 0,
               "rank %u has not what it should have of %s -> %s", r, m->text[0], m->text[1]);
    }
    free(want);
}

static uint64_t most_bytes(const struct move *m)
{
    uint64_t most = 0;
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t o = 0; o < m->layout[side].owners; o++) {
            uint64_t count[TD_DIMENSIONS_MAX];
            uint64_t bytes = td_layout_local(&m->layout[side], o, count) * m->redist.element;
            most = bytes > most ? bytes : most;
        }
    return most;
}

/* ---- random layouts ---- */

static uint32_t put_some_ranks(char *text, uint32_t ranks, uint32_t wanted)
{
    uint32_t first = (uint32_t)draw(ranks - wanted + 1), step = 1;
    while (draw(2) && first + wanted * (step + 1) <= ranks)
        step++;
    snprintf(text, TEXT, " @%u-%u:%u", first, first + (wanted - 1) * step, step);
    return wanted;
}

static void some_grid(struct move *m, unsigned side, uint32_t ranks)
{
    char axes[TEXT] = "", grid[TEXT] = "", order[TEXT] = "", who[TEXT] = "";
    uint32_t left = ranks, n = m->redist.dimensions, dealt = 0;
    for (uint32_t d = 0; d < n; d++) {
        char *p = axes + strlen(axes), *g = grid + strlen(grid);
        uint32_t parts = 1 + (uint32_t)draw(left < 6 ? left : 6);
        const char *before = d ? ", " : "";
        switch (draw(4)) {
        case 0:
            snprintf(p, 40, "%s*", before);
            continue;
        case 1:
            snprintf(p, 40, "%sblock", before);
            break;
        case 2:
            snprintf(p, 40, "%scyclic(%u)", before, 1 + (unsigned)draw(5));
            break;
        default:
            snprintf(p, 40, "%scyclic(%u)+%u", before, 1 + (unsigned)draw(5), (unsigned)draw(9));
        }
        snprintf(g, 20, "%s%u", dealt ? "x" : " on ", parts);
        dealt++;
        left /= parts;
    }
    if (draw(3) == 0) {
        uint8_t a[TD_DIMENSIONS_MAX] = {0, 1, 2, 3};
        for (uint32_t i = n; i-- > 1;) {
            uint32_t j = (uint32_t)draw(i + 1);
            uint8_t t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
        for (uint32_t i = 0; i < n; i++)
            snprintf(order + strlen(order), 20, i ? ",%u" : " order %u", a[i]);
    }
    uint32_t places = 1;
    for (const char *g = grid; *g; g++)
        if (*g >= '0' && *g <= '9' && (g == grid || g[-1] < '0' || g[-1] > '9'))
            places *= (uint32_t)strtoul(g, NULL, 10);
    put_some_ranks(who, ranks, places);
    int length =
        snprintf(m->text[side], TEXT, "(%.300s)%.100s%.100s%.100s", axes, grid, order, who);
    assert_true(length < TEXT);
}

static void some_boxes(struct move *m, unsigned side, uint32_t ranks)
{
    uint64_t begin[8][TD_DIMENSIONS_MAX] = {{0}}, end[8][TD_DIMENSIONS_MAX] = {{0}};
    uint32_t n = m->redist.dimensions, boxes = 1 + (uint32_t)draw(ranks < 8 ? ranks : 8);
    for (uint32_t d = 0; d < n; d++)
        end[0][d] = m->redist.size[side ? m->redist.axes[d] : d];
    for (uint32_t i = 1; i < boxes; i++) {
        uint32_t of = (uint32_t)draw(i), d = (uint32_t)draw(n);
        uint64_t cut = begin[of][d] + draw(end[of][d] - begin[of][d] + 1);
        memcpy(begin[i], begin[of], sizeof begin[i]);
        memcpy(end[i], end[of], sizeof end[i]);
        begin[i][d] = end[of][d] = cut;
    }
    char *text = m->text[side];
    snprintf(text, TEXT, "boxes");
    for (uint32_t i = 0; i < boxes; i++)
        for (uint32_t d = 0; d < n; d++)
            snprintf(text + strlen(text), 40, "%c%llu:%llu", d ? ',' : ' ',
                     (unsigned long long)begin[i][d], (unsigned long long)end[i][d]);
    put_some_ranks(text + strlen(text), ranks, boxes);
}

static void some_move(struct move *m, uint32_t ranks)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16};
    *m = (struct move){.redist = {.dimensions = 1 + (uint32_t)draw(4),
                                  .element = sizes[draw(9)],
                                  .schedule = (uint32_t)draw(6)}};
    uint32_t n = m->redist.dimensions;
    for (uint32_t d = 0; d < n; d++) {
        m->redist.size[d] = draw(n == 1 ? 3000 : n == 2 ? 70 : n == 3 ? 18 : 9);
        m->redist.axes[d] = (uint8_t)d;
    }
    for (uint32_t i = n; draw(3) == 0 && i-- > 1;) {
        uint32_t j = (uint32_t)draw(i + 1);
        uint8_t t = m->redist.axes[i];
        m->redist.axes[i] = m->redist.axes[j];
        m->redist.axes[j] = t;
    }
    for (unsigned side = 0; side < 2; side++)
        (draw(4) ? some_grid : some_boxes)(m, side, ranks);
}

static void random_case(uint64_t seed)
{
    static const char *const shapes[] = {"1", "2", "3x3", "2x2x2", "4", "4mx2", "3x2"};
    job_case("TORUS_TEST_CASE=%llu test_redist_sim", (unsigned long long)seed);
    state = seed * 77;
    struct td_sim *sim = job_world(shapes[draw(7)], seed, NULL);
    struct td_arena *arena = td_arena_create(4 << 20);
    uint32_t ranks = 1 + (uint32_t)draw(16), nodes[16];
    static struct move m[3];
    uint64_t most = 1, plan[3];
    for (int i = 0; i < 3; i++) {
        some_move(&m[i], ranks);
        read_layouts(&m[i], arena, ranks);
        uint64_t bytes = most_bytes(&m[i]);
        most = bytes > most ? bytes : most;
    }
    for (uint32_t r = 0; r < ranks; r++)
        nodes[r] = (uint32_t)draw(td_sim_nodes(sim));
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
    const char *one = getenv("TORUS_TEST_CASE");
    uint64_t cases = long_run ? 3000 : 250;
    for (uint64_t seed = 1; seed <= cases && !one; seed++)
        random_case(seed);
    if (one)
        random_case(strtoull(one, NULL, 10));
}

/* ---- block-cyclic, all P and Q ---- */

static void cyclic_case(uint32_t p, uint32_t q, uint32_t k, uint32_t x)
{
    job_case("cyclic(%u) on %u -> cyclic(%u) on %u", x, p, k * x, q);
    uint64_t seed = p * 31 + q * 17 + k * 5 + x;
    uint32_t ranks = p + q, nodes[40];
    state = seed;
    uint32_t first = (uint32_t)draw(p + 1); /* of Q: the same ranks, some, or others */
    struct move m = {.redist = {.dimensions = 1, .element = 1 + seed % 16, .axes = {0}}};
    m.redist.size[0] = draw((uint64_t)3 * p * q * k * x) + 1;
    m.redist.size[0] = m.redist.size[0] > 5000 ? 5000 - draw(99) : m.redist.size[0];
    snprintf(m.text[0], TEXT, "cyclic(%u)@0-%u", x, p - 1);
    snprintf(m.text[1], TEXT, "cyclic(%u)@%u-%u", k * x, first, first + q - 1);
    struct td_sim *sim = job_world("2x2", seed, NULL);
    struct td_arena *arena = td_arena_create(4 << 20);
    read_layouts(&m, arena, ranks);
    job_spread(sim, ranks, nodes);
    struct job job;
    job_form(&job, sim, "cyclic", nodes, ranks, SHIFT + most_bytes(&m) + GUARD);
    move(&job, &m, plan_of(&job, &m));
    char text[TEXT]; /* and back */
    memcpy(text, m.text[0], TEXT);
    memcpy(m.text[0], m.text[1], TEXT);
    memcpy(m.text[1], text, TEXT);
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
        job->rank[i].calls--; /* a refused call was not made */
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
    refuse(&job, &m, "the layout after, \"(cyclik, *)\", at character 2: an axis is block");
    strcpy(m.text[1], "(block, *) @0-4");
    refuse(&job, &m, "there is no rank 4 in a group of 4");
    strcpy(m.text[1], "boxes 0:10,0:5 0:10,4:9 @0,1");
    refuse(&job, &m, "the boxes of ranks 0 and 1 overlap");
    strcpy(m.text[1], "boxes 0:10,0:5 @3");
    refuse(&job, &m, "leave 40 of the array's 90 elements to nobody");
    strcpy(m.text[1], "(*, block)");
    m.redist.axes[1] = 0;
    refuse(&job, &m, "names every axis once");
    m.redist.axes[1] = 1;
    m.redist.size[0] = UINT64_MAX / 4;
    refuse(&job, &m, "overflows");
    m.redist.size[0] = 10;
    m.redist.element = 0;
    refuse(&job, &m, "1 byte to 1 MiB");
    m.redist.element = 8;
    struct td_arena *arena = td_arena_create(1 << 20);
    read_layouts(&m, arena, 4);
    move(&job, &m, plan_of(&job, &m)); /* the group is as good as before */
    td_arena_destroy(arena);
    job_world_end(sim);
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
    job_expect_all(&job, TD_ERR_MISMATCH, "plan_redist(description");
    job_world_end(sim);
}

int main(void)
{
    long_run = getenv("TORUS_TEST_LONG") != NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_layout_becomes_any_other),
        cmocka_unit_test(block_cyclic_arrays_change_hands),
        cmocka_unit_test(wrong_layouts_are_refused_and_nothing_moves),
        cmocka_unit_test(different_descriptions_are_a_mismatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
