/* SPDX-License-Identifier: Apache-2.0 */
#include "flood.h"

#include <string.h>

#include "arrival.h"
#include "core/net/inflight.h"
#include "gate.h"
#include "core/net/session.h"

enum { RETRY_NS = 1000000 };

bool td_flood_sent(const struct td_operation *o)
{
    return o->flood_state == TD_FLOOD_SENT || o->flood_state == TD_FLOOD_BLOCKED;
}

static uint32_t neighbour(const struct td_operation *o, uint32_t ring, uint32_t sign)
{
    const struct td_communicator *c = o->communicator;
    return c->group.node[td_ring_along(&o->program.ring[ring], c->slot, sign, 1)];
}

/* copy copies the block around a slot from flood->all to `out`, or from `in` to flood->all. It
 * returns the bytes of the block. */
static uint32_t copy(struct td_operation *o, uint32_t ring, uint32_t slot, const uint8_t *in,
                     uint8_t *out)
{
    const struct td_program *p = &o->program;
    const struct td_group *g = &o->communicator->group;
    size_t share = (size_t)p->ride_bytes / g->size;
    uint32_t bytes = 0;
    for (uint32_t i = 0; share && i < td_ring_block(p, ring); i++) {
        uint32_t at = slot, left = i;
        for (uint32_t r = 0; r < ring; r++) {
            at = at - at / p->ring[r].stride % p->ring[r].size * p->ring[r].stride +
                 left % p->ring[r].size * p->ring[r].stride;
            left /= p->ring[r].size;
        }
        for (uint32_t local = 0; local < td_group_slot_ranks(g, at); local++) {
            size_t here = td_group_rank(g, at, local) * share;
            if (in)
                memcpy(o->flood->all + here, in + bytes, share);
            else if (out)
                memcpy(out + bytes, o->flood->all + here, share);
            bytes += (uint32_t)share;
        }
    }
    return bytes;
}

static struct td_flood *obtain(struct td_operation *o)
{
    if (!o->flood)
        o->flood = td_arena_alloc(o->communicator->account->calls, sizeof *o->flood);
    return o->flood;
}

/* ---- receiving ---- */

/* reserve_for returns the bytes that the blocks of all other nodes need. Each rank's share is
 * received once. */
static uint32_t reserve_for(const struct td_operation *o)
{
    uint32_t blocks = 0;
    for (uint32_t r = 0; r < o->program.rings; r++)
        blocks += td_ring_hops(&o->program.ring[r], 0) + td_ring_hops(&o->program.ring[r], 1);
    return blocks * (uint32_t)(sizeof(struct td_early_block) + 8) + (uint32_t)o->program.ride_bytes;
}

/* is_known returns true if a block is applied, or held for its turn. */
static bool is_known(const struct td_flood *f, const struct td_message_flood *m)
{
    uint32_t sign = m->is_backward;
    if (m->ring < f->ring || (m->ring == f->ring && m->hops <= f->received[sign]))
        return true;
    const struct td_early_block *h = f->early;
    while (h && (h->ring != m->ring || h->sign != sign || h->hop != m->hops))
        h = h->next;
    return h;
}

/* hold keeps a block until its turn. It returns false if there is no memory. */
static bool hold(struct td_operation *o, const struct td_message_flood *m)
{
    struct td_flood *f = obtain(o);
    struct td_early_block *held = NULL;
    uint32_t bytes = ((uint32_t)sizeof *held + m->payload.bytes + 7) / 8 * 8;
    if (!f || m->payload.bytes > TD_RIDE_BYTES_MAX)
        return false;
    if (is_known(f, m))
        return true;
    if (!(held = td_arena_alloc(o->communicator->account->calls, bytes)) &&
        f->reserve_bytes - f->reserve_used >= bytes) {
        held = (struct td_early_block *)(f->reserve + f->reserve_used);
        f->reserve_used += bytes;
        held->reserved = true;
    }
    if (!held)
        return false;
    held->ring = m->ring;
    held->sign = m->is_backward;
    held->hop = m->hops;
    held->bytes = m->payload.bytes;
    if (held->bytes)
        memcpy(held->payload, m->payload.data, held->bytes);
    held->next = f->early;
    f->early = held;
    return true;
}

static void drop(struct td_core *core, struct td_early_block *held)
{
    if (!held->reserved)
        td_core_free(core, held);
}

void td_flood_message(struct td_core *core, struct td_operation *o, uint32_t from,
                      const struct td_message_flood *m)
{
    if (o->state >= TD_OPERATION_RELEASED)
        return;
    if (!hold(o, m)) {
        struct td_message none;
        td_operation_start_message(o, TD_MESSAGE_ANNOUNCE_AGAIN, &none);
        none.u.announce_again = (struct td_message_announce_again){.is_surveyed = false};
        td_session_send(core, from, &none);
        return;
    }
    o->last = m->last;
    td_arrival_delayed(core, o, from, m->silent_node, m->silent_ns);
    if (o->report_at == TD_TIME_NEVER) {
        o->report_at = core->now + TD_REPORT_NS;
        td_core_alarm(core, o->report_at);
    }
    for (uint32_t r = 0; td_flood_sent(o) && r < o->program.rings; r++)
        for (uint32_t sign = 0; sign < 2; sign++)
            if (neighbour(o, r, sign) == from)
                o->flood->refused &= ~(1u << (2 * r + sign));
    td_arrival_witness(core, o, &m->witness);
    td_core_queue(core, &o->task);
}

void td_flood_refused(struct td_core *core, struct td_operation *o, uint32_t node)
{
    uint32_t doublings = o->retries < 7 ? o->retries : 7;
    for (uint32_t r = 0; td_flood_sent(o) && r < o->program.rings; r++)
        for (uint32_t sign = 0; sign < 2; sign++)
            if (neighbour(o, r, sign) == node) {
                o->flood->refused |= 1u << (2 * r + sign);
                o->flood->sent[2 * r + sign] = 0;
            }
    if (o->retry_at != TD_TIME_NEVER)
        return;
    o->retries++;
    o->retry_at = core->now + ((td_time)RETRY_NS << doublings);
    td_core_alarm(core, o->retry_at);
}

/* fits returns true if the next block has the hop count and the size of its turn. */
static bool fits(struct td_operation *o, const struct td_early_block *h)
{
    const struct td_ring *ring = &o->program.ring[o->flood->ring];
    return h->hop <= td_ring_hops(ring, h->sign) &&
           copy(o, o->flood->ring, td_ring_along(ring, o->communicator->slot, 1 - h->sign, h->hop),
                NULL, NULL) == h->bytes;
}

/* apply_next applies a block whose turn it is, and drops duplicates. It returns false if no block
 * can be applied. */
static bool apply_next(struct td_core *core, struct td_operation *o)
{
    struct td_flood *f = o->flood;
    for (struct td_early_block **link = &f->early; *link;) {
        struct td_early_block *h = *link;
        bool known = h->ring < f->ring || (h->ring == f->ring && h->hop <= f->received[h->sign]);
        bool next = h->ring == f->ring && h->hop == f->received[h->sign] + 1;
        if (!known && !next) {
            link = &h->next;
            continue;
        }
        *link = h->next;
        if (next && !fits(o, h)) { /* without it the operation completes nowhere */
            drop(core, h);
            td_operation_appeal(core, o, TD_ERR_PROTOCOL,
                                td_core_format(core,
                                               "node %u received a flooded block of the wrong "
                                               "size or hop count",
                                               core->node));
            return false;
        }
        if (next) {
            const struct td_ring *ring = &o->program.ring[f->ring];
            uint32_t slot = td_ring_along(ring, o->communicator->slot, 1 - h->sign, h->hop);
            (void)copy(o, f->ring, slot, h->payload, NULL);
            f->received[h->sign]++;
            if (f->received[0] == td_ring_hops(ring, 0) &&
                f->received[1] == td_ring_hops(ring, 1)) {
                f->ring++;
                f->received[0] = f->received[1] = 0;
            }
        }
        drop(core, h);
        if (next)
            return f->ring < o->program.rings;
    }
    return false;
}

/* ---- sending ---- */

/* due returns how many blocks the next node of a ring should have by now. */
static uint32_t due(const struct td_operation *o, uint32_t ring, uint32_t sign)
{
    const struct td_flood *f = o->flood;
    uint32_t far = td_ring_hops(&o->program.ring[ring], sign);
    if (ring > f->ring || far == 0 || f->refused >> (2 * ring + sign) & 1)
        return 0;
    return ring < f->ring || f->received[sign] >= far ? far : f->received[sign] + 1;
}

static bool send_block(struct td_core *core, struct td_operation *o, uint32_t ring, uint32_t sign)
{
    uint32_t hop = ++o->flood->sent[2 * ring + sign];
    uint32_t slot = td_ring_along(&o->program.ring[ring], o->communicator->slot, 1 - sign, hop - 1);
    struct td_message m;
    td_operation_start_message(o, TD_MESSAGE_FLOOD, &m);
    uint32_t bytes = copy(o, ring, slot, NULL, NULL);
    uint8_t *payload = td_core_pad(core, bytes + 1);
    if (!payload) {
        o->flood->sent[2 * ring + sign]--;
        return false;
    }
    (void)copy(o, ring, slot, NULL, payload);
    m.u.flood = (struct td_message_flood){.ring = ring,
                                          .is_backward = sign,
                                          .hops = hop,
                                          .witness = o->least,
                                          .last = o->last,
                                          .silent_node = o->silent_node,
                                          .silent_ns = o->silent_ns,
                                          .payload = {payload, bytes}};
    td_session_send(core, neighbour(o, ring, sign), &m);
    return true;
}

/* send_due sends the blocks that are due. It returns false if the action list is full. Where calls
 * differ it sends nothing: o->least may be the other rank's call, and a node that hears its own
 * call would complete. */
static bool send_due(struct td_core *core, struct td_operation *o)
{
    if (td_arrival_mismatched(o))
        return true;
    for (uint32_t r = 0; r < o->program.rings; r++)
        for (uint32_t sign = 0; sign < 2; sign++)
            while (o->flood->sent[2 * r + sign] < due(o, r, sign))
                if (!td_core_room(core) || !send_block(core, o, r, sign))
                    return false;
    return true;
}

/* load_own starts the copy of the local shares. It returns true when they are here. */
static bool load_own(struct td_core *core, struct td_operation *o)
{
    struct td_flood *f = o->flood;
    const struct td_communicator *c = o->communicator;
    size_t share = (size_t)o->program.ride_bytes / c->group.size;
    if (o->flood_state == TD_FLOOD_LOADING || share == 0)
        return o->flights == 0;
    struct td_inflight *flight = td_inflight_acquire(core, TD_INFLIGHT_RIDE, o);
    if (!flight) {
        td_operation_fail_busy(core, o);
        return false;
    }
    struct td_compute *store = &td_core_act(core, TD_ACTION_COMPUTE)->u.compute;
    store->kind = TD_COMPUTE_STORE;
    store->handle = td_inflight_handle(core, flight);
    store->step.from = td_slice_at(TD_SPACE_SOURCE, 0, 0, (int64_t)share);
    td_slice_loop(&store->step.from, c->ranks, 0, 1);
    store->bytes = store->cost_bytes = share * c->ranks;
    store->store = f->own;
    td_operation_view(o, &store->view);
    td_operation_in_flight_begin(o);
    td_flood_transition(o, TD_FLOOD_LOAD);
    return false;
}

/* finish releases the operation when its scratch memory is free. No other node waits for that. */
static void finish(struct td_core *core, struct td_operation *o)
{
    if (td_operation_take_scratch(core, o)) {
        td_operation_transition(o, TD_OPERATION_RELEASE);
        o->progress_at = core->now;
    } else {
        o->retry_at = core->now + RETRY_NS;
        td_core_alarm(core, o->retry_at);
    }
}

bool td_flood_advance(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    struct td_flood *f = obtain(o);
    size_t bytes = (size_t)o->program.ride_bytes;
    if (f && !f->all) {
        f->all = td_arena_alloc(o->communicator->account->calls, bytes + 1);
        f->own =
            td_arena_alloc(o->communicator->account->calls, bytes / c->group.size * c->ranks + 1);
        f->reserve_bytes = reserve_for(o);
        f->reserve = td_arena_alloc(o->communicator->account->calls, f->reserve_bytes + 1);
        f->reserve_bytes = f->reserve ? f->reserve_bytes : 0;
    }
    if (!f || !f->all || !f->own || !f->reserve) {
        td_operation_transition(o, TD_OPERATION_REFUSE);
        td_operation_appeal(core, o, TD_ERR_NO_MEMORY,
                            td_account_no_memory(core, c->account, td_operation_describe(core, o)));
        return true;
    }
    if (o->retry_at != TD_TIME_NEVER && core->now >= o->retry_at) {
        o->retry_at = TD_TIME_NEVER;
        f->refused = 0;
    }
    if (!td_flood_sent(o) &&
        (o->flood_state == TD_FLOOD_VETOED || c->state == TD_COMMUNICATOR_LOSING_RANK ||
         td_arrival_mismatched(o) || !load_own(core, o)))
        return true;
    if (!td_flood_sent(o)) {
        (void)copy(o, 0, c->slot, f->own, NULL);
        td_flood_transition(o, TD_FLOOD_SEND);
        td_operation_transition(o, TD_OPERATION_ANNOUNCE);
    }
    do {
        if (!send_due(core, o))
            return false;
    } while (!td_arrival_mismatched(o) && f->ring < o->program.rings && apply_next(core, o));
    if (o->state != TD_OPERATION_ANNOUNCED)
        return true; /* an appeal has ended it */
    if (!send_due(core, o))
        return false;
    if (f->ring == o->program.rings)
        finish(core, o);
    return true;
}

void td_flood_free(struct td_core *core, struct td_operation *o)
{
    struct td_flood *f = o->flood;
    while (f && f->early) {
        struct td_early_block *h = f->early;
        f->early = h->next;
        drop(core, h);
    }
    if (f) {
        td_core_free(core, f->reserve);
        td_core_free(core, f->all);
        td_core_free(core, f->own);
    }
    td_core_free(core, f);
}

/* ---- when a rank is lost ---- */

static bool all_settled(struct td_core *core, struct td_communicator *c)
{
    bool settled = true;
    for (int i = 0; i < TD_GROUP_OPERATIONS_MAX; i++)
        if (c->operation[i] && c->operation[i]->state < TD_OPERATION_RELEASED &&
            !td_gate_settled(core, c->operation[i]))
            settled = false;
    return settled;
}

static void note_good(struct td_communicator *c)
{
    c->good_first = c->first_sequence;
    for (uint32_t i = 0; i < TD_GROUP_OPERATIONS_MAX; i++) {
        uint32_t place = (uint32_t)((c->first_sequence + i) % TD_GROUP_OPERATIONS_MAX);
        const struct td_operation *o = c->operation[place];
        if (c->retired[place] || (o && o->state >= TD_OPERATION_RELEASED && o->error == TD_OK))
            td_bit_set(c->good, i);
    }
}

bool td_flood_rank_loss_settled(struct td_core *core, struct td_communicator *c)
{
    if (!all_settled(core, c))
        return false;
    note_good(c);
    return true;
}

bool td_flood_completes(const struct td_communicator *c, uint64_t sequence)
{
    uint64_t place = sequence - c->good_first;
    return sequence < c->good_first ||
           (place < TD_GROUP_OPERATIONS_MAX && td_bit(c->good, (uint32_t)place));
}
