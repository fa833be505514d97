/* SPDX-License-Identifier: Apache-2.0 */
/* fft_long: one axis of n1 * n2 points, on several nodes, as two transforms of a matrix (Cooley and
 * Tukey's four steps). Point j1 n2 + j2 is element (j1, j2) of n1 rows: transform the columns, over
 * j1; multiply element (k1, j2) by exp(sign 2 pi i k1 j2 / (n1 n2)); transform the rows, over j2;
 * element (k1, k2) is then result k1 + k2 n1, the transposed matrix.
 *
 * Blocks of whole rows of the matrix are blocks of the axis, so the matrix is nothing but another
 * view of the memory; where the application has other blocks, a move before or after makes them. */
#include "collectives.h"
#include "core/arena.h"

struct split {
    uint64_t n1, n2;
};

/* in_blocks: whether a layout of the axis is one of whole rows of `row` points. */
static bool in_blocks(const struct td_layout *l, uint64_t row)
{
    return !l->box &&
           (l->axis[0].parts == 1 || (l->axis[0].offset == 0 && l->axis[0].block % row == 0));
}

/* moves returns how many moves before and after a split needs. */
static unsigned moves(const struct td_plan *plan, uint64_t n1, uint64_t n2)
{
    return !in_blocks(&plan->from, n2) + !in_blocks(&plan->to, n1);
}

/* best_split: with the fewest moves, and then about as many rows as columns, at least one a node.
 */
static struct split best_split(const struct td_plan_input *in)
{
    uint64_t n = in->plan->fft.size[0], nodes = in->group->slots;
    struct split best = {0, 0};
    unsigned least = 3;
    for (uint64_t d = 1; d * d <= n; d++) {
        for (unsigned turn = 0; turn < 2 && n % d == 0; turn++) {
            uint64_t n1 = turn ? n / d : d, n2 = n / n1;
            unsigned needs = moves(in->plan, n1, n2);
            if (n1 < nodes || n2 < nodes || needs > least)
                continue;
            least = needs; /* later ones are squarer */
            best = (struct split){n1, n2};
        }
    }
    return best;
}

bool td_fft_long_splits(const struct td_plan_input *in)
{
    const struct td_fft *fft = &in->plan->fft;
    return fft->dimensions == 1 && fft->transform[0] == 1 + TD_TRANSFORM_C2C &&
           in->group->slots > 1 && best_split(in).n1 > 0;
}

struct maker {
    const struct td_plan_input *in;
    struct td_arena *arena;
    struct td_stages *s;
    struct split split;
    bool failed;
};

/* add makes the array of a layout. A view lies where another array does. */
static const struct td_array *add(struct maker *m, const struct td_layout *layout, bool of_nodes,
                                  enum td_space space, const struct td_array *view)
{
    struct td_array *a = &m->s->array[m->s->arrays++];
    int64_t place = view && view->there[m->in->slot] ? view->base[0] : 0;
    m->failed |= !td_array_make(a, m->in, m->arena, layout, of_nodes, space,
                                m->in->plan->element[0], view ? &place : &m->s->scratch_bytes);
    return a;
}

/* nodes_deal makes an array of `dimensions` axes of which the nodes have blocks of one. */
static const struct td_array *nodes_deal(struct maker *m, uint32_t dimensions, const uint64_t *size,
                                         uint32_t axis, uint64_t block, bool columns_first,
                                         const struct td_array *view)
{
    struct td_layout l;
    if (m->failed || !td_layout_init(&l, m->arena, dimensions, size, m->in->group->slots, false)) {
        m->failed = true;
        return NULL;
    }
    td_layout_deal(&l, axis, block, m->in->group->slots);
    if (columns_first) {
        l.order[0] = 1;
        l.order[1] = 0;
    }
    return add(m, &l, true, TD_SPACE_SCRATCH, view);
}

/* as_matrix makes the matrix of a layout of the axis in blocks of whole rows (of the transposed
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
    td_layout_deal(&l, axis, block ? block : 1, from->axis[0].parts);
    l.order[0] = transposed;
    l.order[1] = !transposed;
    return add(m, &l, false, space, NULL);
}

static void move(struct maker *m, const struct td_array *from, const struct td_array *to,
                 const struct td_pass *last)
{
    m->failed = m->failed || !td_stages_move(m->s, m->in, m->arena, from, to, last);
}

static struct td_pass *pass(struct maker *m, const struct td_array *a, uint8_t axis,
                            uint64_t length)
{
    struct td_pass *p = &m->s->pass[m->s->passes];
    if (m->failed)
        return NULL;
    *p = (struct td_pass){
        .from = a, .to = a, .axis = axis, .kind = TD_TRANSFORM_C2C, .length = length, .factor = 1};
    td_pass_cut(p, !axis, TD_COMPUTE_BYTES);
    m->s->phase[m->s->phases++] = (struct td_phase){.index = (uint8_t)m->s->passes++};
    return p;
}

bool td_fft_long_make(const struct td_plan_input *in, struct td_arena *arena,
                      struct td_stages *stages)
{
    struct maker m = {.in = in, .arena = arena, .s = stages, .split = best_split(in)};
    const struct td_plan *plan = in->plan;
    const uint64_t n1 = m.split.n1, n2 = m.split.n2, size[2] = {n1, n2}, nodes = in->group->slots;
    uint64_t rows = (n1 + nodes - 1) / nodes, columns = (n2 + nodes - 1) / nodes;
    const struct td_array *matrix = NULL;
    if (in_blocks(&plan->from, n2)) {
        matrix = as_matrix(&m, &plan->from, false, TD_SPACE_SOURCE);
    } else {
        const struct td_array *before = add(&m, &plan->from, false, TD_SPACE_SOURCE, NULL);
        const struct td_array *line = nodes_deal(&m, 1, plan->fft.size, 0, rows * n2, false, NULL);
        move(&m, before, line, NULL);
        matrix = nodes_deal(&m, 2, size, 0, rows, false, line);
    }
    const struct td_array *by_column = nodes_deal(&m, 2, size, 1, columns, false, NULL);
    move(&m, matrix, by_column, NULL);
    struct td_pass *down = pass(&m, by_column, 0, n1);
    const struct td_array *by_row = nodes_deal(&m, 2, size, 0, rows, false, NULL);
    move(&m, by_column, by_row, down);
    struct td_pass *across = pass(&m, by_row, 1, n2);
    if (m.failed)
        return false;
    down->twiddle = n1 * n2;
    across->factor = td_fft_factor(&plan->fft);
    if (in_blocks(&plan->to, n1)) {
        move(&m, by_row, as_matrix(&m, &plan->to, true, TD_SPACE_DESTINATION), across);
    } else {
        const struct td_array *turned = nodes_deal(&m, 2, size, 1, columns, true, NULL);
        move(&m, by_row, turned, across);
        const struct td_array *line =
            nodes_deal(&m, 1, plan->fft.size, 0, columns * n1, false, turned);
        move(&m, line, add(&m, &plan->to, false, TD_SPACE_DESTINATION, NULL), NULL);
    }
    return !m.failed;
}
