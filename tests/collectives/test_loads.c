/* SPDX-License-Identifier: Apache-2.0 */
/* The load of every all-to-all method on every link: the SENDs of all nodes, routed minimally in
 * the order of dimensions, with ties halved unless the SEND names its direction. On a torus each
 * link has the load of the bound; on a line the load is higher towards the middle, where it is the
 * bound. The same holds for every second node of a torus of even sizes, or of any mesh, if messages
 * go directly: these nodes are a torus, or mesh, of half the sizes, each of whose links is two of
 * the machine's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/cost/bound.h"
#include "collectives/select.h"
#include "base/arena.h"
#include "model/group.h"

enum { NODES_MAX = 125, DIMENSIONS = 3, MESSAGE = 12 /* bytes: three parts, and halves */ };

static struct {
    struct td_topology topology;
    struct td_topology members; /* the torus of the members */
    unsigned second;            /* bit d: of dimension d, only even coordinates are members */
    struct td_tuning tuning;
    uint64_t load2[NODES_MAX][DIMENSIONS][2]; /* twice the bytes on the link out of a node */
    /* slots of a gap's period that the packets of one hop count use on a link */
    uint64_t taken[NODES_MAX][DIMENSIONS][2];
} m;

static const char *shape_name(void)
{
    static char text[64];
    td_topology_print(&m.topology, text, sizeof text);
    return text;
}

/* pass loads h links with bytes2 / 2 bytes, and returns the node at their end. */
static uint32_t pass(uint32_t node, uint32_t dimension, uint32_t h, int sign, uint64_t bytes2,
                     const struct td_step *phased)
{
    for (uint32_t hop = 0; hop < h; hop++) {
        m.load2[node][dimension][sign < 0] += bytes2;
        if (phased) {
            uint64_t slot = (uint64_t)1 << hop % (phased->gap + 1);
            if (m.taken[node][dimension][sign < 0] & slot)
                fail_msg("%s: packets meet on the link of node %u in dimension %u, %u hops, gap %u",
                         shape_name(), node, dimension, h, phased->gap);
            m.taken[node][dimension][sign < 0] |= slot;
        }
        node = td_topology_neighbour(&m.topology, node, dimension, sign);
    }
    return node;
}

static void travel(uint32_t from, const struct td_step *send, bool phased)
{
    uint64_t bytes = (uint64_t)td_step_bytes(send);
    const struct td_topology *t = &m.topology;
    uint32_t moved = 0;
    for (uint32_t d = 0; d < t->dimensions; d++) {
        int32_t way = td_topology_offset(t, from, send->peer, d);
        uint32_t h = (uint32_t)(way < 0 ? -way : way);
        bool tie = t->wrap[d] && 2 * h == t->size[d];
        moved += h > 0;
        if (tie && send->sign == 0) {
            pass(from, d, h, -1, bytes, NULL);
            from = pass(from, d, h, 1, bytes, NULL);
        } else if (h > 0) {
            int sign = way < 0 ? -1 : 1;
            from = pass(from, d, h, tie ? send->sign : sign, 2 * bytes, phased ? send : NULL);
        }
    }
    assert_int_equal(from, send->peer);
    assert_true(!phased || moved == 1);
}

/* choose makes every second node of some dimensions the group. */
static void choose(unsigned second)
{
    m.second = second;
    m.members = m.topology;
    m.members.nodes = 1;
    for (uint32_t d = 0; d < m.topology.dimensions; d++) {
        if (second >> d & 1)
            m.members.size[d] = (m.topology.size[d] + 1) / 2;
        m.members.nodes *= m.members.size[d];
    }
}

static bool is_member(const uint32_t *coordinates, uint32_t except)
{
    for (uint32_t d = 0; d < m.topology.dimensions; d++)
        if (d != except && m.second >> d & 1 && coordinates[d] % 2)
            return false;
    return true;
}

static void add_up(enum td_alltoall method, unsigned parts)
{
    static struct td_program program[NODES_MAX];
    struct td_arena *arena = td_arena_create(1 << 20);
    uint32_t nodes = 0, rank_node[NODES_MAX], c[TD_DIMENSIONS_MAX];
    struct td_group group;
    struct td_call call = {.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = MESSAGE};
    m.tuning = (struct td_tuning){.fabric = TD_FABRIC_ROUTED,
                                  .alltoall = (uint8_t)method,
                                  .parts = (uint8_t)parts,
                                  .burst = 1,
                                  .packet_bytes = 8,
                                  .relay_bytes = (uint64_t)64 << 20};
    for (uint32_t n = 0; n < m.topology.nodes; n++) {
        td_topology_coordinates(&m.topology, n, c);
        if (is_member(c, UINT32_MAX))
            rank_node[nodes++] = n;
    }
    assert_non_null(arena);
    assert_int_equal(td_group_build(&group, arena, rank_node, nodes), TD_OK);
    memset(m.load2, 0, sizeof m.load2);
    for (uint32_t n = 0; n < nodes; n++)
        td_select_compile(&(struct td_compile_input){.call = &call,
                                                     .seed = 5,
                                                     .group = &group,
                                                     .slot = n,
                                                     .topology = &m.topology,
                                                     .tuning = &m.tuning},
                          &program[n]);
    for (unsigned f = 0; f < program[0].families; f++)
        for (uint64_t i = 0; i < program[0].family[f].count; i++) {
            if (program[0].family[f].kind != TD_SEND)
                break;
            memset(m.taken, 0, sizeof m.taken);
            for (uint32_t n = 0; n < nodes; n++) {
                struct td_step step;
                program[n].step_at(&program[n], f, i, &step);
                if (td_step_bytes(&step) == 0)
                    continue;
                travel(rank_node[n], &step, method == TD_ALLTOALL_PHASED);
            }
        }
    td_group_free(&group, arena);
    td_arena_destroy(arena);
}

/* expected2 returns twice the bytes on the link out of a node, by the formula. */
static uint64_t expected2(uint32_t node, uint32_t d, int sign)
{
    const struct td_topology *t = &m.members;
    uint64_t k = t->size[d];
    uint32_t coordinates[TD_DIMENSIONS_MAX], c;
    td_topology_coordinates(&m.topology, node, coordinates);
    if (!is_member(coordinates, d))
        return 0; /* no dimension-ordered route uses it */
    if (t->wrap[d])
        return td_bound_load2(t, d) * MESSAGE;
    c = coordinates[d];
    if (m.second >> d & 1)
        c = (c + (sign < 0)) / 2; /* the member whose link it is a half of */
    if (c >= k)
        return 0; /* the mesh ends with a node that is no member */
    uint64_t behind = sign > 0 ? c + 1 : k - c;
    return 2 * behind * (k - behind) * (t->nodes / k) * MESSAGE;
}

static void compare(const char *method)
{
    const struct td_topology *t = &m.members;
    for (uint32_t d = 0; d < t->dimensions; d++) {
        uint64_t most = 0, total = 0, pairs = t->nodes / t->size[d], k = t->size[d];
        uint64_t halves = m.second >> d & 1 ? 2 : 1;
        for (uint32_t n = 0; n < m.topology.nodes; n++)
            for (int way = 0; way < 2; way++) {
                uint64_t want = expected2(n, d, way ? -1 : 1), is = m.load2[n][d][way];
                if (is != want)
                    fail_msg("%s, %s: twice %llu bytes, not %llu, on node %u's link %c in "
                             "dimension %u",
                             shape_name(), method, (unsigned long long)is, (unsigned long long)want,
                             n, way ? '-' : '+', d);
                most = is > most ? is : most;
                total += is;
            }
        assert_int_equal(most, td_bound_load2(t, d) * MESSAGE);
        /* and the sum of all hops: on a line, pairs of coordinates are (k^2 - 1) k / 3 hops apart
         */
        uint64_t hops = t->wrap[d] ? k * (k * k / 4) : (k * k - 1) * k / 3;
        assert_int_equal(total, 2 * halves * hops * pairs * pairs * MESSAGE);
    }
}

static void check_group(void)
{
    add_up(TD_ALLTOALL_RANDOM, 0);
    compare("random");
    add_up(TD_ALLTOALL_PAIRWISE, 0);
    compare("pairwise");
    if (m.second) /* in such a group relays have no dimensions */
        return;
    add_up(TD_ALLTOALL_TWO_PHASE, 0);
    compare("two-phase");
    add_up(TD_ALLTOALL_PHASED, 0);
    compare("phased, a part a dimension");
    add_up(TD_ALLTOALL_PHASED, 1);
    compare("phased, one part");
}

static void read_shape(const char *text)
{
    assert_int_equal(td_topology_parse(&m.topology, text, &(size_t){0}, &(const char *){0}), TD_OK);
}

static void links_among_every_second_node_carry_what_it_says_too(void **unused)
{
    (void)unused;
    static const char *const shapes[] = {
        "2",   "4",    "6",     "8",     "5m",    "8m",    "4x3",    "3x6",    "4x4",    "6x4",
        "8x8", "6x5m", "7mx8m", "4x3x2", "4x4x4", "2x6x5", "4x5x5m", "6mx4x3", "3mx3mx6"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        read_shape(shapes[i]);
        for (unsigned second = 1; second < 1u << m.topology.dimensions; second++) {
            bool regular = true; /* on a ring of odd size, two members would be neighbours */
            for (uint32_t d = 0; d < m.topology.dimensions; d++)
                regular = regular && (!(second >> d & 1) || !m.topology.wrap[d] ||
                                      m.topology.size[d] % 2 == 0);
            if (!regular)
                continue;
            choose(second);
            check_group();
        }
    }
}

static void every_link_carries_what_the_formula_says(void **unused)
{
    (void)unused;
    char text[64];
    for (unsigned a = 1; a <= 8; a++)
        for (unsigned wrap = 0; wrap < 8; wrap++)
            for (unsigned b = 1; b <= 8; b++)
                for (unsigned c = 1; c <= (a <= 5 && b <= 5 ? 5u : 1u); c++) {
                    snprintf(text, sizeof text, "%u%sx%u%sx%u%s", a, wrap & 1 ? "m" : "", b,
                             wrap & 2 ? "m" : "", c, wrap & 4 ? "m" : "");
                    read_shape(text);
                    choose(0);
                    check_group();
                }
}

static void bounds_are_those_of_the_table(void **unused)
{
    (void)unused;
    static const struct {
        const char *shape;
        uint64_t load;
    } table[] = {{"3x3", 3},     {"4x4", 8},     {"5x5", 15},      {"8x8", 64},   {"4x4x4", 32},
                 {"4x4x8", 128}, {"8x8x8", 512}, {"8x8x16", 2048}, {"4mx4m", 16}, {"2m", 1}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct td_topology t;
        assert_int_equal(td_topology_parse(&t, table[i].shape, &(size_t){0}, &(const char *){0}),
                         TD_OK);
        assert_int_equal(td_alltoall_bound(&t, 10), 2 * table[i].load * 10);
    }
}

/* ---- selection ---- */

/* reason_of returns the reason why a candidate was, or was not, chosen. */
static const char *reason_of(const struct td_compile_input *input, const char *method)
{
    struct td_candidate candidate[TD_METHODS_MAX];
    unsigned count = td_select_candidates(input, candidate);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(candidate[i].method->name, method) == 0)
            return candidate[i].reason;
    fail_msg("%s is no candidate", method);
    return "";
}

/* expect_choice checks that the explanation begins with `chosen`, and that of two-phase with
 * `reason`. */
static void expect_choice(const char *shape, enum td_fabric_kind fabric, uint32_t left_out,
                          uint64_t packets, const char *chosen, const char *reason)
{
    static uint32_t rank_node[TD_NODES_MAX];
    struct td_arena *arena = td_arena_create(1 << 22);
    struct td_topology t;
    struct td_group group;
    struct td_tuning tuning = {.fabric = (uint8_t)fabric,
                               .burst = 1,
                               .packet_bytes = 100,
                               .relay_bytes = (uint64_t)64 << 20};
    struct td_call call = {.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = packets * 100};
    char text[TD_TEXT_MAX];
    uint32_t ranks = 0;
    assert_non_null(arena);
    assert_int_equal(td_topology_parse(&t, shape, &(size_t){0}, &(const char *){0}), TD_OK);
    for (uint32_t n = 0; n < t.nodes; n++)
        if (n != left_out)
            rank_node[ranks++] = n;
    assert_int_equal(td_group_build(&group, arena, rank_node, ranks), TD_OK);
    for (uint32_t slot = 0; slot < group.slots; slot += 7) { /* the same on all nodes */
        const struct td_compile_input input = {
            .call = &call, .group = &group, .slot = slot, .topology = &t, .tuning = &tuning};
        int length = td_select_explain(&input, text, sizeof text);
        assert_int_equal(length, strlen(text));
        if (strncmp(text, chosen, strlen(chosen)) != 0)
            fail_msg("%s, %llu packets: %s", shape, (unsigned long long)packets, text);
        if (strncmp(reason_of(&input, "alltoall_two_phase"), reason, strlen(reason)) != 0)
            fail_msg("%s, %llu packets: two-phase: %s", shape, (unsigned long long)packets,
                     reason_of(&input, "alltoall_two_phase"));
    }
    td_group_free(&group, arena);
    td_arena_destroy(arena);
}

static void the_method_is_chosen_by_shape_and_size(void **unused)
{
    (void)unused;
    enum td_fabric_kind direct = TD_FABRIC_DIRECT, routed = TD_FABRIC_ROUTED;
    uint32_t all = UINT32_MAX;
    const char *needless = "messages of the direct fabric",
               *scattered = "the group's nodes do not form a box";
    const char *dearer = "it costs more", *longer = "one dimension is so long";
    expect_choice("8x8x8", direct, all, 16, "random: ", needless);
    expect_choice("1x1", routed, all, 16, "random: ", "all ranks are on one node");
    expect_choice("8", routed, all, 16, "random: ", "a group of one dimension needs no relays");
    expect_choice("4x4", routed, 5, 16, "random: ", scattered);
    expect_choice("4x4", routed, all, 16, "random: ", dearer);
    expect_choice("8x8x8", routed, all, 2, "random: ", dearer);
    expect_choice("4x4x8", routed, all, 1, "random: ", "one packet per pair is too short");
    expect_choice("4x4x8", routed, all, 4, "random: ", dearer);
    expect_choice("6x6x9", routed, all, 4, "random: ", dearer);
    expect_choice("8x8x12", routed, all, 4, "two-phase: one dimension", longer);
    expect_choice("8x8x16", routed, all, 4, "two-phase: one dimension", longer);
    expect_choice("8x8x8", routed, all, 100, "random: ", dearer);
    expect_choice("8x8mx8", routed, all, 4, "random: ", dearer);
    expect_choice("4x8mx4", routed, all, 4, "two-phase: one dimension", longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_those_of_the_table),
        cmocka_unit_test(the_method_is_chosen_by_shape_and_size),
        cmocka_unit_test(every_link_carries_what_the_formula_says),
        cmocka_unit_test(links_among_every_second_node_carry_what_it_says_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
