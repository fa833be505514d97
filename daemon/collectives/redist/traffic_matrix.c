/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic_matrix.h"

#include <string.h>

#include "base/arena.h"

/* ---- who is where ---- */

bool td_tenants_find(struct td_tenants *t, const struct td_array *a, uint32_t slots,
                     struct td_arena *arena)
{
    uint32_t owners = a->layout.owners;
    t->begin = td_arena_alloc(arena, (slots + (size_t)1) * sizeof *t->begin);
    t->owner = td_arena_alloc(arena, owners * sizeof *t->owner);
    if (!t->begin || !t->owner)
        return false;
    for (uint32_t slot = 0; slot < slots; slot++) {
        t->begin[slot + 1] = t->begin[slot] + a->there[slot];
        t->most = a->there[slot] > t->most ? a->there[slot] : t->most;
    }
    for (uint32_t o = 0; o < owners; o++)
        t->owner[t->begin[a->slot[o]] + a->place[o]] = o;
    return true;
}

void td_tenants_free(struct td_tenants *t, struct td_arena *arena)
{
    td_arena_free(arena, t->begin);
    td_arena_free(arena, t->owner);
}

uint32_t td_tenants_on(const struct td_tenants *t, uint32_t slot)
{
    return t->begin[slot + 1] - t->begin[slot];
}

/* ---- who has what for whom ---- */

struct tables {
    const struct td_layout *from, *to;
    struct td_tenants before;
    uint64_t *along[TD_DIMENSIONS_MAX]; /* [parts before][parts after] common indices */
    uint32_t *after;                    /* [owners after][axes] their coordinates */
    uint64_t *unit;                     /* [slots] elements that one slot sends to them */
};

static bool prepare(struct tables *x, const struct td_array_move *m, uint32_t slots,
                    struct td_arena *arena)
{
    uint32_t axes = x->from->dimensions;
    x->after = td_arena_alloc(arena, (size_t)x->to->owners * axes * sizeof *x->after);
    x->unit = td_arena_alloc(arena, slots * sizeof *x->unit);
    if (!td_tenants_find(&x->before, m->from, slots, arena) || !x->after || !x->unit)
        return false;
    for (uint32_t d = 0; d < axes; d++) {
        uint32_t before = td_layout_parts(x->from, d), after = td_layout_parts(x->to, d);
        x->along[d] = td_arena_alloc(arena, (size_t)before * after * sizeof *x->along[d]);
        if (!x->along[d])
            return false;
        for (uint32_t i = 0; i < before; i++)
            for (uint32_t j = 0; j < after; j++)
                x->along[d][(size_t)i * after + j] = td_overlap_along(x->from, x->to, d, i, j);
        for (uint32_t q = 0; q < x->to->owners; q++)
            x->after[q * axes + d] = td_layout_coordinate(x->to, q, d);
    }
    return true;
}

static void forget(struct tables *x, struct td_arena *arena)
{
    for (uint32_t d = 0; d < TD_DIMENSIONS_MAX; d++)
        td_arena_free(arena, x->along[d]);
    td_arena_free(arena, x->after);
    td_arena_free(arena, x->unit);
    td_tenants_free(&x->before, arena);
}

size_t td_traffic_memory(const struct td_array_move *m, uint32_t slots)
{
    const struct td_layout *from = &m->from->layout, *to = &m->to->layout;
    size_t bytes = 4096 + (size_t)slots * 16 + (size_t)from->owners * 4;
    for (uint32_t d = 0; d < from->dimensions; d++)
        bytes += (size_t)td_layout_parts(from, d) * td_layout_parts(to, d) * 8 + to->owners * 4u;
    return bytes;
}

/* add_owner adds the elements that an owner before sends to each slot. */
static void add_owner(struct tables *x, const uint32_t *slot, uint32_t owner)
{
    const uint64_t *row[TD_DIMENSIONS_MAX];
    uint32_t axes = x->from->dimensions;
    for (uint32_t d = 0; d < axes; d++)
        row[d] = x->along[d] +
                 (size_t)td_layout_coordinate(x->from, owner, d) * td_layout_parts(x->to, d);
    for (uint32_t q = 0; q < x->to->owners; q++) {
        uint64_t elements = 1;
        for (uint32_t d = 0; d < axes && elements; d++)
            elements *= row[d][x->after[q * axes + d]];
        x->unit[slot[q]] += elements;
    }
}

bool td_traffic_each(const struct td_array_move *m, uint32_t slots, struct td_arena *arena,
                     td_traffic_fn *each, void *me)
{
    struct tables x = {.from = &m->from->layout, .to = &m->to->layout};
    bool good = prepare(&x, m, slots, arena);
    for (uint32_t slot = 0; good && slot < slots; slot++) {
        memset(x.unit, 0, slots * sizeof *x.unit);
        for (uint32_t i = x.before.begin[slot]; i < x.before.begin[slot + 1]; i++)
            add_owner(&x, m->to->slot, x.before.owner[i]);
        for (uint32_t other = 0; other < slots; other++)
            if (x.unit[other])
                each(me, slot, other, x.unit[other] * m->from->element);
    }
    forget(&x, arena);
    return good;
}

/* ---- who has to do with each other ---- */

void td_traffic_apart(uint32_t *root, uint32_t slots)
{
    for (uint32_t slot = 0; slot < slots; slot++)
        root[slot] = slot;
}

uint32_t td_traffic_root(uint32_t *root, uint32_t slot)
{
    while (root[slot] != slot)
        slot = root[slot] = root[root[slot]];
    return slot;
}

uint32_t td_traffic_join(uint32_t *root, uint32_t a, uint32_t b)
{
    b = td_traffic_root(root, b);
    return root[td_traffic_root(root, a)] = b;
}
