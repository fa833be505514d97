/* SPDX-License-Identifier: Apache-2.0 */
/* Planes of groups with gaps, and trees. TORUS_TEST_LONG=1 runs a thousand groups of each shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "model/planes_best.h"
#include "model/planes_tree.h"
#include "model/planes_call.h"
#include "common/node_set.h"
#include "seeds.h"

enum { NONE = UINT32_MAX, ARENA_BYTES = 4 << 20 };

static uint64_t seeds = 60;

/* struct world: a group on a machine. */
struct world {
    struct td_topology t;
    struct td_arena *arena;
    uint32_t node[TD_NODES_MAX], slots;
    struct td_planes planes;
};

/* The linker (--wrap) passes each call of td_arena_alloc here. It fixes the names.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
static uint64_t refuse_in; /* so many calls from now; 0: never */
void *__real_td_arena_alloc(struct td_arena *arena, size_t bytes);
void *__wrap_td_arena_alloc(struct td_arena *arena, size_t bytes);

void *__wrap_td_arena_alloc(struct td_arena *arena, size_t bytes)
{
    if (refuse_in > 0 && --refuse_in == 0)
        return NULL;
    return __real_td_arena_alloc(arena, bytes);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static void begin(struct world *w, const char *shape, const char *who, uint64_t seed)
{
    const char *why = NULL;
    *w = (struct world){.arena = td_arena_create(ARENA_BYTES)};
    assert_non_null(w->arena);
    assert_int_equal(td_topology_parse(&w->t, shape, &(size_t){0}, &why), TD_OK);
    assert_true(td_node_set_parse(&w->t, who, seed, w->node, &w->slots, &why));
    assert_int_equal(td_planes_build(&w->planes, w->arena, &w->t, w->node, w->slots), TD_OK);
}

static void end(struct world *w)
{
    td_planes_free(&w->planes, w->arena);
    assert_int_equal(td_arena_used(w->arena), 0);
    td_arena_destroy(w->arena);
}

static uint32_t at(const struct td_topology *t, const struct td_plane *plane, uint32_t i,
                   uint32_t j)
{
    uint32_t node = plane->corner;
    for (; i > 0; i--)
        node = td_topology_neighbour(t, node, plane->dimension[0], 1);
    for (; j > 0; j--)
        node = td_topology_neighbour(t, node, plane->dimension[1], 1);
    return node;
}

/* check_planes: each member is in one plane, and each plane is full. */
static void check_planes(const struct world *w)
{
    uint32_t members = 0, last = NONE;
    const struct td_planes *p = &w->planes;
    for (uint32_t k = 0; k < p->planes; k++) {
        const struct td_plane *plane = &p->plane[k];
        uint32_t area = plane->side[0] * plane->side[1];
        assert_true(area > 0 && area <= last);
        assert_true(plane->side[1] == 1 || plane->dimension[0] < plane->dimension[1]);
        last = area;
        members += area;
        for (uint32_t i = 0; i < plane->side[0]; i++)
            for (uint32_t j = 0; j < plane->side[1]; j++) {
                uint32_t slot = p->slot[at(&w->t, plane, i, j)];
                assert_int_not_equal(slot, NONE);
                assert_int_equal(p->of[slot], k);
            }
    }
    assert_int_equal(members, w->slots); /* no node was counted twice */
}

/* check_tree checks that the tree spans the group, its preorder and its depth. It returns the
 * number of edges that are no links. */
static uint32_t check_tree(const struct world *w, const struct td_tree *tree)
{
    uint32_t gaps = 0, deepest = 0, child[TD_TREE_CHILDREN_MAX];
    assert_int_equal(tree->slots, w->slots);
    assert_int_equal(tree->parent[tree->root], tree->root);
    for (uint32_t s = 0; s < w->slots; s++) {
        uint32_t hops = 0, steps = 0, below = 1;
        assert_int_equal(tree->order[tree->place[s]], s);
        for (uint32_t up = s; up != tree->root; up = tree->parent[up]) {
            hops += td_topology_distance(&w->t, w->node[up], w->node[tree->parent[up]]);
            assert_true(++steps < w->slots);
        }
        deepest = hops > deepest ? hops : deepest;
        if (s != tree->root)
            gaps += td_topology_distance(&w->t, w->node[s], w->node[tree->parent[s]]) > 1;
        uint32_t children = td_tree_children(tree, s, child);
        for (uint32_t i = 0; i < children; i++) {
            assert_int_equal(tree->parent[child[i]], s);
            assert_true(i == 0 || child[i] > child[i - 1]);
            below += tree->below[child[i]];
        }
        assert_int_equal(tree->below[s], below);
    }
    assert_int_equal(tree->below[tree->root], w->slots);
    assert_int_equal(tree->hops, deepest);
    return gaps;
}

/* parts returns the number of parts that no neighbours connect. */
static uint32_t parts(const struct world *w)
{
    static uint32_t queue[TD_NODES_MAX];
    static bool seen[TD_NODES_MAX];
    uint32_t count = 0;
    memset(seen, 0, sizeof seen);
    for (uint32_t s = 0; s < w->slots; s++) {
        uint32_t queued = 0;
        if (seen[s])
            continue;
        count++;
        seen[s] = true;
        queue[queued++] = s;
        for (uint32_t i = 0; i < queued; i++)
            for (uint32_t d = 0; d < w->t.dimensions; d++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    uint32_t next =
                        w->planes.slot[td_topology_neighbour(&w->t, w->node[queue[i]], d, sign)];
                    if (next == NONE || seen[next])
                        continue;
                    seen[next] = true;
                    queue[queued++] = next;
                }
    }
    return count;
}

static const struct {
    const char *shape, *who;
} groups[] = {{"8x8", "random:0.6"},
              {"8x8", "random:0.2"},
              {"8mx8m", "random:0.5"},
              {"4x4x4", "random:0.6"},
              {"3x4mx5", "random:0.7"},
              {"2x2x2x2x2x2", "random:0.6"},
              {"17", "random:0.5"},
              {"1", "all"},
              {"2x3", "all"},
              {"8x8", "nodes:0,2,4,18-22,40"},
              {"64", "nodes:1,3,5,40-50,63"},
              {"4x4x4", "nodes:0,2,8,10,21,23,29,31,32,34,40,42,53,55,61,63"},
              {"6m", "nodes:0,5"},
              {"8x8x8", "random:0.6"}};
enum { GROUPS = sizeof groups / sizeof groups[0] };

static void every_member_is_in_one_plane_and_planes_are_full(void **unused)
{
    (void)unused;
    for (size_t g = 0; g < GROUPS; g++)
        for (uint64_t seed = 0; seed < seeds; seed++) {
            struct world w;
            begin(&w, groups[g].shape, groups[g].who, seed);
            check_planes(&w);
            end(&w);
        }
}

/* the largest is first; this search tries all */
static void the_largest_plane_is_cut_off_first(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct world w;
        begin(&w, seed % 2 ? "5x6" : "3x4mx3", "random:0.6", seed);
        uint32_t most = 0;
        for (uint32_t s = 0; s < w.slots; s++)
            for (uint32_t a = 0; a < w.t.dimensions; a++)
                for (uint32_t b = 0; b < w.t.dimensions; b++)
                    for (uint32_t wide = 1; wide <= w.t.size[a]; wide++)
                        for (uint32_t high = 1; a != b && high <= w.t.size[b]; high++) {
                            struct td_plane plane = {.corner = w.node[s],
                                                     .dimension = {(uint8_t)a, (uint8_t)b},
                                                     .side = {wide, high}};
                            uint32_t x[TD_DIMENSIONS_MAX];
                            td_topology_coordinates(&w.t, w.node[s], x);
                            bool full = (w.t.wrap[a] || x[a] + wide <= w.t.size[a]) &&
                                        (w.t.wrap[b] || x[b] + high <= w.t.size[b]);
                            for (uint32_t i = 0; full && i < wide * high; i++)
                                full = w.planes.slot[at(&w.t, &plane, i % wide, i / wide)] != NONE;
                            if (full && wide * high > most)
                                most = wide * high;
                        }
        assert_int_equal(w.planes.plane[0].side[0] * w.planes.plane[0].side[1], most);
        end(&w);
    }
}

static void planes_of_known_groups(void **unused)
{
    (void)unused;
    struct world w;
    /* a ring's corner is at 0, wherever its gap is */
    begin(&w, "4x8", "nodes:6,14,22,30,7,15,23,31,0,8,16,24,3", 0);
    assert_int_equal(w.planes.planes, 2);
    assert_int_equal(w.planes.plane[0].corner, 6);
    assert_int_equal(w.planes.plane[0].side[0], 4);
    assert_int_equal(w.planes.plane[0].side[1], 3); /* 6, 7 and round to 0 */
    assert_int_equal(w.planes.plane[1].corner, 3);
    end(&w);
    /* of equally large planes the one with the lowest corner; then a line; then a single node */
    begin(&w, "8mx8m", "nodes:9,10,17,18,12,13,20,21,40-42,63", 0);
    assert_int_equal(w.planes.planes, 4);
    assert_int_equal(w.planes.plane[0].corner, 9);
    assert_int_equal(w.planes.plane[1].corner, 12);
    assert_int_equal(w.planes.plane[2].side[0], 3);
    assert_int_equal(w.planes.plane[2].dimension[0], 1);
    assert_int_equal(w.planes.plane[3].corner, 63);
    end(&w);
}

static void the_tree_spans_and_leaves_the_group_only_between_parts(void **unused)
{
    (void)unused;
    for (size_t g = 0; g < GROUPS; g++)
        for (uint64_t seed = 0; seed < (seeds + 9) / 10; seed++) {
            struct world w;
            struct td_tree tree;
            begin(&w, groups[g].shape, groups[g].who, seed);
            uint32_t apart = parts(&w) - 1, root = (uint32_t)(seed * 7 % w.slots);
            assert_int_equal(td_planes_tree(&w.planes, w.arena, root, &tree), TD_OK);
            assert_int_equal(tree.root, root);
            assert_int_equal(check_tree(&w, &tree), apart);
            for (uint32_t s = 0; s < w.slots; s++) { /* one way into each plane */
                const struct td_plane *plane = &w.planes.plane[w.planes.of[s]];
                if (s != plane->root)
                    assert_int_equal(w.planes.of[tree.parent[s]], w.planes.of[s]);
                else
                    assert_int_equal(tree.parent[s], plane->above);
            }
            td_tree_free(&tree, w.arena);
            assert_int_equal(td_planes_best(&tree, w.arena, &w.t, w.node, w.slots), TD_OK);
            assert_int_equal(check_tree(&w, &tree), apart);
            td_tree_free(&tree, w.arena);
            assert_int_equal(td_planes_shares(&tree, w.arena, &w.t, w.node, w.slots, root), TD_OK);
            assert_int_equal(tree.root, root);
            assert_int_equal(check_tree(&w, &tree), apart);
            td_tree_free(&tree, w.arena);
            end(&w);
        }
}

/* Parts are joined by their nearest pair. */
static void parts_are_joined_where_they_are_nearest(void **unused)
{
    (void)unused;
    struct world w;
    struct td_tree tree;
    begin(&w, "16mx16m", "nodes:0-3,16-19,39-41,55-57,240", 0); /* 2,0 to 2,7; 15,0 far below */
    assert_int_equal(td_planes_tree(&w.planes, w.arena, 0, &tree), TD_OK);
    uint32_t a = w.planes.slot[19], b = w.planes.slot[39], far = w.planes.slot[240];
    assert_int_equal(tree.parent[b], a); /* 5 hops; all other pairs are further apart */
    assert_int_equal(tree.parent[far], w.planes.slot[16]);
    assert_int_equal(check_tree(&w, &tree), 2);
    td_tree_free(&tree, w.arena);
    end(&w);
    /* with every second node all are alone; no node has more children than the limit */
    static char who[TD_NODES_MAX * 5];
    size_t length = (size_t)snprintf(who, sizeof who, "nodes:");
    struct td_topology t;
    assert_int_equal(td_topology_parse(&t, "4x4x4x4", &(size_t){0}, &(const char *){0}), TD_OK);
    for (uint32_t n = 0; n < t.nodes; n++) {
        uint32_t x[TD_DIMENSIONS_MAX];
        td_topology_coordinates(&t, n, x);
        if ((x[0] + x[1] + x[2] + x[3]) % 2 == 0)
            length += (size_t)snprintf(who + length, sizeof who - length, "%u,", n);
    }
    begin(&w, "4x4x4x4", who, 0);
    assert_int_equal(td_planes_best(&tree, w.arena, &w.t, w.node, w.slots), TD_OK);
    assert_int_equal(check_tree(&w, &tree), w.slots - 1);
    td_tree_free(&tree, w.arena);
    end(&w);
}

/* depth of the tree divided by the least depth from any root */
static void trees_are_little_deeper_than_by_breadth(void **unused)
{
    (void)unused;
    static const char *const shapes[] = {"8x8", "8x8x8"};
    for (int i = 0; i < 2; i++) {
        uint64_t count = i && seeds < 1000 ? seeds / 4 : seeds;
        double sum = 0, worst = 0;
        for (uint64_t seed = 1; seed <= count; seed++) {
            struct world w;
            struct td_tree tree;
            begin(&w, shapes[i], "random:0.6", seed);
            uint32_t least = NONE, farthest = 0;
            for (uint32_t s = 0; s < w.slots; s++) {
                uint32_t hops = td_planes_breadth(&w.planes, w.arena, s, &farthest);
                least = hops < least ? hops : least;
            }
            assert_int_equal(td_planes_best(&tree, w.arena, &w.t, w.node, w.slots), TD_OK);
            double ratio = (double)tree.hops / least;
            sum += ratio;
            worst = ratio > worst ? ratio : worst;
            td_tree_free(&tree, w.arena);
            end(&w);
        }
        printf("  %s: mean %.3f, worst %.3f of %u groups\n", shapes[i], sum / (double)count, worst,
               (unsigned)count);
        assert_true(sum / (double)count <= 1.2);
        assert_true(worst <= 1.6);
    }
}

static void calls_go_along_trees_of_least_depth_from_their_root(void **unused)
{
    (void)unused;
    static const char *const connected[] = {"8x8", "4x4x4", "16x16", "8x8x8", "9mx7"};
    for (size_t i = 0; i < sizeof connected / sizeof connected[0]; i++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct world w;
            struct td_group group;
            struct td_tree tree = {0};
            begin(&w, connected[i], "random:0.6", seed);
            assert_int_equal(td_group_build(&group, w.arena, w.node, w.slots), TD_OK);
            struct td_call call = {.kind = seed % 2 ? TD_KIND_BROADCAST : TD_KIND_REDUCE,
                                   .type = TD_TYPE_DOUBLE,
                                   .op = seed % 2 ? TD_OP_NONE : TD_OP_SUM,
                                   .count = 1000,
                                   .root = (uint32_t)seed * 3};
            assert_int_equal(td_planes_of_call(&tree, w.arena, &w.t, &group, &call), TD_OK);
            assert_int_equal(tree.root, call.root);
            assert_int_equal(check_tree(&w, &tree), 0);
            assert_int_equal(tree.hops,
                             td_planes_breadth(&w.planes, w.arena, call.root, &(uint32_t){0}));
            td_tree_free(&tree, w.arena);
            td_group_free(&group, w.arena);
            end(&w);
        }
}

static void boxes_have_trees_of_least_depth(void **unused)
{
    (void)unused;
    static const struct {
        const char *shape, *who;
        uint32_t hops, root;
    } boxes[] = {{"8x8x8", "all", 12, 0},
                 {"8mx8m", "all", 8, 36},
                 {"8x7m", "all", 7, 3},
                 {"5x4", "all", 4, 0},
                 {"16x16x16", "all", 24, 0},
                 {"4x4x4x4x4x4", "all", 12, 0},
                 {"4096", "all", 2048, 0},
                 {"8x8", "nodes:9-12,17-20", 3, 19},
                 {"8", "nodes:6-7,0-1", 2, 2}, /* across the end of the ring: 6, 7, 0 and 1 */
                 {"4x8", "nodes:7,15,23,31,0,8,16,24", 3, 0}};
    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
        struct world w;
        struct td_tree tree;
        begin(&w, boxes[i].shape, boxes[i].who, 1);
        assert_int_equal(td_planes_best(&tree, w.arena, &w.t, w.node, w.slots), TD_OK);
        assert_int_equal(tree.hops, boxes[i].hops);
        if (w.slots < 4096 || w.t.dimensions > 1) /* otherwise climbing takes too long */
            assert_int_equal(check_tree(&w, &tree), 0);
        td_tree_free(&tree, w.arena);
        end(&w);
    }
}

static void shares_of_the_roots_links_are_alike(void **unused)
{
    (void)unused;
    struct world w;
    struct td_tree tree;
    uint32_t child[TD_TREE_CHILDREN_MAX];
    begin(&w, "8x8x8", "all", 1);
    assert_int_equal(td_planes_shares(&tree, w.arena, &w.t, w.node, w.slots, 77), TD_OK);
    assert_int_equal(td_tree_children(&tree, 77, child), 6);
    for (int i = 0; i < 6; i++)
        assert_in_range(tree.below[child[i]], 511 / 6, 511 / 6 + 1);
    td_tree_free(&tree, w.arena);
    end(&w);
}

/* on_side climbs the tree: it returns true if a slot is on a's side of the edge between a and b. */
static bool on_side(const struct td_tree *t, uint32_t slot, uint32_t a, uint32_t b)
{
    bool down = t->parent[b] == a && b != t->root;
    uint32_t low = down ? b : a;
    bool below = false;
    for (uint32_t up = slot;; up = t->parent[up]) {
        below = below || up == low;
        if (up == t->root)
            break;
    }
    return down ? !below : below;
}

static void a_tree_can_be_used_from_any_root(void **unused)
{
    (void)unused;
    struct world w;
    struct td_tree tree;
    begin(&w, "4x4x4", "random:0.5", 5);
    assert_int_equal(td_planes_best(&tree, w.arena, &w.t, w.node, w.slots), TD_OK);
    for (uint32_t to = 0; to < w.slots; to++)
        for (uint32_t s = 0; s < w.slots; s++) {
            uint32_t steps = 0, first = 0, away[TD_TREE_CHILDREN_MAX + 1];
            for (uint32_t v = s; v != to; v = td_tree_towards(&tree, v, to))
                assert_true(++steps < w.slots);
            uint32_t up = td_tree_towards(&tree, s, to);
            uint32_t children = td_tree_away(&tree, s, to, away);
            for (uint32_t i = 0; i < children; i++)
                assert_int_equal(td_tree_towards(&tree, away[i], to), s);
            uint32_t count = td_tree_side(&tree, s, up, &first), counted = 0;
            for (uint32_t v = 0; v < w.slots; v++) {
                uint32_t offset = (tree.place[v] + w.slots - first) % w.slots;
                bool here = s == to || on_side(&tree, v, s, up);
                assert_int_equal(offset < count, here);
                counted += here;
            }
            assert_int_equal(counted, count);
        }
    td_tree_free(&tree, w.arena);
    end(&w);
}

static void heaps_are_trees_too(void **unused)
{
    (void)unused;
    struct td_arena *arena = td_arena_create(ARENA_BYTES);
    for (uint32_t slots = 1; slots < 700; slots += 23) {
        struct td_tree tree;
        uint32_t child[TD_TREE_CHILDREN_MAX], last = 0;
        assert_int_equal(td_tree_heap(&tree, arena, slots), TD_OK);
        for (uint32_t s = 0; s < slots; s++) {
            uint32_t children = td_tree_children(&tree, s, child);
            for (uint32_t i = 0; i < children; i++)
                assert_int_equal(child[i], s * TD_TREE_ARITY + 1 + i);
            last = children ? child[children - 1] : last;
        }
        assert_int_equal(last, slots - 1);
        td_tree_free(&tree, arena);
    }
    assert_int_equal(td_arena_used(arena), 0);
    td_arena_destroy(arena);
}

static void without_memory_there_is_an_error_and_nothing_is_kept(void **unused)
{
    (void)unused;
    struct world w;
    struct td_tree tree;
    begin(&w, "8x8", "random:0.6", 1);
    bool enough = false, failed = false;
    for (size_t bytes = 256; !enough; bytes += 256) {
        struct td_arena *arena = td_arena_create(bytes);
        assert_true(bytes < ARENA_BYTES);
        enough = td_planes_best(&tree, arena, &w.t, w.node, w.slots) == TD_OK;
        failed = failed || !enough;
        if (enough)
            td_tree_free(&tree, arena);
        assert_int_equal(td_arena_used(arena), 0);
        enough = enough && td_planes_shares(&tree, arena, &w.t, w.node, w.slots, 3) == TD_OK;
        if (enough)
            td_tree_free(&tree, arena);
        assert_int_equal(td_arena_used(arena), 0);
        td_arena_destroy(arena);
    }
    assert_true(failed);
    end(&w);
}

static bool same_tree(const struct td_tree *a, const struct td_tree *b)
{
    return a->slots == b->slots && a->root == b->root && a->hops == b->hops &&
           memcmp(a->parent, b->parent, a->slots * sizeof *a->parent) == 0;
}

/* The nodes of a group make its trees apart from each other: one that has little memory must make
 * the same tree, or none. */
static void a_refused_allocation_makes_no_other_tree(void **unused)
{
    (void)unused;
    struct world w;
    struct td_group group;
    struct td_tree whole[2], tree;
    begin(&w, "8x8", "random:0.6", 2);
    assert_int_equal(td_group_build(&group, w.arena, w.node, w.slots), TD_OK);
    const struct td_call calls[] = {
        {.kind = TD_KIND_BARRIER},
        {.kind = TD_KIND_BROADCAST, .type = TD_TYPE_BYTE, .count = 100000, .root = 5}};
    for (size_t i = 0; i < 2; i++) {
        bool refused = true;
        assert_int_equal(td_planes_of_call(&whole[i], w.arena, &w.t, &group, &calls[i]), TD_OK);
        uint64_t used = td_arena_used(w.arena);
        for (uint64_t n = 1; refused; n++) {
            refuse_in = n;
            td_err error = td_planes_of_call(&tree, w.arena, &w.t, &group, &calls[i]);
            refused = refuse_in == 0;
            refuse_in = 0;
            assert_int_equal(error, refused ? TD_ERR_NO_MEMORY : TD_OK);
            assert_true(refused || same_tree(&tree, &whole[i]));
            if (!refused)
                td_tree_free(&tree, w.arena);
            assert_int_equal(td_arena_used(w.arena), used);
        }
    }
    td_tree_free(&whole[0], w.arena);
    td_tree_free(&whole[1], w.arena);
    td_group_free(&group, w.arena);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_allocation_makes_no_other_tree),
        cmocka_unit_test(every_member_is_in_one_plane_and_planes_are_full),
        cmocka_unit_test(the_largest_plane_is_cut_off_first),
        cmocka_unit_test(planes_of_known_groups),
        cmocka_unit_test(the_tree_spans_and_leaves_the_group_only_between_parts),
        cmocka_unit_test(parts_are_joined_where_they_are_nearest),
        cmocka_unit_test(trees_are_little_deeper_than_by_breadth),
        cmocka_unit_test(calls_go_along_trees_of_least_depth_from_their_root),
        cmocka_unit_test(boxes_have_trees_of_least_depth),
        cmocka_unit_test(shares_of_the_roots_links_are_alike),
        cmocka_unit_test(a_tree_can_be_used_from_any_root),
        cmocka_unit_test(heaps_are_trees_too),
        cmocka_unit_test(without_memory_there_is_an_error_and_nothing_is_kept),
    };
    if (seeds_long())
        seeds = 1000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
