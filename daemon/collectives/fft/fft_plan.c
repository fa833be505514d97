/* SPDX-License-Identifier: Apache-2.0 */
/* fft_plan: the data movement of a transform (us8095585). An axis is transformed while each of its
 * lines is on one node: first the axes that are whole in the application's layout; then, stage by
 * stage, in scratch memory of the nodes, the axes that a process grid of nodes leaves whole; at
 * last those that are whole in the requested layout. Every stage begins with one move, so the first
 * and the last redistribution are transposes as well.
 *
 * The grid of nodes is a line (slabs) if two axes are long enough to give every node a part in each
 * of two stages; otherwise it has two or more dimensions (pencils). Between stages an axis of the
 * grid changes to another axis of the array only if necessary. Then a node exchanges data with its
 * own row of the grid only. */
#include "fft_plan.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "collectives/grid.h"
#include "fft_long.h"
#include "pass.h"

struct builder {
    const struct td_plan_input *in;
    struct td_arena *arena;
    const struct td_fft *fft;
    struct td_transform_plan *s;
    uint64_t size[TD_DIMENSIONS_MAX]; /* of the array, so far */
    uint64_t element;                 /* bytes of an element, so far */
    uint32_t left;                    /* bitmap of the axes that are not transformed yet */
    const struct td_array *now;       /* the array that has the data */
    const struct td_layout *to;       /* the requested layout */
    uint32_t factors;                 /* dimensions of the grid of nodes */
    uint32_t factor[TD_DIMENSIONS_MAX];
    uint8_t distributed[TD_DIMENSIONS_MAX]; /* the axis of the array that each one distributes;
                                         TD_DIMENSIONS_MAX: none yet */
    bool failed;                            /* no memory */
};

static unsigned kind_of(const struct builder *b, uint32_t axis)
{
    return b->fft->transform[axis] - 1u;
}

static bool is_left(const struct builder *b, uint32_t axis)
{
    return b->left >> axis & 1;
}

/* halves returns true if the axis is between real numbers and half a spectrum. */
static bool halves(const struct builder *b, uint32_t axis)
{
    return kind_of(b, axis) == TD_TRANSFORM_R2C || kind_of(b, axis) == TD_TRANSFORM_C2R;
}

/* may returns true if an axis can be transformed now: R2C comes first, C2R last. */
static bool may(const struct builder *b, uint32_t axis)
{
    if (!is_left(b, axis))
        return false;
    if (kind_of(b, axis) == TD_TRANSFORM_C2R)
        return b->left == 1u << axis;
    for (uint32_t d = 0; d < b->fft->dimensions; d++)
        if (d != axis && is_left(b, d) && kind_of(b, d) == TD_TRANSFORM_R2C)
            return false;
    return true;
}

static bool is_whole(const struct td_layout *l, uint32_t axis)
{
    if (!l->box)
        return l->axis[axis].parts == 1;
    for (uint32_t i = 0; i < l->owners; i++) {
        uint64_t elements = 1;
        for (uint32_t d = 0; d < l->dimensions; d++)
            elements *= l->box[i].count[d];
        if (elements && l->box[i].count[axis] != l->size[axis])
            return false;
    }
    return true;
}

/* next_axis returns the next axis to transform in this layout, or TD_DIMENSIONS_MAX if no axis is
 * whole. */
static uint32_t next_axis(const struct builder *b, const struct td_layout *l)
{
    for (uint32_t d = b->fft->dimensions; d-- > 0;)
        if (may(b, d) && is_whole(l, d))
            return d;
    return TD_DIMENSIONS_MAX;
}

/* ---- arrays ---- */

static struct td_array *add_array(struct builder *b, const struct td_layout *layout, bool of_nodes,
                                  enum td_space space)
{
    struct td_array *a = &b->s->array[b->s->arrays++];
    b->failed |= !td_array_make(a, b->in, b->arena, layout, of_nodes, space, b->element,
                                &b->s->scratch_bytes);
    return a;
}

/* resized copies a layout for the present sizes of the array. */
static bool resized(struct builder *b, const struct td_layout *from, struct td_layout *to)
{
    if (!td_layout_copy(to, b->arena, from)) {
        b->failed = true;
        return false;
    }
    for (uint32_t d = 0; d < from->dimensions; d++) {
        for (uint32_t i = 0; to->box && i < to->owners; i++)
            if (to->box[i].count[d] == from->size[d])
                to->box[i].count[d] = b->size[d];
        to->size[d] = b->size[d];
    }
    return true;
}

/* ---- passes ---- */

/* outermost returns an axis other than `axis` with several indices, if the array has one. */
static uint32_t outermost(const struct td_layout *l, uint32_t axis)
{
    uint64_t count[TD_DIMENSIONS_MAX];
    uint32_t best = TD_DIMENSIONS_MAX;
    td_layout_most(l, count);
    for (uint32_t i = 0; i < l->dimensions; i++) {
        uint32_t d = l->order[i];
        if (d != axis && (best == TD_DIMENSIONS_MAX || (count[best] < 4 && count[d] > count[best])))
            best = d;
    }
    return best == TD_DIMENSIONS_MAX ? axis : best;
}

/* into returns the array that a pass writes: the same one, unless that is the application's or has
 * elements of another type. The destination may still have input: an element is written to its
 * place only after the earlier value has arrived at the node that uses it. */
static const struct td_array *into(struct builder *b, uint32_t axis)
{
    const struct td_array *now = b->now;
    struct td_layout layout;
    if (halves(b, axis)) {
        b->size[axis] = td_fft_size(b->fft, 1, axis);
        b->element = td_fft_element(b->fft, 1);
    }
    if (now->space != TD_SPACE_SOURCE && !halves(b, axis))
        return now;
    if (!resized(b, &now->layout, &layout))
        return now;
    if (!now->of_nodes && b->element == b->in->plan->element[1] && td_layout_same(&layout, b->to)) {
        td_layout_free(&layout, b->arena);
        return add_array(b, b->to, false, TD_SPACE_DESTINATION);
    }
    return add_array(b, &layout, now->of_nodes, TD_SPACE_SCRATCH);
}

static void add_pass(struct builder *b, uint32_t axis)
{
    struct td_pass *p = &b->s->pass[b->s->passes];
    const struct td_phase *before = b->s->phases ? &b->s->phase[b->s->phases - 1] : NULL;
    *p = (struct td_pass){.from = b->now,
                          .axis = (uint8_t)axis,
                          .kind = (uint8_t)kind_of(b, axis),
                          .length = b->fft->size[axis],
                          .factor = 1};
    p->to = into(b, axis);
    if (b->failed)
        return;
    const struct td_array_move *move = before && before->moves ? &b->s->move[before->index] : NULL;
    const struct td_pass *last = before && !before->moves ? &b->s->pass[before->index] : NULL;
    if (move && move->alike && move->along != axis) {
        p->along = move->along;
        p->lines = move->lines;
        p->chunks = move->chunks;
        td_pass_split(p);
    } else {
        bool same = last && last->along != axis;
        td_pass_cut(p, same ? last->along : outermost(&p->from->layout, axis), TD_COMPUTE_BYTES);
    }
    b->left &= ~(1u << axis);
    if (b->left == 0)
        p->factor = td_fft_factor(b->fft);
    b->now = p->to;
    struct td_transform_plan *s = b->s;
    assert(s);
    s->phase[s->phases++] = (struct td_phase){.index = (uint8_t)s->passes++};
}

/* ---- moves ---- */

/* best_along chooses the axis along which a move is cut: not the axis of the pass before it; if
 * possible one with which the first transform after the move can begin with the first chunk, and
 * one whose chunks have data for every owner. */
static uint32_t best_along(const struct builder *b, const struct td_pass *last,
                           const struct td_array *to)
{
    const struct td_layout *l = &last->to->layout;
    uint64_t count[TD_DIMENSIONS_MAX];
    uint32_t best = last->along, next = next_axis(b, &to->layout);
    int best_score = -1;
    td_layout_most(l, count);
    for (uint32_t i = 0; i < l->dimensions; i++) {
        uint32_t d = l->order[i];
        bool inner = i + 1 == l->dimensions; /* its chunks would be scattered */
        bool alike = td_distributed_alike(l, &to->layout, d);
        int score = (count[d] >= 4) * 2 + (d != next && !inner && alike) * 3 - inner -
                    (!alike && !to->layout.box && to->layout.axis[d].parts > 1) * 4;
        if (d != last->axis && score > best_score) {
            best = d;
            best_score = score;
        }
    }
    return best;
}

static void add_move(struct builder *b, const struct td_array *to)
{
    const struct td_phase *before = b->s->phases ? &b->s->phase[b->s->phases - 1] : NULL;
    struct td_pass *last = before && !before->moves ? &b->s->pass[before->index] : NULL;
    uint64_t message = (uint64_t)to->layout.owners * b->in->tuning->packet_bytes;
    if (b->failed)
        return;
    if (last)
        td_pass_cut(last, best_along(b, last, to),
                    message > TD_COMPUTE_BYTES ? message : (uint64_t)TD_COMPUTE_BYTES);
    b->failed |= !td_transform_plan_move(b->s, b->in, b->arena, b->now, to, last);
    b->now = to;
}

/* ---- stages ---- */

/* as_asked uses the grid of the description. It returns false without one, or if it has more places
 * than there are nodes. */
static bool as_asked(struct builder *b)
{
    uint64_t places = 1;
    for (uint32_t f = 0; b->fft->grid[f] && f + 1 < b->fft->dimensions; f++) {
        b->factor[f] = b->fft->grid[f];
        places *= b->factor[f];
        b->factors = f + 1;
        if (places > b->in->group->slots)
            return false;
    }
    return b->factors > 0;
}

/* as_before uses the application's grid if its places are the nodes. Then the first move is within
 * rows of that grid, too. */
static bool as_before(struct builder *b)
{
    const struct td_layout *l = &b->in->plan->from;
    b->factors = 0;
    if (l->box || l->owners != b->in->group->slots)
        return false;
    for (uint32_t o = 0; o < l->owners; o++) {
        uint32_t slot = 0, local = 0;
        td_group_locate(b->in->group, l->rank[o], &slot, &local);
        if (slot != o)
            return false;
    }
    for (uint32_t i = 0; i < l->dimensions; i++) {
        uint32_t d = l->grid_order[i];
        if (l->axis[d].parts == 1)
            continue;
        if (b->factors + 1 == l->dimensions)
            return false;
        b->factor[b->factors] = l->axis[d].parts;
        b->distributed[b->factors++] = (uint8_t)d;
    }
    return b->factors >= 2;
}

/* as_links uses a grid of two dimensions, each a box of the torus: a node then exchanges with its
 * plane and with its line. */
static bool as_links(struct builder *b)
{
    struct td_grid grid;
    td_grid_of(b->in->group, b->in->topology, &grid);
    const struct td_topology *t = &grid.shape;
    uint32_t best = 0;
    if (b->in->tuning->fabric != TD_FABRIC_ROUTED || !grid.box || t->dimensions < 2)
        return false;
    for (uint32_t split = 1, first = 1; split < t->dimensions; split++) {
        first *= t->size[split - 1];
        uint32_t second = t->nodes / first, longer = first > second ? first : second;
        if (best && longer >= best)
            continue;
        best = longer;
        b->factor[0] = first;
        b->factor[1] = second;
    }
    b->factors = 2;
    return true;
}

/* as_square makes the factors about equal. */
static void as_square(struct builder *b, uint32_t factors)
{
    uint32_t rest = b->in->group->slots;
    b->factors = factors;
    for (uint32_t f = 0; f < factors; f++) {
        uint32_t best = rest;
        /* the least divisor that leaves at most this much for each of the other factors */
        for (uint32_t x = 1; x < best; x++) {
            uint64_t power = 1;
            for (uint32_t i = f; i < factors; i++)
                power *= x;
            if (rest % x == 0 && power >= rest)
                best = x;
        }
        b->factor[f] = best;
        rest /= best;
    }
}

/* choose_grid chooses the grid of nodes. */
static void choose_grid(struct builder *b)
{
    uint32_t nodes = b->in->group->slots, most = b->fft->dimensions - 1, wide = 0;
    for (uint32_t d = 0; d < b->fft->dimensions; d++) {
        b->distributed[d] = TD_DIMENSIONS_MAX;
        wide += b->size[d] >= nodes;
    }
    struct builder asked = *b, before = *b;
    bool is_asked = as_asked(&asked), is_before = as_before(&before);
    if (is_asked || is_before) {
        bool same = is_before && before.factors == asked.factors &&
                    memcmp(before.factor, asked.factor, asked.factors * sizeof *b->factor) == 0;
        *b = is_asked && !same ? asked : before;
        b->s->grid = is_asked ? TD_GRID_ASKED : TD_GRID_BEFORE;
        return;
    }
    uint32_t wanted = wide >= 2 ? 1 : most < 3 || wide || nodes < 27 ? 2 : 3;
    wanted = most < wanted ? most : wanted;
    bool by_links = wanted == 2 && as_links(b);
    b->s->grid = by_links ? TD_GRID_LINKS : TD_GRID_SQUARE;
    if (!by_links)
        as_square(b, wanted);
}

static bool is_distributed(const struct builder *b, uint32_t axis, uint32_t factors)
{
    for (uint32_t f = 0; f < factors; f++)
        if (b->distributed[f] == axis)
            return true;
    return false;
}

/* longest returns the longest axis that no factor distributes yet, among those that are (not)
 * transformed, except `but`. It returns TD_DIMENSIONS_MAX if none exists. */
static uint32_t longest(const struct builder *b, const uint8_t *taken, uint32_t count, bool left,
                        uint32_t but)
{
    uint32_t best = TD_DIMENSIONS_MAX;
    for (uint32_t d = 0; d < b->fft->dimensions; d++) {
        bool free = d != but && is_left(b, d) == left;
        for (uint32_t i = 0; i < count; i++)
            free = free && taken[i] != d;
        if (free && (best == TD_DIMENSIONS_MAX || b->size[d] > b->size[best]))
            best = d;
    }
    return best;
}

/* redistribute_axes assigns an axis to each factor of the grid so that some axes that are not
 * transformed yet become whole. */
static void redistribute_axes(struct builder *b)
{
    uint32_t whole = TD_DIMENSIONS_MAX; /* the axis that must be whole */
    for (uint32_t d = b->fft->dimensions; d-- > 0;)
        if (may(b, d) && (whole == TD_DIMENSIONS_MAX || (is_distributed(b, whole, b->factors) &&
                                                         !is_distributed(b, d, b->factors))))
            whole = d;
    uint8_t taken[TD_DIMENSIONS_MAX];
    uint32_t count = 0;
    for (uint32_t f = 0; f < b->factors; f++) /* keep assignments where possible */
        if (b->distributed[f] < TD_DIMENSIONS_MAX && b->distributed[f] != whole)
            taken[count++] = b->distributed[f];
    for (uint32_t f = 0; f < b->factors; f++) {
        if (b->distributed[f] < TD_DIMENSIONS_MAX && b->distributed[f] != whole)
            continue;
        uint32_t axis = longest(b, taken, count, false, whole);
        if (axis == TD_DIMENSIONS_MAX)
            axis = longest(b, taken, count, true, whole);
        b->distributed[f] = (uint8_t)axis;
        taken[count++] = (uint8_t)axis;
    }
}

/* stage_layout distributes the array over the nodes. */
static bool stage_layout(struct builder *b, struct td_layout *l)
{
    uint32_t owners = 1;
    redistribute_axes(b);
    for (uint32_t f = 0; f < b->factors; f++)
        owners *= b->factor[f];
    if (!td_layout_init(l, b->arena, b->fft->dimensions, b->size, owners, false)) {
        b->failed = true;
        return false;
    }
    uint32_t place = 0;
    for (uint32_t f = 0; f < b->factors; f++) {
        td_layout_distribute(l, b->distributed[f], 0, b->factor[f]);
        l->grid_order[place++] = b->distributed[f];
    }
    for (uint32_t d = 0; d < l->dimensions; d++)
        if (!is_distributed(b, d, b->factors))
            l->grid_order[place++] = (uint8_t)d;
    return true;
}

static void add_stage(struct builder *b)
{
    struct td_layout layout;
    bool ends = true, changes = b->element != b->in->plan->element[1];
    for (uint32_t d = 0; d < b->fft->dimensions; d++)
        if (is_left(b, d)) {
            changes |= halves(b, d);
            ends &= is_whole(b->to, d);
        }
    if (ends && !changes)
        add_move(b, add_array(b, b->to, false, TD_SPACE_DESTINATION));
    else if (ends ? resized(b, b->to, &layout) : stage_layout(b, &layout))
        add_move(b, add_array(b, &layout, !ends, TD_SPACE_SCRATCH));
}

static void build(struct builder *b)
{
    uint32_t axis = 0;
    choose_grid(b);
    b->now = add_array(b, &b->in->plan->from, false, TD_SPACE_SOURCE);
    while (!b->failed && b->left) {
        while (!b->failed && (axis = next_axis(b, &b->now->layout)) < TD_DIMENSIONS_MAX)
            add_pass(b, axis);
        if (!b->failed && b->left)
            add_stage(b);
    }
    if (!b->failed && b->now->space != TD_SPACE_DESTINATION)
        add_move(b, add_array(b, b->to, false, TD_SPACE_DESTINATION));
}

bool td_fft_plan(const struct td_plan_input *in, struct td_arena *arena,
                 struct td_transform_plan **out)
{
    struct builder b = {.in = in,
                        .arena = arena,
                        .fft = &in->plan->fft,
                        .element = in->plan->element[0],
                        .to = &in->plan->to};
    b.s = *out = td_arena_alloc(arena, sizeof *b.s);
    if (!b.s)
        return false;
    for (uint32_t d = 0; d < b.fft->dimensions; d++) {
        b.size[d] = td_fft_size(b.fft, 0, d);
        b.left |= b.fft->transform[d] ? 1u << d : 0;
    }
    if (td_fft_long_splits(in))
        b.failed = !td_fft_long_make(in, arena, b.s);
    else
        build(&b);
    uint8_t family = 0;
    for (unsigned i = 0; i < b.s->phases; i++) {
        struct td_phase *phase = &b.s->phase[i];
        phase->family = family;
        family = (uint8_t)(family +
                           (phase->moves ? td_array_move_families(&b.s->move[phase->index]) : 1u));
    }
    return !b.failed;
}
