/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of the buffers of a collective before the first step, after the gate, and at the
 * end. A moved element is (place in its source, rank); a reduced element is (place in the vector,
 * set of the ranks that it is folded from). */
#include <string.h>

#include "model/layout.h"
#include "model.h"

/* ---- sizes ---- */

void promise_units(struct model *m)
{
    const struct td_call *call = &m->c->call;
    bool fft = call->kind == TD_KIND_FFT;
    bool cut = !fft && !td_call_reduces(call->kind) && call->kind != TD_KIND_BROADCAST;
    uint64_t bytes = td_type_bytes(fft ? m->c->fft.type : call->type);
    m->element = cut || bytes == 0 ? 1 : (int64_t)bytes;
    m->count = call->count * (cut ? bytes : 1);
}

void promise_sizes(const struct model *m, uint32_t rank, uint64_t *source, uint64_t *destination)
{
    const struct symbolic_case *c = m->c;
    if (c->call.kind == TD_KIND_FFT) {
        *source = *destination = td_block(c->fft.size[0], c->size, rank).count * c->fft.size[1];
        return;
    }
    if (td_call_has_counts(c->call.kind)) {
        *source = m->need[rank][0];
        *destination = m->need[rank][1];
    } else {
        td_call_bytes(&c->call, c->size, rank, source, destination);
    }
    *source /= (uint64_t)m->element;
    *destination /= (uint64_t)m->element;
}

static struct tag *source_of(const struct model *m, uint32_t rank)
{
    return m->memory[m->group.slots + rank];
}

static struct tag *destination_of(const struct model *m, uint32_t rank)
{
    return m->memory[m->group.slots + (m->in_place ? 0 : m->group.size) + rank];
}

/* ---- before ---- */

/* ranks_to returns the set of ranks 0 .. last. */
static uint64_t ranks_to(uint32_t last)
{
    return UINT64_MAX >> (63 - last);
}

/* first returns element i of a rank's source before the call, for calls without counts. */
static struct tag first(const struct model *m, uint32_t rank, uint64_t i)
{
    const struct symbolic_case *c = m->c;
    if (c->call.kind == TD_KIND_FFT)
        return (struct tag){td_block(c->fft.size[0], c->size, rank).begin * c->fft.size[1] + i, 0};
    if (td_call_reduces(c->call.kind))
        return (struct tag){i, (uint64_t)1 << rank};
    if (c->call.kind == TD_KIND_BROADCAST && rank != c->call.root)
        return (struct tag){POISON, 0};
    return (struct tag){i, rank};
}

/* part_of returns the part that a rank sends to another, or receives from it. */
static struct td_part part_of(const struct model *m, uint32_t rank, bool destination,
                              uint32_t other)
{
    uint32_t slot = 0, local = 0;
    td_group_locate(&m->group, rank, &slot, &local);
    const struct td_counts *p = &m->counts[slot];
    struct td_part part = p->part[((size_t)destination * p->ranks + local) * m->group.size + other];
    return (struct td_part){part.at / (uint64_t)m->element, part.bytes / (uint64_t)m->element};
}

/* fill_parts fills a source with tags. Reduced elements are named by the share that they belong to,
 * because their places may differ between ranks. */
static void fill_parts(const struct model *m, uint32_t rank, struct tag *source)
{
    bool reduces = td_call_reduces(m->c->call.kind);
    for (uint32_t to = 0; to < m->c->size; to++) {
        struct td_part part = part_of(m, rank, false, to);
        for (uint64_t i = 0; i < part.bytes; i++)
            source[part.at + i] = reduces
                                      ? (struct tag){(uint64_t)to << 32 | i, (uint64_t)1 << rank}
                                      : (struct tag){part.at + i, rank};
    }
}

static void fill_source(const struct model *m, uint32_t rank, struct tag *source)
{
    uint64_t elements = 0, other = 0;
    promise_sizes(m, rank, &elements, &other);
    memset(source, 0xff, elements * sizeof *source);
    if (m->counts)
        fill_parts(m, rank, source);
    for (uint64_t i = 0; !m->counts && i < elements; i++)
        source[i] = first(m, rank, i);
}

/* ---- what rides ---- */

static bool rides(const struct td_program *p)
{
    return p->ride != TD_RIDE_NONE && p->ride_bytes > 0;
}

uint64_t promise_scratch(const struct td_program *p)
{
    int64_t bytes = rides(p) ? td_program_ride(p) + p->ride_bytes : p->scratch_bytes;
    return (uint64_t)bytes;
}

/* brings returns the number of bytes of a rank's source that the gate reads. */
static int64_t brings(const struct model *m, uint32_t rank)
{
    const struct td_program *p = &m->program[0];
    switch (p->ride) {
    case TD_RIDE_COMBINE:
        return p->ride_bytes;
    case TD_RIDE_GATHER:
    case TD_RIDE_SHARES:
    case TD_RIDE_BLOCKS:
        return p->ride_bytes / m->c->size;
    case TD_RIDE_ROOT:
        return rank == m->c->call.root ? p->ride_bytes : 0;
    case TD_RIDE_NONE:
    case TD_RIDE_EMPTY:
        break;
    }
    return 0;
}

/* is_gathered returns true if the shares of all ranks travel. */
static bool is_gathered(const struct td_program *p)
{
    return p->ride == TD_RIDE_GATHER || p->ride == TD_RIDE_SHARES || p->ride == TD_RIDE_BLOCKS;
}

/* fits returns true if tree messages can carry the ride. */
static bool fits(const struct model *m)
{
    const struct td_program *p = &m->program[0];
    int64_t most = p->ride_bytes, here = 0;
    bool star = p->ride == TD_RIDE_SHARES || p->ride == TD_RIDE_BLOCKS;
    if (star && (p->tuning.fabric != TD_FABRIC_DIRECT || m->group.slots > TD_TREE_ARITY + 1))
        return false;
    for (uint32_t s = 0; p->ride == TD_RIDE_BLOCKS && s < m->group.slots; s++) {
        int64_t bytes = p->ride_bytes / m->c->size * td_group_slot_ranks(&m->group, s);
        here = bytes > here ? bytes : here;
        most = here;
    }
    return p->ride_bytes <= TD_RIDE_BYTES_MAX ||
           (p->tuning.fabric == TD_FABRIC_DIRECT && most <= p->tuning.ride_bytes &&
            most <= TD_LONG_RIDE_BYTES_MAX);
}

void promise_check_ride(struct model *m)
{
    const struct td_program *p = &m->program[0];
    uint32_t size = m->c->size, kind = m->c->call.kind;
    for (uint32_t s = 0; s < m->group.slots; s++) {
        const struct td_program *q = &m->program[s];
        if (q->ride != p->ride || q->ride_bytes != p->ride_bytes || q->ride_stays != p->ride_stays)
            model_fail(m, "what rides differs between nodes %u and %u", m->group.node[0],
                       m->group.node[s]);
        if (q->ride == TD_RIDE_EMPTY && q->families)
            model_fail(m, "node %u has steps though nothing is to be done", m->group.node[s]);
    }
    if (!rides(p))
        return;
    bool ordered = m->ordered && p->ride == TD_RIDE_COMBINE;
    if (p->ride_bytes <= 0 || !fits(m) || ordered ||
        (p->ride == TD_RIDE_COMBINE && !td_call_reduces(kind)) ||
        (p->ride == TD_RIDE_ROOT && !td_call_rooted(kind)) ||
        (p->ride == TD_RIDE_BLOCKS && kind != TD_KIND_ALLTOALL) ||
        (is_gathered(p) && (p->ride_bytes % size || !p->ride_stays)))
        model_fail(m, "the wrong thing rides: %lld bytes", (long long)p->ride_bytes);
    for (uint32_t r = 0; r < size; r++) {
        uint64_t source = 0, destination = 0;
        promise_sizes(m, r, &source, &destination);
        if (brings(m, r) > (int64_t)source * m->element ||
            (!p->ride_stays && p->ride_bytes > (int64_t)destination * m->element))
            model_fail(m, "rank %u has no room for what rides", r);
    }
}

/* block returns element i of the blocks for the ranks of a slot, which are by rank and then by
 * sender. */
static struct tag block(const struct model *m, uint32_t slot, uint64_t i)
{
    uint64_t count = m->count, share = count * m->c->size;
    if (i / share >= td_group_slot_ranks(&m->group, slot))
        return (struct tag){POISON, 0};
    uint32_t to = td_group_rank(&m->group, slot, (uint32_t)(i / share));
    return first(m, (uint32_t)(i % share / count), to * count + i % count);
}

/* ridden returns element i of the ride on a slot. */
static struct tag ridden(const struct model *m, uint32_t slot, uint64_t i)
{
    const struct td_program *p = &m->program[0];
    uint64_t share = (uint64_t)(p->ride_bytes / m->element) / m->c->size;
    if (p->ride == TD_RIDE_BLOCKS && slot > 0)
        return block(m, slot, i);
    if (is_gathered(p))
        return first(m, (uint32_t)(i / share), i % share);
    struct tag t = first(m, m->c->call.root, i);
    if (p->ride == TD_RIDE_COMBINE)
        t.state = ranks_to(m->c->size - 1);
    return t;
}

/* fill_ridden does the work of the gate before the first step. */
static void fill_ridden(struct model *m)
{
    for (uint32_t s = 0; s < m->group.slots; s++) {
        const struct td_program *p = &m->program[s];
        uint64_t place = (uint64_t)(td_program_ride(p) / m->element);
        for (uint64_t i = 0; i < (uint64_t)(p->ride_bytes / m->element) && p->ride_stays; i++)
            m->memory[s][place + i] = ridden(m, s, i);
    }
    const struct td_program *p = &m->program[0];
    for (uint32_t r = 0; r < m->c->size && !p->ride_stays; r++)
        for (uint64_t i = 0; i < (uint64_t)(p->ride_bytes / m->element); i++)
            destination_of(m, r)[i] = ridden(m, 0, i);
}

void promise_fill(struct model *m)
{
    /* of scratch memory, which may be large, only the bytes that are read */
    for (uint32_t i = m->group.slots; i < m->memories; i++)
        memset(m->memory[i], 0xff, m->memory_elements[i] * sizeof(struct tag));
    for (uint32_t i = 0; i < m->accesses; i++) {
        const struct access *a = &m->access[i];
        memset(m->memory[a->memory] + a->begin, 0xff, (a->end - a->begin) * sizeof(struct tag));
    }
    for (uint32_t r = 0; r < m->c->size; r++)
        fill_source(m, r, source_of(m, r));
    if (rides(&m->program[0]))
        fill_ridden(m);
}

/* ---- in the end ---- */

/* last returns the expected element i of a rank's destination, for calls without counts. */
static struct tag last(const struct model *m, uint32_t rank, uint64_t i)
{
    const struct symbolic_case *c = m->c;
    uint64_t all = ranks_to(c->size - 1), other = m->count ? i / m->count : 0;
    uint64_t in = m->count ? i % m->count : 0;
    switch (c->call.kind) {
    case TD_KIND_BROADCAST:
        return (struct tag){i, c->call.root};
    case TD_KIND_ALLREDUCE:
    case TD_KIND_REDUCE:
        return (struct tag){i, all};
    case TD_KIND_REDUCE_SCATTER:
        return (struct tag){rank * m->count + i, all};
    case TD_KIND_SCAN:
        return (struct tag){i, ranks_to(rank)};
    case TD_KIND_EXSCAN:
        return (struct tag){i, ranks_to(rank - 1)};
    case TD_KIND_PREFIX:
        return (struct tag){in, ranks_to((uint32_t)other)};
    case TD_KIND_ALLTOALL:
        return (struct tag){rank * m->count + in, other};
    case TD_KIND_GATHER:
    case TD_KIND_ALLGATHER:
        return (struct tag){in, other};
    case TD_KIND_SCATTER:
        return (struct tag){rank * m->count + i, c->call.root};
    case TD_KIND_FFT: {
        struct tag t = first(m, rank, i);
        t.state = UINT64_MAX >> 62; /* rows and columns */
        return t;
    }
    default:
        return (struct tag){POISON, 0};
    }
}

/* last_parts writes the expected destination. Elements outside all parts do not change. */
static void last_parts(const struct model *m, uint32_t rank, uint64_t elements, struct tag *want)
{
    memset(want, 0xff, elements * sizeof *want);
    for (uint32_t from = 0; from < m->c->size; from++) {
        struct td_part part = part_of(m, rank, true, from);
        struct td_part there = part_of(m, from, false, rank);
        for (uint64_t i = 0; i < part.bytes; i++)
            want[part.at + i] =
                td_call_reduces(m->c->call.kind)
                    ? (struct tag){(uint64_t)rank << 32 | i, ranks_to(m->c->size - 1)}
                    : (struct tag){there.at + i, from};
    }
}

static void compare(struct model *m, uint32_t rank, const struct tag *is, const struct tag *want,
                    uint64_t elements, const char *what)
{
    for (uint64_t i = 0; i < elements; i++)
        if (is[i].what != want[i].what || is[i].state != want[i].state)
            model_fail(m,
                       "%s of rank %u has (%llu, %llx) at place %llu in the end, not (%llu, %llx)",
                       what, rank, (unsigned long long)is[i].what, (unsigned long long)is[i].state,
                       (unsigned long long)i, (unsigned long long)want[i].what,
                       (unsigned long long)want[i].state);
}

void promise_verify(struct model *m)
{
    for (uint32_t r = 0; r < m->c->size; r++) {
        uint64_t source = 0, destination = 0;
        promise_sizes(m, r, &source, &destination);
        bool unspecified = m->c->call.kind == TD_KIND_EXSCAN && r == 0;
        for (uint64_t i = 0; i < destination && !m->counts; i++)
            m->want[i] = unspecified ? destination_of(m, r)[i] : last(m, r, i);
        if (m->counts)
            last_parts(m, r, destination, m->want);
        compare(m, r, destination_of(m, r), m->want, destination, "the destination");
        if (m->in_place && destination)
            continue;
        fill_source(m, r, m->want);
        compare(m, r, source_of(m, r), m->want, source, "the source");
    }
}
