/* SPDX-License-Identifier: Apache-2.0 */
#include "real_split.h"

#include "base/arena.h"

/* Owners, node by node: of element 0, of the lower boxes, of the upper boxes, and of element m. */
static uint32_t lower_of(uint32_t node)
{
    return 1 + node;
}

static uint32_t upper_of(uint32_t nodes, uint32_t node)
{
    return 1 + nodes + node;
}

static void set_box(struct td_layout *l, uint32_t owner, uint32_t node, uint64_t begin,
                    uint64_t count)
{
    l->rank[owner] = node;
    l->box[owner] = (struct td_box){.dimensions = 1, .begin = {begin}, .count = {count}};
}

bool td_real_split_layout(struct td_layout *l, struct td_arena *arena, uint64_t size, uint64_t m,
                          uint32_t nodes)
{
    if (!td_layout_init(l, arena, 1, &size, 2 * nodes + 2, true))
        return false;
    uint64_t pairs = (m - 1) / 2; /* k < m - k; if m is even, one more element is its own partner */
    for (uint32_t node = 0; node < nodes; node++) {
        struct td_range r = td_share(pairs, nodes, node);
        bool middle = m % 2 == 0 && node + 1 == nodes;
        set_box(l, lower_of(node), node, 1 + r.begin, r.count + middle);
        set_box(l, upper_of(nodes, node), node, m - r.begin - r.count, r.count);
    }
    set_box(l, 0, 0, 0, 1);
    set_box(l, 2 * nodes + 1, 0, m, size - m);
    return true;
}

struct td_pass td_real_split_pass(const struct td_array *from, const struct td_array *to,
                                  const struct td_array *spectrum)
{
    const struct td_layout *l = &spectrum->layout;
    uint64_t m = l->size[0] - 1, count = l->box[lower_of(spectrum->own)].count[0];
    return (struct td_pass){.from = from,
                            .to = to,
                            .kind =
                                to == spectrum ? TD_TRANSFORM_REAL_SPLIT : TD_TRANSFORM_REAL_MERGE,
                            .length = 2 * m,
                            .factor = 1,
                            .chunks = 1,
                            .lines = m,
                            .parts = 2 + count * spectrum->element / TD_COMPUTE_BYTES + 1};
}

bool td_real_split_is(const struct td_pass *pass)
{
    return pass->kind >= TD_TRANSFORM_KINDS;
}

/* element names element `at` of an owner's box and the `count` - 1 elements after it. */
static struct td_slice element(const struct td_array *a, uint32_t owner, uint64_t at,
                               uint64_t count)
{
    return td_slice_at(TD_SPACE_SCRATCH, 0, a->base[a->place[owner]] + (int64_t)(at * a->element),
                       (int64_t)(count * a->element));
}

/* Steps: elements 0 and m; the element that is its own partner; the pairs, piece by piece. */
void td_real_split_step(const struct td_program *p, const struct td_pass *pass, uint64_t index,
                        struct td_step *step)
{
    const struct td_array *a = pass->kind == TD_TRANSFORM_REAL_SPLIT ? pass->to : pass->from;
    const struct td_layout *l = &a->layout;
    uint32_t nodes = l->owners / 2 - 1, low = lower_of(p->slot), high = upper_of(nodes, p->slot);
    uint64_t pairs = l->box[high].count[0];
    struct td_range r = {0, 0};
    if (index == 0 && p->slot == 0) {
        step->from = element(a, 0, 0, 1);
        step->to = element(a, 2 * nodes + 1, 0, 1);
        r.count = 1;
    } else if (index == 1 && l->box[low].count[0] > pairs) {
        step->from = step->to = element(a, low, pairs, 1);
        r = (struct td_range){l->box[low].begin[0] + pairs, 1};
    } else if (index >= 2) {
        r = td_share(pairs, pass->parts - 2, index - 2);
        step->from = element(a, low, r.begin, r.count);
        step->to = element(a, high, pairs - r.begin - r.count, r.count);
        r.begin += l->box[low].begin[0];
    }
    step->transform = (struct td_transform){.kind = pass->kind,
                                            .type = (uint8_t)p->plan->fft.type,
                                            .length = (int64_t)pass->length,
                                            .batch = (int64_t)r.count,
                                            .twiddle_first = (int64_t)r.begin,
                                            .factor = 1};
}
