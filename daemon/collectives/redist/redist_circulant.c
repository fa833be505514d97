/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving are one computation, seen from two sides. From a part of the finer side the
 * index decreases by j; from one of the coarser side it increases. From a sender the label
 * increases by the rotation; from a receiver it decreases. If the schedule is mirrored, each label
 * is the rotation minus the other label. */
#include "redist_circulant.h"

#include <assert.h>

#include "base/number.h"

/* inverse_of returns the number below n whose product with a is 1 modulo n, or 0 for n = 1. Sides
 * have few parts, and it runs once per schedule. */
static uint32_t inverse_of(uint32_t a, uint32_t n)
{
    for (uint32_t i = 1, product = a; i < n; i++, product = (product + a) % n)
        if (product == 1)
            return i;
    return 0;
}

void td_circulant_ratio(const struct td_schedule_axis *axis, uint64_t *from, uint64_t *to)
{
    uint64_t unit = td_gcd(axis->from_block, axis->to_block);
    bool any = axis->p == 1 || axis->q == 1;
    *from = any ? 1 : axis->from_block / unit;
    *to = any ? 1 : axis->to_block / unit;
}

static bool init_axis(struct td_circulant_axis *a, const struct td_schedule_axis *axis)
{
    uint64_t from, to;
    td_circulant_ratio(axis, &from, &to);
    if (from > 1 && to > 1)
        return false;
    uint64_t k = from > 1 ? from : to;
    a->reverse = from > 1;
    a->fine = a->reverse ? axis->q : axis->p;
    a->coarse = a->reverse ? axis->p : axis->q;
    a->period = (uint32_t)td_gcd(a->fine, k % a->fine * a->coarse % a->fine);
    a->shared = (uint32_t)td_gcd(k, a->period);
    a->indices = a->period / a->shared;
    k /= a->shared;
    a->times = (uint32_t)(k % a->indices);
    a->inverse = inverse_of(a->times, a->indices);
    a->blocks = k / a->indices;
    a->classes = k < a->indices ? (uint32_t)k : a->indices;
    a->senders = (a->reverse ? a->coarse : a->fine) / a->indices;
    a->receivers = (a->reverse ? a->fine : a->coarse) / a->indices;
    return true;
}

static uint32_t parts_of(const struct td_circulant_axis *a, bool receiving)
{
    return a->reverse == receiving ? a->fine : a->coarse;
}

void td_circulant_order(struct td_circulant *c, bool receiving, const uint8_t *order)
{
    uint32_t scale = 1;
    for (uint32_t i = c->dimensions; i-- > 0;) {
        struct td_circulant_axis *a = &c->axis[order[i]];
        a->scale[receiving] = scale;
        scale *= parts_of(a, receiving);
    }
}

bool td_circulant_init(struct td_circulant *c, uint32_t dimensions,
                       const struct td_schedule_axis *axis)
{
    uint8_t row_major[TD_DIMENSIONS_MAX];
    assert(dimensions <= TD_DIMENSIONS_MAX);
    *c =
        (struct td_circulant){.dimensions = dimensions, .classes = 1, .senders = 1, .receivers = 1};
    for (uint32_t d = 0; d < dimensions; d++) {
        if (!init_axis(&c->axis[d], &axis[d]))
            return false;
        row_major[d] = (uint8_t)d;
        c->classes *= c->axis[d].classes;
        c->senders *= c->axis[d].senders;
        c->receivers *= c->axis[d].receivers;
    }
    c->rotations = c->senders > c->receivers ? c->senders : c->receivers;
    c->steps = c->classes * c->rotations;
    td_circulant_order(c, false, row_major);
    td_circulant_order(c, true, row_major);
    return true;
}

/* ---- an owner and those it meets ---- */

struct place {
    uint32_t index[TD_DIMENSIONS_MAX];
    uint32_t label; /* of all axes; the last axis is fastest */
};

static void locate(const struct td_circulant *c, bool receiving, uint32_t owner,
                   struct place *place)
{
    uint32_t scale = 1;
    place->label = 0;
    for (uint32_t d = c->dimensions; d-- > 0;) {
        const struct td_circulant_axis *a = &c->axis[d];
        bool fine = a->reverse == receiving;
        uint32_t part = owner / a->scale[receiving] % parts_of(a, receiving);
        if (fine) {
            place->index[d] = part % a->period / a->shared;
            place->label += scale * (part / a->period * a->shared + part % a->shared);
        } else {
            place->index[d] = part * a->times % a->indices;
            place->label += scale * (part / a->indices);
        }
        scale *= receiving ? a->receivers : a->senders;
    }
}

/* by_index returns what the indices of the partners in a class of steps add to their numbers,
 * by_label what the labels add. */
static uint32_t by_index(const struct td_circulant *c, bool receiving, const struct place *place,
                         uint32_t class)
{
    uint32_t sum = 0;
    for (uint32_t d = c->dimensions; d-- > 0;) {
        const struct td_circulant_axis *a = &c->axis[d];
        bool fine = a->reverse != receiving;
        uint32_t j = class;
        if (d > 0) { /* the first axis has the rest */
            j = class % a->classes;
            class /= a->classes;
        }
        uint32_t index = place->index[d] + (fine ? j : a->indices - j);
        if (index >= a->indices)
            index -= a->indices;
        sum += a->scale[!receiving] * (fine ? index * a->shared : index * a->inverse % a->indices);
    }
    return sum;
}

static uint32_t by_label(const struct td_circulant *c, bool receiving, uint32_t label)
{
    uint32_t sum = 0;
    for (uint32_t d = c->dimensions; d-- > 0;) {
        const struct td_circulant_axis *a = &c->axis[d];
        bool fine = a->reverse != receiving;
        uint32_t mine = label;
        if (d > 0) {
            uint32_t labels = receiving ? a->senders : a->receivers;
            mine = label % labels;
            label /= labels;
        }
        sum += a->scale[!receiving] *
               (fine ? mine / a->shared * a->period + mine % a->shared : mine * a->indices);
    }
    return sum;
}

static bool meet(const struct td_circulant *c, bool receiving, uint32_t owner, uint32_t step,
                 uint32_t *other)
{
    struct place place;
    locate(c, receiving, owner, &place);
    uint32_t class = step / c->rotations, turn = step % c->rotations;
    uint32_t m = c->rotations;
    uint32_t label = c->mirrored ? turn + m - place.label
                     : receiving ? place.label + m - turn
                                 : place.label + turn;
    label %= m;
    if (label >= (receiving ? c->senders : c->receivers))
        return false;
    *other = by_index(c, receiving, &place, class) + by_label(c, receiving, label);
    return true;
}

/* struct walk: what indices add to the numbers of the partners, class after class. From one j to
 * the next it increases by a constant, modulo another constant. */
struct walk {
    uint32_t j[TD_DIMENSIONS_MAX], begin[TD_DIMENSIONS_MAX], now[TD_DIMENSIONS_MAX];
    uint32_t step[TD_DIMENSIONS_MAX], modulus[TD_DIMENSIONS_MAX];
};

static void walk_init(struct walk *w, const struct td_circulant *c, bool receiving,
                      const struct place *place)
{
    for (uint32_t d = 0; d < c->dimensions; d++) {
        const struct td_circulant_axis *a = &c->axis[d];
        bool fine = a->reverse != receiving;
        w->j[d] = 0;
        w->step[d] = fine ? a->shared : a->indices - a->inverse;
        w->modulus[d] = fine ? a->period : a->indices;
        w->begin[d] = place->index[d] * (fine ? a->shared : a->inverse) % w->modulus[d];
        w->now[d] = w->begin[d];
    }
}

static uint32_t walk_sum(const struct walk *w, const struct td_circulant *c, bool receiving)
{
    uint32_t sum = 0;
    for (uint32_t d = 0; d < c->dimensions; d++)
        sum += c->axis[d].scale[!receiving] * w->now[d];
    return sum;
}

static void walk_on(struct walk *w, const struct td_circulant *c)
{
    for (uint32_t d = c->dimensions; d-- > 0;) {
        uint32_t next = w->now[d] + w->step[d];
        w->now[d] = next >= w->modulus[d] ? next - w->modulus[d] : next;
        if (++w->j[d] < c->axis[d].classes)
            return;
        w->j[d] = 0;
        w->now[d] = w->begin[d];
    }
}

/* meet_all stores what the indices add in the first turn of each class, and computes all turns from
 * it, the first one last. */
static void meet_all(const struct td_circulant *c, bool receiving, uint32_t owner, uint32_t *row)
{
    struct place place;
    struct walk w;
    uint32_t others = receiving ? c->senders : c->receivers, m = c->rotations;
    bool down = receiving && !c->mirrored;
    locate(c, receiving, owner, &place);
    walk_init(&w, c, receiving, &place);
    for (uint32_t class = 0; class < c->classes; class ++, walk_on(&w, c))
        row[class * m] = walk_sum(&w, c, receiving);
    uint32_t label = c->mirrored ? (m - place.label) % m : place.label; /* as in turn m */
    for (uint32_t turn = m; turn-- > 0;) {
        if (down)
            label = label + 1 < m ? label + 1 : 0;
        else
            label = label ? label - 1 : m - 1;
        bool idle = label >= others;
        uint32_t base = idle ? 0 : by_label(c, receiving, label);
        for (uint32_t class = 0; class < c->classes; class ++)
            row[class * m + turn] = idle ? UINT32_MAX : base + row[class * m];
    }
}

bool td_circulant_send(const struct td_circulant *c, uint32_t p, uint32_t step, uint32_t *q)
{
    return meet(c, false, p, step, q);
}

bool td_circulant_receive(const struct td_circulant *c, uint32_t q, uint32_t step, uint32_t *p)
{
    return meet(c, true, q, step, p);
}

void td_circulant_sends(const struct td_circulant *c, uint32_t p, uint32_t *row)
{
    meet_all(c, false, p, row);
}

void td_circulant_receives(const struct td_circulant *c, uint32_t q, uint32_t *row)
{
    meet_all(c, true, q, row);
}

uint64_t td_circulant_blocks(const struct td_circulant *c, uint32_t step)
{
    uint64_t blocks = 1;
    uint32_t class = step / c->rotations;
    for (uint32_t d = c->dimensions; d-- > 0;) {
        const struct td_circulant_axis *a = &c->axis[d];
        blocks *= a->blocks + (class % a->classes < a->times);
        class /= a->classes;
    }
    return blocks;
}
