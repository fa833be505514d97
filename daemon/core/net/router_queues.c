/* SPDX-License-Identifier: Apache-2.0 */
#include "router_queues.h"

#include <string.h>

#include "base/arena.h"

bool td_queues_init(struct td_router *r, struct td_arena *arena)
{
    uint32_t shipments = r->rules.queues * r->rules.queue_slots + SPARE_SHIPMENTS;
    r->queue = td_arena_alloc(arena, r->rules.queues * sizeof *r->queue);
    struct queued *queued = td_arena_alloc(arena, shipments * sizeof *queued);
    struct source *source = td_arena_alloc(arena, shipments * sizeof *source);
    for (uint32_t i = shipments; queued && source && i-- > 0;) {
        queued[i].next = r->free;
        r->free = &queued[i];
        source[i].next = r->source_free;
        r->source_free = &source[i];
    }
    return r->queue && queued && source;
}

/* ---- shipments ---- */

bool td_queues_has_room(const struct td_router *r, const struct output *out, uint64_t job)
{
    if (out->count < r->rules.queue_slots)
        return true;
    uint32_t queued = 0;
    for (const struct queued *s = out->first; s && queued < r->rules.queue_slots; s = s->next)
        queued += s->shipment.job == job;
    return queued < r->rules.queue_slots &&
           r->spares < (queued ? SPARE_SHIPMENTS / 2 : SPARE_SHIPMENTS);
}

/* count_shipment returns the source of a job, with one more shipment. */
static struct source *count_shipment(struct td_router *r, const struct td_shipment *s)
{
    struct source *source = r->source;
    while (source && source->job != s->job)
        source = source->next;
    if (!source) {
        source = r->source_free;
        r->source_free = source->next;
        *source = (struct source){.next = r->source, .job = s->job};
        for (uint32_t d = 0; d < r->directions; d++)
            source->served[d] = r->injections;
        r->source = source;
    }
    source->shipments++;
    source->group = s->group;
    return source;
}

static void uncount_shipment(struct td_router *r, struct source *source)
{
    struct source **at = &r->source;
    if (--source->shipments > 0)
        return;
    while (*at != source)
        at = &(*at)->next;
    *at = source->next;
    source->next = r->source_free;
    r->source_free = source;
}

bool td_queues_ship(struct td_router *r, struct output *out, const struct td_shipment *s)
{
    if (!td_queues_has_room(r, out, s->job))
        return false;
    struct queued *to = r->free;
    r->free = to->next;
    to->next = NULL;
    to->shipment = *s;
    to->shipment.ways = router_ways(r, s->left);
    if (out->first)
        out->last->next = to;
    else
        out->first = to;
    out->last = to;
    to->source = count_shipment(r, s);
    to->served = r->injections;
    r->spares += out->count++ >= r->rules.queue_slots;
    r->shipments++;
    r->drained = false;
    if (out->count > r->queued_max)
        r->queued_max = out->count;
    return true;
}

/* release ends the shipment after `before` in a queue; NULL: the first one. */
static void release(struct td_router *r, struct output *out, struct queued *before)
{
    struct queued *queued = before ? before->next : out->first;
    if (before)
        before->next = queued->next;
    else
        out->first = queued->next;
    if (!queued->next)
        out->last = before;
    queued->next = r->free;
    r->free = queued;
    uncount_shipment(r, queued->source);
    r->spares -= --out->count >= r->rules.queue_slots;
    r->shipments--;
}

/* ---- injection ---- */

/* turn_ties turns the signs for the packet after. */
static void turn_ties(const struct td_router *r, struct td_shipment *s)
{
    bool carry = true; /* count in binary over the tied dimensions */
    for (uint32_t d = 0; d < r->dimensions && carry; d++) {
        if (!(s->ties >> d & 1))
            continue;
        s->left[d] = (int16_t)-s->left[d];
        carry = s->left[d] > 0;
    }
}

/* least_full returns the direction of the least full of the FIFOs that have room. */
static unsigned least_full(struct td_router *r, uint32_t ways)
{
    uint32_t least = r->rules.fifo_slots, equals = 0;
    unsigned best = 0;
    for (; ways; ways &= ways - 1) {
        unsigned direction = (unsigned)__builtin_ctz(ways);
        uint32_t count = r->side[direction].fifo.ring.count;
        if (count > least)
            continue;
        equals = count < least ? 1 : equals + 1;
        if (count < least || router_one_in(r, equals))
            best = direction;
        least = count;
    }
    return best;
}

/* inject moves a packet of a shipment to a FIFO that has room. `before`: the shipment before it in
 * its queue; NULL: it is the first one. */
static void inject(struct td_router *r, struct output *out, struct queued *before)
{
    struct queued *queued = before ? before->next : out->first;
    struct td_shipment *s = &queued->shipment;
    unsigned direction = least_full(r, s->ways & r->open);
    struct fifo *f = &r->side[direction].fifo;
    struct injected *p = &r->injected[direction * r->rules.fifo_slots +
                                      ring_place(&f->ring, r->rules.fifo_slots, f->ring.count)];
    p->parcel.tag = s->tag++;
    p->gap = s->gap;
    p->parcel.ways = s->ways;
    p->parcel.group = s->group;
    memcpy(p->parcel.left, s->left, sizeof p->parcel.left);
    f->ring.count++;
    r->injecting |= 1u << direction;
    if (f->ring.count == r->rules.fifo_slots)
        r->open &= ~(1u << direction);
    if (f->ring.count > r->fifo_max)
        r->fifo_max = f->ring.count;
    queued->source->served[direction] = queued->served = ++r->injections;
    if (--s->packets > 0) {
        turn_ties(r, s);
        s->ways = router_ways(r, s->left);
    } else {
        release(r, out, before);
    }
}

/* drain_alone visits the output queues in turn while any head finds a FIFO: of one job. */
static void drain_alone(struct td_router *r)
{
    uint32_t queues = r->rules.queues, idle = 0;
    while (r->shipments > 0 && idle < queues && r->open) {
        struct output *out = &r->queue[r->next_queue];
        r->next_queue = r->next_queue + 1 < queues ? r->next_queue + 1 : 0;
        bool goes = out->first && out->first->shipment.ways & r->open;
        if (goes)
            inject(r, out, NULL);
        idle = goes ? 0 : idle + 1;
    }
}

/* struct candidate: the place of a shipment, and how long it has waited, in injections: its source
 * for a FIFO, then itself. */
struct candidate {
    struct output *out;
    struct queued *before;
    uint32_t age, own_age;
};

/* consider replaces the candidate by a shipment that has waited for longer. */
static void consider(const struct td_router *r, struct output *out, struct queued *before,
                     struct candidate *best)
{
    const struct queued *s = before ? before->next : out->first;
    uint32_t age = 0, own_age = r->injections - s->served;
    for (uint32_t left = s->shipment.ways & r->open; left; left &= left - 1) {
        uint32_t waited = r->injections - s->source->served[__builtin_ctz(left)];
        age = waited > age ? waited : age;
    }
    if (!best->out || age > best->age || (age == best->age && own_age > best->own_age))
        *best = (struct candidate){out, before, age, own_age};
}

/* oldest finds, of the first shipments of each job in each queue, the one that has waited for
 * longest of those that find a FIFO. */
static bool oldest(struct td_router *r, struct candidate *best)
{
    best->out = NULL;
    for (uint32_t q = 0; q < r->rules.queues; q++) {
        struct queued *before = NULL;
        r->looks++;
        for (struct queued *s = r->queue[q].first; s; before = s, s = s->next) {
            bool first = s->source->seen != r->looks;
            s->source->seen = r->looks;
            if (first && s->shipment.ways & r->open)
                consider(r, &r->queue[q], before, best);
        }
    }
    return best->out != NULL;
}

void td_queues_drain(struct td_router *r)
{
    struct candidate best;
    if (r->drained || r->shipments == 0)
        return;
    r->drained = true;
    while (r->source && r->source->next && r->open && oldest(r, &best))
        inject(r, best.out, best.before);
    if (r->source && !r->source->next)
        drain_alone(r);
}

void td_queues_discard(struct td_router *r, bool (*dead)(void *, uint64_t), void *owner)
{
    for (uint32_t q = 0; q < r->rules.queues; q++) {
        struct output *out = &r->queue[q];
        struct queued *s = out->first, *next = NULL, *before = NULL;
        for (; s; s = next) {
            next = s->next;
            if (dead(owner, s->shipment.tag))
                release(r, out, before);
            else
                before = s;
        }
    }
}
