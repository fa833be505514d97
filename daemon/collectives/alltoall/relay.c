/* SPDX-License-Identifier: Apache-2.0 */
#include "relay.h"

#include "model/counts.h"

enum { ALIGNMENT = 16 }; /* of pieces that are long enough */

TD_PARAMETERS(struct td_relay)

const struct td_relay *td_relay_of(const struct td_program *p)
{
    return parameters(p);
}

/* capacity returns the room for one rank pair's piece. */
static int64_t capacity(const struct td_relay *relay)
{
    return (relay->segment + relay->parts - 1) / relay->parts;
}

static int64_t pairs(const struct td_relay *relay)
{
    return relay->ranks * relay->ranks;
}

static uint64_t segment_for(const struct td_program *p, const struct td_relay *relay,
                            uint32_t parts, uint32_t buffers)
{
    uint64_t bytes = (uint64_t)relay->bytes;
    uint64_t segment = p->tuning.relay_bytes / ((uint64_t)pairs(relay) * p->group->slots * buffers);
    if (segment >= bytes)
        return bytes;
    if (segment >= parts * ALIGNMENT)
        return segment - segment % (parts * ALIGNMENT);
    return segment > parts ? segment - segment % parts : parts < bytes ? parts : bytes;
}

bool td_relay_has(const struct td_slice *slice)
{
    return slice->space == TD_SPACE_SCRATCH && !slice->overlap;
}

/* count_steps counts the steps that pack and unpack. `even`: no unit needs padding. */
static void count_steps(const struct td_program *p, struct td_relay *relay, bool even)
{
    int64_t slots = p->group->slots, runs = p->group->runs;
    if (p->units) {
        relay->packs = (int64_t)p->units->packs(p->units);
        relay->unpacks = (int64_t)p->units->unpacks(p->units);
    } else if (p->counts) {
        relay->packs = 2 * slots;
        relay->unpacks = slots;
    } else {
        relay->packs = runs + (even ? 0 : 2 * slots);
        relay->unpacks = runs;
    }
}

void td_relay_plan(struct td_program *p, struct td_relay *relay, uint32_t parts, uint32_t buffers)
{
    const struct td_group *g = p->group;
    bool unequal = p->counts || p->units;
    uint32_t most = 0;
    bool even = true;
    for (uint32_t slot = 0; slot < g->slots; slot++) {
        uint32_t ranks = td_group_slot_ranks(g, slot);
        even = even && ranks == td_group_slot_ranks(g, 0);
        most = ranks > most ? ranks : most;
    }
    uint64_t bytes = unequal ? p->survey.most : td_program_bytes(p);
    relay->ranks = unequal ? 1 : most;
    relay->bytes = (int64_t)bytes;
    relay->parts = parts;
    count_steps(p, relay, even);
    uint64_t segment = segment_for(p, relay, parts, buffers);
    relay->segment = (int64_t)segment;
    relay->segments = (int64_t)(bytes / segment + (bytes % segment != 0));
    p->scratch_bytes = td_relay_buffer(p, buffers, 0);
}

struct td_range td_relay_piece(const struct td_program *p, uint64_t segment, uint32_t part)
{
    uint64_t size = (uint64_t)td_relay_of(p)->segment, begin = segment * size;
    uint64_t left = (uint64_t)td_relay_of(p)->bytes - begin;
    uint64_t parts = (uint64_t)td_relay_of(p)->parts;
    struct td_range piece = td_share(left < size ? left : size, parts, part);
    piece.begin += begin;
    return piece;
}

int64_t td_relay_unit(const struct td_program *p, struct td_range piece)
{
    return pairs(td_relay_of(p)) * (int64_t)piece.count;
}

int64_t td_relay_buffer(const struct td_program *p, uint32_t buffer, uint32_t part)
{
    return (buffer * td_relay_of(p)->parts + part) * p->group->slots * pairs(td_relay_of(p)) *
           capacity(td_relay_of(p));
}

/* pad names the padding of a unit: the rows of senders, or the columns of receivers, that a node
 * with fewer ranks does not have. */
static void pad(const struct td_program *p, uint32_t slot, bool rows, struct td_range piece,
                struct td_step *step)
{
    int64_t ranks = td_relay_of(p)->ranks, bytes = (int64_t)piece.count;
    int64_t here = td_ranks_here(p), there = td_group_slot_ranks(p->group, slot);
    step->from = td_slice_at(TD_SPACE_SOURCE, 0, (int64_t)piece.begin, bytes);
    step->to = td_slice_at(TD_SPACE_SCRATCH, 0, (rows ? here * ranks : there) * bytes, bytes);
    int64_t down = rows ? ranks - here : here, across = rows ? ranks : ranks - there;
    td_slice_loop(&step->from, down, 0, 0);
    td_slice_loop(&step->from, across, 0, 0);
    td_slice_loop(&step->to, down, ranks * bytes, 0);
    td_slice_loop(&step->to, across, bytes, 0);
}

/* meet returns the bytes of a piece that the unit to, or from, a slot has. */
static uint64_t meet(const struct td_program *p, bool destination, uint32_t slot,
                     struct td_range piece)
{
    uint64_t unit = td_counts_unit(p->counts, destination, slot);
    uint64_t left = piece.begin < unit ? unit - piece.begin : 0;
    return left < piece.count ? left : piece.count;
}

/* pack_counts: an even step copies the data of a unit, an odd one pads it with zeros. The unit of
 * the node itself may be longer than any other and is copied by unpack_own. */
static uint32_t pack_counts(const struct td_program *p, uint64_t i, struct td_range piece,
                            struct td_step *step)
{
    uint32_t slot = (uint32_t)(i / 2);
    uint64_t bytes = slot == p->slot ? 0 : meet(p, false, slot, piece);
    if (i % 2 == 0)
        step->from = td_counts_slice(p->counts, false, slot, piece.begin, bytes);
    step->to = i % 2 == 0 ? td_slice_at(TD_SPACE_SCRATCH, 0, 0, (int64_t)bytes)
                          : td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)bytes,
                                        (int64_t)(piece.count - bytes));
    return slot;
}

uint32_t td_relay_pack(const struct td_program *p, uint64_t i, struct td_range piece,
                       struct td_step *step)
{
    const struct td_group *g = p->group;
    int64_t ranks = td_relay_of(p)->ranks, bytes = (int64_t)piece.count;
    int64_t message = td_relay_of(p)->bytes;
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (p->units)
        return p->units->pack(p->units, i, piece, step);
    if (p->counts)
        return pack_counts(p, i, piece, step);
    if (i >= g->runs) {
        uint32_t slot = (uint32_t)((i - g->runs) / 2);
        pad(p, slot, (i - g->runs) % 2, piece, step);
        return slot;
    }
    const struct td_run *run = &g->run[i];
    step->from =
        td_slice_at(TD_SPACE_SOURCE, 0, run->first * message + (int64_t)piece.begin, bytes);
    td_slice_loop(&step->from, td_ranks_here(p), 0, 1);
    td_slice_loop(&step->from, run->count, run->step * message, 0);
    td_slice_simplify(&step->from);
    step->to = td_slice_at(TD_SPACE_SCRATCH, 0, run->local * bytes, bytes);
    td_slice_loop(&step->to, td_ranks_here(p), ranks * bytes, 0);
    td_slice_loop(&step->to, run->count, bytes, 0);
    td_slice_simplify(&step->to);
    return run->slot;
}

/* share_of names a run's share of the unit for this node, from the start of the unit. */
static struct td_slice share_of(const struct td_program *p, uint64_t run, struct td_range piece)
{
    const struct td_run *from = &p->group->run[run];
    int64_t ranks = td_relay_of(p)->ranks, bytes = (int64_t)piece.count;
    struct td_slice s = td_slice_at(TD_SPACE_SCRATCH, 0, from->local * ranks * bytes, bytes);
    td_slice_loop(&s, from->count, ranks * bytes, 0);
    td_slice_loop(&s, td_ranks_here(p), bytes, 0);
    td_slice_simplify(&s);
    return s;
}

/* place_of names the place of that share in the destinations of the local ranks. */
static struct td_slice place_of(const struct td_program *p, uint64_t run, struct td_range piece)
{
    const struct td_run *from = &p->group->run[run];
    int64_t message = td_relay_of(p)->bytes;
    struct td_slice s =
        td_slice_at(TD_SPACE_DESTINATION, 0, from->first * message + (int64_t)piece.begin,
                    (int64_t)piece.count);
    td_slice_loop(&s, from->count, from->step * message, 0);
    td_slice_loop(&s, td_ranks_here(p), 0, 1);
    td_slice_simplify(&s);
    return s;
}

/* unpack_own copies all data between local ranks, together with the first piece. */
static void unpack_own(const struct td_program *p, struct td_range piece, struct td_step *step)
{
    bool begins = piece.begin == 0 && piece.count > 0;
    uint64_t bytes = begins ? td_counts_unit(p->counts, false, p->slot) : 0;
    step->from = td_counts_slice(p->counts, false, p->slot, 0, bytes);
    step->to = td_counts_slice(p->counts, true, p->slot, 0, bytes);
}

uint32_t td_relay_unpack(const struct td_program *p, uint64_t i, struct td_range piece,
                         struct td_step *step)
{
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (p->units)
        return p->units->unpack(p->units, i, piece, step);
    if (!p->counts) {
        step->from = share_of(p, i, piece);
        step->to = place_of(p, i, piece);
        return p->group->run[i].slot;
    }
    if (i == p->slot) {
        unpack_own(p, piece, step);
        return p->slot;
    }
    uint64_t bytes = meet(p, true, (uint32_t)i, piece);
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, 0, (int64_t)bytes);
    step->to = td_counts_slice(p->counts, true, (uint32_t)i, piece.begin, bytes);
    return (uint32_t)i;
}

bool td_relay_applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (p->group->slots == 1)
        return td_query_refuse(q, "all ranks are on one node");
    if (p->call.kind == TD_KIND_ALLTOALL)
        return p->call.count > 0 || td_query_refuse(q, "no rank sends data to another rank");
    if (!q->surveyed)
        return td_query_refuse(q, "the sizes of all messages are not known yet");
    return p->survey.most > 0 || td_query_refuse(q, "no rank sends data to another node");
}
