/* SPDX-License-Identifier: Apache-2.0 */
#include "rounds.h"

#include <fenv.h>
#include <string.h>

#include "compute/combine.h"

enum {
    STRETCH = 16384, /* bytes of a result that are combined while they stay in the cache */
    LINE_ELEMENTS = 64,
};

/* struct places: the data of a line. */
struct places {
    uint32_t region[2]; /* of the source, and of the part of the result; 0: none */
    uint64_t offset[2];
};

_Static_assert(sizeof(struct places) <= 64, "the largest group has lines of 64 bytes");

uint32_t tl_rounds_of(const torus_group *g, const struct td_call *call)
{
    if (!g->context->peer_regions || g->size < 2 || g->size > TL_ROUNDS_RANKS_MAX)
        return 0;
    switch ((int)call->kind) {
    case TD_KIND_REDUCE:
    case TD_KIND_ALLREDUCE:
        return 2;
    case TD_KIND_BROADCAST:
    case TD_KIND_SCATTER:
    case TD_KIND_GATHER:
    case TD_KIND_ALLGATHER:
    case TD_KIND_ALLTOALL:
    case TD_KIND_REDUCE_SCATTER:
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
    case TD_KIND_REDIST:
        return 1;
    default:
        return 0;
    }
}

/* ---- who reads what ---- */

static size_t block_of(const struct tl_rounds *r)
{
    return r->call->count * td_type_bytes(r->call->type);
}

static bool at_root(const struct tl_rounds *r)
{
    return r->group->rank == r->call->root;
}

/* reads returns true if rank `reader` reads the source of rank `owner`. */
static bool reads(const struct tl_rounds *r, uint32_t reader, uint32_t owner)
{
    switch ((int)r->call->kind) {
    case TD_KIND_BROADCAST:
    case TD_KIND_SCATTER:
        return owner == r->call->root;
    case TD_KIND_GATHER:
        return reader == r->call->root;
    case TD_KIND_SCAN:
        return owner <= reader;
    case TD_KIND_EXSCAN:
        return owner < reader;
    case TD_KIND_REDIST:
        return reader != r->group->rank || tl_move_reads(r->move, owner);
    default:
        return true;
    }
}

/* lends returns true if another rank reads the source of this one. */
static bool lends(const struct tl_rounds *r)
{
    bool any = false;
    for (uint32_t i = 0; i < r->group->size && !any; i++)
        any = i != r->group->rank && reads(r, i, r->group->rank);
    return any;
}

static bool has_parts(const struct tl_rounds *r)
{
    return r->call->kind == TD_KIND_ALLREDUCE || r->call->kind == TD_KIND_REDUCE;
}

/* part_of writes the bytes of the result that a rank combines. */
static void part_of(const struct tl_rounds *r, uint32_t rank, size_t *at, size_t *bytes)
{
    size_t per = (r->call->count + r->group->size - 1) / r->group->size;
    per = (per + LINE_ELEMENTS - 1) / LINE_ELEMENTS * LINE_ELEMENTS;
    size_t begin = rank * per < r->call->count ? rank * per : r->call->count;
    size_t end = r->call->count - begin > per ? begin + per : r->call->count;
    *at = begin * td_type_bytes(r->call->type);
    *bytes = (end - begin) * td_type_bytes(r->call->type);
}

/* ---- memory of this rank ---- */

/* lend makes bytes readable for others: where they are, or, for NULL, in new memory. It returns
 * false without memory. */
static bool lend(const struct tl_rounds *r, struct tl_lent *l, uint8_t *at, size_t bytes)
{
    torus_context *c = r->group->context;
    size_t alignment = td_call_alignment(r->call->kind, r->call->type);
    struct tl_block *block = NULL;
    if (at && (uintptr_t)at % alignment == 0 &&
        tl_memory_find(c, at, bytes, &l->place, &block) == TORUS_OK && block) {
        l->at = at;
        l->block = block;
        tl_memory_pin(block);
        return true;
    }
    l->at = l->copy = tl_memory_allocate(c, bytes);
    return l->copy && tl_memory_find(c, l->copy, bytes, &l->place, &block) == TORUS_OK;
}

static bool lend_source(struct tl_rounds *r)
{
    const struct tl_own *own = r->own;
    bool in_place = own->source == own->destination;
    uint8_t *at = in_place ? NULL : (uint8_t *)(uintptr_t)own->source;
    if ((!lends(r) && !in_place) || own->bytes[0] == 0 || !own->source)
        return true;
    if (!lend(r, &r->source, at, own->bytes[0]))
        return false;
    if (r->source.copy) {
        memcpy(r->source.copy, own->source, own->bytes[0]);
        r->group->context->staged_bytes += own->bytes[0];
    }
    return true;
}

static bool lend_part(struct tl_rounds *r)
{
    size_t at = 0, bytes = 0;
    part_of(r, r->group->rank, &at, &bytes);
    if (!has_parts(r) || bytes == 0)
        return true;
    return lend(r, &r->result, r->own->destination ? r->own->destination + at : NULL, bytes);
}

bool tl_rounds_begin(struct tl_rounds *r)
{
    return lend_source(r) && lend_part(r);
}

void tl_rounds_write(const struct tl_rounds *r)
{
    struct td_call call = *r->call;
    struct places places = {{r->source.place.region, r->result.place.region},
                            {r->source.place.offset, r->result.place.offset}};
    if (call.kind != TD_KIND_REDIST) /* a library without rounds finds another call */
        call.plan = tl_rounds_of(r->group, r->call);
    td_segment_put(r->segment, r->number, r->group->rank, TD_SEGMENT_CALL, 0, &call, sizeof call);
    td_segment_put(r->segment, r->number, r->group->rank, TD_SEGMENT_DATA, 0, &places,
                   sizeof places);
}

static void take_back(const struct tl_rounds *r, struct tl_lent *l)
{
    if (l->block)
        tl_memory_unpin(l->block);
    if (l->copy)
        tl_memory_free(r->group->context, l->copy);
}

void tl_rounds_end(struct tl_rounds *r, bool done)
{
    if (!done && r->source.copy && r->own->source == r->own->destination)
        memcpy(r->own->destination, r->source.copy, r->own->bytes[0]);
    take_back(r, &r->source);
    take_back(r, &r->result);
}

/* ---- memory of the others ---- */

/* attach_rank finds what this rank reads of another one. */
static bool attach_rank(struct tl_rounds *r, uint32_t rank)
{
    struct places places;
    size_t at = 0, bytes = 0, alignment = td_call_alignment(r->call->kind, r->call->type);
    uint64_t source = 0, destination = 0;
    td_segment_get(r->segment, r->number, rank, TD_SEGMENT_DATA, 0, &places, sizeof places);
    if (places.offset[0] % alignment || places.offset[1] % alignment)
        return false;
    if (reads(r, r->group->rank, rank)) {
        td_call_bytes(r->call, r->group->size, rank, &source, &destination);
        if (r->call->kind == TD_KIND_BROADCAST)
            source = block_of(r);
        else if (r->move)
            source = tl_move_bytes(r->move, rank);
        r->from[rank] =
            tl_peers_find(r->peers, r->group, rank, places.region[0], places.offset[0], source);
        if (!r->from[rank])
            return false;
    }
    part_of(r, rank, &at, &bytes);
    if (!has_parts(r) || bytes == 0 || (r->call->kind == TD_KIND_REDUCE && !at_root(r)))
        return true;
    r->part[rank] =
        tl_peers_find(r->peers, r->group, rank, places.region[1], places.offset[1], bytes);
    return r->part[rank] != NULL;
}

bool tl_rounds_attach(struct tl_rounds *r)
{
    bool good = true;
    for (uint32_t i = 0; i < r->group->size && good; i++)
        if (i != r->group->rank)
            good = attach_rank(r, i);
    r->from[r->group->rank] = r->source.at ? r->source.at : r->own->source;
    r->part[r->group->rank] = r->result.at;
    return good;
}

/* ---- work ---- */

/* copy copies bytes that may be where they belong already. */
static void copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
    if (to != from && bytes)
        memcpy(to, from, bytes);
}

/* fold combines bytes [at, at + bytes) of the sources of ranks 0 .. count - 1, in this order. */
static void fold(const struct tl_rounds *r, uint8_t *to, uint32_t count, size_t at, size_t bytes)
{
    fenv_t environment;
    size_t element = td_type_bytes(r->call->type), stretch = STRETCH / element * element;
    fegetenv(&environment); /* the caller may have changed the rounding */
    fesetenv(FE_DFL_ENV);
    for (size_t done = 0, part; done < bytes && count > 0; done += part) {
        part = bytes - done < stretch ? bytes - done : stretch;
        memcpy(to + done, r->from[0] + at + done, part);
        for (uint32_t i = 1; i < count; i++)
            td_combine_array(r->call->type, r->call->op, to + done, r->from[i] + at + done,
                             part / element);
    }
    fesetenv(&environment);
}

/* collect copies one block from each rank, from the next one on: so not all ranks read the same
 * memory. `step`: between the blocks in the destination; `at`: of the block in each source. */
static void collect(const struct tl_rounds *r, size_t block, size_t at)
{
    uint32_t size = r->group->size;
    for (uint32_t i = 1; i <= size; i++) {
        uint32_t from = (r->group->rank + i) % size;
        copy(r->own->destination + from * block, r->from[from] + at, block);
    }
}

static void collect_parts(const struct tl_rounds *r)
{
    uint32_t size = r->group->size;
    if (!r->own->destination || (r->call->kind == TD_KIND_REDUCE && !at_root(r)))
        return;
    for (uint32_t i = 1; i <= size; i++) {
        uint32_t from = (r->group->rank + i) % size;
        size_t at = 0, bytes = 0;
        part_of(r, from, &at, &bytes);
        copy(r->own->destination + at, r->part[from], bytes);
    }
}

void tl_rounds_work(const struct tl_rounds *r, uint32_t round)
{
    size_t block = block_of(r), at = 0, bytes = 0;
    uint32_t rank = r->group->rank;
    uint8_t *to = r->own->destination;
    if (round == 1) {
        collect_parts(r);
        return;
    }
    if (has_parts(r)) {
        part_of(r, rank, &at, &bytes);
        fold(r, r->result.at, r->group->size, at, bytes);
        return;
    }
    if (!to)
        return;
    switch ((int)r->call->kind) {
    case TD_KIND_BROADCAST:
        copy(to, r->from[r->call->root], block);
        return;
    case TD_KIND_SCATTER:
        copy(to, r->from[r->call->root] + rank * block, block);
        return;
    case TD_KIND_GATHER:
        if (at_root(r))
            collect(r, block, 0);
        return;
    case TD_KIND_ALLGATHER:
        collect(r, block, 0);
        return;
    case TD_KIND_ALLTOALL:
        collect(r, block, rank * block);
        return;
    case TD_KIND_REDUCE_SCATTER:
        fold(r, to, r->group->size, rank * block, block);
        return;
    case TD_KIND_REDIST:
        tl_move_copy(r->move, to, r->from);
        return;
    default: /* SCAN, EXSCAN */
        fold(r, to, rank + (r->call->kind == TD_KIND_SCAN), 0, block);
        return;
    }
}
