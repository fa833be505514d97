/* SPDX-License-Identifier: Apache-2.0 */
#include "rounds.h"

#include <fenv.h>
#include <string.h>

#include "compute/combine.h"

enum {
    STRETCH = 16384, /* bytes of a result that are combined while they stay in the cache */
    LINE_ELEMENTS = 64,
    SCAN_RANKS = 12, /* scans of so many ranks and bytes, or more, have parts */
    SCAN_BYTES = 65536,
    CROSS_BYTES = 16 << 20, /* of all blocks: more do not stay in a cache */
};

/* struct places: the data of a line. */
struct places {
    uint32_t region[2]; /* of the source, and of the part of the result; 0: none */
    uint64_t offset[2]; /* in the region; without one, the address of a source in plain memory */
    struct tl_cma_told told;
};

_Static_assert(sizeof(struct places) <= 64, "the largest group has lines of 64 bytes");

/* has_parts returns true if each rank combines a part of the elements for all. Rank r of a scan
 * would read r + 1 sources, so that all read n (n + 1) / 2 vectors and write n. With parts they
 * read 2 n and write 2 n, and wait for each other once more. */
static bool has_parts(const torus_group *g, const struct td_call *call)
{
    switch ((int)call->kind) {
    case TD_KIND_REDUCE:
    case TD_KIND_ALLREDUCE:
        return true;
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
        return g->size >= SCAN_RANKS && call->count >= SCAN_BYTES / td_type_bytes(call->type);
    default:
        return false;
    }
}

uint32_t tl_rounds_of(const torus_group *g, const struct td_call *call)
{
    if (!g->context->peer_regions || g->size < 2 || g->size > TL_ROUNDS_RANKS_MAX)
        return 0;
    switch ((int)call->kind) {
    case TD_KIND_REDUCE:
    case TD_KIND_ALLREDUCE:
    case TD_KIND_BROADCAST:
    case TD_KIND_SCATTER:
    case TD_KIND_GATHER:
    case TD_KIND_ALLGATHER:
    case TD_KIND_ALLTOALL:
    case TD_KIND_REDUCE_SCATTER:
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
    case TD_KIND_REDIST:
        return has_parts(g, call) ? 2 : 1;
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
        return owner <= reader || has_parts(r->group, r->call);
    case TD_KIND_EXSCAN:
        return owner < reader || (owner + 1 < r->group->size && has_parts(r->group, r->call));
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

/* crosses returns true for a call that is faster if the kernel copies from plain memory. The kernel
 * takes 0.3 us for each page. So two copies take less time while they stay in a cache, and so does
 * one copy that several ranks read. The answer depends on the group and the call only. */
static bool crosses(const struct tl_rounds *r)
{
    uint64_t blocks = r->group->size;
    switch ((int)r->call->kind) {
    case TD_KIND_ALLTOALL:
        blocks *= blocks;
        break;
    case TD_KIND_GATHER:
    case TD_KIND_SCATTER:
        break;
    default:
        return false;
    }
    return blocks * block_of(r) >= CROSS_BYTES;
}

static bool is_scan(const struct tl_rounds *r)
{
    return r->call->kind == TD_KIND_SCAN || r->call->kind == TD_KIND_EXSCAN;
}

/* results_of returns how many results a part has, one after the other: those of ranks 0, 1, ... of
 * a scan, or of ranks 1, 2, ... of an exclusive one. */
static uint32_t results_of(const struct tl_rounds *r)
{
    return is_scan(r) ? r->group->size - (r->call->kind == TD_KIND_EXSCAN) : 1;
}

/* collects returns true if this rank receives the parts. */
static bool collects(const struct tl_rounds *r)
{
    if (r->call->kind == TD_KIND_REDUCE)
        return at_root(r);
    return r->call->kind != TD_KIND_EXSCAN || r->group->rank > 0;
}

/* part_of writes the bytes of a result that a rank combines. */
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

static bool is_aligned(const struct tl_rounds *r, const void *at)
{
    return (uintptr_t)at % td_call_alignment(r->call->kind, r->call->type) == 0;
}

/* lend makes bytes readable for others: where they are, or, for NULL, in new memory. `cross`: plain
 * memory is lent, too. It returns false without memory. */
static bool lend(const struct tl_rounds *r, struct tl_lent *l, uint8_t *at, size_t bytes,
                 bool cross)
{
    static const struct tl_role role = {"libtorus", "buffer"};
    torus_context *c = r->group->context;
    struct tl_block *block = NULL;
    if (at && is_aligned(r, at) &&
        tl_memory_find(c, &role, at, bytes, &l->place, &block) == TORUS_OK && block) {
        l->at = at;
        l->block = block;
        tl_memory_pin(block);
        return true;
    }
    if (cross && !block) {
        l->at = at;
        l->plain = true;
        l->place.offset = (uintptr_t)at;
        return true;
    }
    int error = tl_memory_allocate(c, bytes, &l->copy);
    l->at = l->copy;
    return error == TORUS_OK &&
           tl_memory_find(c, &role, l->copy, bytes, &l->place, &block) == TORUS_OK;
}

static bool is_in_place(const struct tl_rounds *r)
{
    return r->own->source == r->own->destination;
}

/* may_cross returns true if the others may read a source where it is, in plain memory. */
static bool may_cross(const struct tl_rounds *r, const uint8_t *source)
{
    return source && is_aligned(r, source) && crosses(r) && tl_cma_may_lend(r->cma);
}

/* keeps_own returns true if the copy of the source lacks the block of this rank: nobody else reads
 * that block of an all-to-all. All other copies are whole, and aligned as the source may not be. */
static bool keeps_own(const struct tl_rounds *r)
{
    return r->call->kind == TD_KIND_ALLTOALL && !is_in_place(r);
}

/* copy_source makes the copy of the source that others read. */
static void copy_source(const struct tl_rounds *r)
{
    size_t bytes = r->own->bytes[0], mine = bytes, after = bytes;
    if (keeps_own(r)) {
        mine = r->group->rank * block_of(r);
        after = mine + block_of(r);
    }
    memcpy(r->source.copy, r->own->source, mine);
    memcpy(r->source.copy + after, r->own->source + after, bytes - after);
    r->group->context->staged_bytes += mine + bytes - after;
}

static bool lend_source(struct tl_rounds *r)
{
    const struct tl_own *own = r->own;
    uint8_t *at = is_in_place(r) ? NULL : (uint8_t *)(uintptr_t)own->source;
    bool serves = lends(r) || is_in_place(r) || !is_aligned(r, at); /* else nobody needs a copy */
    if (!serves || own->bytes[0] == 0 || !own->source)
        return true;
    if (!lend(r, &r->source, at, own->bytes[0], may_cross(r, at)))
        return false;
    if (r->source.copy)
        copy_source(r);
    return true;
}

static bool lend_part(struct tl_rounds *r)
{
    size_t at = 0, bytes = 0;
    part_of(r, r->group->rank, &at, &bytes);
    if (!has_parts(r->group, r->call) || bytes == 0)
        return true;
    bool in_destination = r->own->destination && !is_scan(r);
    return lend(r, &r->result, in_destination ? r->own->destination + at : NULL,
                results_of(r) * bytes, false);
}

/* folds_in_place returns true if this rank combines in its destination, not in a part. */
static bool folds_in_place(const struct tl_rounds *r)
{
    bool combines = is_scan(r) || r->call->kind == TD_KIND_REDUCE_SCATTER;
    return combines && !has_parts(r->group, r->call);
}

bool tl_rounds_begin(struct tl_rounds *r)
{
    if (folds_in_place(r) && !is_aligned(r, r->own->destination))
        return false; /* a request combines elsewhere */
    return lend_source(r) && lend_part(r);
}

void tl_rounds_write(const struct tl_rounds *r)
{
    struct td_call call = *r->call;
    struct places places = {{r->source.place.region, r->result.place.region},
                            {r->source.place.offset, r->result.place.offset},
                            {0}};
    tl_cma_tell(r->cma, &places.told);
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
    if (r->source.plain)
        tl_cma_lent(r->cma, done);
    if (!done && r->source.copy && is_in_place(r))
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
    if (crosses(r)) /* others need not be able to read it */
        tl_cma_hear(r->cma, rank, &places.told);
    if (places.offset[0] % alignment || places.offset[1] % alignment)
        return false;
    if (reads(r, r->group->rank, rank) && places.region[0] == 0 && crosses(r)) {
        if (!(r->plain[rank] = places.offset[0]))
            return false;
    } else if (reads(r, r->group->rank, rank)) {
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
    if (!has_parts(r->group, r->call) || bytes == 0 || !collects(r))
        return true;
    r->part[rank] = tl_peers_find(r->peers, r->group, rank, places.region[1], places.offset[1],
                                  results_of(r) * bytes);
    return r->part[rank] != NULL;
}

bool tl_rounds_attach(struct tl_rounds *r)
{
    bool good = true;
    for (uint32_t i = 0; i < r->group->size && good; i++)
        if (i != r->group->rank)
            good = attach_rank(r, i);
    r->from[r->group->rank] = r->source.at && !keeps_own(r) ? r->source.at : r->own->source;
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

/* fetch copies bytes of the source of a rank, from `at` on. */
static bool fetch(const struct tl_rounds *r, uint8_t *to, uint32_t rank, size_t at, size_t bytes)
{
    if (r->plain[rank])
        return bytes == 0 || tl_cma_read(r->cma, rank, to, r->plain[rank] + at, bytes);
    copy(to, r->from[rank] + at, bytes);
    return true;
}

/* fold combines bytes [at, at + bytes) of the sources of ranks 0 .. count - 1, in this order.
 * `step`: how far apart the results of the first source, the first two, and so on are; 0: only the
 * last one is kept. */
static void fold(const struct tl_rounds *r, uint8_t *to, uint32_t count, size_t at, size_t bytes,
                 size_t step)
{
    fenv_t environment;
    size_t element = td_type_bytes(r->call->type), stretch = STRETCH / element * element;
    fegetenv(&environment); /* the caller may have changed the rounding */
    fesetenv(FE_DFL_ENV);
    for (size_t done = 0, part; done < bytes && count > 0; done += part) {
        uint8_t *sum = to + done;
        part = bytes - done < stretch ? bytes - done : stretch;
        memcpy(sum, r->from[0] + at + done, part);
        for (uint32_t i = 1; i < count; i++, sum += step) {
            if (step)
                memcpy(sum + step, sum, part);
            td_combine_array(r->call->type, r->call->op, sum + step, r->from[i] + at + done,
                             part / element);
        }
    }
    fesetenv(&environment);
}

/* collect copies one block from each rank, from the next one on: so not all ranks read the same
 * memory. `at`: of the block in each source. */
static bool collect(const struct tl_rounds *r, size_t block, size_t at)
{
    bool good = true;
    uint32_t size = r->group->size;
    for (uint32_t i = 1; i <= size && good; i++) {
        uint32_t from = (r->group->rank + i) % size;
        good = fetch(r, r->own->destination + from * block, from, at, block);
    }
    return good;
}

static void collect_parts(const struct tl_rounds *r)
{
    uint32_t size = r->group->size;
    uint32_t result = is_scan(r) ? r->group->rank - (r->call->kind == TD_KIND_EXSCAN) : 0;
    if (!r->own->destination || !collects(r))
        return;
    for (uint32_t i = 1; i <= size; i++) {
        uint32_t from = (r->group->rank + i) % size;
        size_t at = 0, bytes = 0;
        part_of(r, from, &at, &bytes);
        if (bytes)
            copy(r->own->destination + at, r->part[from] + result * bytes, bytes);
    }
}

/* work_alone does this rank's part of a call of one round. */
static bool work_alone(const struct tl_rounds *r)
{
    size_t block = block_of(r);
    uint32_t rank = r->group->rank, root = r->call->root;
    uint8_t *to = r->own->destination;
    switch ((int)r->call->kind) {
    case TD_KIND_BROADCAST:
        return fetch(r, to, root, 0, block);
    case TD_KIND_SCATTER:
        return fetch(r, to, root, rank * block, block);
    case TD_KIND_GATHER:
        return !at_root(r) || collect(r, block, 0);
    case TD_KIND_ALLGATHER:
        return collect(r, block, 0);
    case TD_KIND_ALLTOALL:
        return collect(r, block, rank * block);
    case TD_KIND_REDUCE_SCATTER:
        fold(r, to, r->group->size, rank * block, block, 0);
        return true;
    case TD_KIND_REDIST:
        tl_move_copy(r->move, to, r->from);
        return true;
    default: /* SCAN, EXSCAN */
        fold(r, to, rank + (r->call->kind == TD_KIND_SCAN), 0, block, 0);
        return true;
    }
}

bool tl_rounds_work(const struct tl_rounds *r, uint32_t round)
{
    size_t at = 0, bytes = 0;
    if (round == 1) {
        collect_parts(r);
        return true;
    }
    if (!has_parts(r->group, r->call))
        return !r->own->destination || work_alone(r);
    part_of(r, r->group->rank, &at, &bytes);
    fold(r, r->result.at, is_scan(r) ? results_of(r) : r->group->size, at, bytes,
         is_scan(r) ? bytes : 0);
    return true;
}
