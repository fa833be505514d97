/* SPDX-License-Identifier: Apache-2.0 */
/* fft_long: one axis of n1 * n2 points over several nodes, as two transforms of a matrix (Cooley
 * and Tukey's four steps). Point j1 n2 + j2 is element (j1, j2) of n1 rows. Transform the columns,
 * over j1. Multiply element (k1, j2) by exp(sign 2 pi i k1 j2 / (n1 n2)). Transform the rows, over
 * j2. Element (k1, k2) is then result k1 + k2 n1, the transposed matrix.
 *
 * Blocks of whole rows of the matrix are blocks of the axis, so the matrix is another view of the
 * same memory. If the application has other blocks, a move before or after makes them.
 *
 * n real numbers are n / 2 complex ones, in pairs. The spectrum of the pairs is converted to that
 * of the real numbers after the transform, or from it before (real_split.h). If blocks consist of
 * whole pairs, that is another view, too. */
#include "fft_long.h"

#include "base/arena.h"
#include "pass.h"
#include "real_split.h"

struct split {
    uint64_t n1, n2;
};

/* struct maker: `points` counts complex points. `from` and `to` are the application's layouts of
 * them; NULL: the application has none, and the data starts or ends in the nodes' own blocks. */
struct maker {
    const struct td_plan_input *in;
    struct td_arena *arena;
    struct td_transform_plan *s;
    uint64_t points;
    const struct td_layout *from, *to;
    struct td_layout halved[2]; /* layouts of real numbers as layouts of pairs */
    struct split split;
    uint64_t rows, columns; /* of the matrix: greatest numbers on one node */
    bool failed;
};

static unsigned kind_of(const struct td_plan_input *in)
{
    return in->plan->fft.transform[0] - 1u;
}

/* in_blocks returns true if a layout of the axis is one of whole rows of `row` points. */
static bool in_blocks(const struct td_layout *l, uint64_t row)
{
    return !l->box &&
           (l->axis[0].parts == 1 || (l->axis[0].offset == 0 && l->axis[0].block % row == 0));
}

/* moves returns the number of moves that a split needs before and after. */
static unsigned moves(const struct maker *m, uint64_t n1, uint64_t n2)
{
    bool first = m->from && !in_blocks(m->from, n2), last = m->to && !in_blocks(m->to, n1);
    return (unsigned)first + (unsigned)last;
}

/* best_split chooses the split with the fewest moves, then with about as many rows as columns, at
 * least one per node. */
static struct split best_split(const struct maker *m)
{
    uint64_t n = m->points, nodes = m->in->group->slots;
    struct split best = {0, 0};
    unsigned least = 3;
    for (uint64_t d = 1; d * d <= n; d++) {
        for (unsigned turn = 0; turn < 2 && n % d == 0; turn++) {
            uint64_t n1 = turn ? n / d : d, n2 = n / n1;
            unsigned needs = moves(m, n1, n2);
            if (n1 < nodes || n2 < nodes || needs > least)
                continue;
            least = needs; /* later ones are closer to a square */
            best = (struct split){n1, n2};
        }
    }
    return best;
}

/* halve converts a layout of real numbers to one of pairs. It returns false if the two numbers of
 * some pair are at different places. */
static bool halve(const struct td_layout *l, struct td_layout *halved)
{
    *halved = *l;
    struct td_axis *x = &halved->axis[0];
    halved->size[0] /= 2;
    x->block = x->parts == 1 ? halved->size[0] : x->block / 2;
    x->offset /= 2;
    return !l->box && (l->axis[0].parts == 1 || (l->axis[0].block | l->axis[0].offset) % 2 == 0);
}

/* begin fills in the maker. It returns false if the plan has several axes, or the axis has no two
 * suitable factors. */
static bool begin(struct maker *m, const struct td_plan_input *in)
{
    const struct td_plan *plan = in->plan;
    const struct td_fft *fft = &plan->fft;
    unsigned kind = kind_of(in);
    *m = (struct maker){.in = in, .points = fft->size[0], .from = &plan->from, .to = &plan->to};
    if (fft->dimensions != 1 || kind > TD_TRANSFORM_C2R || in->group->slots == 1)
        return false;
    if (kind != TD_TRANSFORM_C2C) {
        if (m->points % 2)
            return false;
        m->points /= 2;
        bool pairs[2] = {halve(&plan->from, &m->halved[0]), halve(&plan->to, &m->halved[1])};
        m->from = kind == TD_TRANSFORM_R2C && pairs[0] ? &m->halved[0] : NULL;
        m->to = kind == TD_TRANSFORM_C2R && pairs[1] ? &m->halved[1] : NULL;
    }
    m->split = best_split(m);
    return m->split.n1 > 0;
}

bool td_fft_long_splits(const struct td_plan_input *in)
{
    struct maker m;
    return begin(&m, in);
}

/* ---- arrays ---- */

/* add makes the array of a layout. A view shares the memory of another array. */
static const struct td_array *add(struct maker *m, const struct td_layout *layout, bool of_nodes,
                                  enum td_space space, uint64_t element,
                                  const struct td_array *view)
{
    struct td_array *a = &m->s->array[m->s->arrays++];
    int64_t place = view && view->there[m->in->slot] ? view->base[0] : 0;
    m->failed |= !td_array_make(a, m->in, m->arena, layout, of_nodes, space, element,
                                view ? &place : &m->s->scratch_bytes);
    return a;
}

/* point_bytes returns the size of a complex point. */
static uint64_t point_bytes(const struct maker *m)
{
    return td_type_bytes(m->in->plan->fft.type);
}

static const struct td_array *application(struct maker *m, unsigned side)
{
    const struct td_plan *plan = m->in->plan;
    return add(m, side ? &plan->to : &plan->from, false,
               side ? TD_SPACE_DESTINATION : TD_SPACE_SOURCE, plan->element[side], NULL);
}

/* in_pairs makes the array of points that the application stores as real numbers. */
static const struct td_array *in_pairs(struct maker *m, const struct td_layout *points,
                                       enum td_space space)
{
    struct td_layout copy;
    if (m->failed || !td_layout_copy(&copy, m->arena, points)) {
        m->failed = true;
        return NULL;
    }
    return add(m, &copy, false, space, point_bytes(m), NULL);
}

/* line makes the axis, of `size` elements, in blocks of the nodes. */
static const struct td_array *line(struct maker *m, uint64_t size, uint64_t block, uint64_t element,
                                   const struct td_array *view)
{
    struct td_layout l;
    if (m->failed || !td_layout_init(&l, m->arena, 1, &size, m->in->group->slots, false)) {
        m->failed = true;
        return NULL;
    }
    td_layout_distribute(&l, 0, block, m->in->group->slots);
    return add(m, &l, true, TD_SPACE_SCRATCH, element, view);
}

/* matrix makes the matrix, with blocks of one axis on the nodes. */
static const struct td_array *matrix(struct maker *m, uint32_t axis, uint64_t block,
                                     bool columns_first, const struct td_array *view)
{
    const uint64_t size[2] = {m->split.n1, m->split.n2};
    struct td_layout l;
    if (m->failed || !td_layout_init(&l, m->arena, 2, size, m->in->group->slots, false)) {
        m->failed = true;
        return NULL;
    }
    td_layout_distribute(&l, axis, block, m->in->group->slots);
    l.order[0] = columns_first;
    l.order[1] = !columns_first;
    return add(m, &l, true, TD_SPACE_SCRATCH, point_bytes(m), view);
}

/* as_matrix makes the matrix of a layout of the axis in blocks of whole rows (for the transposed
 * matrix: columns). */
static const struct td_array *as_matrix(struct maker *m, const struct td_layout *from,
                                        bool transposed, enum td_space space)
{
    const uint64_t size[2] = {m->split.n1, m->split.n2};
    struct td_layout l;
    uint32_t axis = transposed;
    if (m->failed || !td_layout_init(&l, m->arena, 2, size, from->owners, false)) {
        m->failed = true;
        return NULL;
    }
    for (uint32_t i = 0; i < from->owners; i++)
        l.rank[i] = from->rank[i];
    uint64_t row = size[!axis], block = from->axis[0].block / row;
    td_layout_distribute(&l, axis, block ? block : 1, from->axis[0].parts);
    l.order[0] = transposed;
    l.order[1] = !transposed;
    return add(m, &l, false, space, point_bytes(m), NULL);
}

/* of_partners makes the array of a spectrum of `size` points in which partners are on one node. */
static const struct td_array *of_partners(struct maker *m, uint64_t size,
                                          const struct td_array *view)
{
    struct td_layout l;
    if (m->failed || !td_real_split_layout(&l, m->arena, size, m->points, m->in->group->slots)) {
        m->failed = true;
        return NULL;
    }
    return add(m, &l, true, TD_SPACE_SCRATCH, point_bytes(m), view);
}

/* ---- phases ---- */

static void move(struct maker *m, const struct td_array *from, const struct td_array *to,
                 const struct td_pass *last)
{
    m->failed = m->failed || !td_transform_plan_move(m->s, m->in, m->arena, from, to, last);
}

static struct td_pass *add_pass(struct maker *m, const struct td_pass *pass)
{
    struct td_pass *p = &m->s->pass[m->s->passes];
    *p = *pass;
    m->s->phase[m->s->phases++] = (struct td_phase){.index = (uint8_t)m->s->passes++};
    return p;
}

static struct td_pass *transform(struct maker *m, const struct td_array *a, uint8_t axis,
                                 uint64_t length)
{
    if (m->failed)
        return NULL;
    struct td_pass *p = add_pass(m, &(struct td_pass){.from = a,
                                                      .to = a,
                                                      .axis = axis,
                                                      .kind = TD_TRANSFORM_C2C,
                                                      .length = length,
                                                      .factor = 1});
    td_pass_cut(p, !axis, TD_COMPUTE_BYTES);
    return p;
}

/* before makes the matrix before all transforms. */
static const struct td_array *before(struct maker *m)
{
    uint64_t n2 = m->split.n2, block = m->rows * n2;
    const struct td_array *points = NULL;
    if (m->from && in_blocks(m->from, n2))
        return as_matrix(m, m->from, false, TD_SPACE_SOURCE);
    if (kind_of(m->in) == TD_TRANSFORM_C2R) {
        const struct td_array *spectrum = of_partners(m, m->points + 1, NULL);
        const struct td_array *of_pairs = spectrum ? of_partners(m, m->points, spectrum) : NULL;
        move(m, application(m, 0), spectrum, NULL);
        if (m->failed)
            return NULL;
        const struct td_pass real_merge = td_real_split_pass(spectrum, of_pairs, spectrum);
        points = line(m, m->points, block, point_bytes(m), NULL);
        move(m, of_pairs, points, add_pass(m, &real_merge));
    } else if (m->from) {
        points = line(m, m->points, block, point_bytes(m), NULL);
        move(m,
             m->from == &m->in->plan->from ? application(m, 0)
                                           : in_pairs(m, m->from, TD_SPACE_SOURCE),
             points, NULL);
    } else {
        points = line(m, 2 * m->points, 2 * block, point_bytes(m) / 2, NULL);
        move(m, application(m, 0), points, NULL);
    }
    return matrix(m, 0, m->rows, false, points);
}

/* after moves the transformed matrix to the requested layout. */
static void after(struct maker *m, const struct td_array *by_row, const struct td_pass *last)
{
    uint64_t n1 = m->split.n1, block = m->columns * n1;
    if (m->to && in_blocks(m->to, n1)) {
        move(m, by_row, as_matrix(m, m->to, true, TD_SPACE_DESTINATION), last);
        return;
    }
    const struct td_array *turned = matrix(m, 1, m->columns, true, NULL);
    move(m, by_row, turned, last);
    if (m->failed)
        return;
    if (kind_of(m->in) == TD_TRANSFORM_R2C) {
        const struct td_array *spectrum = of_partners(m, m->points + 1, NULL);
        const struct td_array *of_pairs = spectrum ? of_partners(m, m->points, spectrum) : NULL;
        move(m, line(m, m->points, block, point_bytes(m), turned), of_pairs, NULL);
        if (m->failed)
            return;
        const struct td_pass real_split = td_real_split_pass(of_pairs, spectrum, spectrum);
        move(m, spectrum, application(m, 1), add_pass(m, &real_split));
    } else if (m->to) {
        move(m, line(m, m->points, block, point_bytes(m), turned),
             m->to == &m->in->plan->to ? application(m, 1)
                                       : in_pairs(m, m->to, TD_SPACE_DESTINATION),
             NULL);
    } else {
        move(m, line(m, 2 * m->points, 2 * block, point_bytes(m) / 2, turned), application(m, 1),
             NULL);
    }
}

bool td_fft_long_make(const struct td_plan_input *in, struct td_arena *arena,
                      struct td_transform_plan *out)
{
    struct maker m;
    (void)begin(&m, in);
    m.arena = arena;
    m.s = out;
    out->grid = TD_GRID_MATRIX;
    const uint64_t n1 = m.split.n1, n2 = m.split.n2, nodes = in->group->slots;
    m.rows = (n1 + nodes - 1) / nodes;
    m.columns = (n2 + nodes - 1) / nodes;
    const struct td_array *first = before(&m);
    const struct td_array *by_column = matrix(&m, 1, m.columns, false, NULL);
    move(&m, first, by_column, NULL);
    struct td_pass *down = transform(&m, by_column, 0, n1);
    const struct td_array *by_row = matrix(&m, 0, m.rows, false, NULL);
    move(&m, by_column, by_row, down);
    struct td_pass *across = transform(&m, by_row, 1, n2);
    if (m.failed)
        return false;
    down->twiddle = n1 * n2;
    across->factor = td_fft_factor(&in->plan->fft);
    after(&m, by_row, across);
    return !m.failed;
}
