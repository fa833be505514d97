/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "compute/combine.h"

enum { GUARD_BYTE = 0x5a, COUNT_MAX = 60 };

static uint64_t below(uint64_t *state, uint64_t bound)
{
    return td_hash_next(state) % bound;
}

/* ---- numbers ---- */

/* number returns element i of a rank: -50 .. 50. */
static int number(uint64_t salt, uint32_t rank, uint64_t i)
{
    uint64_t x = (salt ^ rank * 0x9e3779b97f4a7c15u) + i * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 31) * 0x94d049bb133111ebu;
    return (int)(x >> 40) % 101 - 50;
}

static void put_number(unsigned type, uint8_t *to, int value)
{
    int32_t word = value;
    int64_t wide = value;
    double real = value;
    switch (type) {
    case TD_TYPE_INT32:
        memcpy(to, &word, sizeof word);
        return;
    case TD_TYPE_INT64:
        memcpy(to, &wide, sizeof wide);
        return;
    case TD_TYPE_DOUBLE:
        memcpy(to, &real, sizeof real);
        return;
    default:
        *to = (uint8_t)value;
    }
}

/* source writes elements first .. first + n - 1 of a rank's source. */
static void source(const struct swarm_call *c, uint32_t rank, uint64_t first, uint64_t n,
                   uint8_t *to)
{
    uint64_t element = td_type_bytes(c->call.type);
    for (uint64_t i = 0; i < n; i++)
        put_number(c->call.type, to + i * element, number(c->salt, rank, first + i));
}

/* ---- sizes ---- */

/* part returns the elements that rank i sends to rank j, for calls with counts by rank. */
static uint64_t part(const struct swarm_call *c, uint32_t i, uint32_t j)
{
    unsigned kind = c->call.kind;
    if ((kind == TD_KIND_GATHERV && j != c->call.root) ||
        (kind == TD_KIND_SCATTERV && i != c->call.root))
        return 0;
    uint32_t from = kind == TD_KIND_REDUCE_SCATTERV ? 0 : i;
    uint32_t to = kind == TD_KIND_ALLGATHERV ? 0 : j;
    uint64_t x = (c->salt + from * 0x9e3779b97f4a7c15u) ^ to * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 29) * 0x94d049bb133111ebu;
    return x >> 60 < 6 ? 0 : (x >> 20) % (c->call.count + 1);
}

static void sizes(const struct swarm_call *c, uint32_t member, uint64_t *from, uint64_t *to)
{
    uint64_t element = td_type_bytes(c->call.type);
    *from = *to = 0;
    if (c->call.kind == TD_KIND_BARRIER)
        return;
    if (!td_call_has_counts(c->call.kind)) {
        td_call_bytes(&c->call, c->size, member, from, to);
        return;
    }
    for (uint32_t i = 0; i < c->size; i++) {
        *from += part(c, member, i) * element;
        *to += part(c, i, member) * element;
    }
    if (c->call.kind == TD_KIND_ALLGATHERV)
        *from = part(c, member, 0) * element;
    if (c->call.kind == TD_KIND_REDUCE_SCATTERV)
        *to = part(c, 0, member) * element;
}

static uint64_t longest(const struct swarm_call *c)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < c->size; r++) {
        uint64_t from = 0, to = 0;
        sizes(c, r, &from, &to);
        most = from > most ? from : most;
        most = to > most ? to : most;
    }
    return (most + 63) / 64 * 64;
}

uint64_t swarm_call_bytes(const struct swarm_call *c)
{
    return (c->longest + 2 * SWARM_GUARD + 63) / 64 * 64;
}

/* ---- drawing ---- */

static bool reduces_in_place(unsigned kind)
{
    return kind == TD_KIND_ALLREDUCE || kind == TD_KIND_REDUCE || kind == TD_KIND_SCAN;
}

void swarm_call_draw(struct swarm_call *c, uint64_t *random, uint32_t size, uint64_t at,
                     uint64_t room)
{
    static const uint8_t kinds[] = {
        TD_KIND_BARRIER,    TD_KIND_BROADCAST,       TD_KIND_ALLREDUCE,
        TD_KIND_ALLTOALL,   TD_KIND_REDUCE,          TD_KIND_SCAN,
        TD_KIND_EXSCAN,     TD_KIND_PREFIX,          TD_KIND_REDUCE_SCATTER,
        TD_KIND_GATHER,     TD_KIND_SCATTER,         TD_KIND_ALLGATHER,
        TD_KIND_ALLTOALLV,  TD_KIND_GATHERV,         TD_KIND_SCATTERV,
        TD_KIND_ALLGATHERV, TD_KIND_REDUCE_SCATTERV, TD_KIND_NEIGHBOUR_ALLTOALLV,
        TD_KIND_BARRIER,    TD_KIND_ALLREDUCE};
    static const uint8_t types[] = {TD_TYPE_INT32, TD_TYPE_INT64, TD_TYPE_DOUBLE, TD_TYPE_UINT8};
    static const uint8_t ops[] = {TD_OP_SUM, TD_OP_MIN, TD_OP_MAX};
    static const uint32_t most[] = {1, 8, 300, 1500};
    *c = (struct swarm_call){.size = size, .at = at + SWARM_GUARD};
    struct td_call *call = &c->call;
    call->kind = kinds[below(random, sizeof kinds)];
    uint8_t type = types[below(random, sizeof types)], op = ops[below(random, sizeof ops)];
    uint32_t root = (uint32_t)below(random, size);
    uint64_t count = below(random, 1 + most[below(random, 4)]);
    bool in_place = below(random, 2);
    c->salt = td_hash_next(random);
    if (td_call_rooted(call->kind))
        call->root = root;
    if (call->kind == TD_KIND_BARRIER)
        return;
    call->type = type;
    call->op = td_call_reduces(call->kind) ? op : TD_OP_NONE;
    if (call->op && type == TD_TYPE_UINT8)
        call->type = TD_TYPE_INT32;
    call->count = td_call_has_counts(call->kind) ? count % COUNT_MAX : count;
    c->in_place = call->kind == TD_KIND_BROADCAST || (reduces_in_place(call->kind) && in_place);
    for (c->longest = longest(c); swarm_call_bytes(c) > room && call->count > 0;
         c->longest = longest(c))
        call->count /= 4;
}

/* ---- buffers ---- */

static uint8_t *buffer(const struct swarm_call *c, uint8_t *base, uint64_t half, bool destination)
{
    return base + c->at + (destination && !c->in_place ? half : 0);
}

void swarm_call_prepare(const struct swarm_call *c, uint32_t member, uint8_t *base, uint64_t half)
{
    uint64_t from = 0, to = 0, element = td_type_bytes(c->call.type);
    sizes(c, member, &from, &to);
    memset(buffer(c, base, half, false) - SWARM_GUARD, GUARD_BYTE, c->longest + 2 * SWARM_GUARD);
    memset(buffer(c, base, half, true) - SWARM_GUARD, GUARD_BYTE, c->longest + 2 * SWARM_GUARD);
    if (from)
        source(c, member, 0, from / element, buffer(c, base, half, false));
}

void swarm_call_request(const struct swarm_call *c, uint32_t member, uint32_t region, uint64_t half,
                        uint64_t *room, struct td_request *q)
{
    uint64_t from = 0, to = 0, *row = room, *column = room + c->size, *none = column + c->size;
    sizes(c, member, &from, &to);
    *q = (struct td_request){.kind = TD_REQUEST_OPERATION};
    q->u.operation.call = c->call;
    if (td_call_has_counts(c->call.kind)) /* which the counts say */
        q->u.operation.call.count = 0;
    q->u.operation.timeout_ns = -1;
    q->u.operation.source = (struct td_place){region, c->at, from, NULL};
    q->u.operation.destination =
        (struct td_place){region, c->at + (c->in_place ? 0 : half), to, NULL};
    if (!td_call_has_counts(c->call.kind))
        return;
    for (uint32_t i = 0; i < c->size; i++) {
        row[i] = part(c, member, i);
        column[i] = part(c, i, member);
        none[i] = 0;
    }
    q->u.operation.from = (struct td_rank_counts){row, NULL, c->size, 0};
    q->u.operation.to = (struct td_rank_counts){column, NULL, c->size, 0};
    if (c->call.kind == TD_KIND_ALLGATHERV)
        q->u.operation.from = (struct td_rank_counts){row, none, c->size, c->size};
    if (c->call.kind == TD_KIND_REDUCE_SCATTERV)
        q->u.operation.to = (struct td_rank_counts){column, none, c->size, c->size};
}

void swarm_call_change(struct td_request *q)
{
    struct td_call *call = &q->u.operation.call;
    if (call->op && !td_call_has_counts(call->kind)) {
        call->op = call->op == TD_OP_SUM ? TD_OP_MAX : TD_OP_SUM;
        return;
    }
    bool was_barrier = call->kind == TD_KIND_BARRIER;
    *call = (struct td_call){.kind = TD_KIND_BARRIER};
    if (was_barrier) {
        call->kind = TD_KIND_ALLREDUCE;
        call->type = TD_TYPE_INT32;
        call->op = TD_OP_SUM;
    }
    q->u.operation.from = q->u.operation.to = (struct td_rank_counts){0};
}

/* ---- results ---- */

/* fold writes the fold over ranks 0 .. last of n elements from `first` on. */
static void fold(const struct swarm_call *c, uint32_t last, uint64_t first, uint64_t n, uint8_t *to)
{
    uint64_t bytes = n * td_type_bytes(c->call.type);
    uint8_t *next = aligned_alloc(64, (bytes + 127) / 64 * 64);
    uint8_t *sum = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!next || !sum)
        abort();
    source(c, 0, first, n, sum);
    for (uint32_t r = 1; r <= last; r++) {
        source(c, r, first, n, next);
        td_combine_array(c->call.type, c->call.op, sum, next, n);
    }
    memcpy(to, sum, bytes);
    free(next);
    free(sum);
}

static void expect_fold(const struct swarm_call *c, uint32_t member, uint8_t *want)
{
    uint64_t n = c->call.count, first = 0;
    switch (c->call.kind) {
    case TD_KIND_SCAN:
        fold(c, member, 0, n, want);
        return;
    case TD_KIND_EXSCAN:
        fold(c, member - 1, 0, n, want);
        return;
    case TD_KIND_PREFIX:
        for (uint32_t r = 0; r < c->size; r++)
            fold(c, r, 0, n, want + r * n * td_type_bytes(c->call.type));
        return;
    case TD_KIND_REDUCE_SCATTER:
        fold(c, c->size - 1, member * n, n, want);
        return;
    case TD_KIND_REDUCE_SCATTERV:
        for (uint32_t r = 0; r < member; r++)
            first += part(c, 0, r);
        fold(c, c->size - 1, first, part(c, 0, member), want);
        return;
    default:
        fold(c, c->size - 1, 0, n, want);
    }
}

static void expect_parts(const struct swarm_call *c, uint32_t member, uint8_t *want)
{
    for (uint32_t from = 0; from < c->size; from++) {
        uint64_t first = 0, n = part(c, from, member);
        for (uint32_t i = 0; i < member && c->call.kind != TD_KIND_ALLGATHERV; i++)
            first += part(c, from, i);
        source(c, from, first, n, want);
        want += n * td_type_bytes(c->call.type);
    }
}

/* expect writes the expected destination of a member. */
static void expect(const struct swarm_call *c, uint32_t member, uint8_t *want)
{
    uint64_t n = c->call.count, bytes = n * td_type_bytes(c->call.type);
    if (td_call_reduces(c->call.kind))
        expect_fold(c, member, want);
    else if (td_call_has_counts(c->call.kind))
        expect_parts(c, member, want);
    else if (c->call.kind == TD_KIND_BROADCAST)
        source(c, c->call.root, 0, n, want);
    else if (c->call.kind == TD_KIND_SCATTER)
        source(c, c->call.root, member * n, n, want);
    else
        for (uint32_t r = 0; r < c->size; r++)
            source(c, r, c->call.kind == TD_KIND_ALLTOALL ? member * n : 0, n, want + r * bytes);
}

static bool guarded(const uint8_t *from, const uint8_t *to)
{
    for (; from < to; from++)
        if (*from != GUARD_BYTE)
            return false;
    return true;
}

static const char *check_result(const struct swarm_call *c, uint32_t member, const uint8_t *is,
                                uint64_t bytes)
{
    static char text[120];
    uint8_t *want = malloc(bytes + 1);
    if (!want)
        abort();
    expect(c, member, want);
    uint64_t i = 0;
    while (i < bytes && is[i] == want[i])
        i++;
    bool differs = i < bytes;
    if (differs)
        snprintf(text, sizeof text, "byte %llu of %llu is %02x, not %02x", (unsigned long long)i,
                 (unsigned long long)bytes, is[i], want[i]);
    free(want);
    return differs ? text : NULL;
}

const char *swarm_call_check(const struct swarm_call *c, uint32_t member, uint8_t *base,
                             uint64_t half, bool success)
{
    uint64_t from = 0, to = 0, element = td_type_bytes(c->call.type);
    sizes(c, member, &from, &to);
    const uint8_t *in = buffer(c, base, half, false), *out = buffer(c, base, half, true);
    uint64_t out_bytes = c->in_place && from > to ? from : to;
    if (!guarded(out - SWARM_GUARD, out) ||
        !guarded(out + out_bytes, out + c->longest + SWARM_GUARD))
        return "memory around its destination was written";
    if (!c->in_place && from) {
        uint8_t *was = malloc(from);
        if (!was)
            abort();
        source(c, member, 0, from / element, was);
        int differs = memcmp(was, in, from);
        free(was);
        if (differs)
            return "its source was written";
    }
    if (!success || to == 0 || (c->call.kind == TD_KIND_EXSCAN && member == 0))
        return NULL;
    return check_result(c, member, out, to);
}

uint64_t swarm_call_hash(const struct swarm_call *c, const uint8_t *base, uint64_t half)
{
    uint64_t h = c->salt;
    for (int side = 0; side < (c->in_place ? 1 : 2); side++) {
        const uint8_t *at = base + c->at - SWARM_GUARD + (side ? half : 0);
        for (uint64_t i = 0; i < c->longest + 2 * SWARM_GUARD; i += 8) {
            uint64_t word = 0;
            memcpy(&word, at + i, 8);
            h = (h ^ word) * 0x9e3779b97f4a7c15u;
            h ^= h >> 29;
        }
    }
    return h;
}
