/* SPDX-License-Identifier: Apache-2.0 */
/* fft_rows: a 2-D transform (us8095585). Ranks hold blocks of rows. Each node transforms the rows
 * of its ranks and sends each other node its columns, one chunk of rows after the other. When all
 * rows have arrived, it transforms its own columns in scratch memory. Then it sends the columns
 * back to the ranks of the rows, one chunk of columns after the other. Nodes, not ranks, share the
 * columns, so the transpose does not depend on the placement of ranks. On one node rows are
 * transformed into scratch memory. A single rank transforms everything at its destination.
 *
 * The way back writes to the destination rows from which the way there was sent. That is safe: a
 * node's columns return only after it has received them from all nodes. */
#include "collectives/method.h"
#include "collectives/permutation.h"
#include "model/layout.h"

struct TD_STORED parameters {
    int64_t element;                      /* bytes */
    int64_t rows_chunk, chunks;           /* rows of a chunk; chunks of a rank */
    int64_t columns_chunk, column_chunks; /* columns of a chunk; chunks of a node */
};
TD_PARAMETERS(struct parameters)
enum {
    FAMILY_RECV,      /* [(other rank, row chunk)] */
    FAMILY_RECV_BACK, /* [(other slot, column chunk, local rank)] */
    FAMILY_ROWS,      /* [(local rank, row chunk)] */
    FAMILY_SEND,      /* [(local rank, row chunk, peer)] */
    FAMILY_COPY,      /* [(local rank, row chunk)] */
    FAMILY_COLUMNS,   /* [column chunk] */
    FAMILY_SEND_BACK, /* [(column chunk, other rank)] */
    FAMILY_COPY_BACK, /* [(column chunk, local rank)] */
};

static uint64_t rows_total(const struct td_program *p)
{
    return p->plan->fft.size[0];
}

static uint64_t columns_total(const struct td_program *p)
{
    return p->plan->fft.size[1];
}

/* rows_of returns the rows of a rank, columns_of the columns of a slot. */
static struct td_range rows_of(const struct td_program *p, uint32_t slot, uint32_t local)
{
    return td_block(rows_total(p), p->group->size, td_group_rank(p->group, slot, local));
}

static struct td_range columns_of(const struct td_program *p, uint32_t slot)
{
    return td_share(columns_total(p), p->group->slots, slot);
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

/* block_of_rank names rows x columns within a rank's buffer, whose first row is `base`. */
static struct td_slice block_of_rank(const struct td_program *p, enum td_space space,
                                     uint32_t local, uint64_t base, struct td_range rows,
                                     struct td_range columns)
{
    int64_t element = parameters(p)->element, width = (int64_t)columns_total(p) * element;
    struct td_slice s = td_slice_at(
        space, local, (int64_t)(rows.begin - base) * width + (int64_t)columns.begin * element,
        (int64_t)columns.count * element);
    td_slice_loop(&s, (int64_t)rows.count, width, 0);
    td_slice_simplify(&s);
    return s;
}

/* block_of_scratch names rows x columns within scratch, which holds all rows of this slot's
 * columns. */
static struct td_slice block_of_scratch(const struct td_program *p, struct td_range rows,
                                        struct td_range columns)
{
    struct td_range own = columns_of(p, p->slot);
    int64_t element = parameters(p)->element, width = (int64_t)own.count * element;
    struct td_slice s =
        td_slice_at(TD_SPACE_SCRATCH, 0,
                    (int64_t)rows.begin * width + (int64_t)(columns.begin - own.begin) * element,
                    (int64_t)columns.count * element);
    td_slice_loop(&s, (int64_t)rows.count, width, 0);
    td_slice_simplify(&s);
    return s;
}

static bool one_node(const struct td_program *p)
{
    return p->group->slots == 1;
}

static bool one_rank(const struct td_program *p)
{
    return p->group->size == 1;
}

/* other_rank returns rank i of the ranks of the other slots. */
static void other_rank(const struct td_program *p, uint64_t i, uint32_t *slot, uint32_t *local)
{
    const struct td_group *g = p->group;
    uint32_t place = (uint32_t)(i < g->slot_rank[p->slot] ? i : i + td_ranks_here(p));
    uint32_t low = 0, high = g->slots;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (g->slot_rank[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    *slot = low;
    *local = place - g->slot_rank[low];
}

/* there_step: the way from rows to columns. */
static void there_step(const struct td_program *p, unsigned family, uint64_t index,
                       struct td_step *step)
{
    const struct td_group *g = p->group;
    uint64_t chunks = (uint64_t)parameters(p)->chunks, peers = g->slots - 1;
    if (family == FAMILY_RECV) {
        uint32_t slot = 0, local = 0;
        other_rank(p, index / chunks, &slot, &local);
        struct td_range rows =
            piece(rows_of(p, slot, local), index % chunks, parameters(p)->rows_chunk);
        step->peer = g->node[slot];
        step->to = block_of_scratch(p, rows, columns_of(p, p->slot));
        step->to_lanes = (struct td_lanes){1, 0, 0};
        return;
    }
    uint64_t turn = family == FAMILY_SEND ? index / peers : index;
    uint32_t local = (uint32_t)(turn / chunks);
    struct td_range all = rows_of(p, p->slot, local);
    struct td_range rows = piece(all, turn % chunks, parameters(p)->rows_chunk);
    if (family == FAMILY_ROWS) {
        struct td_range columns = {0, columns_total(p)};
        int64_t width = (int64_t)columns.count;
        step->from = block_of_rank(p, TD_SPACE_SOURCE, local, all.begin, rows, columns);
        step->to = one_node(p) && !one_rank(p)
                       ? block_of_scratch(p, rows, columns)
                       : block_of_rank(p, TD_SPACE_DESTINATION, local, all.begin, rows, columns);
        step->to_lanes = (struct td_lanes){1, 0, 0};
        step->transform.length = width;
        step->transform.batch = (int64_t)rows.count;
        step->transform.stride = step->transform.to_stride = 1;
        step->transform.distance = step->transform.to_distance = width;
        step->transform.factor = 1;
    } else if (family == FAMILY_SEND) {
        uint64_t seed = p->seed + 0x9e3779b97f4a7c15u * (p->slot + 1);
        uint32_t peer = (uint32_t)td_permutation_at(seed + turn, peers, index % peers);
        peer += peer >= p->slot;
        uint64_t place = g->slot_rank[p->slot] + local;
        if (p->slot > peer)
            place -= td_group_slot_ranks(g, peer);
        step->peer = g->node[peer];
        step->peer_family = FAMILY_RECV;
        step->peer_index = place * chunks + turn % chunks;
        step->from =
            block_of_rank(p, TD_SPACE_DESTINATION, local, all.begin, rows, columns_of(p, peer));
    } else {
        step->from =
            block_of_rank(p, TD_SPACE_DESTINATION, local, all.begin, rows, columns_of(p, p->slot));
        step->to = block_of_scratch(p, rows, columns_of(p, p->slot));
        step->to_lanes = (struct td_lanes){1, 0, 0};
    }
}

/* back_step: the way from columns to rows. */
static void back_step(const struct td_program *p, unsigned family, uint64_t index,
                      struct td_step *step)
{
    const struct td_group *g = p->group;
    uint64_t here = td_ranks_here(p), others = g->size - here;
    uint64_t chunks = (uint64_t)parameters(p)->column_chunks;
    int64_t size = parameters(p)->columns_chunk;
    if (family == FAMILY_RECV_BACK) {
        uint32_t local = (uint32_t)(index % here), peer = (uint32_t)(index / here / chunks);
        peer += peer >= p->slot;
        struct td_range all = rows_of(p, p->slot, local);
        step->peer = g->node[peer];
        step->to = block_of_rank(p, TD_SPACE_DESTINATION, local, all.begin, all,
                                 piece(columns_of(p, peer), index / here % chunks, size));
        step->to_lanes = (struct td_lanes){1, 0, 0};
        return;
    }
    uint64_t turn = family == FAMILY_SEND_BACK   ? index / others
                    : family == FAMILY_COPY_BACK ? index / here
                                                 : index;
    struct td_range columns = piece(columns_of(p, p->slot), turn, size);
    if (family == FAMILY_COLUMNS) {
        int64_t width = (int64_t)columns_of(p, p->slot).count;
        struct td_range rows = {0, rows_total(p)};
        step->from = one_rank(p) ? block_of_rank(p, TD_SPACE_DESTINATION, 0, 0, rows, columns)
                                 : block_of_scratch(p, rows, columns);
        step->to = step->from;
        step->to_lanes = (struct td_lanes){1, 0, 0};
        step->transform.length = (int64_t)rows_total(p);
        step->transform.batch = (int64_t)columns.count;
        step->transform.stride = step->transform.to_stride = width;
        step->transform.distance = step->transform.to_distance = 1;
        step->transform.factor = td_fft_factor(&p->plan->fft);
    } else if (family == FAMILY_SEND_BACK) {
        uint32_t slot = 0, local = 0;
        uint64_t seed = p->seed + 0x9e3779b97f4a7c15u * (p->slot + 1);
        other_rank(p, td_permutation_at(~seed + turn, others, index % others), &slot, &local);
        uint64_t me = p->slot > slot ? p->slot - 1 : p->slot;
        step->peer = g->node[slot];
        step->peer_family = FAMILY_RECV_BACK;
        step->peer_index = (me * chunks + turn) * td_group_slot_ranks(g, slot) + local;
        step->from = block_of_scratch(p, rows_of(p, slot, local), columns);
    } else {
        uint32_t local = (uint32_t)(index % here);
        struct td_range all = rows_of(p, p->slot, local);
        step->from = block_of_scratch(p, all, columns);
        step->to = block_of_rank(p, TD_SPACE_DESTINATION, local, all.begin, all, columns);
        step->to_lanes = (struct td_lanes){1, 0, 0};
    }
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    *step = (struct td_step){.kind = p->family[family].kind, .type = (uint8_t)p->plan->fft.type};
    step->transform.type = (uint8_t)p->plan->fft.type;
    step->transform.sign = (int8_t)p->plan->fft.sign;
    switch (family) {
    case FAMILY_RECV:
    case FAMILY_ROWS:
    case FAMILY_SEND:
    case FAMILY_COPY:
        there_step(p, family, index, step);
        return;
    default:
        back_step(p, family, index, step);
    }
}

/* WIDTH_LEAST: shorter pieces of rows cost more to find than to move, because each is in another
 * page. */
enum { WIDTH_LEAST = 1024 };

/* chunk_columns: wide enough for efficient copies, but narrow enough that a pass has several
 * chunks. */
static int64_t chunk_columns(int64_t by_bytes, uint64_t element, uint64_t columns)
{
    uint64_t wide = WIDTH_LEAST / element, some = (columns + 3) / 4;
    int64_t least = (int64_t)(wide < some ? wide : some);
    return by_bytes > least ? by_bytes : least;
}

/* chunk_lines returns the number of lines of `line` bytes of a chunk. */
static int64_t chunk_lines(uint64_t line, uint64_t lines)
{
    uint64_t chunk = TD_COMPUTE_BYTES / line;
    chunk = chunk < 1 ? 1 : chunk;
    return (int64_t)(chunk < lines ? chunk : lines);
}

/* NODES_MAX: measured. Among 8 nodes, moves took 0.65 to 0.85 of this method's time for any array.
 * On a torus moves use the links better. */
enum { NODES_MAX = 7 };

static bool applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (!p->plan->rows)
        return td_query_refuse(q, "the array is not complex, of two axes, in blocks of rows before "
                                  "and after");
    if (p->tuning.fabric == TD_FABRIC_ROUTED)
        return td_query_refuse(q, "on a torus, separate moves use the links better");
    return p->group->slots <= NODES_MAX || td_query_refuse(q, "there are more than 7 nodes");
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    uint64_t element = td_type_bytes(p->plan->fft.type);
    uint64_t here = td_ranks_here(p), others = p->group->size - here;
    uint64_t peers = p->group->slots - 1;
    uint64_t rows_most = td_block(rows_total(p), p->group->size, 0).count;
    uint64_t columns_most = td_share(columns_total(p), p->group->slots, 0).count;
    int64_t rows_chunk = chunk_lines(columns_total(p) * element, rows_most);
    int64_t columns_chunk =
        chunk_columns(chunk_lines(rows_total(p) * element, columns_most), element, columns_most);
    uint64_t chunks = (rows_most + (uint64_t)rows_chunk - 1) / (uint64_t)rows_chunk;
    uint64_t column_chunks = (columns_most + (uint64_t)columns_chunk - 1) / (uint64_t)columns_chunk;
    set(p)->element = (int64_t)element;
    set(p)->rows_chunk = rows_chunk;
    set(p)->chunks = (int64_t)chunks;
    set(p)->columns_chunk = columns_chunk;
    set(p)->column_chunks = (int64_t)column_chunks;
    if (!one_rank(p))
        p->scratch_bytes = (int64_t)(rows_total(p) * columns_of(p, p->slot).count * element);

    td_program_add(p, TD_RECV, others * chunks, "rows from the others");
    td_program_add(p, TD_RECV, peers * column_chunks * here, "columns from the others");
    td_program_add(p, TD_TRANSFORM, here * chunks, "transform rows");
    td_program_add(p, TD_SEND, here * chunks * peers, "rows to the others");
    td_program_add(p, TD_COPY, one_node(p) ? 0 : here * chunks, "rows of this node");
    td_program_add(p, TD_TRANSFORM, column_chunks, "transform columns");
    td_program_add(p, TD_SEND, column_chunks * others, "columns to the others");
    td_program_add(p, TD_COPY, one_rank(p) ? 0 : column_chunks * here, "columns of this node");
    td_program_need(p, FAMILY_SEND, FAMILY_ROWS, peers, 1, 1);
    td_program_need(p, FAMILY_COPY, FAMILY_ROWS, 1, 1, 1);
    td_program_need_all(p, FAMILY_COLUMNS, one_node(p) ? FAMILY_ROWS : FAMILY_COPY);
    td_program_need_all(p, FAMILY_COLUMNS, FAMILY_RECV);
    td_program_need(p, FAMILY_SEND_BACK, FAMILY_COLUMNS, others, 1, 1);
    td_program_need(p, FAMILY_COPY_BACK, FAMILY_COLUMNS, here, 1, 1);
}

const struct td_method td_method_fft_rows = {
    .name = "fft_rows",
    .why = "rows, transpose, columns, transpose back: faster than separate moves among few nodes",
    .kinds = TD_KIND_BIT(TD_KIND_FFT),
    .class = TD_COST_STRAIGHT,
    .applies = applies,
    .compile = compile,
    .step_at = step_at,
};
