/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of counts: the data from one node's ranks to those of another, walked, packed, unpacked
 * and copied in pieces of any size, compared with a list of the place of each byte of the unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compute/compute.h"
#include "compute/fft/step.h"
#include "compute/walk.h"
#include "base/arena.h"
#include "model/counts.h"
#include "random.h"

enum { RANKS_MAX = 9, BUFFER = 1 << 14, SCRATCH = 1 << 16, ROUNDS = 250, TRIES = 30 };

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    return random_below(&seed, below);
}

/* struct node: the counts and buffers of one node; each rank's data is in one block. */
struct node {
    struct td_counts counts;
    struct td_bases bases;
    uint8_t *source[RANKS_MAX], *destination[RANKS_MAX];
    uint8_t *memory, *expected;
};
enum { NODE_BYTES = 2 * RANKS_MAX * BUFFER + SCRATCH };

/* The counts of the ranks, in elements, and the places of the parts: [rank][other rank]. */
static struct td_arena *arena;
static struct td_group group;
static struct node node[RANKS_MAX];
static uint64_t element, count[RANKS_MAX][RANKS_MAX]; /* [sender][receiver] */
static uint64_t place[2][RANKS_MAX][RANKS_MAX];       /* of the sources, of the destinations */
static size_t at[SCRATCH]; /* of each byte of a unit, in a node's block */

static void random_counts(void)
{
    uint32_t often = 1 + (uint32_t)draw(4);
    for (uint32_t i = 0; i < group.size; i++)
        for (uint32_t k = 0; k < group.size; k++)
            count[i][k] = draw(often) ? 0 : draw(40);
}

/* random_places lays a rank's parts out in any order, with gaps. */
static void random_places(bool destination, uint32_t rank)
{
    uint32_t order[RANKS_MAX] = {0};
    uint64_t next = draw(3);
    for (uint32_t i = 0; i < group.size; i++) {
        uint32_t other = (uint32_t)draw(i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (uint32_t i = 0; i < group.size; i++) {
        place[destination][rank][order[i]] = next;
        next += (destination ? count[order[i]][rank] : count[rank][order[i]]) + draw(3);
    }
}

static void say(struct node *n, uint32_t local, bool destination)
{
    uint32_t rank = td_group_rank(&group, n->counts.slot, local);
    uint64_t counts[RANKS_MAX], need = 0;
    for (uint32_t i = 0; i < group.size; i++)
        counts[i] = destination ? count[i][rank] : count[rank][i];
    random_places(destination, rank);
    struct td_rank_counts c = {counts, place[destination][rank], group.size, group.size};
    assert_null(td_counts_set(&n->counts, local, destination, &c, element, &need));
    assert_true(need <= BUFFER);
}

static void begin(void)
{
    uint32_t rank_node[RANKS_MAX], size = 1 + (uint32_t)draw(RANKS_MAX);
    uint32_t nodes = 1 + (uint32_t)draw(4);
    for (uint32_t r = 0; r < size; r++)
        rank_node[r] = (uint32_t)draw(nodes);
    element = (uint64_t)1 << draw(5);
    assert_int_equal(td_group_build(&group, arena, rank_node, size), TD_OK);
    random_counts();
    for (uint32_t slot = 0; slot < group.slots; slot++) {
        struct node *n = &node[slot];
        assert_true(td_counts_build(&n->counts, arena, &group, slot));
        for (uint32_t local = 0; local < n->counts.ranks; local++) {
            n->source[local] = n->memory + (size_t)local * BUFFER;
            n->destination[local] = n->memory + (size_t)(RANKS_MAX + local) * BUFFER;
            say(n, local, false);
            say(n, local, true);
        }
        n->bases = (struct td_bases){.source = n->source,
                                     .destination = n->destination,
                                     .scratch = n->memory + (size_t)2 * RANKS_MAX * BUFFER};
        for (size_t i = 0; i < NODE_BYTES; i++)
            n->memory[i] = (uint8_t)draw(256);
        memcpy(n->expected, n->memory, NODE_BYTES);
    }
}

static void end(void)
{
    for (uint32_t slot = 0; slot < group.slots; slot++)
        td_counts_free(&node[slot].counts, arena);
    td_group_free(&group, arena);
    assert_int_equal(td_arena_used(arena), 0);
}

static int setup(void **unused)
{
    (void)unused;
    arena = td_arena_create(1 << 20);
    for (uint32_t i = 0; i < RANKS_MAX; i++) {
        node[i].memory = malloc(NODE_BYTES);
        node[i].expected = malloc(NODE_BYTES);
        if (!node[i].memory || !node[i].expected)
            return -1;
    }
    return arena ? 0 : -1;
}

static int teardown(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < RANKS_MAX; i++) {
        free(node[i].memory);
        free(node[i].expected);
    }
    td_arena_destroy(arena);
    return 0;
}

/* list_unit fills `at` for the unit to, or from, a slot: senders outermost. It returns the unit's
 * size. */
static size_t list_unit(uint32_t here, bool destination, uint32_t there)
{
    size_t bytes = 0;
    uint32_t sender = destination ? there : here, receiver = destination ? here : there;
    for (uint32_t i = 0; i < td_group_slot_ranks(&group, sender); i++)
        for (uint32_t k = 0; k < td_group_slot_ranks(&group, receiver); k++) {
            uint32_t from = td_group_rank(&group, sender, i),
                     to = td_group_rank(&group, receiver, k);
            uint64_t start = element * (destination ? place[1][to][from] : place[0][from][to]);
            size_t block = (destination ? RANKS_MAX + k : i) * (size_t)BUFFER;
            for (uint64_t b = 0; b < element * count[from][to]; b++)
                at[bytes++] = block + (size_t)(start + b);
        }
    return bytes;
}

static void assert_memory(const struct node *n)
{
    assert_memory_equal(n->memory, n->expected, NODE_BYTES);
}

/* struct unit: a random unit, and a random slice of it. */
struct unit {
    struct node *node;
    bool destination;
    uint64_t begin, bytes;
    struct td_slice slice;
};

static struct unit random_unit(void)
{
    struct unit u = {.destination = draw(2)};
    uint32_t here = (uint32_t)draw(group.slots), there = (uint32_t)draw(group.slots);
    uint64_t size = list_unit(here, u.destination, there);
    u.node = &node[here];
    u.begin = draw(size + 1);
    u.bytes = draw(size - u.begin + 1);
    if (draw(4) == 0) {
        u.begin = 0;
        u.bytes = size;
    }
    u.slice = td_counts_slice(&u.node->counts, u.destination, there, u.begin, u.bytes);
    assert_int_equal(td_slice_bytes(&u.slice), u.bytes);
    return u;
}

static void a_walk_goes_through_the_parts_of_a_unit(void **unused)
{
    (void)unused;
    size_t walked = 0;
    for (seed = 1; seed < ROUNDS; seed++) {
        uint64_t start = seed;
        begin();
        for (int i = 0; i < TRIES; i++) {
            struct unit u = random_unit();
            struct td_walk w;
            uint64_t skip = draw(u.bytes + 3);
            int64_t bytes = 0;
            uint8_t *piece = NULL;
            td_walk_start(&w, &u.slice, &u.node->bases, NULL, 0, skip);
            uint64_t done = skip < u.bytes ? skip : u.bytes;
            for (int64_t most = 0, left = 0;; done += (uint64_t)bytes) {
                most = 1 + (int64_t)draw(draw(2) ? 30 : 3000);
                left = td_walk_left(&w);
                if (!(piece = td_walk_piece(&w, most, &bytes)))
                    break;
                assert_true(bytes > 0 && bytes <= most);
                assert_true(bytes == (left < most ? left : most));
                assert_true(done + (uint64_t)bytes <= u.bytes);
                for (int64_t b = 0; b < bytes; b++)
                    assert_ptr_equal(piece + b, u.node->memory + at[u.begin + done + (uint64_t)b]);
                walked += (size_t)bytes;
            }
            assert_int_equal(done, u.bytes);
            assert_int_equal(td_walk_left(&w), 0);
        }
        end();
        seed = start;
    }
    assert_true(walked > (size_t)ROUNDS * TRIES);
}

/* assert_in_buffer_of checks that a place is behind the beginning of the rank's buffer, and that no
 * other rank's buffer begins in between. */
static void assert_in_buffer_of(const struct unit *u, uint32_t rank, size_t where)
{
    const struct td_bases *b = &u->node->bases;
    uint8_t *const *base = u->slice.space == TD_SPACE_SOURCE ? b->source : b->destination;
    const uint8_t *byte = u->node->memory + where;
    assert_true(base[rank] && base[rank] <= byte);
    for (uint32_t i = 0; i < u->slice.counts->ranks; i++)
        assert_false(base[i] > base[rank] && base[i] <= byte);
}

static void a_unit_is_packed_and_unpacked_in_any_pieces(void **unused)
{
    (void)unused;
    static uint8_t packed[SCRATCH];
    static const struct td_lanes one = {1, 0, 0};
    for (seed = 1; seed < ROUNDS; seed++) {
        uint64_t start = seed;
        begin();
        for (int i = 0; i < TRIES; i++) {
            struct unit u = random_unit();
            uint64_t offset = draw(u.bytes + 1), bytes = draw(u.bytes - offset + 1);
            const size_t *where = at + u.begin + offset;
            td_compute_pack(&u.slice, &u.node->bases, offset, bytes, packed);
            bool together = true;
            for (uint64_t b = 0; b < bytes; b++) {
                assert_int_equal(packed[b], u.node->memory[where[b]]);
                together = together && where[b] == where[0] + b;
            }
            const uint8_t *piece = td_compute_contiguous(&u.slice, &u.node->bases, offset, bytes);
            if (piece && bytes)
                assert_true(together && piece == u.node->memory + where[0]);
            if (bytes)
                assert_in_buffer_of(&u, td_compute_rank(&u.slice, offset), where[0]);
            for (uint64_t b = 0; b < bytes; b++)
                u.node->expected[where[b]] = packed[b] = (uint8_t)draw(256);
            td_compute_unpack(&u.slice, &one, &u.node->bases, offset, bytes, packed);
            if (i % 10 == 0)
                assert_memory(u.node);
        }
        for (uint32_t slot = 0; slot < group.slots; slot++)
            assert_memory(&node[slot]);
        end();
        seed = start;
    }
}

/* A unit is copied within the node: to scratch memory, from it, and, for the node's unit for
 * itself, from the sources to the destinations. */
static void units_are_copied_within_a_node(void **unused)
{
    (void)unused;
    for (seed = 1; seed < ROUNDS; seed++) {
        uint64_t start = seed;
        begin();
        struct unit u = random_unit();
        struct td_step step = {.kind = TD_COPY, .to_lanes = {1, 0, 0}};
        size_t scratch = (size_t)2 * RANKS_MAX * BUFFER + draw(100);
        step.from = u.slice;
        step.to = td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)(scratch - 2 * RANKS_MAX * BUFFER),
                              (int64_t)u.bytes);
        bool in = draw(2);
        if (in) {
            step.to = step.from;
            step.from = td_slice_at(TD_SPACE_SCRATCH, 0,
                                    (int64_t)(scratch - 2 * RANKS_MAX * BUFFER), (int64_t)u.bytes);
        }
        for (uint64_t b = 0; b < u.bytes; b++)
            if (in)
                u.node->expected[at[u.begin + b]] = u.node->memory[scratch + b];
            else
                u.node->expected[scratch + b] = u.node->memory[at[u.begin + b]];
        assert_int_equal(td_step_run(&step, &u.node->bases), TD_OK);
        assert_memory(u.node);

        uint32_t here = u.node->counts.slot;
        uint64_t bytes = list_unit(here, false, here);
        uint8_t *packed = malloc(bytes + 1);
        assert_non_null(packed);
        for (uint64_t b = 0; b < bytes; b++)
            packed[b] = u.node->memory[at[b]];
        assert_int_equal(list_unit(here, true, here), bytes);
        for (uint64_t b = 0; b < bytes; b++)
            u.node->expected[at[b]] = packed[b];
        free(packed);
        step.from = td_counts_slice(&u.node->counts, false, here, 0, bytes);
        step.to = td_counts_slice(&u.node->counts, true, here, 0, bytes);
        assert_int_equal(td_step_run(&step, &u.node->bases), TD_OK);
        assert_memory(u.node);
        end();
        seed = start;
    }
}

/* The sender's unit, in the pieces of a network, is the receiver's. */
static void units_of_two_nodes_hold_the_same_bytes_in_the_same_order(void **unused)
{
    (void)unused;
    static uint8_t packet[512];
    static const struct td_lanes one = {1, 0, 0};
    for (seed = 1; seed < ROUNDS; seed++) {
        uint64_t start = seed;
        begin();
        for (uint32_t a = 0; a < group.slots; a++)
            for (uint32_t b = 0; b < group.slots; b++) {
                uint64_t bytes = td_counts_unit(&node[a].counts, false, b);
                assert_int_equal(td_counts_unit(&node[b].counts, true, a), bytes);
                struct td_slice from = td_counts_slice(&node[a].counts, false, b, 0, bytes);
                struct td_slice to = td_counts_slice(&node[b].counts, true, a, 0, bytes);
                for (uint64_t done = 0, piece = 0; done < bytes; done += piece) {
                    piece = 1 + draw(sizeof packet);
                    piece = piece < bytes - done ? piece : bytes - done;
                    td_compute_pack(&from, &node[a].bases, done, piece, packet);
                    td_compute_unpack(&to, &one, &node[b].bases, done, piece, packet);
                }
            }
        for (uint32_t i = 0; i < group.size; i++)
            for (uint32_t k = 0; k < group.size; k++) {
                uint32_t a = 0, b = 0, sender = 0, receiver = 0;
                td_group_locate(&group, i, &a, &sender);
                td_group_locate(&group, k, &b, &receiver);
                memcpy(node[b].expected + (size_t)(RANKS_MAX + receiver) * BUFFER +
                           element * place[1][k][i],
                       node[a].source[sender] + element * place[0][i][k], element * count[i][k]);
            }
        for (uint32_t slot = 0; slot < group.slots; slot++)
            assert_memory(&node[slot]);
        end();
        seed = start;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_goes_through_the_parts_of_a_unit),
        cmocka_unit_test(a_unit_is_packed_and_unpacked_in_any_pieces),
        cmocka_unit_test(units_are_copied_within_a_node),
        cmocka_unit_test(units_of_two_nodes_hold_the_same_bytes_in_the_same_order),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
