/* SPDX-License-Identifier: Apache-2.0 */
/* fft_rows: a 2-D or 3-D transform (us8095585) of an array in rows: ranks hold blocks of axis 0,
 * and a row is all elements with one index there. Each node transforms the rows of its ranks along
 * the other axes. All nodes share the columns, the lines along axis 0. In scratch memory a node
 * gathers a chunk of its columns from the rows of all ranks, transforms it, and returns it to its
 * place in the rows. Nodes, not ranks, share the columns, so the transpose does not depend on the
 * placement of ranks.
 *
 * Scratch memory has room for a few chunks only, AHEAD or fewer. The piece of chunk c that a node
 * sends to a slot takes the place of its piece of chunk c - AHEAD, after that has returned to it.
 * So each piece of scratch memory is free when its next data arrives, without any further message.
 *
 * A chunk of columns is cut out of long rows, and lies close together in scratch memory. The
 * distance between its rows there is no power of two (PAD_BYTES): caches keep all of it, and a plan
 * of FFTW by estimate is nearly as fast as a measured one. The same holds for the rows of a 3-D
 * array while they are transformed along axis 1: one step brings a chunk of rows to scratch memory,
 * transforms it along both axes, and copies it out. If all rows of a node's ranks are one run, a
 * group on one node has such steps for the columns, too: the processor that gathers a chunk finds
 * it in its cache.
 *
 * The way back writes to the destination rows from which the way there was sent. That is safe: a
 * chunk returns only after all nodes have sent their pieces of it. */
#include "collectives/method.h"
#include "collectives/permutation.h"
#include "model/layout.h"

struct TD_STORED parameters {
    int64_t element;                      /* bytes */
    int64_t rows_chunk, chunks;           /* rows of a chunk; chunks of a rank */
    int64_t columns_chunk, column_chunks; /* columns of a chunk; chunks of a node */
    int64_t pitch;  /* bytes from row to row of a chunk of columns in scratch */
    int64_t line;   /* 3-D: bytes from line to line of a row in scratch */
    int64_t places; /* 3-D: bytes of a chunk of rows in scratch; 0: none */
    int64_t runs;   /* a message has the rows of a run of ranks, not of one */
    int64_t alone;  /* one node, whose rows are one run: a chunk of columns is one step */
};
TD_PARAMETERS(struct parameters)
/* In the order in which the engine examines them: data that is under way comes before new data. */
enum {
    FAMILY_RECV,      /* [(column chunk, other unit)] */
    FAMILY_RECV_BACK, /* [(column chunk, other slot, unit here)] */
    FAMILY_COPY_BACK, /* [(column chunk, unit here)] */
    FAMILY_SEND_BACK, /* [(column chunk, other unit)] */
    FAMILY_COLUMNS,   /* [column chunk] */
    FAMILY_COPY,      /* [(column chunk, unit here)] */
    FAMILY_SEND,      /* [(column chunk, unit here, peer)] */
    FAMILY_PLANES,    /* [(local rank, row chunk)] */
    FAMILY_ROWS,      /* [(local rank, row chunk)] */
};
enum {
    AHEAD = 3,     /* chunks in scratch memory: one arrives, one is transformed, one returns */
    PAD_BYTES = 64 /* after each row of a chunk in scratch memory */
};

static bool is_3d(const struct td_program *p)
{
    return p->plan->fft.dimensions == 3;
}

static uint64_t rows_total(const struct td_program *p)
{
    return p->plan->fft.size[0];
}

static uint64_t columns_total(const struct td_program *p)
{
    return p->plan->fft.size[1] * (is_3d(p) ? p->plan->fft.size[2] : 1);
}

/* ---- units: the ranks whose rows are in one message ---- */

static uint32_t units_of(const struct td_program *p, uint32_t slot)
{
    const struct td_group *g = p->group;
    return parameters(p)->runs ? g->slot_run[slot + 1] - g->slot_run[slot]
                               : td_group_slot_ranks(g, slot);
}

/* units_before returns the units of the slots before a slot, units_total those of all. */
static uint32_t units_before(const struct td_program *p, uint32_t slot)
{
    return parameters(p)->runs ? p->group->slot_run[slot] : p->group->slot_rank[slot];
}

static uint32_t units_total(const struct td_program *p)
{
    return units_before(p, p->group->slots);
}

/* unit_at returns unit i of all, as a run of ranks. */
static struct td_run unit_at(const struct td_program *p, uint32_t i)
{
    const struct td_group *g = p->group;
    uint32_t low = 0, high = g->slots;
    if (parameters(p)->runs)
        return g->run[i];
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (g->slot_rank[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    uint32_t local = i - g->slot_rank[low];
    return (struct td_run){.slot = low,
                           .node = g->node[low],
                           .first = td_group_rank(g, low, local),
                           .step = 1,
                           .count = 1,
                           .local = local};
}

static struct td_run unit_here(const struct td_program *p, uint64_t i)
{
    return unit_at(p, units_before(p, p->slot) + (uint32_t)i);
}

/* other_unit returns unit i of those of the other slots, and its index among those of its slot. */
static struct td_run other_unit(const struct td_program *p, uint64_t i, uint64_t *index)
{
    uint32_t before = units_before(p, p->slot);
    struct td_run u = unit_at(p, (uint32_t)(i < before ? i : i + units_of(p, p->slot)));
    *index = (i < before ? i : i + units_of(p, p->slot)) - units_before(p, u.slot);
    return u;
}

/* as_other returns the index of a unit of this slot among those that are not of slot `peer`. */
static uint64_t as_other(const struct td_program *p, uint64_t i, uint32_t peer)
{
    uint64_t at = units_before(p, p->slot) + i;
    return p->slot > peer ? at - units_of(p, peer) : at;
}

/* ---- places ---- */

/* rows_of returns the rows of each rank of a unit; those of the first rank. */
static struct td_range rows_of(const struct td_program *p, const struct td_run *unit)
{
    return td_block(rows_total(p), p->group->size, unit->first);
}

/* piece returns chunk `index` of a range cut into chunks of `size`. */
static struct td_range piece(struct td_range r, uint64_t index, int64_t size)
{
    uint64_t begin = index * (uint64_t)size;
    if (begin >= r.count)
        return (struct td_range){r.begin + r.count, 0};
    uint64_t left = r.count - begin;
    return (struct td_range){r.begin + begin, left < (uint64_t)size ? left : (uint64_t)size};
}

/* columns_of returns a chunk of the columns of a slot. */
static struct td_range columns_of(const struct td_program *p, uint32_t slot, uint64_t chunk)
{
    return piece(td_share(columns_total(p), p->group->slots, slot), chunk,
                 parameters(p)->columns_chunk);
}

/* block_of_ranks names the rows of a unit x columns within the destination of its ranks. */
static struct td_slice block_of_ranks(const struct td_program *p, const struct td_run *unit,
                                      struct td_range columns)
{
    int64_t element = parameters(p)->element, width = (int64_t)columns_total(p) * element;
    struct td_slice s =
        td_slice_at(TD_SPACE_DESTINATION, unit->local, (int64_t)columns.begin * element,
                    (int64_t)columns.count * element);
    td_slice_loop(&s, unit->count, 0, 1);
    td_slice_loop(&s, (int64_t)rows_of(p, unit).count, width, 0);
    td_slice_simplify(&s);
    return s;
}

/* ahead returns how many of `chunks` chunks are in scratch memory at a time. */
static int64_t ahead(int64_t chunks)
{
    return chunks < AHEAD ? chunks : AHEAD;
}

/* chunk_at returns the offset of a chunk of columns in scratch, behind the chunks of rows. */
static int64_t chunk_at(const struct td_program *p, uint64_t chunk)
{
    return ahead(td_ranks_here(p) * parameters(p)->chunks) * parameters(p)->places +
           (int64_t)(chunk % AHEAD * rows_total(p)) * parameters(p)->pitch;
}

/* block_of_scratch names the rows of a unit x columns of a chunk of this slot. */
static struct td_slice block_of_scratch(const struct td_program *p, const struct td_run *unit,
                                        uint64_t chunk)
{
    int64_t pitch = parameters(p)->pitch;
    struct td_range rows = rows_of(p, unit);
    struct td_slice s =
        td_slice_at(TD_SPACE_SCRATCH, 0, chunk_at(p, chunk) + (int64_t)rows.begin * pitch,
                    (int64_t)columns_of(p, p->slot, chunk).count * parameters(p)->element);
    td_slice_loop(&s, unit->count, (int64_t)(unit->step * rows.count) * pitch, 0);
    td_slice_loop(&s, (int64_t)rows.count, pitch, 0);
    td_slice_simplify(&s);
    return s;
}

/* ---- rows ---- */

/* planes_of adds the transforms of `rows` rows along axis 1, in place. `line`: elements from line
 * to line. */
static void planes_of(const struct td_program *p, uint64_t rows, int64_t line,
                      struct td_transform *t)
{
    const uint64_t *size = p->plan->fft.size;
    t->length = (int64_t)size[1];
    t->stride = t->to_stride = line;
    t->batch = (int64_t)size[2];
    t->distance = t->to_distance = 1;
    t->batch2 = (int64_t)rows;
    t->distance2 = t->to_distance2 = (int64_t)size[1] * line;
}

/* rows_step: a chunk of rows of one rank, along the last axis, and, of three, along axis 1: in
 * scratch memory at once, or later in its place. */
static void rows_step(const struct td_program *p, unsigned family, uint64_t index,
                      struct td_step *step)
{
    const uint64_t *size = p->plan->fft.size;
    int64_t element = parameters(p)->element, last = (int64_t)size[is_3d(p) ? 2 : 1];
    uint64_t chunks = (uint64_t)parameters(p)->chunks;
    uint32_t local = (uint32_t)(index / chunks);
    struct td_range all =
        td_block(rows_total(p), p->group->size, td_group_rank(p->group, p->slot, local));
    struct td_range rows = piece(all, index % chunks, parameters(p)->rows_chunk);
    int64_t lines = (int64_t)(rows.count * (is_3d(p) ? size[1] : 1));
    int64_t at = (int64_t)((rows.begin - all.begin) * columns_total(p)) * element;
    step->from = td_slice_at(TD_SPACE_SOURCE, local, at, lines * last * element);
    step->to = td_slice_at(TD_SPACE_DESTINATION, local, at, lines * last * element);
    if (family == FAMILY_PLANES) {
        step->from = step->to;
        planes_of(p, rows.count, last, &step->transform);
        return;
    }
    bool passes = parameters(p)->places > 0 && lines > 0;
    int64_t line = passes ? parameters(p)->line / element : last;
    const struct td_transform along_last = {.type = step->transform.type,
                                            .sign = step->transform.sign,
                                            .length = last,
                                            .batch = lines,
                                            .stride = 1,
                                            .distance = last,
                                            .to_stride = 1,
                                            .to_distance = line,
                                            .factor = 1};
    if (!passes) {
        step->transform = along_last;
        return;
    }
    step->with = td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)(index % AHEAD) * parameters(p)->places,
                             last * element);
    td_slice_loop(&step->with, lines, parameters(p)->line, 0);
    td_slice_simplify(&step->with);
    step->inner = along_last;
    planes_of(p, rows.count, line, &step->transform);
}

/* ---- columns ---- */

/* there_step: the way from rows to columns. */
static void there_step(const struct td_program *p, unsigned family, uint64_t index,
                       struct td_step *step)
{
    const struct td_group *g = p->group;
    uint64_t here = units_of(p, p->slot), others = units_total(p) - here, peers = g->slots - 1,
             at = 0;
    if (family == FAMILY_RECV) {
        struct td_run unit = other_unit(p, index % others, &at);
        step->peer = unit.node;
        step->to = block_of_scratch(p, &unit, index / others);
        return;
    }
    uint64_t turn = family == FAMILY_SEND ? index / peers : index, chunk = turn / here;
    struct td_run unit = unit_here(p, turn % here);
    if (family == FAMILY_SEND) {
        uint64_t seed = p->seed + 0x9e3779b97f4a7c15u * (p->slot + 1);
        uint32_t peer = (uint32_t)td_permutation_at(seed + turn, peers, index % peers);
        peer += peer >= p->slot;
        step->peer = g->node[peer];
        step->peer_family = FAMILY_RECV;
        step->peer_index =
            chunk * (units_total(p) - units_of(p, peer)) + as_other(p, turn % here, peer);
        step->from = block_of_ranks(p, &unit, columns_of(p, peer, chunk));
    } else {
        step->from = block_of_ranks(p, &unit, columns_of(p, p->slot, chunk));
        step->to = block_of_scratch(p, &unit, chunk);
    }
}

static void columns_step(const struct td_program *p, uint64_t chunk, struct td_step *step)
{
    struct td_transform *t = &step->transform;
    struct td_range columns = columns_of(p, p->slot, chunk);
    struct td_slice place = td_slice_at(TD_SPACE_SCRATCH, 0, chunk_at(p, chunk),
                                        (int64_t)columns.count * parameters(p)->element);
    td_slice_loop(&place, (int64_t)rows_total(p), parameters(p)->pitch, 0);
    td_slice_simplify(&place);
    step->from = step->to = place;
    if (parameters(p)->alone) {
        struct td_run unit = unit_here(p, 0);
        step->from = step->to = block_of_ranks(p, &unit, columns);
        step->with = place;
    }
    t->length = (int64_t)rows_total(p);
    t->batch = (int64_t)columns.count;
    t->stride = t->to_stride = parameters(p)->pitch / parameters(p)->element;
    t->distance = t->to_distance = 1;
    t->factor = td_fft_factor(&p->plan->fft);
}

/* back_step: the way from columns to rows. */
static void back_step(const struct td_program *p, unsigned family, uint64_t index,
                      struct td_step *step)
{
    const struct td_group *g = p->group;
    uint64_t here = units_of(p, p->slot), others = units_total(p) - here, peers = g->slots - 1;
    if (family == FAMILY_RECV_BACK) {
        struct td_run unit = unit_here(p, index % here);
        uint32_t peer = (uint32_t)(index / here % peers);
        peer += peer >= p->slot;
        step->peer = g->node[peer];
        step->to = block_of_ranks(p, &unit, columns_of(p, peer, index / here / peers));
    } else if (family == FAMILY_SEND_BACK) {
        uint64_t chunk = index / others, at = 0;
        uint64_t seed = p->seed + 0x9e3779b97f4a7c15u * (p->slot + 1);
        struct td_run unit =
            other_unit(p, td_permutation_at(~seed + chunk, others, index % others), &at);
        uint64_t me = p->slot > unit.slot ? p->slot - 1 : p->slot;
        step->peer = unit.node;
        step->peer_family = FAMILY_RECV_BACK;
        step->peer_index = (chunk * peers + me) * units_of(p, unit.slot) + at;
        step->from = block_of_scratch(p, &unit, chunk);
    } else {
        struct td_run unit = unit_here(p, index % here);
        step->from = block_of_scratch(p, &unit, index / here);
        step->to = block_of_ranks(p, &unit, columns_of(p, p->slot, index / here));
    }
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    *step = (struct td_step){.kind = p->family[family].kind, .type = (uint8_t)p->plan->fft.type};
    step->transform.type = (uint8_t)p->plan->fft.type;
    step->transform.sign = (int8_t)p->plan->fft.sign;
    step->transform.factor = 1;
    step->to_lanes.count = step->kind != TD_SEND;
    switch (family) {
    case FAMILY_RECV:
    case FAMILY_SEND:
    case FAMILY_COPY:
        there_step(p, family, index, step);
        return;
    case FAMILY_COLUMNS:
        columns_step(p, index, step);
        return;
    case FAMILY_ROWS:
    case FAMILY_PLANES:
        rows_step(p, family, index, step);
        return;
    default:
        back_step(p, family, index, step);
    }
}

/* ---- the program ---- */

enum {
    CHUNK_BYTES = 1 << 20,  /* of columns: about the second-level cache of a processor */
    PLANES_BYTES = 4 << 20, /* a longer row of a 3-D array is not transformed in scratch memory */
    WIDTH_LEAST = 256,      /* bytes: shorter pieces of rows cost more to find than to move */
    CHUNKS_LEAST = 6,       /* of a node, so that its messages and its arithmetic overlap, but: */
    MESSAGE_LEAST = 1 << 18 /* bytes, or a packet if that is less: shorter messages cost more than
                               they gain by overlapping, or by the cache */
};

/* chunk_columns returns how many of a node's `columns` columns are in a chunk. */
static int64_t chunk_columns(const struct td_program *p, uint64_t columns)
{
    uint64_t element = (uint64_t)parameters(p)->element, column = rows_total(p) * element;
    uint64_t packet = p->tuning.packet_bytes, nodes = p->group->slots;
    uint64_t messages = (packet < MESSAGE_LEAST ? packet : MESSAGE_LEAST) * nodes / column;
    uint64_t least = WIDTH_LEAST / element, most = CHUNK_BYTES / column;
    uint64_t chunk = (columns + CHUNKS_LEAST - 1) / CHUNKS_LEAST;
    if (nodes > 1 && messages > least)
        least = messages;
    chunk = chunk < most ? chunk : most;
    chunk = chunk > least ? chunk : least;
    return (int64_t)(chunk < columns ? chunk : columns);
}

/* chunk_rows returns the number of rows of `row` bytes of a chunk. */
static int64_t chunk_rows(uint64_t row, uint64_t rows)
{
    uint64_t chunk = TD_COMPUTE_BYTES / row;
    chunk = chunk < 1 ? 1 : chunk;
    return (int64_t)(chunk < rows ? chunk : rows);
}

/* plan_chunks is the same on all nodes, but for the scratch memory that it needs. */
static void plan_chunks(struct td_program *p)
{
    const uint64_t *size = p->plan->fft.size;
    uint64_t element = td_type_bytes(p->plan->fft.type);
    uint64_t rows_most = td_block(rows_total(p), p->group->size, 0).count;
    uint64_t columns_most = td_share(columns_total(p), p->group->slots, 0).count;
    set(p)->element = (int64_t)element;
    set(p)->runs = rows_total(p) % p->group->size == 0;
    set(p)->alone = p->group->slots == 1 && units_total(p) == 1;
    set(p)->rows_chunk = chunk_rows(columns_total(p) * element, rows_most);
    set(p)->columns_chunk = chunk_columns(p, columns_most);
    uint64_t rows = (uint64_t)parameters(p)->rows_chunk,
             columns = (uint64_t)parameters(p)->columns_chunk;
    set(p)->chunks = (int64_t)((rows_most + rows - 1) / rows);
    set(p)->column_chunks = (int64_t)((columns_most + columns - 1) / columns);
    set(p)->pitch = (int64_t)(columns * element);
    if (parameters(p)->pitch >= WIDTH_LEAST) /* narrower ones are near each other anyway */
        set(p)->pitch += PAD_BYTES;
    set(p)->line = is_3d(p) ? (int64_t)(size[2] * element) + PAD_BYTES : 0;
    uint64_t places = is_3d(p) ? rows * size[1] * (uint64_t)parameters(p)->line : 0;
    set(p)->places = places <= PLANES_BYTES ? (int64_t)places : 0;
    p->scratch_bytes = chunk_at(p, 0) + ahead(parameters(p)->column_chunks) *
                                            (int64_t)rows_total(p) * parameters(p)->pitch;
}

static bool applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (!p->plan->rows)
        return td_query_refuse(q,
                               "the array is not complex, of two or three axes, in blocks of rows "
                               "before and after");
    if (p->tuning.fabric == TD_FABRIC_ROUTED)
        return td_query_refuse(q, "on a torus, separate moves use the links better");
    if (p->plan->fft.dimensions == 3 && p->plan->fft.size[0] < p->group->slots)
        return td_query_refuse(q, "axis 0 is too short to give every node a part");
    return true;
}

static void add_needs(struct td_program *p, uint64_t here, uint64_t others, uint64_t peers)
{
    bool planes = is_3d(p) && parameters(p)->places == 0;
    unsigned rows = planes ? FAMILY_PLANES : FAMILY_ROWS;
    if (parameters(p)->places)
        td_program_need(p, FAMILY_ROWS, FAMILY_ROWS, 1, 1, 1 - AHEAD);
    if (planes)
        td_program_need(p, FAMILY_PLANES, FAMILY_ROWS, 1, 1, 1);
    if (parameters(p)->alone) {
        td_program_need_all(p, FAMILY_COLUMNS, rows);
        td_program_need(p, FAMILY_COLUMNS, FAMILY_COLUMNS, 1, 1, 1 - AHEAD);
        return;
    }
    td_program_need_all(p, FAMILY_SEND, rows);
    td_program_need(p, FAMILY_SEND, FAMILY_RECV_BACK, here * peers, peers * here, 1 - AHEAD);
    td_program_need_all(p, FAMILY_COPY, rows);
    td_program_need(p, FAMILY_COPY, FAMILY_COPY_BACK, here, here, 1 - AHEAD);
    td_program_need(p, FAMILY_COLUMNS, FAMILY_COPY, 1, here, 1);
    td_program_need(p, FAMILY_COLUMNS, FAMILY_RECV, 1, others, 1);
    td_program_need(p, FAMILY_SEND_BACK, FAMILY_COLUMNS, others, 1, 1);
    td_program_need(p, FAMILY_COPY_BACK, FAMILY_COLUMNS, here, 1, 1);
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    plan_chunks(p);
    uint64_t here = units_of(p, p->slot), others = units_total(p) - here;
    uint64_t peers = p->group->slots - 1;
    uint64_t rows = (uint64_t)(td_ranks_here(p) * parameters(p)->chunks);
    uint64_t columns = (uint64_t)parameters(p)->column_chunks;
    uint64_t copies = parameters(p)->alone ? 0 : columns * here;
    td_program_add(p, TD_RECV, columns * others, "columns of the others' rows");
    td_program_add(p, TD_RECV, columns * peers * here, "columns from the others");
    td_program_add(p, TD_COPY, copies, "columns that return to this node's rows");
    td_program_add(p, TD_SEND, columns * others, "columns that return to the others' rows");
    td_program_add(p, TD_TRANSFORM, columns, "transform columns");
    td_program_add(p, TD_COPY, copies, "columns of this node's rows");
    td_program_add(p, TD_SEND, columns * here * peers, "columns to the others");
    bool planes = is_3d(p) && parameters(p)->places == 0;
    td_program_add(p, TD_TRANSFORM, planes ? rows : 0, "transform rows along axis 1");
    td_program_add(p, TD_TRANSFORM, rows, "transform rows");
    add_needs(p, here, others, peers);
}

const struct td_method td_method_fft_rows = {
    .name = "fft_rows",
    .why = "rows, then columns chunk by chunk, in little scratch memory",
    .kinds = TD_KIND_BIT(TD_KIND_FFT),
    .class = TD_COST_STRAIGHT,
    .applies = applies,
    .compile = compile,
    .step_at = step_at,
};
