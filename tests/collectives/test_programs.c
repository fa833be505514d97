/* SPDX-License-Identifier: Apache-2.0 */
/* Every collective's programs over groups of many forms, checked symbolically (symbolic.h), and the
 * check itself against programs that are broken on purpose. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collectives/select.h"
#include "model/layout.h"
#include "symbolic.h"
#include "random.h"
#include "seeds.h"

enum { NODES_MAX = 9, PER_NODE_MAX = 4, SIZE_MAX_RANKS = NODES_MAX * PER_NODE_MAX };

static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
    return random_below(&state, below);
}

/* ---- groups ---- */

enum placement { BLOCK, CYCLIC, RANDOM, UNEVEN, PLACEMENTS };

struct shape {
    uint32_t nodes, size;
    enum placement placement;
    uint32_t rank_node[SIZE_MAX_RANKS];
};

/* place puts `per_node` ranks on every node, in random order; UNEVEN fills blocks with fewer ranks,
 * on nodes whose numbers have gaps. */
static void place(struct shape *s, uint32_t nodes, uint32_t per_node, enum placement placement)
{
    *s = (struct shape){.nodes = nodes, .size = nodes * per_node, .placement = placement};
    if (placement == UNEVEN && per_node > 1)
        s->size -= (uint32_t)draw(nodes);
    for (uint32_t r = 0; r < s->size; r++) {
        if (placement == CYCLIC)
            s->rank_node[r] = r % nodes;
        else if (placement == UNEVEN)
            s->rank_node[r] = 3 * (r / per_node) + 1;
        else
            s->rank_node[r] = r / per_node;
    }
    if (placement == RANDOM)
        random_shuffle(&state, s->rank_node, s->size, sizeof *s->rank_node);
}

static void check(const struct shape *s, struct symbolic_case c, struct symbolic_stats *stats)
{
    c.compile = td_select_compile;
    c.rank_node = s->rank_node;
    c.size = s->size;
    c.seed = draw(UINT64_MAX);
    const char *wrong = symbolic_check(&c, stats);
    if (wrong) {
        char call[160];
        td_call_print(&c.call, call, sizeof call);
        fail_msg("%s (%llu x %llu) on %u nodes, %u ranks, placement %d%s: %s", call,
                 (unsigned long long)c.fft.size[0], (unsigned long long)c.fft.size[1], s->nodes,
                 s->size, (int)s->placement, c.in_place ? ", in place" : "", wrong);
    }
}

/* for_all_groups calls `test` with every form of group. */
static void for_all_groups(void (*test)(const struct shape *))
{
    struct shape s;
    uint64_t number = 0;
    for (uint32_t nodes = 1; nodes <= NODES_MAX; nodes++)
        for (uint32_t per_node = 1; per_node <= PER_NODE_MAX; per_node++)
            for (int placement = 0; placement < PLACEMENTS; placement++) {
                if ((nodes == 1 && placement != BLOCK) || !seeds_pick(number++, 11))
                    continue;
                place(&s, nodes, per_node, (enum placement)placement);
                test(&s);
            }
}

/* ---- calls ---- */

static struct symbolic_case make(enum td_kind kind, enum td_type type, uint64_t count)
{
    struct symbolic_case c = {.orders = 2};
    c.call = (struct td_call){.kind = (uint8_t)kind, .type = (uint8_t)type, .count = count};
    if (kind == TD_KIND_ALLREDUCE)
        c.call.op = TD_OP_SUM;
    return c;
}

static void barrier_and_plan(const struct shape *s)
{
    struct symbolic_stats stats;
    check(s, make(TD_KIND_BARRIER, TD_TYPE_NONE, 0), &stats);
    assert_true(stats.rides);
    check(s, make(TD_KIND_PLAN_FFT, TD_TYPE_NONE, 0), &stats);
    assert_true(stats.rides);
}

static void barrier_needs_no_steps(void **unused)
{
    (void)unused;
    for_all_groups(barrier_and_plan);
}

static void broadcast(const struct shape *s)
{
    static const uint64_t counts[] = {0, 1, 7, 100, 256, 257, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (uint32_t root = 0; root < s->size; root++) {
            struct symbolic_case c = make(TD_KIND_BROADCAST, TD_TYPE_DOUBLE, counts[i]);
            struct symbolic_stats stats;
            c.call.root = root;
            check(s, c, &stats);
            assert_int_equal(stats.rides, counts[i] * 8 <= TD_RIDE_BYTES_MAX);
            for (uint32_t slot = 0; !stats.rides && slot < stats.slots; slot++)
                assert_true(stats.received[slot] <= counts[i] * 8 && stats.scratch[slot] == 0);
        }
}

static void broadcast_reaches_all_from_every_root(void **unused)
{
    (void)unused;
    for_all_groups(broadcast);
}

static void allreduce(const struct shape *s)
{
    static const uint64_t counts[] = {0, 1, 7, 100, 512, 513, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (int in_place = 0; in_place < 2; in_place++) {
            struct symbolic_case c = make(TD_KIND_ALLREDUCE, TD_TYPE_FLOAT, counts[i]);
            struct symbolic_stats stats;
            c.in_place = in_place;
            check(s, c, &stats);
            assert_int_equal(stats.rides, counts[i] * 4 <= TD_RIDE_BYTES_MAX);
        }
}

static void allreduce_combines_every_rank_once(void **unused)
{
    (void)unused;
    for_all_groups(allreduce);
}

static struct symbolic_case make_long(enum td_kind kind, uint64_t count)
{
    struct symbolic_case c = make(kind, TD_TYPE_INT32, count);
    c.tuning = (struct td_tuning){.ride_bytes = TD_LONG_RIDE_BYTES_MAX,
                                  .message_bytes = 4 * TD_LONG_RIDE_BYTES_MAX};
    c.call.op = td_call_reduces(kind) ? TD_OP_SUM : TD_OP_NONE;
    return c;
}

/* parts_of returns the number of elements in the longest message of the gate, for blocks of one: a
 * message has those of all ranks, but in an all-to-all those of the ranks of a node, if the ranks
 * of each node are one progression. */
static uint64_t parts_of(const struct shape *s, enum td_kind kind)
{
    uint32_t count[3 * NODES_MAX] = {0}, last[3 * NODES_MAX] = {0}, step[3 * NODES_MAX] = {0};
    uint64_t most = 0;
    if (kind != TD_KIND_ALLTOALL)
        return s->size;
    for (uint32_t r = 0; r < s->size; r++) {
        uint32_t node = s->rank_node[r];
        if (count[node] > 1 && r - last[node] != step[node])
            return (uint64_t)s->size * s->size;
        step[node] = r - last[node];
        last[node] = r;
        count[node]++;
        most = count[node] > most ? count[node] : most;
    }
    return most * s->size;
}

static void long_rides(const struct shape *s)
{
    static const enum td_kind kinds[] = {TD_KIND_BROADCAST, TD_KIND_ALLREDUCE,     TD_KIND_REDUCE,
                                         TD_KIND_SCAN,      TD_KIND_EXSCAN,        TD_KIND_GATHER,
                                         TD_KIND_ALLGATHER, TD_KIND_SCATTER,       TD_KIND_PREFIX,
                                         TD_KIND_ALLTOALL,  TD_KIND_REDUCE_SCATTER};
    uint64_t elements = TD_LONG_RIDE_BYTES_MAX / sizeof(int32_t);
    struct symbolic_stats stats;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (uint64_t more = 0; more < 2; more++) {
            uint64_t parts = i < 3 ? 1 : parts_of(s, kinds[i]);
            check(s, make_long(kinds[i], elements / parts + more), &stats);
            assert_int_equal(stats.rides, s->nodes > 1 && !more);
        }
}

static void long_payloads_travel_with_the_gate(void **unused)
{
    (void)unused;
    for_all_groups(long_rides);
}

static void alltoall(const struct shape *s)
{
    static const uint64_t counts[] = {0, 1, 7, 100, 700};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint64_t all = (uint64_t)s->size * s->size * counts[i] * 4;
        bool moves =
            s->nodes > 1 && all > TD_RIDE_BYTES_MAX; /* otherwise it travels with the gate */
        struct symbolic_case c = make(TD_KIND_ALLTOALL, TD_TYPE_INT32, counts[i]);
        struct symbolic_stats stats;
        check(s, c, &stats);
        bool regular = s->placement == BLOCK || s->placement == CYCLIC;
        for (uint32_t slot = 0; counts[i] && regular && slot < stats.slots; slot++) {
            uint64_t here = s->size / s->nodes;
            assert_int_equal(stats.messages[slot], moves ? s->nodes - 1 : 0);
            assert_int_equal(stats.sent[slot], moves ? here * (s->size - here) * counts[i] * 4 : 0);
        }
    }
}

static void alltoall_sends_one_message_a_pair_of_nodes(void **unused)
{
    (void)unused;
    for_all_groups(alltoall);
}

static struct symbolic_case make_fft(uint64_t rows, uint64_t columns, bool in_place)
{
    struct symbolic_case c = {.orders = 1, .in_place = in_place};
    c.call.kind = TD_KIND_FFT;
    c.fft = (struct td_fft){.dimensions = 2,
                            .type = TD_TYPE_COMPLEX_DOUBLE,
                            .sign = draw(2) ? TD_FFT_FORWARD : TD_FFT_BACKWARD,
                            .scale = (uint32_t)draw(3),
                            .size = {rows, columns}};
    return c;
}

static void fft(const struct shape *s)
{
    static const uint64_t sizes[][2] = {{1, 1},   {1, 2},   {2, 1},   {1, 50},  {40, 1},
                                        {3, 5},   {7, 7},   {8, 16},  {13, 29}, {17, 4},
                                        {31, 37}, {40, 50}, {23, 11}, {36, 9}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        check(s, make_fft(sizes[i][0], sizes[i][1], (i + s->size) % 2), NULL);
    for (int i = 0; i < 3; i++)
        check(s, make_fft(1 + draw(40), 1 + draw(50), draw(2)), NULL);
}

static void fft_transforms_every_row_and_column_once(void **unused)
{
    (void)unused;
    for_all_groups(fft);
}

/* A node that combines a segment receives one from every peer, and makes one for each. Two blocks
 * of a long vector are in progress; a short one has only one, and less than a segment. */
static void scratch_does_not_exceed_the_vectors_of_all_nodes(void **unused)
{
    static const uint64_t counts[] = {200, 1360, 4099, 5000, 7777, 12000, 20000};
    static const uint64_t overheads[] = {0, 6 << 10, 8 << 10, 1 << 20};
    (void)unused;
    struct symbolic_stats stats;
    struct shape s;
    for (uint32_t nodes = 2; nodes <= 5; nodes++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            for (size_t k = 0; k < sizeof overheads / sizeof overheads[0]; k++)
                for (int fabric = 0; fabric < TD_FABRICS; fabric++) {
                    place(&s, nodes, 1 + (uint32_t)draw(2), BLOCK);
                    struct symbolic_case c = make(TD_KIND_ALLREDUCE, TD_TYPE_INT32, counts[i]);
                    c.tuning.fabric = (uint8_t)fabric;
                    c.tuning.message_bytes = overheads[k];
                    c.tuning.packet_bytes = TD_PACKET_BYTES_MAX;
                    check(&s, c, &stats);
                    for (uint32_t slot = 0; slot < stats.slots; slot++)
                        assert_in_range(stats.scratch[slot], 0, 4 * nodes * (counts[i] * 4 + 64));
                }
}

/* ---- vectors of many pieces ---- */

static void long_vectors_pass_in_pieces(void **unused)
{
    (void)unused;
    struct symbolic_stats stats;
    struct shape s;
    for (uint32_t nodes = 1; nodes <= 4; nodes++)
        for (uint32_t per_node = 1; per_node <= 2; per_node++) {
            place(&s, nodes, per_node, nodes % 2 ? CYCLIC : BLOCK);
            uint64_t count = 100000 * nodes + 77;
            struct symbolic_case c = make(TD_KIND_ALLREDUCE, TD_TYPE_DOUBLE, count);
            c.in_place = per_node % 2;
            check(&s, c, &stats);
            for (uint32_t slot = 0; slot < stats.slots; slot++) {
                /* 2 (N - 1) / N of the vector, except for the rounding of pieces */
                uint64_t share = 2 * (nodes - 1) * (count * 8 / nodes);
                assert_in_range(stats.sent[slot], share - share / 50, share + share / 50 + 1);
                assert_true(stats.scratch[slot] <= 4 * TD_COMPUTE_BYTES * nodes);
            }
            c = make(TD_KIND_BROADCAST, TD_TYPE_DOUBLE, count);
            c.call.root = s.size - 1;
            check(&s, c, &stats);
            check(&s, make_fft(200, 200 + nodes, per_node % 2), &stats);
            check(&s, make_fft(37, 1111, per_node % 2), &stats);
        }
}

static void groups_of_more_nodes_than_the_tree_is_wide_pass_too(void **unused)
{
    (void)unused;
    uint32_t rank_node[SYMBOLIC_RANKS_MAX];
    for (uint32_t r = 0; r < 40; r++)
        rank_node[r] = r;
    struct symbolic_case some[] = {make(TD_KIND_BROADCAST, TD_TYPE_BYTE, 5000),
                                   make(TD_KIND_ALLREDUCE, TD_TYPE_INT64, 1001),
                                   make(TD_KIND_ALLTOALL, TD_TYPE_BYTE, 3), make_fft(30, 50, true)};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        some[i].compile = td_select_compile;
        some[i].rank_node = rank_node;
        some[i].size = 40;
        some[i].call.root = some[i].call.kind == TD_KIND_BROADCAST ? 39 : 0;
        const char *wrong = symbolic_check(&some[i], NULL);
        if (wrong)
            fail_msg("case %zu: %s", i, wrong);
    }
}

/* ---- the check itself ---- */

/* The effect of break_program on the programs of one collective. */
static struct {
    unsigned family, dependency; /* the removed dependency */
    bool found;                  /* it exists */
} surgery;

static void without_a_dependency(const struct td_compile_input *input, struct td_program *p)
{
    td_select_compile(input, p);
    struct td_family *f = &p->family[surgery.family];
    if (surgery.family >= p->families || surgery.dependency >= f->dependencies)
        return;
    surgery.found = true;
    f->dependencies--;
    for (unsigned d = surgery.dependency; d < f->dependencies; d++)
        f->dependency[d] = f->dependency[d + 1];
}

static void a_missing_dependency_is_found(void **unused)
{
    (void)unused;
    struct shape s;
    place(&s, 3, 2, BLOCK);
    struct symbolic_case some[] = {make(TD_KIND_BROADCAST, TD_TYPE_DOUBLE, 1000),
                                   make(TD_KIND_ALLREDUCE, TD_TYPE_DOUBLE, 400000),
                                   make_fft(12, 300, false)}; /* chunks reuse scratch memory */
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        for (unsigned f = 0; f < TD_FAMILIES_MAX; f++)
            for (unsigned d = 0; d < TD_DEPENDENCIES_MAX; d++) {
                some[i].compile = without_a_dependency;
                some[i].rank_node = s.rank_node;
                some[i].size = s.size;
                some[i].call.root = 0;
                surgery.family = f;
                surgery.dependency = d;
                surgery.found = false;
                const char *wrong = symbolic_check(&some[i], NULL);
                if (surgery.found && !wrong)
                    fail_msg("case %zu goes well without dependency %u of family %u", i, d, f);
                if (!surgery.found && wrong)
                    fail_msg("case %zu: %s", i, wrong);
                if (!surgery.found)
                    break;
            }
}

/* A method with one wrong step; `fault` chooses the fault. */
enum fault { NO_PEER, SHORT_SEND, OUTSIDE, WRONG_ELEMENT, FAULTS };
static enum fault fault;
static td_step_fn *right;

static void step_wrongly(const struct td_program *p, unsigned family, uint64_t index,
                         struct td_step *step)
{
    right(p, family, index, step);
    if (step->kind != TD_SEND || p->slot != 0 || index != 0)
        return;
    if (fault == NO_PEER)
        step->peer = 77;
    else if (fault == SHORT_SEND)
        step->from.run -= 4;
    else if (fault == OUTSIDE)
        step->from.offset += 100000;
    else
        step->from.offset -= 4;
}

static void compile_wrongly(const struct td_compile_input *input, struct td_program *p)
{
    td_select_compile(input, p);
    right = p->step_at;
    p->step_at = step_wrongly;
}

static void a_wrong_step_is_found(void **unused)
{
    (void)unused;
    struct shape s;
    place(&s, 3, 1, BLOCK);
    for (int f = 0; f < FAULTS; f++) {
        struct symbolic_case c = make(TD_KIND_ALLTOALL, TD_TYPE_INT32, 1000);
        c.compile = compile_wrongly;
        c.rank_node = s.rank_node;
        c.size = s.size;
        fault = (enum fault)f;
        if (!symbolic_check(&c, NULL))
            fail_msg("fault %d passes", f);
    }
}

/* ring_step makes each node wait for its predecessor before it sends. */
static void ring_step(const struct td_program *p, unsigned family, uint64_t index,
                      struct td_step *step)
{
    (void)index;
    const struct td_group *g = p->group;
    *step = (struct td_step){.kind = p->family[family].kind};
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (family == 0) {
        step->peer = g->node[(p->slot + g->slots - 1) % g->slots];
        step->to = td_slice_at(TD_SPACE_DESTINATION, 0, 0, 8);
    } else {
        step->peer = g->node[(p->slot + 1) % g->slots];
        step->from = td_slice_at(TD_SPACE_SOURCE, 0, 0, 8);
    }
}

static void compile_ring(const struct td_compile_input *input, struct td_program *p)
{
    static const struct td_method ring = {.name = "ring", .step_at = ring_step};
    *p = (struct td_program){.method = &ring,
                             .step_at = ring_step,
                             .group = input->group,
                             .slot = input->slot,
                             .call = *input->call,
                             .seed = input->seed};
    td_program_add(p, TD_RECV, 1, "from the one before");
    td_program_add(p, TD_SEND, 1, "to the one after");
    td_program_need_all(p, 1, 0);
}

static void a_cycle_is_found(void **unused)
{
    (void)unused;
    struct shape s;
    place(&s, 3, 1, BLOCK);
    struct symbolic_case c = make(TD_KIND_ALLREDUCE, TD_TYPE_DOUBLE, 1);
    c.compile = compile_ring;
    c.rank_node = s.rank_node;
    c.size = s.size;
    const char *wrong = symbolic_check(&c, NULL);
    assert_non_null(wrong);
    assert_non_null(strstr(wrong, "cycle"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier_needs_no_steps),
        cmocka_unit_test(broadcast_reaches_all_from_every_root),
        cmocka_unit_test(allreduce_combines_every_rank_once),
        cmocka_unit_test(long_payloads_travel_with_the_gate),
        cmocka_unit_test(alltoall_sends_one_message_a_pair_of_nodes),
        cmocka_unit_test(fft_transforms_every_row_and_column_once),
        cmocka_unit_test(scratch_does_not_exceed_the_vectors_of_all_nodes),
        cmocka_unit_test(long_vectors_pass_in_pieces),
        cmocka_unit_test(groups_of_more_nodes_than_the_tree_is_wide_pass_too),
        cmocka_unit_test(a_missing_dependency_is_found),
        cmocka_unit_test(a_wrong_step_is_found),
        cmocka_unit_test(a_cycle_is_found),
    };
    /* each case allocates and frees megabytes: keep them */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
