/* SPDX-License-Identifier: Apache-2.0 */
#include "router.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/span.h"
#include "router_queues.h"

struct td_router *td_router_create(struct td_arena *arena, const struct td_topology *topology,
                                   uint32_t node, const struct td_router_rules *rules,
                                   uint64_t seed)
{
    struct td_router *r = td_arena_alloc(arena, sizeof *r);
    if (!r)
        return NULL;
    uint32_t coordinates[TD_DIMENSIONS_MAX];
    td_topology_coordinates(topology, node, coordinates);
    r->topology = *topology;
    r->rules = *rules;
    r->node = node;
    r->dimensions = topology->dimensions;
    r->directions = 2 * topology->dimensions;
    r->random = seed;
    r->open = rules->fifo_slots ? (1u << r->directions) - 1 : 0;
    r->side = td_arena_alloc_lines(arena, r->directions * sizeof *r->side);
    for (uint32_t d = 0; r->side && d < r->directions; d++)
        for (unsigned c = 0; c < TD_CHANNELS; c++)
            r->side[d].out.credits[c] = rules->slots;
    for (uint32_t d = 0; d < r->dimensions; d++)
        r->coordinate_sum += coordinates[d];
    r->impatient = rules->patience == 0 ? (1u << r->directions) - 1 : 0;
    if (r->rules.queues < 2 * topology->dimensions) /* a direction may want one to itself */
        r->rules.queues = 2 * topology->dimensions;
    r->parcel = td_arena_alloc(arena, (size_t)r->directions * TD_CHANNELS * rules->slots *
                                          sizeof *r->parcel);
    r->injected =
        td_arena_alloc(arena, (size_t)r->directions * rules->fifo_slots * sizeof *r->injected);
    return td_queues_init(r, arena) && r->side && r->parcel && r->injected ? r : NULL;
}

static struct td_parcel *held(const struct td_router *r, unsigned direction, unsigned channel)
{
    return &r->parcel[(direction * TD_CHANNELS + channel) * r->rules.slots];
}

/* ---- ways ---- */

void td_router_route(const struct td_router *r, uint32_t destination, uint32_t turn, int sign,
                     struct td_shipment *s)
{
    s->ties = 0;
    memset(s->left, 0, sizeof s->left);
    uint32_t tie = r->coordinate_sum + turn;
    int32_t offsets[TD_DIMENSIONS_MAX];
    td_topology_offsets(&r->topology, r->node, destination, offsets);
    for (uint32_t d = 0; d < r->dimensions; d++) {
        int32_t offset = offsets[d];
        if (r->topology.wrap[d] && (uint32_t)offset * 2 == r->topology.size[d]) {
            if (sign == 0)
                s->ties = (uint8_t)(s->ties | 1u << d);
            if (sign < 0 || (sign == 0 && tie & 1))
                offset = -offset;
            tie >>= 1; /* several ties take all combinations in turn */
        }
        s->left[d] = (int16_t)offset;
    }
}

/* ---- injection ---- */

uint32_t td_router_queue(const struct td_router *r, uint32_t queue)
{
    return queue < r->rules.queues ? queue : queue % r->rules.queues;
}

bool td_router_has_room(const struct td_router *r, uint32_t queue, uint64_t job)
{
    return td_queues_has_room(r, &r->queue[td_router_queue(r, queue)], job);
}

bool td_router_ship(struct td_router *r, uint32_t queue, const struct td_shipment *s)
{
    return td_queues_ship(r, &r->queue[td_router_queue(r, queue)], s);
}

void td_router_discard(struct td_router *r, bool (*dead)(void *, uint64_t), void *owner)
{
    td_queues_discard(r, dead, owner);
    uint32_t slots = r->rules.fifo_slots;
    for (uint32_t d = 0; d < r->directions; d++) {
        struct ring *ring = &r->side[d].fifo.ring;
        struct injected *p = &r->injected[d * slots];
        uint32_t kept = 0, count = ring->count;
        for (uint32_t i = 0; i < count; i++)
            if (!dead(owner, p[ring_place(ring, slots, i)].parcel.tag))
                p[ring_place(ring, slots, kept++)] = p[ring_place(ring, slots, i)];
        ring->count = kept;
        if (kept < slots)
            r->open |= 1u << d;
        r->drained = false;
        if (kept == 0)
            r->injecting &= ~(1u << d);
    }
}

/* ---- arrival ---- */

bool td_router_has_slot(const struct td_router *r, unsigned direction, unsigned channel)
{
    const struct channel *c = &r->side[direction].channel[channel];
    return c->in - c->freed < r->rules.slots;
}

bool td_router_arrive(struct td_router *r, unsigned direction, unsigned channel,
                      const struct td_parcel *p)
{
    struct channel *c = &r->side[direction].channel[channel];
    uint16_t ways = router_ways(r, p->left);
    assert(td_router_has_slot(r, direction, channel));
    c->in++;
    if (c->in - c->freed > c->held_max)
        c->held_max = c->in - c->freed;
    if (!ways)
        return true;
    struct td_parcel *to =
        &held(r, direction, channel)[ring_place(&c->ring, r->rules.slots, c->ring.count)];
    *to = *p;
    to->ways = ways;
    c->ring.count++;
    r->waiting |= (uint64_t)1 << (direction * TD_CHANNELS + channel);
    return false;
}

void td_router_freed(struct td_router *r, unsigned direction, unsigned channel)
{
    struct channel *c = &r->side[direction].channel[channel];
    assert(c->freed < c->in);
    c->freed++;
    r->news |= 1u << direction;
}

/* ---- moving ---- */

/* choose finds where a parcel goes: the adaptive channel with most credits in any of its idle
 * directions, else the escape. `from` is the direction of travel on whose escape channel it is, or
 * -1. False: nowhere now. */
static inline bool choose(struct td_router *r, const struct td_parcel *p, uint32_t idle, int from,
                          struct td_move *move)
{
    uint32_t most = 0, equals = 0;
    if (!(p->ways & idle))
        return false;
    uint32_t ways = r->rules.no_adaptive ? 0 : p->ways & idle;
    for (; ways; ways &= ways - 1) {
        unsigned direction = (unsigned)__builtin_ctz(ways);
        for (unsigned channel = 0; channel < TD_CHANNEL_ESCAPE; channel++) {
            uint32_t free = r->side[direction].out.credits[channel];
            if (free == 0 || free < most)
                continue;
            equals = free > most ? 1 : equals + 1;
            if (free > most || router_one_in(r, equals)) {
                move->direction = (uint8_t)direction;
                move->channel = (uint8_t)channel;
            }
            most = free;
        }
    }
    if (most > 0)
        return true;
    unsigned first = (unsigned)__builtin_ctz(p->ways);
    if (!(idle >> first & 1))
        return false;
    uint32_t need = (int)first == from || r->rules.no_bubble ? 1 : 2;
    move->direction = (uint8_t)first;
    move->channel = TD_CHANNEL_ESCAPE;
    return r->side[first].out.credits[TD_CHANNEL_ESCAPE] >= need;
}

static void leave(struct td_router *r, const struct td_parcel *p, struct td_move *move)
{
    move->parcel = *p;
    move->parcel.left[move->direction / 2] =
        (int16_t)(move->parcel.left[move->direction / 2] - (move->direction & 1 ? -1 : 1));
    r->side[move->direction].out.credits[move->channel]--;
    r->side[move->direction].moved++;
}

/* from_channel tries the head of an input channel. */
static inline bool from_channel(struct td_router *r, unsigned direction, unsigned channel,
                                uint32_t idle, struct td_move *move)
{
    struct channel *c = &r->side[direction].channel[channel];
    const struct td_parcel *p = &held(r, direction, channel)[c->ring.first];
    if (!choose(r, p, idle, channel == TD_CHANNEL_ESCAPE ? (int)direction : -1, move))
        return false;
    leave(r, p, move);
    ring_drop_first(&c->ring, r->rules.slots);
    c->freed++;
    r->news |= 1u << direction;
    if (c->ring.count == 0)
        r->waiting &= ~((uint64_t)1 << (direction * TD_CHANNELS + channel));
    return true;
}

/* pause keeps the distance to the next packet. A packet that left late, since others passed, does
 * not put off those behind it: at full load a slot that is given up once is missing on this ring
 * for ever after. */
static void pause(struct td_router *r, struct fifo *f, uint32_t gap)
{
    td_time period = (td_time)(gap + 1) * r->slot;
    bool goes_on = gap == f->gap && f->pause_ends + CATCH_UP * period > r->now;
    f->gap = gap;
    f->pause_ends = gap ? (goes_on ? f->pause_ends : r->now) + period : 0;
}

static void be_patient(struct td_router *r, unsigned direction)
{
    r->side[direction].fifo.passed = 0;
    if (r->rules.patience > 0)
        r->impatient &= ~(1u << direction);
}

static bool from_fifo(struct td_router *r, unsigned direction, uint32_t idle, struct td_move *move)
{
    struct fifo *f = &r->side[direction].fifo;
    const struct injected *p = &r->injected[direction * r->rules.fifo_slots + f->ring.first];
    if (f->pause_ends > r->now)
        return false;
    if (!choose(r, &p->parcel, idle, -1, move))
        return false;
    leave(r, &p->parcel, move);
    be_patient(r, direction);
    pause(r, f, p->gap);
    r->pausing = p->gap ? r->pausing | 1u << direction : r->pausing & ~(1u << direction);
    ring_drop_first(&f->ring, r->rules.fifo_slots);
    r->open |= 1u << direction;
    r->drained = false;
    if (f->ring.count == 0)
        r->injecting &= ~(1u << direction);
    return true;
}

/* straight_on lets the heads go that keep their direction: a packet that turns off would only wait
 * behind them. It is what keeps long dimensions full (docs/network.md). */
static unsigned straight_on(struct td_router *r, uint32_t *idle, struct td_move *moves,
                            unsigned count)
{
    for (uint64_t left = r->waiting; left && *idle; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left), direction = i / TD_CHANNELS;
        const struct td_parcel *p = &held(
            r, direction, i % TD_CHANNELS)[r->side[direction].channel[i % TD_CHANNELS].ring.first];
        if (!(p->ways & *idle & 1u << direction) ||
            !from_channel(r, direction, i % TD_CHANNELS, 1u << direction, &moves[count]))
            continue;
        *idle &= ~(1u << direction);
        count++;
    }
    return count;
}

/* transit lets the heads of the input channels go, beginning at another one each time. */
static unsigned transit(struct td_router *r, uint32_t *idle, struct td_move *moves, unsigned count)
{
    uint32_t channels = r->directions * TD_CHANNELS;
    if (r->rules.straight && r->turns % r->rules.straight == 0)
        count = straight_on(r, idle, moves, count);
    uint64_t before = ((uint64_t)1 << r->next_channel) - 1;
    for (int half = 0; half < 2; half++) {
        uint64_t left = r->waiting & (half ? before : ~before);
        for (; left && *idle; left &= left - 1) {
            uint32_t i = (uint32_t)__builtin_ctzll(left);
            if (!from_channel(r, i / TD_CHANNELS, i % TD_CHANNELS, *idle, &moves[count]))
                continue;
            *idle &= ~(1u << moves[count].direction);
            count++;
        }
    }
    r->next_channel = r->next_channel + 1 < channels ? r->next_channel + 1 : 0;
    return count;
}

/* waits_for_other returns true if a group other than that of a packet waits here for a link. */
static bool waits_for_other(const struct td_router *r, unsigned direction, uint16_t group)
{
    const struct ring *fifo = &r->side[direction].fifo.ring;
    const struct injected *p = &r->injected[direction * r->rules.fifo_slots];
    for (uint32_t i = 0; i < fifo->count; i++)
        if (p[ring_place(fifo, r->rules.fifo_slots, i)].parcel.group != group)
            return true;
    for (const struct source *s = r->source; s; s = s->next)
        if (s->group != group)
            return true;
    return false;
}

/* pass_by counts, for the heads of the FIFOs that wanted to go, what took their links. Between
 * groups there is no patience: packets in transit and packets injected take turns. */
static void pass_by(struct td_router *r, const struct td_move *moves, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned direction = moves[i].direction;
        if (!(r->injecting >> direction & 1))
            continue;
        struct fifo *f = &r->side[direction].fifo;
        bool goes = f->pause_ends <= r->now;
        f->passed += goes;
        if (f->passed >= r->rules.patience ||
            (goes && waits_for_other(r, direction, moves[i].parcel.group)))
            r->impatient |= 1u << direction;
    }
}

/* injection lets the heads of the FIFOs go; with `impatient`, only of those passed by too often. */
static unsigned injection(struct td_router *r, bool impatient, uint32_t *idle,
                          struct td_move *moves, unsigned count)
{
    uint32_t before = (1u << r->next_fifo) - 1, from = impatient ? r->impatient : ~0u;
    for (int half = 0; half < 2; half++) {
        uint32_t left = r->injecting & from & (half ? before : ~before);
        for (; left && *idle; left &= left - 1) {
            if (!from_fifo(r, (unsigned)__builtin_ctz(left), *idle, &moves[count]))
                continue;
            *idle &= ~(1u << moves[count].direction);
            count++;
        }
    }
    if (!impatient)
        r->next_fifo = r->next_fifo + 1 < r->directions ? r->next_fifo + 1 : 0;
    return count;
}

unsigned td_router_moves(struct td_router *r, td_time now, td_time slot, uint32_t idle,
                         struct td_move *moves)
{
    unsigned count = 0, before;
    r->now = now;
    r->slot = slot;
    r->turns++;
    bool injection_first = r->rules.arbitration == TD_INJECTION_FIRST ||
                           (r->rules.arbitration == TD_NO_PREFERENCE && router_draw(r) % 2 == 0);
    idle &= (1u << r->directions) - 1;
    do {
        before = count;
        td_queues_drain(r);
        count = injection(r, !injection_first, &idle, moves, count);
        if (r->waiting) {
            unsigned first = count;
            count = transit(r, &idle, moves, count);
            pass_by(r, moves + first, count - first);
        }
        if (!injection_first)
            count = injection(r, false, &idle, moves, count);
    } while (count > before && idle && (r->waiting || r->injecting || r->shipments));
    td_queues_drain(r);
    return count;
}

bool td_router_busy(const struct td_router *r)
{
    return r->waiting || r->injecting || r->shipments;
}

td_time td_router_pause_ends(const struct td_router *r)
{
    td_time first = TD_TIME_NEVER;
    for (uint32_t left = r->injecting & r->pausing; left; left &= left - 1) {
        const struct fifo *f = &r->side[__builtin_ctz(left)].fifo;
        if (f->pause_ends > r->now && f->pause_ends < first)
            first = f->pause_ends;
    }
    return first;
}

/* ---- credits ---- */

uint32_t td_router_freed_count(const struct td_router *r, unsigned direction, unsigned channel)
{
    return r->side[direction].channel[channel].freed;
}

bool td_router_credit(struct td_router *r, unsigned direction, const uint32_t freed[TD_CHANNELS])
{
    struct way_out *out = &r->side[direction].out;
    uint32_t credits[TD_CHANNELS], slots = r->rules.slots;
    bool good = true;
    for (unsigned c = 0; c < TD_CHANNELS; c++) {
        credits[c] = out->credits[c] + (freed[c] - out->freed[c]);
        good &= credits[c] >= out->credits[c] && credits[c] <= slots;
    }
    if (!good)
        return false;
    memcpy(out->credits, credits, sizeof credits);
    memcpy(out->freed, freed, sizeof out->freed);
    return true;
}

void td_router_tell(struct td_router *r, unsigned direction, uint32_t freed[TD_CHANNELS])
{
    for (unsigned c = 0; c < TD_CHANNELS; c++)
        freed[c] = r->side[direction].channel[c].freed;
    r->news &= ~(1u << direction);
}

uint32_t td_router_news(const struct td_router *r)
{
    return r->news;
}

void td_router_reset(struct td_router *r, unsigned direction,
                     void (*drop)(void *owner, uint64_t tag), void *owner)
{
    for (unsigned i = 0; i < TD_CHANNELS; i++) {
        struct channel *in = &r->side[direction ^ 1].channel[i];
        r->side[direction].out.credits[i] = r->rules.slots;
        r->side[direction].out.freed[i] = 0;
        for (uint32_t k = 0; k < in->ring.count; k++)
            drop(owner, held(r, direction ^ 1, i)[ring_place(&in->ring, r->rules.slots, k)].tag);
        in->ring = (struct ring){0};
        in->in = in->freed = 0;
        r->news &= ~(1u << (direction ^ 1));
        r->waiting &= ~((uint64_t)1 << ((direction ^ 1) * TD_CHANNELS + i));
    }
}

void td_router_purge(struct td_router *r, bool (*dead)(void *owner, const struct td_parcel *parcel),
                     void *owner)
{
    for (uint64_t left = r->waiting; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left), count = 0;
        struct channel *c = &r->side[i / TD_CHANNELS].channel[i % TD_CHANNELS];
        struct td_parcel *p = held(r, i / TD_CHANNELS, i % TD_CHANNELS);
        for (uint32_t k = 0; k < c->ring.count; k++) {
            struct td_parcel *from = &p[ring_place(&c->ring, r->rules.slots, k)];
            if (dead(owner, from)) {
                c->freed++;
                r->news |= 1u << i / TD_CHANNELS;
            } else {
                p[ring_place(&c->ring, r->rules.slots, count++)] = *from;
            }
        }
        c->ring.count = count;
        if (count == 0)
            r->waiting &= ~((uint64_t)1 << i);
    }
}

uint32_t td_router_credits(const struct td_router *r, unsigned direction, unsigned channel)
{
    return r->side[direction].out.credits[channel];
}

/* ---- looking ---- */

unsigned td_router_spans(const struct td_router *r, struct td_span *spans)
{
    spans[0] = (struct td_span){r, offsetof(struct td_router, free)};
    spans[1] = (struct td_span){r->side, r->directions * sizeof *r->side};
    spans[2] = (struct td_span){r->parcel,
                                r->directions * TD_CHANNELS * r->rules.slots * sizeof *r->parcel};
    return TD_ROUTER_SPANS;
}

void td_router_look(const struct td_router *r, struct td_router_counts *counts)
{
    *counts = (struct td_router_counts){.queued_max = r->queued_max, .fifo_max = r->fifo_max};
    for (uint32_t i = 0; i < r->rules.queues; i++)
        if (r->queue[i].count > counts->queued)
            counts->queued = r->queue[i].count;
    for (uint32_t d = 0; d < r->directions; d++) {
        counts->fifo[d] = r->side[d].fifo.ring.count;
        counts->sent[d] = r->side[d].moved;
        for (unsigned c = 0; c < TD_CHANNELS; c++) {
            const struct channel *channel = &r->side[d].channel[c];
            counts->held[d][c] = channel->in - channel->freed;
            if (channel->held_max > counts->held_max[c])
                counts->held_max[c] = channel->held_max;
        }
    }
}
