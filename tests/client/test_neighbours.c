/* SPDX-License-Identifier: Apache-2.0 */
/* Random exchanges along the edges of grids and graphs, and torus_alltoallw, on real daemons. The
 * model is a list of edges; it moves the bytes of each edge by itself. */
#include "random.h"
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGES_MAX = 600, BLOCKS_MAX = 128, SHORT = 16, LONG = 512, GUARD = 64 };
enum shape { GRID, GRAPH, ALL };
enum form { GATHER, GATHERV, EACH, EACHV, EACHW, FORMS };
static const char *const forms[FORMS] = {"allgather", "allgatherv", "alltoall", "alltoallv",
                                         "alltoallw"};

/* struct edge: a block that rank from[0] sends as its block from[1], and to[0] receives as its
 * block to[1]. */
struct edge {
    uint32_t from[2], to[2];
    size_t units;
};

/* struct side: the blocks of one rank's source or destination. */
struct side {
    uint32_t blocks, rank[BLOCKS_MAX];
    bool missing[BLOCKS_MAX];
    size_t count[BLOCKS_MAX];
    ptrdiff_t at[BLOCKS_MAX], byte_at[BLOCKS_MAX];
    int type[BLOCKS_MAX];
    size_t kind[BLOCKS_MAX]; /* of types[] */
    uint8_t *memory, *base;  /* `base` is the argument of the call */
};

struct ranked {
    struct side side[2];
    uint8_t *right;
    torus_request *request;
    torus_persistent *persistent;
};

static struct trial {
    uint64_t random;
    enum shape shape;
    enum form form;
    bool plain, kept, places, in_place;
    size_t unit; /* bytes: SHORT or LONG, so that any type fits */
    size_t room; /* bytes of each buffer */
    size_t units, kind;
    int strided[RANKS_MAX]; /* the derived type of each rank */
    struct torus_grid grid;
    struct edge edge[EDGES_MAX];
    uint32_t edges;
    struct ranked of[RANKS_MAX];
} t;

/* Types: the last one is derived, two runs of 4 bytes with a gap of 8. */
static const struct {
    int type;
    size_t bytes, extent;
} types[] = {{TORUS_BYTE, 1, 1},
             {TORUS_INT16, 2, 2},
             {TORUS_FLOAT, 4, 4},
             {TORUS_DOUBLE, 8, 8},
             {TORUS_COMPLEX_DOUBLE, 16, 16},
             {0, 8, 16}};
enum { KINDS = sizeof types / sizeof *types, STRIDED = KINDS - 1 };

static int type_of(uint32_t rank, size_t kind)
{
    return kind == STRIDED ? t.strided[rank] : types[kind].type;
}

/* offset returns the position of a byte of data in a block of elements. */
static size_t offset(size_t kind, size_t byte)
{
    return kind == STRIDED ? byte / 8 * 16 + byte % 8 + (byte % 8 < 4 ? 0 : 8) : byte;
}

static size_t draw(size_t below)
{
    return (size_t)random_below(&t.random, below);
}

/* ---- edges ---- */

static struct edge *add_edge(uint32_t from, uint32_t to)
{
    struct edge *e = &t.edge[t.edges++];
    assert_true(t.edges <= EDGES_MAX);
    *e = (struct edge){.from = {from}, .to = {to}};
    return e;
}

static uint32_t add_block(uint32_t rank, int which, uint32_t other)
{
    struct side *s = &t.of[rank].side[which];
    assert_true(s->blocks < BLOCKS_MAX);
    s->rank[s->blocks] = other;
    return s->blocks++;
}

/* make_grid draws a grid. Coordinates are counted up, the last one fastest. */
static void make_grid(void)
{
    uint32_t left = size, at[RANKS_MAX][3] = {{0}};
    t.grid = (struct torus_grid){.size = sizeof t.grid, .dimensions = 1 + (uint32_t)draw(3)};
    uint32_t dims = t.grid.dimensions;
    for (uint32_t d = 0; d < dims; d++) {
        uint32_t part = 1 + (uint32_t)draw(4);
        t.grid.extent[d] = d + 1 == dims ? left : left % part ? 1 : part;
        t.grid.periodic[d] = (int32_t)draw(2);
        left /= t.grid.extent[d];
    }
    for (uint32_t r = 1; r < size; r++) {
        memcpy(at[r], at[r - 1], sizeof *at);
        for (uint32_t d = dims; d-- > 0;) {
            if (++at[r][d] < t.grid.extent[d])
                break;
            at[r][d] = 0;
        }
    }
    for (uint32_t r = 0; r < size; r++)
        for (uint32_t b = 0; b < 2 * dims; b++) {
            uint32_t there[3], d = b / 2, extent = t.grid.extent[d];
            memcpy(there, at[r], sizeof there);
            bool ends = there[d] == (b % 2 ? extent - 1 : 0);
            there[d] = (there[d] + (b % 2 ? 1 : extent - 1)) % extent;
            for (int which = 0; which < 2; which++) {
                add_block(r, which, 0);
                t.of[r].side[which].missing[b] = ends && !t.grid.periodic[d];
            }
            for (uint32_t to = 0; to < size && !t.of[r].side[0].missing[b]; to++)
                if (memcmp(at[to], there, dims * sizeof *there) == 0) {
                    struct edge *e = add_edge(r, to);
                    e->from[1] = b;
                    e->to[1] = b ^ 1;
                }
        }
}

/* make_graph draws edges, some of them repeated or to their own rank. The receivers shuffle their
 * lists; edges between the same two ranks keep their order. */
static void make_graph(void)
{
    uint32_t edges = (uint32_t)draw(6) ? (uint32_t)draw(5 * size) : 0;
    for (uint32_t i = 0; i < edges; i++) {
        uint32_t last = t.edges ? t.edges - 1 : 0;
        if (t.edges && draw(4) == 0)
            add_edge(t.edge[last].from[0], t.edge[last].to[0]);
        else
            add_edge((uint32_t)draw(size), (uint32_t)draw(size));
        struct edge *e = &t.edge[t.edges - 1];
        e->from[1] = add_block(e->from[0], 0, e->to[0]);
        add_block(e->to[0], 1, e->from[0]);
    }
    for (uint32_t r = 0; r < size; r++) {
        struct side *s = &t.of[r].side[1];
        random_shuffle(&t.random, s->rank, s->blocks, sizeof *s->rank);
        for (uint32_t b = 0; b < s->blocks; b++) {
            uint32_t before = 0, i = 0;
            for (uint32_t k = 0; k < b; k++)
                before += s->rank[k] == s->rank[b];
            for (;; i++)
                if (t.edge[i].to[0] == r && t.edge[i].from[0] == s->rank[b] && before-- == 0)
                    break;
            t.edge[i].to[1] = b;
        }
    }
}

static void make_all(void)
{
    for (uint32_t r = 0; r < size; r++)
        for (uint32_t to = 0; to < size; to++) {
            struct edge *e = add_edge(r, to);
            e->from[1] = add_block(r, 0, to);
            add_block(r, 1, to);
            e->to[1] = r;
        }
}

/* ---- buffers ---- */

/* units_of returns the length of an edge. In place, both directions of a pair have the same. */
static size_t units_of(const struct edge *e)
{
    if (t.form == EACHV || t.form == EACHW)
        return t.in_place ? (e->from[0] + e->to[0]) % 4 : draw(4) ? draw(8) : 0;
    return t.form == GATHERV ? e->from[0] % 5 : t.units;
}

/* lay_out draws the places of the blocks: in a random order with gaps, or contiguous. */
static void lay_out(struct side *s)
{
    uint32_t order[BLOCKS_MAX] = {0};
    size_t next = 0, length[BLOCKS_MAX] = {0}, place[BLOCKS_MAX] = {0};
    for (uint32_t b = 0; b < s->blocks; b++) {
        order[b] = b;
        length[b] = s->count[b] * types[s->kind[b]].extent;
    }
    if (t.places)
        random_shuffle(&t.random, order, s->blocks, sizeof *order);
    for (uint32_t i = 0; i < s->blocks; i++) {
        uint32_t b = order[i];
        next += t.places ? draw(3) * 16 : 0;
        place[b] = next;
        next += s->missing[b] && t.form != GATHER && t.form != EACH ? 0 : length[b];
    }
    assert_true(next + GUARD < t.room / 2);
    size_t shift = t.places ? draw(next + 1) : 0; /* places before the address are negative */
    shift -= t.form == EACHW ? 0 : shift % types[t.kind].extent;
    s->base = s->memory + GUARD + shift;
    for (uint32_t b = 0; b < s->blocks; b++) {
        s->byte_at[b] = (ptrdiff_t)place[b] - (ptrdiff_t)shift;
        s->at[b] = s->byte_at[b] / (ptrdiff_t)types[t.kind].extent;
    }
}

static void fill(uint8_t *memory, uint32_t rank, uint32_t salt)
{
    uint64_t state = t.random + rank * 77 + salt;
    for (size_t i = 0; i < t.room; i += sizeof state) {
        uint64_t eight = td_hash_next(&state);
        memcpy(memory + i, &eight, sizeof eight);
    }
}

static void prepare_rank(uint32_t r)
{
    struct ranked *me = &t.of[r];
    for (int which = 0; which < 2; which++) {
        struct side *s = &me->side[which];
        s->memory = t.plain ? malloc(t.room) : torus_alloc(context[r], t.room);
        assert_non_null(s->memory);
        fill(s->memory, r, (uint32_t)which);
        for (uint32_t b = 0; b < s->blocks; b++) {
            bool unused = s->missing[b] && t.form != GATHER && t.form != EACH;
            s->kind[b] = t.kind;
            s->count[b] = unused ? 3 : t.units * t.unit / types[t.kind].bytes;
            s->type[b] = 4711; /* of a missing neighbour: not used */
        }
    }
    must(r, torus_type_vector(context[r], 2, 1, 3, TORUS_INT32, &t.strided[r]));
}

/* place_edges gives the blocks of both ends the length of each edge. */
static void place_edges(void)
{
    for (uint32_t i = 0; i < t.edges; i++) {
        struct edge *e = &t.edge[i];
        const uint32_t *end[2] = {e->from, e->to};
        e->units = units_of(e);
        for (int which = 0; which < 2; which++) {
            struct side *s = &t.of[end[which][0]].side[which];
            uint32_t b = end[which][1];
            if (t.form == EACHW)
                s->kind[b] = t.in_place ? (e->from[0] + e->to[0]) % KINDS : draw(KINDS);
            s->type[b] = type_of(end[which][0], s->kind[b]);
            s->count[b] = e->units * t.unit / types[s->kind[b]].bytes;
        }
    }
    for (uint32_t r = 0; r < size; r++) {
        struct side *side = t.of[r].side;
        if (t.in_place) {
            lay_out(&side[1]);
            uint8_t *memory = side[0].memory;
            side[0] = side[1];
            side[0].memory = memory;
        } else {
            lay_out(&side[0]);
            lay_out(&side[1]);
        }
        if (t.form == GATHER || t.form == GATHERV) /* the whole source, in one block at its base */
            memset(side[0].byte_at, 0, sizeof side[0].byte_at);
        t.of[r].right = malloc(t.room);
        memcpy(t.of[r].right, side[1].memory, t.room);
    }
    for (uint32_t i = 0; i < t.edges; i++) {
        const struct edge *e = &t.edge[i];
        const struct side *from = &t.of[e->from[0]].side[0], *to = &t.of[e->to[0]].side[1];
        uint8_t *out = t.of[e->to[0]].right + (to->base - to->memory) + to->byte_at[e->to[1]];
        const uint8_t *in = from->base + from->byte_at[e->from[1]];
        for (size_t k = 0; k < e->units * t.unit; k++)
            out[offset(to->kind[e->to[1]], k)] = in[offset(from->kind[e->from[1]], k)];
    }
}

/* ---- calls ---- */

#define FORM(name, ...)                                                                            \
    (t.kept ? torus_##name##_init(__VA_ARGS__, &me->persistent)                                    \
            : torus_i##name(__VA_ARGS__, &me->request))
#define CALLS(name, ...)                                                                           \
    switch (t.form) {                                                                              \
    case GATHER:                                                                                   \
        return FORM(name##_allgather, __VA_ARGS__, from, to, own, type);                           \
    case GATHERV:                                                                                  \
        return FORM(name##_allgatherv, __VA_ARGS__, from, own, to, d->count, at[1], type);         \
    case EACH:                                                                                     \
        return FORM(name##_alltoall, __VA_ARGS__, from, to, own, type);                            \
    case EACHV:                                                                                    \
        return FORM(name##_alltoallv, __VA_ARGS__, from, s->count, at[0], to, d->count, at[1],     \
                    type);                                                                         \
    case EACHW:                                                                                    \
    case FORMS:                                                                                    \
        return FORM(name##_alltoallw, __VA_ARGS__, from, s->count, byte_at[0], s->type, to,        \
                    d->count, byte_at[1], d->type);                                                \
    }                                                                                              \
    return TORUS_ERR_INVALID

static int call(uint32_t r)
{
    struct ranked *me = &t.of[r];
    struct side *s = &me->side[0], *d = &me->side[1];
    const void *from = t.in_place ? TORUS_IN_PLACE : s->base;
    void *to = d->base;
    int type = type_of(r, t.kind);
    const ptrdiff_t *at[2] = {t.places ? s->at : NULL, t.places ? d->at : NULL};
    const ptrdiff_t *byte_at[2] = {t.places ? s->byte_at : NULL, t.places ? d->byte_at : NULL};
    size_t own = (t.form == GATHERV ? r % 5 : t.units) * t.unit / types[t.kind].bytes;
    struct torus_graph graph = {sizeof graph, d->blocks, s->blocks, d->rank, s->rank};
    if (t.shape == GRID) {
        CALLS(neighbour, world[r], &t.grid);
    } else if (t.shape == GRAPH) {
        CALLS(graph, world[r], &graph);
    }
    return FORM(alltoallw, world[r], from, s->count, byte_at[0], s->type, to, d->count, byte_at[1],
                d->type);
}

static void check(uint32_t r, int round)
{
    static const char *const shapes[] = {"grid", "graph", "all"};
    const struct ranked *me = &t.of[r];
    if (memcmp(me->side[1].memory, me->right, t.room) == 0)
        return;
    for (size_t i = 0; i < t.room; i++)
        if (me->side[1].memory[i] != me->right[i])
            fail_msg("%s on %s, rank %u of %u, round %d: byte %zu is %u, not %u (%s%s%s%s)",
                     forms[t.form], shapes[t.shape], r, size, round, i, me->side[1].memory[i],
                     me->right[i], t.plain ? " plain" : "", t.kept ? " kept" : "",
                     t.places ? " places" : "", t.in_place ? " in place" : "");
}

static void run(void)
{
    uint8_t *start[RANKS_MAX] = {NULL};
    const uint32_t ranks = size;
    for (uint32_t r = 0; r < ranks; r++) {
        must(r, call(r));
        must(r, torus_type_free(context[r], t.strided[r]));                /* the call keeps it */
        memset(t.of[r].side[0].count, 0xff, sizeof t.of[r].side[0].count); /* the library has */
        memset(t.of[r].side[1].rank, 0xff, sizeof t.of[r].side[1].rank);   /* copies */
        start[r] = malloc(t.room);
        assert_non_null(start[r]);
        memcpy(start[r], t.of[r].side[1].memory, t.room);
    }
    for (int round = 0; round < 1 + t.kept; round++) {
        for (uint32_t r = 0; t.kept && r < ranks; r++) {
            memcpy(t.of[r].side[1].memory, start[r], t.room);
            must(r, torus_persistent_start(t.of[r].persistent, &t.of[r].request));
        }
        for (uint32_t r = 0; r < ranks; r++)
            finish(r, t.of[r].request);
        for (uint32_t r = 0; r < ranks; r++)
            check(r, round);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        must(r, torus_persistent_free(t.of[r].persistent));
        for (int which = 0; which < 2; which++)
            if (t.plain)
                free(t.of[r].side[which].memory);
            else
                must(r, torus_free(context[r], t.of[r].side[which].memory));
        free(start[r]);
        free(t.of[r].right);
    }
}

static void exchange(uint64_t seed, enum shape shape, enum form form)
{
    memset(&t, 0, sizeof t);
    t.random = seed * 64 + (uint64_t)shape * 8 + form;
    t.shape = shape;
    t.form = form;
    t.plain = draw(2);
    t.kept = draw(3) == 0;
    t.places = draw(2);
    t.in_place = shape == ALL && draw(3) == 0;
    t.units = draw(6);
    t.unit = draw(8) ? SHORT : LONG;
    t.room = t.unit * 2048;
    t.kind = draw(KINDS);
    if (form == GATHER || form == EACH)
        t.places = false;
    if (shape == GRID)
        make_grid();
    else if (shape == GRAPH)
        make_graph();
    else
        make_all();
    for (uint32_t r = 0; r < size; r++)
        prepare_rank(r);
    place_edges();
    run();
}

static void one_of_each(uint64_t seed)
{
    for (int form = 0; form < FORMS; form++) {
        exchange(seed, GRID, (enum form)form);
        exchange(seed, GRAPH, (enum form)form);
    }
    exchange(seed, ALL, EACHW);
}

static void exchanges_move_the_bytes_of_each_edge_on_one_node(void **state)
{
    (void)state;
    cases_on_one_node(one_of_each);
}

static void exchanges_move_the_bytes_of_each_edge_on_several_nodes(void **state)
{
    (void)state;
    cases_on_several_nodes(one_of_each);
}

static void exchanges_move_the_bytes_of_each_edge_on_the_routed_fabric(void **state)
{
    (void)state;
    cases_on_the_routed_fabric(one_of_each);
}

/* ---- errors ---- */

#define REFUSED(words, call)                                                                       \
    do {                                                                                           \
        assert_int_equal(call, TORUS_ERR_INVALID);                                                 \
        assert_says(context[0], words);                                                            \
    } while (0)

static void wrong_edges_are_refused(void **state)
{
    (void)state;
    int32_t a[8] = {0}, b[8] = {0};
    const uint32_t one = 1, two = 2;
    const size_t ones[] = {1, 1}, huge[] = {SIZE_MAX, 1};
    const int each[] = {TORUS_INT32, TORUS_INT32}, bad[] = {TORUS_INT32, 4711};
    const ptrdiff_t far[] = {PTRDIFF_MIN, PTRDIFF_MAX};
    const int type = TORUS_INT32;
    torus_request **r = &t.of[0].request;
    struct torus_graph graph = {sizeof graph, 1, 1, &one, &one}, other = graph;
    struct torus_grid grid = {.size = sizeof grid, .dimensions = 1, .extent = {2}};
    torus_persistent *kept = NULL;
    start(1, "");
    join_ranks(2, false);
    torus_group *g = world[0];
    REFUSED("graph is NULL", torus_igraph_alltoall(g, NULL, a, b, 1, type, r));
    other.size = 8;
    REFUSED("torus_graph.size", torus_igraph_alltoall(g, &other, a, b, 1, type, r));
    other = graph;
    other.source = &two;
    REFUSED("not in the group", torus_igraph_allgather(g, &other, a, b, 1, type, r));
    other.source = NULL;
    REFUSED("NULL", torus_igraph_allgather(g, &other, a, b, 1, type, r));
    REFUSED("counts are NULL", torus_igraph_allgatherv(g, &graph, a, 1, b, NULL, NULL, type, r));
    REFUSED("counts are NULL",
            torus_igraph_alltoallv(g, &graph, a, NULL, NULL, b, ones, NULL, type, r));
    REFUSED("overflow", torus_igraph_alltoall(g, &graph, a, b, SIZE_MAX / 2, type, r));
    REFUSED("graph_alltoall: source and destination overlap",
            torus_igraph_alltoall(g, &graph, a, a, 1, type, r));
    REFUSED("graph_allgather: neighbour exchanges do not support TORUS_IN_PLACE",
            torus_igraph_allgather(g, &graph, TORUS_IN_PLACE, b, 1, type, r));
    REFUSED("neighbour_allgather: ", torus_ineighbour_allgather(g, &grid, a + 1, a, 1, type, r));
    REFUSED("types are NULL",
            torus_igraph_alltoallw(g, &graph, a, ones, NULL, each, b, ones, NULL, NULL, r));
    REFUSED("type of a part is unknown",
            torus_ialltoallw(g, a, ones, NULL, bad, b, ones, NULL, each, r));
    REFUSED("overflow", torus_ialltoallw(g, a, huge, NULL, each, b, ones, NULL, each, r));
    REFUSED("overflow", torus_ialltoallw(g, a, ones, far, each, b, ones, NULL, each, r));
    REFUSED("alltoallw: source and destination overlap",
            torus_ialltoallw(g, a, ones, NULL, each, a + 1, ones, NULL, each, r));
    REFUSED("type of a part is unknown",
            torus_alltoallw_init(g, a, ones, NULL, bad, b, ones, NULL, each, &kept));
    assert_null(kept);
    barrier_all(world, 2);
    close_all(context, 2);
    stop();
}

/* differ makes rank 0 call one function and rank 1 another, and checks that the error names both.
 */
static void differ(int errors[2], const char *one, const char *two)
{
    for (uint32_t i = 0; i < 2; i++)
        must(i, errors[i]);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(torus_wait(t.of[i].request, 20 * (int64_t)SECOND), TORUS_ERR_MISMATCH);
        assert_says(context[i], one);
        assert_says(context[i], two);
    }
}

static void calls_that_differ_are_named(void **state)
{
    (void)state;
    int32_t a[2][8] = {{0}}, b[2][8] = {{0}};
    const uint32_t other[2] = {1, 0};
    const size_t ones[] = {1, 1}, longer[] = {2, 2};
    const int each[] = {TORUS_INT32, TORUS_INT32}, wide[] = {TORUS_DOUBLE, TORUS_DOUBLE};
    const int type = TORUS_INT32;
    struct torus_graph graph[2];
    struct torus_grid grid = {.size = sizeof grid, .dimensions = 1, .extent = {2}, .periodic = {1}};
    torus_request **r[2] = {&t.of[0].request, &t.of[1].request};
    start(1, "");
    join_ranks(2, false);
    torus_group **g = world;
    for (int i = 0; i < 2; i++)
        graph[i] = (struct torus_graph){sizeof *graph, 1, 1, &other[i], &other[i]};
    differ((int[]){torus_igraph_alltoall(g[0], &graph[0], a[0], b[0], 1, type, r[0]),
                   torus_igraph_allgather(g[1], &graph[1], a[1], b[1], 1, type, r[1])},
           "graph_alltoallv(int32)", "graph_allgatherv(int32)");
    differ((int[]){torus_ineighbour_alltoall(g[0], &grid, a[0], b[0], 1, type, r[0]),
                   torus_ineighbour_allgather(g[1], &grid, a[1], b[1], 1, type, r[1])},
           "neighbour_alltoallv(int32, grid", "neighbour_allgatherv(int32, grid");
    differ((int[]){torus_ialltoallv(g[0], a[0], ones, NULL, b[0], ones, NULL, TORUS_BYTE, r[0]),
                   torus_ialltoallw(g[1], a[1], ones, NULL, each, b[1], ones, NULL, each, r[1])},
           "called alltoallv(byte)", "called alltoallw(byte)");
    differ((int[]){torus_igraph_alltoall(g[0], &graph[0], a[0], b[0], 2, type, r[0]),
                   torus_igraph_alltoall(g[1], &graph[1], a[1], b[1], 1, type, r[1])},
           "graph_alltoallv", "several pairs of ranks");
    graph[1].sources = 0; /* rank 1 does not know the edge */
    differ((int[]){torus_igraph_alltoall(g[0], &graph[0], a[0], b[0], 1, type, r[0]),
                   torus_igraph_alltoall(g[1], &graph[1], a[1], b[1], 1, type, r[1])},
           "rank 0 sends 4 bytes more to rank 1", "graph_alltoallv");
    /* two numbers of 4 bytes arrive as one of 8 */
    must(0, torus_ialltoallw(g[0], a[0], longer, NULL, each, b[0], ones, NULL, wide, r[0]));
    must(1, torus_ialltoallw(g[1], a[1], longer, NULL, each, b[1], ones, NULL, wide, r[1]));
    for (uint32_t i = 0; i < 2; i++)
        finish(i, *r[i]);
    close_all(context, 2);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(exchanges_move_the_bytes_of_each_edge_on_one_node, clean_up),
        cmocka_unit_test_teardown(exchanges_move_the_bytes_of_each_edge_on_several_nodes, clean_up),
        cmocka_unit_test_teardown(exchanges_move_the_bytes_of_each_edge_on_the_routed_fabric,
                                  clean_up),
        cmocka_unit_test_teardown(wrong_edges_are_refused, clean_up),
        cmocka_unit_test_teardown(calls_that_differ_are_named, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
