/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of call, many at a time, in several groups whose ranks overlap, compared with a local
 * computation. Ranks call in different orders; only the calls of one group have one order. Many
 * buffers have gaps between their elements, each in a form of its own (gaps.h).
 * TORUS_TEST_CASE=SEED runs one world; TORUS_TEST_LONG=1 runs many more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compute/combine.h"
#include "gaps.h"
#include "job.h"
#include "seeds.h"

enum {
    RANKS_MAX = 16,
    GROUPS_MAX = 5,
    CALLS_MAX = 14,
    GUARD = 64,
    GUARD_BYTE = 0x5a,
    SPAN_MAX = 1 << 18 /* of a buffer with gaps */
};

/* struct party: a group as its members know it. Party 0 is the world. */
struct party {
    uint32_t size;
    uint32_t world_rank[RANKS_MAX];
    uint32_t number[RANKS_MAX]; /* number of the group at the member's daemon */
    uint64_t calls[RANKS_MAX];
};

/* struct operation: one call of all ranks of a party. */
struct operation {
    struct party *party;
    struct td_call call;
    bool in_place;
    uint64_t count[RANKS_MAX][RANKS_MAX]; /* with counts: elements from a rank to another */
    uint64_t at;                          /* of the source in every region */
    uint64_t bytes[RANKS_MAX][2];         /* of data */
    struct gaps *gaps[RANKS_MAX][2];      /* forms of source and destination; NULL: no gaps */
    uint64_t longest;                     /* bytes of memory of a buffer */
    uint8_t *before[RANKS_MAX];           /* data of the sources */
    uint8_t *image[RANKS_MAX];            /* memory of the destinations, guards included */
    uint64_t request[RANKS_MAX];
};

static struct play {
    struct job job;
    struct td_sim *sim;
    struct party party[GROUPS_MAX];
    uint32_t parties;
    struct operation operation[CALLS_MAX];
    uint32_t operations;
    uint64_t used; /* bytes of every region */
} play;

static uint64_t draw(uint64_t below)
{
    return td_sim_random(play.sim, below);
}

/* ---- numbers ---- */

/* ordered returns true if the result must be the fold from rank 0 on, bit by bit. */
static bool ordered(const struct td_call *call)
{
    return call->mode == TD_REPRODUCIBLE_ANY || call->kind == TD_KIND_SCAN ||
           call->kind == TD_KIND_EXSCAN || call->kind == TD_KIND_PREFIX ||
           call->kind == TD_KIND_REDUCE_SCATTERV;
}

/* real returns a number whose sums depend on their order, or one of a few small ones. */
static double real(bool any)
{
    if (!any)
        return (double)draw(3) + 1;
    return ((double)draw(2001) - 1000) * (double)((uint64_t)1 << draw(30)) / 1024 / 1024;
}

static void fill(const struct td_call *call, uint8_t *to, uint64_t bytes)
{
    uint64_t size = td_type_bytes(call->type);
    bool any = ordered(call);
    for (uint64_t at = 0; at < bytes; at += size) {
        double d[2] = {real(any), real(any)};
        float f[2] = {(float)d[0], (float)d[1]};
        uint64_t bits = draw(UINT64_MAX);
        uint16_t small = (uint16_t)(bits & 0xbbff); /* a half, and a bfloat16, that is finite */
        memset(to + at, 0, size);
        switch (call->type) {
        case TD_TYPE_FLOAT:
        case TD_TYPE_COMPLEX_FLOAT:
            memcpy(to + at, f, size);
            break;
        case TD_TYPE_DOUBLE:
        case TD_TYPE_COMPLEX_DOUBLE:
            memcpy(to + at, d, size);
            break;
        case TD_TYPE_HALF:
        case TD_TYPE_BFLOAT16:
            memcpy(to + at, &small, size);
            break;
        case TD_TYPE_DOUBLE_INT:
            memcpy(to + at, d, sizeof d[0]);
            to[at + 8] = (uint8_t)bits;
            break;
        case TD_TYPE_INT32_INT:
            to[at] = (uint8_t)(bits & 3);
            to[at + 4] = (uint8_t)(bits >> 8);
            break;
        default:
            memcpy(to + at, &bits, size < 8 ? size : 8);
        }
    }
}

/* draw_type draws a type and an operator whose result does not depend on the order; in order, any.
 */
static void draw_type(struct td_call *call)
{
    static const uint8_t types[] = {
        TD_TYPE_BYTE,      TD_TYPE_INT8,          TD_TYPE_UINT16,         TD_TYPE_INT32,
        TD_TYPE_UINT64,    TD_TYPE_FLOAT,         TD_TYPE_DOUBLE,         TD_TYPE_HALF,
        TD_TYPE_BFLOAT16,  TD_TYPE_COMPLEX_FLOAT, TD_TYPE_COMPLEX_DOUBLE, TD_TYPE_INT32_INT,
        TD_TYPE_DOUBLE_INT};
    bool complex = false, halves = false;
    do {
        call->type = types[draw(sizeof types)];
        call->op = (uint8_t)(td_call_reduces(call->kind) ? 1 + draw(TD_OP_END - 1) : TD_OP_NONE);
        complex = call->type == TD_TYPE_COMPLEX_FLOAT || call->type == TD_TYPE_COMPLEX_DOUBLE;
        halves = call->type == TD_TYPE_HALF || call->type == TD_TYPE_BFLOAT16;
    } while (call->op && (!td_op_accepts(call->op, call->type) ||
                          (!ordered(call) && (halves || (complex && call->op != TD_OP_SUM)))));
}

/* ---- operations ---- */

static uint64_t draw_elements(uint64_t most)
{
    switch (draw(6)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return draw(10);
    case 3:
        return draw(100);
    default:
        return draw(most + 1);
    }
}

static void draw_counts(struct operation *o)
{
    uint32_t size = o->party->size;
    bool sparse = draw(2);
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j < size; j++) {
            bool none = (o->call.kind == TD_KIND_GATHERV && j != o->call.root) ||
                        (o->call.kind == TD_KIND_SCATTERV && i != o->call.root) ||
                        (sparse && draw(3));
            o->count[i][j] = none ? 0 : draw_elements(300);
            if (o->call.kind == TD_KIND_ALLGATHERV && j > 0)
                o->count[i][j] = o->count[i][0];
            if (o->call.kind == TD_KIND_REDUCE_SCATTERV && i > 0)
                o->count[i][j] = o->count[0][j];
        }
}

/* size_up computes the sizes of the buffers. */
static void size_up(struct operation *o)
{
    uint32_t size = o->party->size;
    uint64_t element = td_type_bytes(o->call.type);
    for (uint32_t r = 0; r < size; r++) {
        o->bytes[r][0] = o->bytes[r][1] = 0;
        if (!td_call_has_counts(o->call.kind)) {
            if (o->call.kind != TD_KIND_BARRIER)
                td_call_bytes(&o->call, size, r, &o->bytes[r][0], &o->bytes[r][1]);
            continue;
        }
        for (uint32_t i = 0; i < size; i++) {
            o->bytes[r][0] += o->count[r][i] * element;
            o->bytes[r][1] += o->count[i][r] * element;
        }
        if (o->call.kind == TD_KIND_ALLGATHERV)
            o->bytes[r][0] = o->count[r][0] * element;
        if (o->call.kind == TD_KIND_REDUCE_SCATTERV)
            o->bytes[r][1] = o->count[0][r] * element;
    }
}

static bool may_be_in_place(unsigned kind)
{
    return kind == TD_KIND_ALLREDUCE || kind == TD_KIND_REDUCE || kind == TD_KIND_SCAN ||
           kind == TD_KIND_EXSCAN;
}

/* buffer returns a member's buffer of an operation: the source, then the destination. */
static uint8_t *buffer(const struct operation *o, uint32_t member, bool destination)
{
    uint64_t half = play.job.half_bytes;
    uint8_t *base = job_source(&play.job, o->party->world_rank[member], o->at);
    return base + (destination && !o->in_place ? half : 0);
}

/* span returns the bytes of memory of a buffer. */
static uint64_t span(const struct operation *o, uint32_t member, int side)
{
    const struct gaps *g = o->gaps[member][side];
    uint64_t bytes = o->bytes[member][side];
    return g && bytes ? (uint64_t)gaps_end(g, bytes) : bytes;
}

/* put writes data to a buffer, and get reads it. */
static void put(const struct gaps *g, uint8_t *memory, const uint8_t *data, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        memory[g ? (uint64_t)gaps_at(g, i) : i] = data[i];
}

static void get(const struct gaps *g, const uint8_t *memory, uint8_t *data, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        data[i] = memory[g ? (uint64_t)gaps_at(g, i) : i];
}

/* draw_forms gives some buffers forms of elements of a few numbers. */
static void draw_forms(struct operation *o)
{
    uint64_t state = draw(UINT64_MAX);
    int64_t unit = (int64_t)td_type_bytes(o->call.type);
    for (uint32_t r = 0; r < o->party->size; r++)
        for (int side = 0; side < (o->in_place ? 1 : 2); side++) {
            if (draw(3) == 0)
                continue;
            o->gaps[r][side] = gaps_draw(&state, 1 + (int64_t)draw(draw(2) ? 4 : 50), unit);
            if (span(o, r, side) > SPAN_MAX) {
                free(o->gaps[r][side]);
                o->gaps[r][side] = NULL;
            }
        }
    for (uint32_t r = 0; r < o->party->size && o->in_place; r++)
        o->gaps[r][1] = o->gaps[r][0];
}

static void prepare(struct operation *o)
{
    o->longest = 0;
    for (uint32_t r = 0; r < o->party->size; r++)
        for (int side = 0; side < 2; side++)
            o->longest = span(o, r, side) > o->longest ? span(o, r, side) : o->longest;
    o->at = play.used + GUARD;
    play.used = (o->at + o->longest + GUARD + 63) / 64 * 64;
    CHECK(play.used <= play.job.half_bytes);
    for (uint32_t r = 0; r < o->party->size; r++) {
        o->before[r] = malloc(o->bytes[r][0] + 1);
        o->image[r] = malloc(o->longest + 2 * GUARD);
        CHECK(o->before[r] && o->image[r]);
        memset(buffer(o, r, true) - GUARD, GUARD_BYTE, o->longest + 2 * GUARD);
        fill(&o->call, o->before[r], o->bytes[r][0]);
        put(o->gaps[r][0], buffer(o, r, false), o->before[r], o->bytes[r][0]);
        memcpy(o->image[r], buffer(o, r, true) - GUARD, o->longest + 2 * GUARD);
    }
}

static void draw_operation(struct operation *o)
{
    static const uint8_t kinds[] = {
        TD_KIND_BARRIER,    TD_KIND_BROADCAST,       TD_KIND_ALLREDUCE,
        TD_KIND_ALLTOALL,   TD_KIND_REDUCE,          TD_KIND_SCAN,
        TD_KIND_EXSCAN,     TD_KIND_PREFIX,          TD_KIND_REDUCE_SCATTER,
        TD_KIND_GATHER,     TD_KIND_SCATTER,         TD_KIND_ALLGATHER,
        TD_KIND_ALLTOALLV,  TD_KIND_GATHERV,         TD_KIND_SCATTERV,
        TD_KIND_ALLGATHERV, TD_KIND_REDUCE_SCATTERV, TD_KIND_NEIGHBOUR_ALLTOALLV};
    *o = (struct operation){.party = &play.party[draw(play.parties)]};
    o->call.kind = kinds[draw(sizeof kinds)];
    if (td_call_reduces(o->call.kind))
        o->call.mode = (uint8_t)draw(TD_REPRODUCIBLES);
    if (td_call_rooted(o->call.kind))
        o->call.root = (uint32_t)draw(o->party->size);
    if (o->call.kind != TD_KIND_BARRIER) {
        draw_type(&o->call);
        o->in_place = o->call.kind == TD_KIND_BROADCAST || /* which has one buffer */
                      (may_be_in_place(o->call.kind) && draw(2));
    }
    if (td_call_has_counts(o->call.kind))
        draw_counts(o);
    else if (o->call.kind != TD_KIND_BARRIER)
        o->call.count = draw_elements(1200);
    size_up(o);
    if (o->call.kind != TD_KIND_BARRIER && draw(3))
        draw_forms(o);
    prepare(o);
}

/* call makes a member's call. */
static void call(struct operation *o, uint32_t member)
{
    struct party *p = o->party;
    const struct job_rank *r = &play.job.rank[p->world_rank[member]];
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    uint64_t column[RANKS_MAX], none[RANKS_MAX] = {0};
    q.u.operation.group = p->number[member];
    q.u.operation.sequence = p->calls[member]++;
    q.u.operation.call = o->call;
    q.u.operation.timeout_ns = -1;
    const struct gaps *from = o->gaps[member][0], *to = o->gaps[member][1];
    q.u.operation.source =
        (struct td_place){r->region, o->at, span(o, member, 0), from ? from->form : NULL};
    q.u.operation.destination =
        (struct td_place){r->region, o->at + (o->in_place ? 0 : play.job.half_bytes),
                          span(o, member, 1), to ? to->form : NULL};
    for (uint32_t i = 0; i < p->size; i++)
        column[i] = o->count[i][member];
    if (td_call_has_counts(o->call.kind)) {
        q.u.operation.from = (struct td_rank_counts){o->count[member], NULL, p->size, 0};
        q.u.operation.to = (struct td_rank_counts){column, NULL, p->size, 0};
        if (o->call.kind == TD_KIND_ALLGATHERV) /* the same for all ranks */
            q.u.operation.from = (struct td_rank_counts){o->count[member], none, p->size, p->size};
        if (o->call.kind == TD_KIND_REDUCE_SCATTERV)
            q.u.operation.to = (struct td_rank_counts){column, none, p->size, p->size};
    }
    o->request[member] = td_sim_request(play.sim, r->client, &q);
}

/* ---- the reference ---- */

/* fold writes the fold over ranks 0 .. last of n elements that begin `at` bytes into their sources.
 */
static void fold(const struct operation *o, uint32_t last, uint64_t at, uint64_t n, uint8_t *to)
{
    _Alignas(64) static uint8_t sum[1 << 18], next[1 << 18];
    uint64_t bytes = n * td_type_bytes(o->call.type);
    CHECK(bytes <= sizeof sum);
    memcpy(sum, o->before[0] + at, bytes);
    for (uint32_t r = 1; r <= last; r++) {
        memcpy(next, o->before[r] + at, bytes);
        td_combine_array(o->call.type, o->call.op, sum, next, n);
    }
    memcpy(to, sum, bytes);
}

static void expect_fold(const struct operation *o, uint32_t member, uint8_t *want)
{
    uint32_t size = o->party->size;
    uint64_t n = o->call.count, bytes = n * td_type_bytes(o->call.type), at = 0;
    switch (o->call.kind) {
    case TD_KIND_SCAN:
        fold(o, member, 0, n, want);
        return;
    case TD_KIND_EXSCAN:
        fold(o, member - 1, 0, n, want);
        return;
    case TD_KIND_PREFIX:
        for (uint32_t r = 0; r < size; r++)
            fold(o, r, 0, n, want + r * bytes);
        return;
    case TD_KIND_REDUCE_SCATTER:
        fold(o, size - 1, member * bytes, n, want);
        return;
    case TD_KIND_REDUCE_SCATTERV:
        for (uint32_t r = 0; r < member; r++)
            at += o->count[0][r] * td_type_bytes(o->call.type);
        fold(o, size - 1, at, o->count[0][member], want);
        return;
    default: /* allreduce, reduce */
        fold(o, size - 1, 0, n, want);
    }
}

static void expect_parts(const struct operation *o, uint32_t member, uint8_t *want)
{
    uint64_t element = td_type_bytes(o->call.type);
    for (uint32_t from = 0; from < o->party->size; from++) {
        uint64_t at = 0, bytes = o->count[from][member] * element;
        for (uint32_t i = 0; i < member && o->call.kind != TD_KIND_ALLGATHERV; i++)
            at += o->count[from][i] * element;
        memcpy(want, o->before[from] + at, bytes);
        want += bytes;
    }
}

/* expect writes the expected destination of a member. */
static void expect(const struct operation *o, uint32_t member, uint8_t *want)
{
    uint64_t bytes = o->call.count * td_type_bytes(o->call.type);
    uint32_t size = o->party->size;
    if (td_call_reduces(o->call.kind)) {
        expect_fold(o, member, want);
    } else if (td_call_has_counts(o->call.kind)) {
        expect_parts(o, member, want);
    } else if (o->call.kind == TD_KIND_BROADCAST) {
        memcpy(want, o->before[o->call.root], bytes);
    } else if (o->call.kind == TD_KIND_SCATTER) {
        memcpy(want, o->before[o->call.root] + member * bytes, bytes);
    } else {
        for (uint32_t r = 0; r < size; r++)
            memcpy(want + r * bytes,
                   o->before[r] + (o->call.kind == TD_KIND_ALLTOALL ? member * bytes : 0), bytes);
    }
}

static void verify_member(const struct operation *o, uint32_t member, const char *what)
{
    static uint8_t want[1 << 20];
    uint64_t bytes = o->bytes[member][1];
    const struct job_rank *r = &play.job.rank[o->party->world_rank[member]];
    const struct td_reply *reply = td_sim_reply(play.sim, r->client, o->request[member]);
    EXPECT(reply && reply->error == TD_OK, "%s: rank %u of %u: %s", what, member, o->party->size,
           reply ? reply->text : "no reply");
    CHECK(bytes <= sizeof want);
    const struct gaps *g = o->gaps[member][1];
    const uint8_t *is = buffer(o, member, true);
    uint8_t *image = o->image[member];
    if (bytes && o->call.kind == TD_KIND_EXSCAN && member == 0)
        get(g, is, want, bytes); /* undefined */
    else if (bytes)
        expect(o, member, want);
    put(g, image + GUARD, want, bytes);
    for (uint64_t i = 0; i < o->longest + 2 * GUARD; i++)
        EXPECT((is - GUARD)[i] == image[i],
               "%s%s%s: rank %u of %u has %02x, not %02x, at byte %lld of %llu bytes of data", what,
               o->in_place ? " in place" : "", g ? " with gaps" : "", member, o->party->size,
               (is - GUARD)[i], image[i], (long long)i - GUARD, (unsigned long long)bytes);
    if (o->in_place)
        return;
    static uint8_t source[1 << 20];
    CHECK(o->bytes[member][0] <= sizeof source);
    get(o->gaps[member][0], buffer(o, member, false), source, o->bytes[member][0]);
    EXPECT(memcmp(source, o->before[member], o->bytes[member][0]) == 0,
           "%s: the source of rank %u changed", what, member);
}

static void forget(struct operation *o)
{
    for (uint32_t r = 0; r < o->party->size; r++) {
        free(o->before[r]);
        free(o->image[r]);
        free(o->gaps[r][0]);
        if (!o->in_place)
            free(o->gaps[r][1]);
    }
}

static void verify(struct operation *o)
{
    char what[160];
    td_call_print(&o->call, what, sizeof what);
    for (uint32_t r = 0; r < o->party->size; r++)
        verify_member(o, r, what);
    forget(o);
}

/* ---- playing ---- */

/* make_party makes a group of some ranks of the world in random order; its members ask at different
 * times. */
static void make_party(struct party *p, uint64_t number)
{
    uint64_t member[RANKS_MAX] = {0}, request[RANKS_MAX] = {0};
    const struct party *world = &play.party[0];
    *p = (struct party){.size = 1 + (uint32_t)draw(world->size)};
    uint32_t rank[RANKS_MAX] = {0};
    for (uint32_t i = 0; i < world->size; i++)
        rank[i] = i;
    for (uint32_t i = 0; i < p->size; i++) {
        uint32_t other = i + (uint32_t)draw(world->size - i), swap = rank[other];
        rank[other] = rank[i];
        rank[i] = swap;
        member[i] = p->world_rank[i] = swap;
    }
    for (uint32_t i = 0; i < p->size; i++) {
        struct td_request q = {.kind = TD_REQUEST_GROUP};
        const struct job_rank *r = &play.job.rank[p->world_rank[i]];
        q.u.make.group = r->group;
        q.u.make.number = number;
        q.u.make.members = p->size;
        q.u.make.member = member;
        request[i] = td_sim_request(play.sim, r->client, &q);
    }
    CHECK(td_sim_settle(play.sim, SECOND));
    for (uint32_t i = 0; i < p->size; i++) {
        const struct td_reply *r =
            td_sim_reply(play.sim, play.job.rank[p->world_rank[i]].client, request[i]);
        CHECK(r != NULL);
        EXPECT(r->error == TD_OK, "making a group: %s", r->text);
        CHECK(r->kind == TD_REPLY_JOINED && r->u.joined.rank == i && r->u.joined.size == p->size);
        p->number[i] = r->u.joined.group;
    }
}

/* issue makes the ranks call: each makes the calls of a group in order, and otherwise in random
 * order. */
static void issue(void)
{
    uint32_t called[RANKS_MAX] = {0}; /* bitmap of operations */
    uint32_t left = 0;
    for (uint32_t k = 0; k < play.operations; k++)
        left += play.operation[k].party->size;
    while (left) {
        struct operation *o = &play.operation[draw(play.operations)];
        uint32_t member = (uint32_t)draw(o->party->size), rank = o->party->world_rank[member];
        struct operation *first =
            NULL; /* the next operation of the same group that this rank has to call */
        for (uint32_t k = 0; k < play.operations && !first; k++)
            if (play.operation[k].party == o->party && !(called[rank] >> k & 1))
                first = &play.operation[k];
        if (!first)
            continue;
        called[rank] |= 1u << (first - play.operation);
        call(first, member);
        left--;
        if (draw(4) == 0)
            td_sim_run(play.sim, draw(200000));
    }
}

static void play_round(void)
{
    play.used = 0;
    play.operations = 2 + (uint32_t)draw(CALLS_MAX - 1);
    for (uint32_t k = 0; k < play.operations; k++)
        draw_operation(&play.operation[k]);
    issue();
    EXPECT(td_sim_settle(play.sim, 600 * SECOND), "no end after ten minutes");
    for (uint32_t k = 0; k < play.operations; k++)
        verify(&play.operation[k]);
    td_sim_forget(play.sim);
}

static void leave(struct party *p)
{
    for (uint32_t i = 0; i < p->size; i++) {
        struct td_request q = {.kind = TD_REQUEST_LEAVE};
        q.u.leave.group = p->number[i];
        td_sim_request(play.sim, play.job.rank[p->world_rank[i]].client, &q);
    }
    CHECK(td_sim_settle(play.sim, SECOND));
}

/* tune draws methods and memory: sometimes with too little scratch memory for all at a time. */
static void tune(struct td_sim_options *o)
{
    uint64_t seed = o->seed * 0x9e3779b97f4a7c15u;
    o->settings.tuning.alltoall = (uint8_t)(seed >> 40) % TD_ALLTOALLS;
    o->settings.tuning.burst = 1 + (uint32_t)(seed >> 50) % 3;
    o->settings.tuning.relay_bytes = seed >> 60 & 1 ? 1 << 16 : 1 << 20;
    if (seed >> 61 & 1)
        o->settings.scratch_bytes = 9 << 20;
}

static void world_of(uint64_t seed)
{
    static const char *const shapes[] = {"1", "2", "3", "2x2", "3x3m", "2x2x2", "3x2", "5"};
    uint32_t nodes[RANKS_MAX];
    job_case("TORUS_TEST_CASE=%llu test_kinds_sim", (unsigned long long)seed);
    play.sim = job_world(shapes[seed / 2 % 8], seed, tune);
    uint32_t size = 1 + (uint32_t)draw(RANKS_MAX), spread = (uint32_t)draw(3);
    job_spread(play.sim, size, nodes);
    for (uint32_t r = 0; r < size && spread; r++)
        nodes[r] =
            (uint32_t)(spread == 1 ? r % td_sim_nodes(play.sim) : draw(td_sim_nodes(play.sim)));
    job_form(&play.job, play.sim, "job", nodes, size, 8 << 20);
    play.party[0] = (struct party){.size = size};
    for (uint32_t r = 0; r < size; r++) {
        play.party[0].world_rank[r] = r;
        play.party[0].number[r] = play.job.rank[r].group;
    }
    play.parties = 1 + (uint32_t)draw(GROUPS_MAX);
    for (uint32_t p = 1; p < play.parties; p++)
        make_party(&play.party[p], p);
    for (int round = 0; round < 4; round++) {
        play_round();
        if (play.parties > 1 && draw(2)) { /* another group replaces the last one */
            leave(&play.party[play.parties - 1]);
            make_party(&play.party[play.parties - 1], 100 + (uint64_t)round);
        }
    }
    EXPECT(td_sim_drops(play.sim) == 0, "a link was dropped");
    job_world_end(play.sim);
}

static void overlapping_operations_of_several_groups_agree_with_a_serial_reference(void **unused)
{
    (void)unused;
    seeds_run(world_of, 600, 25, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_operations_of_several_groups_agree_with_a_serial_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
