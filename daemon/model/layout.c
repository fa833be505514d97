/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"

struct td_range td_block(uint64_t n, uint64_t parts, uint64_t part)
{
    uint64_t block = n / parts + (n % parts != 0);
    uint64_t begin = block && part > n / block ? n : block * part;
    if (begin > n)
        begin = n;
    uint64_t left = n - begin;
    return (struct td_range){begin, left < block ? left : block};
}

uint64_t td_block_owner(uint64_t n, uint64_t parts, uint64_t index)
{
    return index / (n / parts + (n % parts != 0));
}

struct td_range td_share(uint64_t n, uint64_t parts, uint64_t part)
{
    uint64_t each = n / parts, more = n % parts;
    return (struct td_range){each * part + (part < more ? part : more), each + (part < more)};
}

/* ---- along one axis ---- */

/* owned_of_template returns the number of owned indices among the first n of blocks that begin at
 * part 0. */
static uint64_t owned_of_template(const struct td_owned *o, uint64_t n)
{
    if (o->parts == 1)
        return n;
    uint64_t cycle = o->block * o->parts, rest = n % cycle, first = o->block * o->part;
    uint64_t more = rest <= first ? 0 : rest - first;
    return n / cycle * o->block + (more < o->block ? more : o->block);
}

uint64_t td_owned_before(const struct td_owned *o, uint64_t index)
{
    index = index < o->begin ? o->begin : index > o->end ? o->end : index;
    return owned_of_template(o, index + o->offset) - owned_of_template(o, o->begin + o->offset);
}

uint64_t td_owned_at(const struct td_owned *o, uint64_t before)
{
    uint64_t place = before + owned_of_template(o, o->begin + o->offset);
    if (o->parts > 1)
        place = (place / o->block * o->parts + o->part) * o->block + place % o->block;
    return place - o->offset;
}

uint64_t td_owned_next(const struct td_owned *o, uint64_t index, uint64_t *count)
{
    uint64_t at = index < o->begin ? o->begin : index, run = UINT64_MAX;
    *count = 0;
    if (at >= o->end)
        return o->end;
    if (o->parts > 1) {
        uint64_t place = at + o->offset, block = place / o->block;
        uint64_t ahead = (o->part + o->parts - block % o->parts) % o->parts;
        uint64_t begin = (block + ahead) * o->block; /* of the owned block */
        at = ahead ? begin - o->offset : at;
        run = begin + o->block - (at + o->offset);
    }
    if (at >= o->end)
        return o->end;
    *count = o->end - at < run ? o->end - at : run;
    return at;
}

/* ---- layouts ---- */

bool td_layout_init(struct td_layout *l, struct td_arena *arena, uint32_t dimensions,
                    const uint64_t *size, uint32_t owners, bool boxes)
{
    *l = (struct td_layout){.dimensions = dimensions, .owners = owners};
    l->rank = td_arena_alloc(arena, owners * sizeof *l->rank);
    l->box = boxes ? td_arena_alloc(arena, owners * sizeof *l->box) : NULL;
    if (!l->rank || (boxes && !l->box)) {
        td_layout_free(l, arena);
        return false;
    }
    for (uint32_t i = 0; i < owners; i++)
        l->rank[i] = i;
    for (uint32_t d = 0; d < dimensions; d++) {
        l->size[d] = size[d];
        l->grid_order[d] = l->order[d] = (uint8_t)d;
        td_layout_distribute(l, d, 0, 1);
    }
    return true;
}

void td_layout_free(struct td_layout *l, struct td_arena *arena)
{
    td_arena_free(arena, l->rank);
    td_arena_free(arena, l->box);
    l->rank = NULL;
    l->box = NULL;
}

bool td_layout_copy(struct td_layout *to, struct td_arena *arena, const struct td_layout *from)
{
    if (!td_layout_init(to, arena, from->dimensions, from->size, from->owners, from->box != NULL))
        return false;
    uint32_t *rank = to->rank;
    struct td_box *box = to->box;
    assert(rank && from->rank);
    memcpy(rank, from->rank, from->owners * sizeof *rank);
    if (box && from->box)
        memcpy(box, from->box, from->owners * sizeof *box);
    *to = *from;
    to->rank = rank;
    to->box = box;
    return true;
}

void td_layout_distribute(struct td_layout *l, uint32_t axis, uint64_t block, uint32_t parts)
{
    if (block == 0)
        block = l->size[axis] / parts + (l->size[axis] % parts != 0);
    l->axis[axis] = (struct td_axis){block ? block : 1, 0, parts};
}

uint32_t td_layout_coordinate(const struct td_layout *l, uint32_t owner, uint32_t axis)
{
    if (l->box)
        return owner;
    for (uint32_t i = l->dimensions; i-- > 0; owner /= l->axis[l->grid_order[i]].parts)
        if (l->grid_order[i] == axis)
            return owner % l->axis[axis].parts;
    return 0;
}

uint32_t td_layout_parts(const struct td_layout *l, uint32_t axis)
{
    return l->box ? l->owners : l->axis[axis].parts;
}

struct td_owned td_layout_owned(const struct td_layout *l, uint32_t axis, uint32_t coordinate)
{
    if (l->box) {
        const struct td_box *box = &l->box[coordinate];
        return (struct td_owned){box->begin[axis], box->begin[axis] + box->count[axis], 1, 0, 1, 0};
    }
    const struct td_axis *a = &l->axis[axis];
    return (struct td_owned){0, l->size[axis], a->block, a->offset, a->parts, coordinate};
}

uint64_t td_layout_local(const struct td_layout *l, uint32_t owner, uint64_t *count)
{
    uint64_t elements = 1;
    for (uint32_t d = 0; d < l->dimensions; d++) {
        struct td_owned owned = td_layout_owned(l, d, td_layout_coordinate(l, owner, d));
        count[d] = td_owned_before(&owned, owned.end);
        elements *= count[d];
    }
    return elements;
}

void td_layout_most(const struct td_layout *l, uint64_t *count)
{
    for (uint32_t d = 0; d < l->dimensions; d++) {
        count[d] = 0;
        for (uint32_t c = 0; c < td_layout_parts(l, d); c++) {
            struct td_owned owned = td_layout_owned(l, d, c);
            uint64_t n = td_owned_before(&owned, owned.end);
            count[d] = n > count[d] ? n : count[d];
        }
    }
}

void td_layout_strides(const struct td_layout *l, uint32_t owner, uint64_t *stride)
{
    uint64_t count[TD_DIMENSIONS_MAX], elements = 1;
    td_layout_local(l, owner, count);
    for (uint32_t i = l->dimensions; i-- > 0;) {
        stride[l->order[i]] = elements;
        elements *= count[l->order[i]];
    }
}

uint32_t td_layout_owner(const struct td_layout *l, uint32_t rank)
{
    for (uint32_t i = 0; i < l->owners; i++)
        if (l->rank[i] == rank)
            return i;
    return UINT32_MAX;
}

void td_layout_transpose(struct td_layout *l, const uint8_t *axes)
{
    struct td_layout before = *l;
    for (uint32_t d = 0; d < l->dimensions; d++) {
        l->size[axes[d]] = before.size[d];
        l->axis[axes[d]] = before.axis[d];
        l->grid_order[d] = axes[before.grid_order[d]];
        l->order[d] = axes[before.order[d]];
    }
    for (uint32_t i = 0; l->box && i < l->owners; i++) {
        struct td_box box = l->box[i];
        for (uint32_t d = 0; d < l->dimensions; d++) {
            l->box[i].begin[axes[d]] = box.begin[d];
            l->box[i].count[axes[d]] = box.count[d];
        }
    }
}

static bool same_axes(const struct td_layout *a, const struct td_layout *b)
{
    for (uint32_t d = 0; d < a->dimensions; d++)
        if (a->size[d] != b->size[d] || a->grid_order[d] != b->grid_order[d] ||
            a->order[d] != b->order[d] || a->axis[d].block != b->axis[d].block ||
            a->axis[d].offset != b->axis[d].offset || a->axis[d].parts != b->axis[d].parts)
            return false;
    return true;
}

bool td_layout_same(const struct td_layout *a, const struct td_layout *b)
{
    if (a->dimensions != b->dimensions || a->owners != b->owners || !a->box != !b->box ||
        !same_axes(a, b))
        return false;
    for (uint32_t i = 0; i < a->owners; i++) {
        if (a->rank[i] != b->rank[i])
            return false;
        for (uint32_t d = 0; a->box && d < a->dimensions; d++)
            if (a->box[i].begin[d] != b->box[i].begin[d] ||
                a->box[i].count[d] != b->box[i].count[d])
                return false;
    }
    return true;
}

/* ---- checks ---- */

static bool is_empty(const struct td_box *b)
{
    for (uint32_t d = 0; d < b->dimensions; d++)
        if (b->count[d] == 0)
            return true;
    return false;
}

static bool overlap(const struct td_box *a, const struct td_box *b)
{
    for (uint32_t d = 0; d < a->dimensions; d++)
        if (a->begin[d] >= b->begin[d] + b->count[d] || b->begin[d] >= a->begin[d] + a->count[d])
            return false;
    return !is_empty(a) && !is_empty(b);
}

/* check_boxes returns NULL if the boxes are disjoint and cover the array, else an error. */
static const char *check_boxes(const struct td_layout *l, uint64_t elements, char *text,
                               size_t size)
{
    uint64_t covered = 0;
    for (uint32_t i = 0; i < l->owners; i++) {
        uint64_t volume = 1;
        for (uint32_t d = 0; d < l->dimensions; d++) {
            if (l->box[i].count[d] > l->size[d] ||
                l->box[i].begin[d] > l->size[d] - l->box[i].count[d]) {
                snprintf(text, size, "the box of rank %u ends beyond the %llu indices of axis %u",
                         l->rank[i], (unsigned long long)l->size[d], d);
                return text;
            }
            volume *= l->box[i].count[d];
        }
        covered += volume;
        if (volume == 0)
            continue;
        for (uint32_t j = 0; j < i; j++)
            if (overlap(&l->box[i], &l->box[j])) {
                snprintf(text, size, "the boxes of ranks %u and %u overlap", l->rank[j],
                         l->rank[i]);
                return text;
            }
    }
    if (covered == elements)
        return NULL;
    snprintf(text, size, "no box covers %llu of the array's %llu elements",
             (unsigned long long)(elements - covered), (unsigned long long)elements);
    return text;
}

/* check_ranks returns NULL if all ranks are in the group and none occurs twice, else an error. */
static const char *check_ranks(const struct td_layout *l, uint32_t ranks, char *text, size_t size)
{
    uint8_t seen[TD_BITMAP_BYTES_MAX] = {0};
    for (uint32_t i = 0; i < l->owners; i++) {
        uint32_t r = l->rank[i];
        if (r >= ranks) {
            snprintf(text, size, "rank %u is not in the group of %u rank%s", r, ranks,
                     ranks == 1 ? "" : "s");
            return text;
        }
        if (seen[r / 8] >> r % 8 & 1) {
            snprintf(text, size, "rank %u occurs twice", r);
            return text;
        }
        seen[r / 8] |= (uint8_t)(1u << r % 8);
    }
    return NULL;
}

const char *td_layout_check(const struct td_layout *l, uint32_t ranks, uint64_t element_bytes,
                            char *text, size_t text_bytes)
{
    uint64_t elements = 1, bytes = 0;
    uint64_t places = 1;
    for (uint32_t d = 0; d < l->dimensions; d++) {
        if (__builtin_mul_overflow(elements, l->size[d] ? l->size[d] : 1, &elements))
            return "the array's size overflows 64 bits";
        places *= l->axis[d].parts;
        if (places > TD_JOB_RANKS_MAX)
            return "the grid has more places than a job can have ranks (16384)";
        if (l->axis[d].block > (uint64_t)INT64_MAX / l->axis[d].parts ||
            l->axis[d].offset > (uint64_t)INT64_MAX - l->size[d])
            return "blocks and offsets must stay below 2^63 indices";
    }
    if (__builtin_mul_overflow(elements, element_bytes, &bytes) || bytes > (uint64_t)INT64_MAX)
        return "the array's size in bytes overflows 63 bits";
    for (uint32_t d = 0; d < l->dimensions; d++)
        elements *= l->size[d] != 0;
    if (!l->box && places != l->owners)
        return "a grid needs one rank for each place";
    const char *wrong = check_ranks(l, ranks, text, text_bytes);
    return wrong || !l->box ? wrong : check_boxes(l, elements, text, text_bytes);
}

uint64_t td_layout_hash(const struct td_layout *l)
{
    uint64_t hash = 0xcbf29ce484222325u;
#define MIX(value)                                                                                 \
    (hash = td_hash_mix(hash * 0x9e3779b97f4a7c15u + td_hash_mix((uint64_t)(value) + 1)))
    MIX(l->dimensions);
    MIX(l->owners);
    MIX(l->box != NULL);
    for (uint32_t d = 0; d < l->dimensions; d++) {
        MIX(l->size[d]);
        MIX(l->grid_order[d]);
        MIX(l->order[d]);
        MIX(l->axis[d].block);
        MIX(l->axis[d].offset);
        MIX(l->axis[d].parts);
    }
    for (uint32_t i = 0; i < l->owners; i++) {
        MIX(l->rank[i]);
        for (uint32_t d = 0; l->box && d < l->dimensions; d++) {
            MIX(l->box[i].begin[d]);
            MIX(l->box[i].count[d]);
        }
    }
#undef MIX
    return hash;
}
