/* SPDX-License-Identifier: Apache-2.0 */
#include "array_move.h"

#include "base/arena.h"
#include "collectives/cost/constants.h"
#include "collectives/permutation.h"
#include "move_relay.h"
#include "redist_torus.h"

/* ---- arrays ---- */

/* part_bytes returns the bytes of an owner's part. */
static uint64_t part_bytes(const struct td_array *a, uint32_t owner)
{
    uint64_t count[TD_DIMENSIONS_MAX];
    return td_layout_local(&a->layout, owner, count) * a->element;
}

bool td_array_make(struct td_array *a, const struct td_plan_input *in, struct td_arena *arena,
                   const struct td_layout *layout, bool of_nodes, enum td_space space,
                   uint64_t element, int64_t *scratch)
{
    uint32_t owners = layout->owners, slots = in->group->slots, here = 0;
    *a = (struct td_array){.layout = *layout,
                           .of_nodes = of_nodes,
                           .space = space,
                           .own = in->slot,
                           .element = element};
    a->borrowed = layout == &in->plan->from || layout == &in->plan->to;
    a->slot = td_arena_alloc(arena, owners * sizeof *a->slot);
    a->place = td_arena_alloc(arena, owners * sizeof *a->place);
    a->there = td_arena_alloc(arena, slots * sizeof *a->there);
    a->here = td_arena_alloc(arena, owners * sizeof *a->here);
    a->local = td_arena_alloc(arena, owners * sizeof *a->local);
    a->base = td_arena_alloc(arena, owners * sizeof *a->base);
    if (!a->slot || !a->place || !a->there || !a->here || !a->local || !a->base)
        return false;
    for (uint32_t o = 0; o < owners; o++) {
        uint32_t slot = layout->rank[o], local = 0;
        if (!of_nodes)
            td_group_locate(in->group, layout->rank[o], &slot, &local);
        a->slot[o] = slot;
        a->place[o] = a->there[slot]++;
        if (slot != in->slot)
            continue;
        a->here[here] = o;
        a->local[here] = local;
        if (space == TD_SPACE_SCRATCH) {
            a->base[here] = *scratch;
            *scratch += (int64_t)(part_bytes(a, o) + 63) & ~(int64_t)63;
        }
        here++;
    }
    return true;
}

void td_array_free(struct td_array *a, struct td_arena *arena)
{
    td_arena_free(arena, a->slot);
    td_arena_free(arena, a->place);
    td_arena_free(arena, a->there);
    td_arena_free(arena, a->here);
    td_arena_free(arena, a->local);
    td_arena_free(arena, a->base);
    if (!a->borrowed)
        td_layout_free(&a->layout, arena);
}

/* ---- schedules ---- */

static uint64_t volume(const void *me, uint32_t p, uint32_t q)
{
    const struct td_array_move *m = me;
    return td_overlap_count(&m->from->layout, &m->to->layout, p, q);
}

static uint32_t *nodes_of(const struct td_array *a, const struct td_plan_input *in,
                          struct td_arena *arena)
{
    uint32_t *node = td_arena_alloc(arena, a->layout.owners * sizeof *node);
    for (uint32_t o = 0; node && o < a->layout.owners; o++)
        node[o] = in->group->node[a->slot[o]];
    return node;
}

/* settle chooses, where the schedule leaves a choice, the variant that loads the links least. */
static bool settle(struct td_array_move *m, const struct td_plan_input *in, struct td_arena *arena)
{
    if (in->tuning->fabric != TD_FABRIC_ROUTED)
        return true;
    uint32_t *from = nodes_of(m->from, in, arena), *to = nodes_of(m->to, in, arena);
    const struct td_schedule_places places = {in->topology, from, to};
    bool good = from && to && td_schedule_settle(&m->schedule, &places, arena);
    td_arena_free(arena, from);
    td_arena_free(arena, to);
    return good;
}

static bool make_schedule(struct td_array_move *m, const struct td_plan_input *in,
                          struct td_arena *arena)
{
    struct td_schedule_axis axis[TD_DIMENSIONS_MAX];
    struct td_schedule_problem problem = {
        .volume = volume, .me = m, .startup = TD_COST_STARTUP_BYTES / m->from->element + 1};
    td_schedule_pose(&problem, axis, &m->from->layout, &m->to->layout);
    m->scheduled = true;
    return td_schedule_build(&m->schedule, arena, (enum td_schedule_kind)in->plan->redist.schedule,
                             &problem) &&
           settle(m, in, arena);
}

/* ---- moves ---- */

static bool is_here(const void *me, enum td_overlap_side side, uint32_t owner)
{
    const struct td_array_move *m = me;
    const struct td_array *a = side == TD_OVERLAP_FROM ? m->from : m->to;
    return a->slot[owner] == a->own;
}

/* most returns the bytes of the largest part that stays on this node. */
static uint64_t most_here(const struct td_array_move *m, uint32_t slot)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < m->from->there[slot]; i++)
        for (uint32_t j = 0; j < m->to->there[slot]; j++) {
            uint64_t n = td_overlap_elements(&m->overlap, m->from->here[i], m->to->here[j]);
            most = n > most ? n : most;
        }
    return most * m->from->element;
}

void td_array_move_free(struct td_array_move *m, struct td_arena *arena)
{
    td_overlap_free(&m->overlap, arena);
    td_schedule_free(&m->schedule, arena);
    td_move_relay_free(m->relay, arena);
}

enum { BURSTS_MAX = 1 << 12 };

/* cut_bursts: on a torus each partner gets one packet per turn, which keeps all links busy. */
static void cut_bursts(struct td_array_move *m, const struct td_tuning *tuning)
{
    const struct td_layout *from = &m->from->layout, *to = &m->to->layout;
    uint64_t most = 0; /* bytes from the first owner to another; the same on every node */
    if (tuning->fabric != TD_FABRIC_ROUTED || m->scheduled || m->in_turn)
        return;
    for (uint32_t q = 0; q < to->owners; q++) {
        uint64_t elements = td_overlap_count(from, to, 0, q);
        most = elements > most ? elements : most;
    }
    uint64_t bytes = (most + m->chunks - 1) / m->chunks * m->from->element;
    uint64_t packets = (bytes + tuning->packet_bytes - 1) / tuning->packet_bytes;
    m->bursts = packets < 1 ? 1 : packets < BURSTS_MAX ? packets : BURSTS_MAX;
}

bool td_distributed_alike(const struct td_layout *a, const struct td_layout *b, uint32_t axis)
{
    const struct td_axis *x = &a->axis[axis], *y = &b->axis[axis];
    return !a->box && !b->box && x->parts == y->parts &&
           (x->parts == 1 || (x->block == y->block && x->offset == y->offset));
}

bool td_array_move_make(struct td_array_move *m, const struct td_plan_input *in,
                        struct td_arena *arena, const struct td_array *from,
                        const struct td_array *to, const struct td_move_chunks *last, unsigned room,
                        int64_t *scratch)
{
    *m = (struct td_array_move){.from = from, .to = to, .chunks = 1, .bursts = 1};
    if (!td_overlap_init(&m->overlap, arena, &from->layout, &to->layout, from->element, NULL,
                         is_here, m))
        return false;
    if (!td_move_relay_make(m, in, arena, room, scratch))
        return false;
    if (last && !m->relay) {
        m->chunks = last->chunks;
        m->lines = last->lines;
        m->along = last->along;
        m->alike = td_distributed_alike(&from->layout, &to->layout, last->along);
    }
    m->pieces = most_here(m, in->slot) / m->chunks / TD_COMPUTE_BYTES + 1;
    m->in_turn = in->plan->fft.method == TD_ALLTOALL_PAIRWISE;
    if (in->plan->kind == TD_KIND_REDIST && !make_schedule(m, in, arena))
        return false;
    cut_bursts(m, in->tuning);
    return true;
}

uint64_t td_array_move_turns(const struct td_array_move *m)
{
    return m->scheduled ? m->schedule.steps : m->to->layout.owners;
}

unsigned td_array_move_families(const struct td_array_move *m)
{
    return m->relay ? td_move_relay_families(m->relay) : (unsigned)TD_MOVE_FAMILIES;
}

bool td_array_move_reads(const struct td_array_move *m, unsigned family)
{
    return m->relay ? td_move_relay_packs_in(m->relay, family) : family != TD_MOVE_RECV;
}

void td_array_move_needed(struct td_program *p, const struct td_array_move *m, unsigned first,
                          unsigned f)
{
    if (m->relay) {
        td_move_relay_needed(m->relay, p, first, f);
        return;
    }
    td_program_need_all(p, f, first + TD_MOVE_RECV);
    td_program_need_all(p, f, first + TD_MOVE_COPY);
}

unsigned td_array_move_add(struct td_program *p, const struct td_array_move *m)
{
    if (m->relay)
        return td_move_relay_add(m->relay, p);
    uint64_t from = m->from->there[p->slot], to = m->to->there[p->slot];
    unsigned first = td_program_add(p, TD_RECV, m->chunks * m->bursts * m->from->layout.owners * to,
                                    "parts from other nodes");
    td_program_add(p, TD_SEND, m->chunks * m->bursts * td_array_move_turns(m) * from,
                   "parts to other nodes");
    td_program_add(p, TD_COPY, m->chunks * from * to * m->pieces, "parts that stay on the node");
    return first;
}

/* share narrows a slice to one of several parts of about equal length. */
static void share(struct td_slice *s, uint64_t element, uint64_t parts, uint64_t part)
{
    struct td_range r = td_share((uint64_t)s->run / element, parts, part);
    s->offset += (int64_t)(r.begin * element);
    s->run = (int64_t)(r.count * element);
}

struct td_slice td_array_move_slice(const struct td_array_move *m, enum td_overlap_side side,
                                    uint32_t from, uint32_t to, uint64_t chunk)
{
    const struct td_array *a = side == TD_OVERLAP_FROM ? m->from : m->to;
    uint32_t owner = side == TD_OVERLAP_FROM ? from : to;
    struct td_overlap_range range = {.axis = TD_DIMENSIONS_MAX};
    if (m->chunks > 1)
        range = td_overlap_lines(&m->overlap, from, to, TD_OVERLAP_FROM, m->along, chunk * m->lines,
                                 m->lines);
    uint64_t elements = td_overlap_elements_in(&m->overlap, from, to, &range);
    struct td_slice s =
        td_slice_at(a->space, a->local[a->place[owner]], 0, (int64_t)(elements * a->element));
    s.range = range;
    s.overlap = &m->overlap;
    s.pair[0] = from;
    s.pair[1] = to;
    s.side = (uint8_t)side;
    s.base = a->base[a->place[owner]];
    return s;
}

/* partner writes the owner to which an owner sends in a turn. It returns false if none exists on
 * another node. */
static bool partner(const struct td_program *p, const struct td_array_move *m, uint32_t from,
                    uint64_t chunk, uint64_t turn, uint32_t *to)
{
    if (m->scheduled) {
        if (!td_schedule_send(&m->schedule, from, (uint32_t)turn, to))
            return false;
    } else if (m->in_turn) {
        *to = (uint32_t)((from + turn) % m->to->layout.owners);
    } else {
        uint64_t seed = p->seed + 0x9e3779b97f4a7c15u * (from + 1) + chunk;
        *to = (uint32_t)td_permutation_at(seed, m->to->layout.owners, turn);
    }
    return m->to->slot[*to] != p->slot;
}

static void copy_step(const struct td_program *p, const struct td_array_move *m, uint64_t index,
                      struct td_step *step)
{
    uint64_t to = m->to->there[p->slot], from = m->from->there[p->slot];
    uint64_t piece = index % m->pieces, pair = index / m->pieces, i = pair / to % from;
    uint32_t p_owner = m->from->here[i], q_owner = m->to->here[pair % to];
    step->from = td_array_move_slice(m, TD_OVERLAP_FROM, p_owner, q_owner, pair / to / from);
    step->to = td_array_move_slice(m, TD_OVERLAP_TO, p_owner, q_owner, pair / to / from);
    share(&step->from, m->from->element, m->pieces, piece);
    share(&step->to, m->from->element, m->pieces, piece);
}

void td_array_move_step(const struct td_program *p, const struct td_array_move *m, unsigned first,
                        unsigned family, uint64_t index, struct td_step *step)
{
    const struct td_group *g = p->group;
    uint64_t senders = m->from->layout.owners;
    if (m->relay) {
        td_move_relay_step(m->relay, first, family, index, step);
        return;
    }
    *step = (struct td_step){.kind = p->family[first + family].kind, .to_lanes = {1, 0, 0}};
    step->peer = g->node[p->slot];
    if (family == TD_MOVE_COPY) {
        copy_step(p, m, index, step);
    } else if (family == TD_MOVE_SEND) {
        uint64_t here = m->from->there[p->slot], turns = td_array_move_turns(m);
        uint64_t burst = index / here / turns, chunk = burst / m->bursts;
        uint32_t from = m->from->here[index % here], to = 0;
        if (!partner(p, m, from, burst, index / here % turns, &to))
            return;
        uint32_t slot = m->to->slot[to];
        step->peer = g->node[slot];
        step->peer_family = first + TD_MOVE_RECV;
        step->peer_index = (burst * senders + from) * m->to->there[slot] + m->to->place[to];
        step->from = td_array_move_slice(m, TD_OVERLAP_FROM, from, to, chunk);
        share(&step->from, m->from->element, m->bursts, burst % m->bursts);
    } else {
        uint64_t here = m->to->there[p->slot];
        uint32_t to = m->to->here[index % here], from = (uint32_t)(index / here % senders);
        if (m->from->slot[from] == p->slot)
            return;
        step->peer = g->node[m->from->slot[from]];
        uint64_t burst = index / here / senders;
        step->to = td_array_move_slice(m, TD_OVERLAP_TO, from, to, burst / m->bursts);
        share(&step->to, m->from->element, m->bursts, burst % m->bursts);
    }
}
