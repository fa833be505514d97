/* SPDX-License-Identifier: Apache-2.0 */
/* Derived types on real daemons: every collective with random types, compared with copies through
 * type maps (typemap.h). Each rank describes the same basic elements in its own way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "ranks.h"
#include "seeds.h"
#include "typemap.h"

enum { FLOWS_MAX = 4 * RANKS_MAX * RANKS_MAX, GUARD = 64 };

enum kind {
    BROADCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    NEIGHBOUR,
    NEIGHBOURV,
    REDUCE, /* the reductions */
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTERV,
    SCAN,
    EXSCAN,
    PREFIX,
    KINDS
};

/* struct flow: data from buffer `buffer` of one rank to the destination of another; positions are
 * in elements of the rank's type. */
struct flow {
    uint32_t from, to;
    int buffer;
    size_t from_at, to_at, units;
};

/* struct view: a description of the data. */
struct view {
    struct form *form;
    struct map *map;
    size_t factor; /* units of data in one element of the type */
    ptrdiff_t extent;
};

/* struct side: what one rank passes to the call. */
struct side {
    struct view of[2]; /* of source and destination */
    bool pair;         /* these differ */
    int type, op;
    size_t elements[2];         /* of source and destination */
    size_t bytes[2], origin[2]; /* of their memory; element 0 is at `origin` */
    uint8_t *memory[2];
    uint8_t *before[2], *after; /* both before the call; the destination after it */
    bool in_place;
    size_t count[2][RANKS_MAX], place[2][RANKS_MAX];
    ptrdiff_t at[2][RANKS_MAX]; /* the places from the address that the call gets */
    torus_request *request;
    torus_persistent *persistent;
    uint64_t staged; /* bytes that the library had staged before the call */
};

static uint64_t state; /* of the random numbers */
static struct side side[RANKS_MAX];
static uint64_t in_place_calls; /* by a rank on buffers with gaps, without a packed copy */
static struct flow flow[FLOWS_MAX];
static size_t flows;

/* struct trial: one call of all ranks. A unit of data is one element of the form that the case
 * drew; a rank's type has one or two units. */
static struct {
    enum kind kind;
    uint32_t root;
    size_t units; /* of each block: even */
    bool in_place, kept, shared, user;
    int basic; /* of a reduction */
    struct torus_grid grid;
} trial;

static uint64_t draw(uint64_t bound)
{
    return random_below(&state, bound);
}

/* ---- the call ---- */

#define FORM(name, ...)                                                                            \
    (trial.kept ? torus_##name##_init(g, __VA_ARGS__, &s->persistent)                              \
                : torus_i##name(g, __VA_ARGS__, &s->request))

static int call_reduction(torus_group *g, struct side *s, const void *from, void *to, size_t n)
{
    switch ((int)trial.kind) {
    case REDUCE:
        return FORM(reduce, from, to, n, s->type, s->op, trial.root);
    case ALLREDUCE:
        return FORM(allreduce, from, to, n, s->type, s->op);
    case REDUCE_SCATTER:
        return FORM(reduce_scatter, from, to, n, s->type, s->op);
    case REDUCE_SCATTERV:
        return FORM(reduce_scatterv, from, to, s->count[1], s->type, s->op);
    case SCAN:
        return FORM(scan, from, to, n, s->type, s->op);
    case EXSCAN:
        return FORM(exscan, from, to, n, s->type, s->op);
    default:
        return FORM(prefix, from, to, n, s->type, s->op);
    }
}

/* address returns the address of a buffer in the call, and sets the places from there. If the
 * buffer has places, the address is in its middle, so that some places are negative. */
static void *address(struct side *s, int b)
{
    bool has = trial.kind == ALLTOALLV || trial.kind == NEIGHBOURV ||
               (b ? trial.kind == GATHERV || trial.kind == ALLGATHERV : trial.kind == SCATTERV);
    ptrdiff_t shift = has ? (ptrdiff_t)(s->elements[b] / 2) : 0;
    for (uint32_t i = 0; i < RANKS_MAX; i++)
        s->at[b][i] = (ptrdiff_t)s->place[b][i] - shift;
    return s->memory[b] + s->origin[b] + shift * s->of[b].extent;
}

static int call(uint32_t rank)
{
    struct side *s = &side[rank];
    torus_group *g = world[rank];
    void *from = address(s, 0), *to = address(s, 1);
    size_t n = trial.units / s->of[0].factor;
    if (s->in_place && (trial.kind == SCATTER || trial.kind == SCATTERV))
        to = TORUS_IN_PLACE;
    else if (s->in_place)
        from = TORUS_IN_PLACE;
    switch ((int)trial.kind) {
    case BROADCAST:
        return FORM(broadcast, to, n, s->type, trial.root);
    case GATHER:
        return FORM(gather, from, to, n, s->type, trial.root);
    case GATHERV:
        return FORM(gatherv, from, s->elements[0], to, s->count[1], s->at[1], s->type, trial.root);
    case SCATTER:
        return FORM(scatter, from, to, n, s->type, trial.root);
    case SCATTERV:
        return FORM(scatterv, from, s->count[0], s->at[0], to, s->elements[1], s->type, trial.root);
    case ALLGATHER:
        return FORM(allgather, from, to, n, s->type);
    case ALLGATHERV:
        return FORM(allgatherv, from, s->elements[0], to, s->count[1], s->at[1], s->type);
    case ALLTOALL:
        return FORM(alltoall, from, to, n, s->type);
    case ALLTOALLV:
        return FORM(alltoallv, from, s->count[0], s->at[0], to, s->count[1], s->at[1], s->type);
    case NEIGHBOUR:
        return FORM(neighbour_alltoall, &trial.grid, from, to, n, s->type);
    case NEIGHBOURV:
        return FORM(neighbour_alltoallv, &trial.grid, from, s->count[0], s->at[0], to, s->count[1],
                    s->at[1], s->type);
    default:
        return call_reduction(g, s, from, to, n);
    }
}

/* ---- the data that moves ---- */

static bool is_v(void)
{
    return trial.kind == GATHERV || trial.kind == SCATTERV || trial.kind == ALLGATHERV ||
           trial.kind == ALLTOALLV || trial.kind == NEIGHBOURV;
}

static void need(uint32_t rank, int b, size_t elements)
{
    struct side *s = &side[rank];
    s->elements[b] = elements > s->elements[b] ? elements : s->elements[b];
}

static void add_flow(uint32_t from, int buffer, size_t from_at, uint32_t to, size_t to_at,
                     size_t units)
{
    assert_true(flows < FLOWS_MAX);
    flow[flows++] = (struct flow){from, to, buffer, from_at, to_at, units};
    need(from, buffer, from_at + units / side[from].of[buffer].factor);
    need(to, 1, to_at + units / side[to].of[1].factor);
}

/* place_of returns the position of part i of a buffer. */
static size_t place_of(uint32_t rank, int b, uint32_t i)
{
    return is_v() ? side[rank].place[b][i] : i * (trial.units / side[rank].of[b].factor);
}

/* set_part sets the count of part i, after a gap. */
static void set_part(uint32_t rank, int b, uint32_t i, size_t units)
{
    struct side *s = &side[rank];
    s->count[b][i] = units / s->of[b].factor;
    s->place[b][i] = i ? s->place[b][i - 1] + s->count[b][i - 1] + draw(2) : draw(2);
}

static uint32_t neighbour_of(uint32_t rank, uint32_t direction)
{
    return (rank + (direction ? 1 : size - 1)) % size;
}

static void neighbour_flows(void)
{
    size_t units[RANKS_MAX][2] = {{0}};
    for (uint32_t r = 0; r < size; r++)
        for (uint32_t b = 0; b < 2; b++)
            units[r][b] = trial.kind == NEIGHBOURV ? 2 * draw(4) : trial.units;
    for (uint32_t r = 0; r < size; r++)
        for (uint32_t b = 0; b < 2; b++) {
            set_part(r, 0, b, units[r][b]);
            set_part(r, 1, b, units[neighbour_of(r, b)][1 - b]);
        }
    for (uint32_t r = 0; r < size; r++)
        for (uint32_t b = 0; b < 2; b++) {
            uint32_t to = neighbour_of(r, b);
            if (trial.grid.periodic[0] || r != (b ? size - 1 : 0))
                add_flow(r, 0, place_of(r, 0, b), to, place_of(to, 1, 1 - b), units[r][b]);
        }
}

/* draw_units draws the data from rank i to rank j. */
static size_t draw_units(uint32_t i, uint32_t j)
{
    if (trial.kind == ALLTOALLV)
        return 2 * draw(3);
    return is_v() ? 2 * ((trial.kind == SCATTERV ? j : i) % 3) : trial.units;
}

/* draw_flows draws the counts of the v forms and lists all moves of the trial. */
static void draw_flows(void)
{
    size_t units[RANKS_MAX][RANKS_MAX] = {{0}};
    enum kind k = trial.kind;
    bool gathers = k == GATHER || k == GATHERV, alltoall = k == ALLTOALL || k == ALLTOALLV;
    bool scatters = k == SCATTER || k == SCATTERV;
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j < size; j++) /* in place, what i gives to j is as long as it takes */
            units[i][j] = alltoall && trial.in_place && j < i ? units[j][i] : draw_units(i, j);
    for (uint32_t r = 0; r < size; r++)
        for (uint32_t i = 0; i < size; i++) {
            set_part(r, 0, i, units[r][i]);
            set_part(r, 1, i, units[i][r]);
        }
    if (k == BROADCAST)
        need(trial.root, 1, trial.units / side[trial.root].of[1].factor);
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j < size; j++) {
            bool one_root = gathers || scatters || k == BROADCAST;
            if ((one_root && (gathers ? j : i) != trial.root) || (k == BROADCAST && i == j))
                continue;
            int buffer = k == BROADCAST || (side[i].in_place && !scatters);
            size_t from = alltoall || scatters ? place_of(i, buffer, j) : 0;
            if (side[i].in_place && !alltoall && !scatters)
                from = place_of(i, 1, i);
            size_t to = scatters || k == BROADCAST ? 0 : place_of(j, 1, i);
            if (i == j && side[i].in_place && scatters)
                need(i, 0, from + units[i][j] / side[i].of[0].factor); /* it stays where it is */
            else
                add_flow(i, buffer, from, j, to, units[i][j]);
        }
}

/* ---- buffers ---- */

/* lay_out sets the size of a buffer's memory and the position of element 0. */
static void lay_out(struct side *s, int b)
{
    ptrdiff_t low = 0, high = 0;
    for (size_t i = 0; i < s->of[b].map->entries; i++) {
        ptrdiff_t at = s->of[b].map->entry[i].at,
                  last = at + (ptrdiff_t)s->elements[b] * s->of[b].extent;
        low = at < low ? at : low;
        high = last > high ? last : high;
    }
    s->origin[b] = ((size_t)-low + GUARD + 15) / 16 * 16; /* aligned for every basic type */
    s->bytes[b] = s->origin[b] + (size_t)high + GUARD;
}

static uint8_t *element(uint8_t *memory, const struct side *s, int b, size_t i)
{
    return memory + s->origin[b] + (ptrdiff_t)i * s->of[b].extent;
}

/* distinct returns true if no two basic elements of a buffer share bytes. */
static bool distinct(const struct side *s, int b)
{
    uint8_t *seen = calloc(s->bytes[b], 1), ones[ENTRIES_MAX], packed[ENTRIES_MAX];
    bool right = true;
    size_t bytes = map_bytes(s->of[b].map), written = 0;
    assert_non_null(seen);
    memset(ones, 1, sizeof ones);
    for (size_t i = 0; i < s->elements[b] && right; i++) {
        map_pack(s->of[b].map, element(seen, s, b, i), packed);
        for (size_t k = 0; k < bytes; k++)
            right = right && packed[k] == 0;
        map_unpack(s->of[b].map, ones, element(seen, s, b, i));
    }
    for (size_t i = 0; i < s->bytes[b]; i++)
        written += seen[i];
    free(seen);
    return right && written == bytes * s->elements[b];
}

static uint8_t *copy_of(const uint8_t *memory, size_t bytes)
{
    uint8_t *copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, memory, bytes);
    return copy;
}

static void obtain(uint32_t rank, int b)
{
    struct side *s = &side[rank];
    lay_out(s, b);
    s->memory[b] = trial.shared ? torus_alloc(context[rank], s->bytes[b]) : malloc(s->bytes[b]);
    assert_non_null(s->memory[b]);
    for (size_t i = 0; i < s->bytes[b]; i++)
        s->memory[b][i] = (uint8_t)draw(256);
}

/* read_data packs units of a buffer from element `at`, and write_data unpacks them. */
static void read_data(const struct side *s, uint8_t *memory, int b, size_t at, size_t units,
                      uint8_t *packed)
{
    for (size_t i = 0; i < units / s->of[b].factor; i++)
        packed += map_pack(s->of[b].map, element(memory, s, b, at + i), packed);
}

static void write_data(const struct side *s, uint8_t *memory, int b, size_t at, size_t units,
                       const uint8_t *packed)
{
    for (size_t i = 0; i < units / s->of[b].factor; i++)
        packed += map_unpack(s->of[b].map, packed, element(memory, s, b, at + i));
}

static void expect_moves(void)
{
    static uint8_t packed[1 << 18];
    for (size_t i = 0; i < flows; i++) {
        const struct flow *f = &flow[i];
        const struct side *from = &side[f->from], *to = &side[f->to];
        assert_true(f->units * map_bytes(from->of[f->buffer].map) / from->of[f->buffer].factor <=
                    sizeof packed);
        read_data(from, from->before[f->buffer], f->buffer, f->from_at, f->units, packed);
        write_data(to, to->after, 1, f->to_at, f->units, packed);
    }
}

/* ---- reductions ---- */

/* values_of returns the values in one unit. */
static size_t values_of(const struct side *s)
{
    size_t bytes = trial.basic == TORUS_INT32 ? 4 : 8;
    return map_bytes(s->of[1].map) / s->of[1].factor / bytes;
}

static void put_value(uint8_t *packed, size_t i, int64_t value)
{
    int32_t small = (int32_t)value;
    double real = (double)value;
    if (trial.basic == TORUS_INT32)
        memcpy(packed + 4 * i, &small, 4);
    else
        memcpy(packed + 8 * i, trial.basic == TORUS_INT64 ? (void *)&value : (void *)&real, 8);
}

/* put_sums writes the sums of values [first, first + count) of ranks 0 .. last. */
static void put_sums(uint8_t *packed, size_t first, size_t count, uint32_t from, uint32_t last)
{
    for (size_t i = 0; i < count; i++) {
        int64_t sum = 0;
        for (uint32_t r = from; r <= last; r++)
            sum += random_at(r, first + i, (uint64_t)trial.kind);
        put_value(packed, i, sum);
    }
}

/* blocks_before returns the units before the block of a rank, in a source with blocks. */
static size_t blocks_before(uint32_t rank)
{
    size_t units = 0;
    for (uint32_t i = 0; i < rank; i++)
        units += trial.kind == REDUCE_SCATTERV ? 2 * (i % 3) : trial.units;
    return units;
}

static bool scatters_blocks(void)
{
    return trial.kind == REDUCE_SCATTER || trial.kind == REDUCE_SCATTERV;
}

static void draw_reduction(void)
{
    for (uint32_t r = 0; r < size; r++) {
        struct side *s = &side[r];
        size_t own = trial.kind == REDUCE_SCATTERV ? 2 * (r % 3) : trial.units;
        size_t all = scatters_blocks() ? blocks_before(size) : trial.units;
        for (uint32_t i = 0; i < size; i++)
            s->count[1][i] = 2 * (i % 3) / s->of[1].factor;
        size_t result = trial.kind == PREFIX ? own * size : own;
        need(r, 0, all / s->of[1].factor);
        need(r, 1, (s->in_place && all > result ? all : result) / s->of[1].factor);
    }
}

/* fill_reduction writes the operands of a rank where the call reads them. */
static void fill_reduction(uint32_t r)
{
    static uint8_t packed[1 << 18];
    struct side *s = &side[r];
    size_t units = scatters_blocks() ? blocks_before(size) : trial.units, values = values_of(s);
    assert_true(8 * units * values <= sizeof packed);
    put_sums(packed, 0, units * values, r, r);
    size_t at = trial.kind == PREFIX && s->in_place ? r * trial.units / s->of[1].factor : 0;
    write_data(s, s->memory[s->in_place], s->in_place, at, units, packed);
}

static void expect_reduction(uint32_t r)
{
    static uint8_t packed[1 << 18];
    struct side *s = &side[r];
    size_t values = values_of(s);
    if ((trial.kind == REDUCE && r != trial.root) || (trial.kind == EXSCAN && r == 0))
        return;
    if (trial.kind == PREFIX) {
        for (uint32_t i = 0; i < size; i++) {
            put_sums(packed, 0, trial.units * values, 0, i);
            write_data(s, s->after, 1, i * trial.units / s->of[1].factor, trial.units, packed);
        }
        return;
    }
    uint32_t last = trial.kind == SCAN ? r : trial.kind == EXSCAN ? r - 1 : size - 1;
    size_t first = scatters_blocks() ? blocks_before(r) : 0;
    size_t units = scatters_blocks() ? blocks_before(r + 1) - first : trial.units;
    put_sums(packed, first * values, units * values, 0, last);
    write_data(s, s->after, 1, 0, units, packed);
}

/* ADD adds one element by copies: a form may lack alignment. */
#define ADD(element)                                                                               \
    do {                                                                                           \
        element a, b;                                                                              \
        memcpy(&a, x, sizeof a);                                                                   \
        memcpy(&b, y, sizeof b);                                                                   \
        b += a;                                                                                    \
        memcpy(y, &b, sizeof b);                                                                   \
    } while (0)

/* add_all is the user's operator: it gets elements of the derived type. */
static void add_all(const void *in, void *inout, size_t count, void *user)
{
    const struct side *s = user;
    for (size_t k = 0; k < count * s->of[1].map->entries; k++) {
        const struct entry *e = &s->of[1].map->entry[k % s->of[1].map->entries];
        ptrdiff_t at = (ptrdiff_t)(k / s->of[1].map->entries) * s->of[1].extent + e->at;
        const uint8_t *x = (const uint8_t *)in + at;
        uint8_t *y = (uint8_t *)inout + at;
        if (e->type == TORUS_INT32)
            ADD(int32_t);
        else if (e->type == TORUS_INT64)
            ADD(int64_t);
        else if (e->type == TORUS_DOUBLE)
            ADD(double);
    }
}

/* ---- trials ---- */

static bool can_be_in_place(enum kind k)
{
    return k != BROADCAST && k != NEIGHBOUR && k != NEIGHBOURV;
}

/* in_place_at returns true if a rank passes TORUS_IN_PLACE: with a root, only the root may. */
static bool in_place_at(uint32_t rank)
{
    bool at_root = trial.kind == GATHER || trial.kind == GATHERV || trial.kind == SCATTER ||
                   trial.kind == SCATTERV || trial.kind == REDUCE;
    return trial.in_place && (!at_root || rank == trial.root);
}

/* usable returns true if 100 elements in a row have no byte twice, and not too many bytes. */
static bool usable(const struct form *f)
{
    struct side s = {.elements = {0, 100}};
    struct view *v = &s.of[1];
    ptrdiff_t lower = 0, upper = 0;
    v->map = map_make(f);
    bool right = v->map->entries <= 120 && (trial.kind < REDUCE || map_bytes(v->map) > 0);
    map_bounds(v->map, &lower, &upper);
    v->extent = upper - lower;
    lay_out(&s, 1);
    right = right && s.bytes[1] < 1 << 20 && distinct(&s, 1);
    free(v->map);
    return right;
}

/* draw_form draws a form of whatever basic types, or, for a reduction, of one basic type. */
static struct form *draw_form(void)
{
    static const int all[] = {TORUS_BYTE,   TORUS_INT16,          TORUS_INT32,      TORUS_FLOAT,
                              TORUS_DOUBLE, TORUS_COMPLEX_DOUBLE, TORUS_LONG_DOUBLE};
    if (trial.user && draw(2)) {
        struct form *f = form_of(INDEXED, form_basic(trial.basic));
        f->count = 1;
        f->block[0] = 1 + draw(4);
        f->place[0] = (ptrdiff_t)draw(7) - 3;
        return f;
    }
    bool one = trial.kind >= REDUCE || draw(3) == 0;
    int basic = trial.kind >= REDUCE ? trial.basic : all[draw(7)];
    for (;;) {
        struct form *f = form_draw(&state, (unsigned)draw(4), one ? &basic : all, one ? 1 : 7);
        if (usable(f))
            return f;
        form_free(f);
    }
}

/* draw_view draws a description of the form of its own. */
static void draw_view(struct view *v, const struct form *form)
{
    *v = (struct view){.factor = 1 + draw(2)};
    for (int tries = 0; !v->form; tries++) {
        v->form = tries == 20 ? form_copy(form) : form_alike(&state, form);
        if (v->factor == 2) {
            v->form = form_of(CONTIGUOUS, v->form);
            v->form->count = 2;
        }
        if (tries < 20 && !usable(v->form)) {
            form_free(v->form);
            v->form = NULL;
        }
    }
    ptrdiff_t lower = 0, upper = 0;
    v->map = map_make(v->form);
    map_bounds(v->map, &lower, &upper);
    v->extent = upper - lower;
}

/* make_pair makes the pair of the types of both views. */
static int make_pair(uint32_t rank)
{
    int type[2], made = 0;
    for (int b = 0; b < 2; b++)
        type[b] = form_make(context[rank], side[rank].of[b].form);
    must(rank, torus_type_pair(context[rank], type[0], type[1], &made));
    for (int b = 0; b < 2; b++)
        if (type[b] >= 65536)
            must(rank, torus_type_free(context[rank], type[b]));
    return made;
}

/* draw_side draws a rank's own description of the form, or two of them. */
static void draw_side(uint32_t rank, const struct form *form)
{
    struct side *s = &side[rank];
    bool pair = trial.kind != BROADCAST && trial.kind < REDUCE && draw(2);
    *s = (struct side){.in_place = in_place_at(rank), .op = TORUS_SUM, .pair = pair};
    draw_view(&s->of[0], form);
    s->of[1] = s->of[0];
    if (pair)
        draw_view(&s->of[1], form);
    s->type = pair ? make_pair(rank) : form_make(context[rank], s->of[0].form);
    if (trial.user)
        must(rank, torus_op_create(context[rank], "add all", add_all, s, 0, 1, &s->op));
}

static void prepare_buffers(uint32_t rank)
{
    struct side *s = &side[rank];
    obtain(rank, 0);
    obtain(rank, 1);
    if (trial.kind >= REDUCE)
        fill_reduction(rank);
    s->before[0] = copy_of(s->memory[0], s->bytes[0]);
    s->before[1] = copy_of(s->memory[1], s->bytes[1]);
    s->after = copy_of(s->memory[1], s->bytes[1]);
}

static void check_side(uint32_t rank, uint64_t seed)
{
    const struct side *s = &side[rank];
    for (size_t i = 0; i < s->bytes[1]; i++)
        if (s->memory[1][i] != s->after[i])
            fail_msg("seed %llu, kind %d, rank %u of %u: byte %td of element 0 is %02x, not %02x "
                     "(%zu units, root %u,%s%s%s%s%s)",
                     (unsigned long long)seed, trial.kind, rank, size,
                     (ptrdiff_t)(i - s->origin[1]), s->memory[1][i], s->after[i], trial.units,
                     trial.root, trial.in_place ? " in place" : "", trial.kept ? " kept" : "",
                     trial.shared ? " shared" : "", trial.user ? " user" : "",
                     s->pair ? " pair" : "");
    assert_memory_equal(s->memory[0], s->before[0], s->bytes[0]);
}

static void drop_side(uint32_t rank)
{
    struct side *s = &side[rank];
    for (int b = 0; b < 2; b++) {
        if (trial.shared)
            assert_int_equal(torus_free(context[rank], s->memory[b]), TORUS_OK);
        else
            free(s->memory[b]);
        free(s->before[b]);
    }
    free(s->after);
    for (int b = 0; b < 1 + s->pair; b++) {
        free(s->of[b].map);
        form_free(s->of[b].form);
    }
    must(rank, torus_persistent_free(s->persistent));
    if (trial.user)
        must(rank, torus_op_free(context[rank], s->op));
}

static uint64_t staged_bytes(uint32_t rank)
{
    struct torus_statistics s = {.size = sizeof s};
    must(rank, torus_statistics(context[rank], &s));
    return s.staged_bytes;
}

/* never_packed returns true if the daemon uses a rank's buffers with gaps in place: they are
 * shared, their type has few loops (each has a basic element, in at most eight nested ones), and
 * the call needs no copy of its own. */
static bool never_packed(uint32_t rank)
{
    const struct side *s = &side[rank];
    bool copies = trial.kind == ALLTOALL || trial.kind == ALLTOALLV || trial.kind == PREFIX ||
                  trial.kind == REDUCE_SCATTER || trial.kind == REDUCE_SCATTERV;
    bool neighbours = trial.kind == NEIGHBOUR || trial.kind == NEIGHBOURV;
    bool right = true;
    for (int b = 0; b < 2; b++) {
        const struct view *v = &s->of[b];
        size_t basics = 0;
        for (size_t i = 0; i < v->map->entries; i++)
            basics += v->map->entry[i].type >= 0;
        right = right && basics <= 8 && (ptrdiff_t)map_bytes(v->map) != v->extent;
    }
    return right && trial.shared && !trial.user && !(s->in_place && copies) &&
           !(trial.kind == EXSCAN && rank == 0) && !(neighbours && size <= 2);
}

/* run makes the call on all ranks; the types are freed before it is complete. */
static void run(uint64_t seed)
{
    for (uint32_t r = 0; r < size; r++) {
        side[r].staged = staged_bytes(r);
        must(r, call(r));
        if (side[r].type >= 65536)
            must(r, torus_type_free(context[r], side[r].type));
    }
    for (int round = 0; round < (trial.kept ? 2 : 1); round++) {
        for (uint32_t r = 0; trial.kept && r < size; r++) {
            memcpy(side[r].memory[1], side[r].before[1], side[r].bytes[1]);
            must(r, torus_persistent_start(side[r].persistent, &side[r].request));
        }
        for (uint32_t r = 0; r < size; r++)
            finish(r, side[r].request);
        for (uint32_t r = 0; r < size; r++)
            check_side(r, seed);
        for (uint32_t r = 0; r < size; r++)
            if (never_packed(r)) {
                assert_int_equal(staged_bytes(r), side[r].staged);
                in_place_calls++;
            }
    }
}

static void one_trial(uint64_t seed)
{
    static const int basics[] = {TORUS_INT32, TORUS_INT64, TORUS_DOUBLE};
    state = seed;
    trial.kind = (enum kind)draw(KINDS);
    trial.root = (uint32_t)draw(size);
    trial.units = 2 * draw(4);
    trial.in_place = can_be_in_place(trial.kind) && draw(2);
    trial.kept = draw(3) == 0;
    trial.shared = draw(2);
    trial.user = trial.kind >= REDUCE && draw(3) == 0;
    trial.basic = basics[draw(3)];
    trial.grid = (struct torus_grid){.size = sizeof trial.grid,
                                     .dimensions = 1,
                                     .extent = {size},
                                     .periodic = {(int32_t)draw(2)}};
    struct form *form = draw_form();
    for (uint32_t r = 0; r < size; r++)
        draw_side(r, form);
    flows = 0;
    if (trial.kind >= REDUCE)
        draw_reduction();
    else if (trial.kind == NEIGHBOUR || trial.kind == NEIGHBOURV)
        neighbour_flows();
    else
        draw_flows();
    for (uint32_t r = 0; r < size; r++)
        prepare_buffers(r);
    if (trial.kind < REDUCE)
        expect_moves();
    for (uint32_t r = 0; r < size && trial.kind >= REDUCE; r++)
        expect_reduction(r);
    run(seed);
    for (uint32_t r = 0; r < size; r++)
        drop_side(r);
    form_free(form);
}

static void trials(uint32_t ranks, bool blocks, uint64_t first)
{
    uint64_t one = 0, count = seeds_long() ? 3000 : SEEDS_SANITIZED ? 100 : 500;
    join_ranks(ranks, blocks);
    in_place_calls = 0;
    if (seeds_one(&one))
        one_trial(one);
    for (uint64_t i = 0; i < count && !one; i++)
        one_trial(first * 10000 + i);
    assert_true(one || in_place_calls > count * ranks / 20);
    close_all(context, ranks);
}

static void every_collective_moves_derived_types_on_one_node(void **unused)
{
    (void)unused;
    start(1, "");
    trials(1, false, 1);
    trials(2, false, 2);
    trials(5, false, 3);
    stop();
}

static void every_collective_moves_derived_types_on_several_nodes(void **unused)
{
    (void)unused;
    start(4, "");
    trials(4, false, 4);
    trials(7, true, 5);
    stop();
}

static void every_collective_moves_derived_types_in_the_routed_fabric(void **unused)
{
    (void)unused;
    columns = 2;
    prepare(4);
    start_all("[torus]\nfabric = routed\n[network]\npacket = 4KiB\n");
    trials(4, false, 6);
    trials(9, false, 7);
    stop();
    columns = 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(every_collective_moves_derived_types_on_one_node),
        TEST(every_collective_moves_derived_types_on_several_nodes),
        TEST(every_collective_moves_derived_types_in_the_routed_fabric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
