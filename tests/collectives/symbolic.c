/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/layout.h"
#include "model.h"

enum { ROWS_DONE = 1, COLUMNS_DONE = 2, STEPS_MAX = 100000 };
#define POISON UINT64_MAX

/* ---- memory of the check itself ---- */

static void *blocks; /* a list through the first word of each */

static void *obtain(struct model *m, uint64_t count, size_t bytes, bool zeroed)
{
    size_t size = sizeof(max_align_t) + count * bytes;
    void **block = zeroed ? calloc(1, size) : malloc(size);
    if (!block)
        model_fail(m, "no memory for the check");
    *block = blocks;
    blocks = block;
    return (char *)block + sizeof(max_align_t);
}

void *model_obtain(struct model *m, uint64_t count, size_t bytes)
{
    return obtain(m, count, bytes, true);
}

static void give_all_back(void)
{
    while (blocks) {
        void *next = *(void **)blocks;
        free(blocks);
        blocks = next;
    }
}

_Noreturn void model_fail(struct model *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(m->text, sizeof m->text, format, arguments);
    va_end(arguments);
    longjmp(m->failed, 1);
}

const char *model_describe(const struct model *m, uint32_t step)
{
    static char text[2][400];
    static int turn;
    char line[320];
    turn = !turn;
    const struct instance *i = &m->instance[step];
    td_step_print(&i->step, line, sizeof line);
    snprintf(text[turn], sizeof text[turn], "[node %u, %s %llu] %s", m->group.node[i->slot],
             m->program[i->slot].family[i->family].label, (unsigned long long)i->index, line);
    return text[turn];
}

/* ---- places ---- */

void cursor_start(struct cursor *k, const struct model *m, uint32_t step,
                  const struct td_slice *slice, const struct td_lanes *lanes, uint32_t lane)
{
    *k = (struct cursor){.m = m, .slot = m->instance[step].slot, .step = step, .slice = *slice};
    if (lanes) {
        k->slice.offset += lanes->stride * lane;
        k->slice.rank = (uint32_t)((int64_t)k->slice.rank + (int64_t)lanes->rank_stride * lane);
    }
    k->over = td_slice_bytes(slice) == 0;
}

bool cursor_next(struct cursor *k, struct model *m, uint32_t *memory, uint64_t *begin,
                 uint64_t *count)
{
    if (k->over)
        return false;
    const struct td_slice *s = &k->slice;
    int64_t offset = s->offset, rank = s->rank;
    for (int l = 0; l < s->levels; l++) {
        offset += k->at[l] * s->level[l].stride;
        rank += k->at[l] * s->level[l].rank_stride;
    }
    *memory = k->slot;
    if (s->space != TD_SPACE_SCRATCH) {
        if (rank < 0 || rank >= td_group_slot_ranks(&m->group, k->slot))
            model_fail(m, "local rank %lld is not there: %s", (long long)rank,
                       model_describe(m, k->step));
        bool destination = s->space == TD_SPACE_DESTINATION && !m->in_place;
        *memory = m->group.slots + (destination ? m->group.size : 0) +
                  td_group_rank(&m->group, k->slot, (uint32_t)rank);
    }
    if (offset % m->element || s->run % m->element)
        model_fail(m, "a part of an element is moved: %s", model_describe(m, k->step));
    *begin = (uint64_t)(offset / m->element);
    *count = (uint64_t)(s->run / m->element);
    if (offset < 0 || *begin + *count > m->memory_elements[*memory])
        model_fail(m, "elements %lld + %llu of a buffer of %llu: %s",
                   (long long)(offset / m->element), (unsigned long long)*count,
                   (unsigned long long)m->memory_elements[*memory], model_describe(m, k->step));
    k->over = true;
    for (int l = s->levels; l-- > 0 && k->over;) {
        k->over = ++k->at[l] == s->level[l].count;
        if (k->over)
            k->at[l] = 0;
    }
    return true;
}

struct td_slice model_points(const struct model *m, const struct td_step *step, bool target,
                             bool by_line)
{
    const struct td_transform *t = &step->transform;
    const struct td_slice *start = target && step->to.run ? &step->to : &step->from;
    int64_t stride = (target ? t->to_stride : t->stride) * m->element;
    int64_t distance = (target ? t->to_distance : t->distance) * m->element;
    struct td_slice s =
        td_slice_at((enum td_space)start->space, start->rank, start->offset, m->element);
    bool lines_outside = by_line || distance > stride;
    if (lines_outside)
        td_slice_loop(&s, t->batch, distance, 0);
    td_slice_loop(&s, t->length, stride, 0);
    if (!lines_outside)
        td_slice_loop(&s, t->batch, distance, 0);
    td_slice_simplify(&s);
    return s;
}

/* ---- building ---- */

static uint64_t buffer_elements(const struct model *m, uint32_t rank)
{
    const struct symbolic_case *c = m->c;
    if (c->call.kind == TD_KIND_FFT)
        return td_block(c->fft.size[0], c->size, rank).count * c->fft.size[1];
    return m->count * (c->call.kind == TD_KIND_ALLTOALL ? c->size : 1);
}

static void make_memories(struct model *m)
{
    uint32_t slots = m->group.slots, size = m->c->size;
    m->memories = slots + 2 * size;
    m->memory_elements = model_obtain(m, m->memories, sizeof *m->memory_elements);
    m->memory = model_obtain(m, m->memories, sizeof(void *));
    for (uint32_t s = 0; s < slots; s++)
        m->memory_elements[s] =
            (uint64_t)(m->program[s].scratch_bytes + m->element - 1) / (uint64_t)m->element;
    for (uint32_t r = 0; r < size; r++)
        m->memory_elements[slots + r] = m->memory_elements[slots + size + r] =
            buffer_elements(m, r);
    for (uint32_t i = 0; i < m->memories; i++)
        m->memory[i] = obtain(m, m->memory_elements[i], sizeof(struct tag), false);
}

static void compile(struct model *m)
{
    const struct symbolic_case *c = m->c;
    for (uint32_t s = 0; s < m->group.slots; s++) {
        struct td_program *p = &m->program[s];
        const struct td_compile_input input = {.call = &c->call,
                                               .fft = &c->fft,
                                               .seed = c->seed,
                                               .group = &m->group,
                                               .slot = s,
                                               .topology = &c->topology,
                                               .tuning = &c->tuning};
        c->compile(&input, p);
        for (unsigned f = 0; f < p->families; f++) {
            const struct td_family *family = &p->family[f];
            if (m->steps + family->count > STEPS_MAX)
                model_fail(m, "too many steps to check");
            if (family->kind == TD_RECV && family->dependencies)
                model_fail(m, "receives wait for nothing, but %s would have to", family->label);
            m->base[s][f] = m->steps;
            m->steps += (uint32_t)family->count;
        }
        m->stats->scratch[s] = (uint64_t)p->scratch_bytes;
    }
    m->instance = model_obtain(m, m->steps, sizeof *m->instance);
    for (uint32_t s = 0; s < m->group.slots; s++)
        for (unsigned f = 0; f < m->program[s].families; f++)
            for (uint64_t i = 0; i < m->program[s].family[f].count; i++) {
                struct instance *n = &m->instance[m->base[s][f] + i];
                *n = (struct instance){.slot = s, .family = f, .index = i, .partner = NO_STEP};
                m->program[s].method->expand(&m->program[s], f, i, &n->step);
                if (n->step.kind != m->program[s].family[f].kind)
                    model_fail(m, "a step is not of its family's kind");
                n->elements = td_step_bytes(&n->step) / m->element;
            }
}

uint32_t model_member(const struct model *m, uint32_t sync, uint32_t k)
{
    const struct instance *i = &m->instance[sync];
    uint32_t slot = i->step.among.first + k * i->step.among.stride;
    return m->base[slot][i->family] + (uint32_t)i->index;
}

/* match_sync: the step is there on all its members, with the same members. */
static void match_sync(struct model *m, uint32_t v)
{
    const struct instance *i = &m->instance[v];
    const struct td_among *a = &i->step.among;
    bool inside = false;
    for (uint32_t k = 0; k < a->count; k++) {
        uint32_t slot = a->first + k * a->stride;
        inside = inside || slot == i->slot;
        if (slot >= m->group.slots || i->family >= m->program[slot].families ||
            m->program[slot].family[i->family].kind != TD_SYNC ||
            i->index >= m->program[slot].family[i->family].count)
            model_fail(m, "slot %u has no such step: %s", slot, model_describe(m, v));
        const struct td_among *there = &m->instance[model_member(m, v, k)].step.among;
        if (there->first != a->first || there->count != a->count || there->stride != a->stride)
            model_fail(m, "slot %u sees other members: %s", slot, model_describe(m, v));
    }
    if (!inside)
        model_fail(m, "not a member itself: %s", model_describe(m, v));
}

static void match(struct model *m)
{
    for (uint32_t v = 0; v < m->steps; v++) {
        struct instance *send = &m->instance[v];
        if (send->step.kind == TD_SYNC)
            match_sync(m, v);
        if (send->step.kind != TD_SEND || send->elements == 0)
            continue;
        uint32_t slot = td_group_slot(&m->group, send->step.peer);
        if (slot == UINT32_MAX || slot == send->slot)
            model_fail(m, "there is no such peer: %s", model_describe(m, v));
        const struct td_program *there = &m->program[slot];
        if (send->step.peer_family >= there->families ||
            there->family[send->step.peer_family].kind != TD_RECV ||
            send->step.peer_index >= there->family[send->step.peer_family].count)
            model_fail(m, "the peer has no such receive: %s", model_describe(m, v));
        uint32_t w = m->base[slot][send->step.peer_family] + (uint32_t)send->step.peer_index;
        struct instance *recv = &m->instance[w];
        if (recv->partner != NO_STEP || recv->step.peer != m->group.node[send->slot] ||
            td_step_bytes(&recv->step) != td_step_bytes(&send->step))
            model_fail(m, "%s goes to: %s", model_describe(m, v), model_describe(m, w));
        send->partner = w;
        recv->partner = v;
        uint64_t bytes = (uint64_t)td_step_bytes(&send->step);
        m->stats->messages[send->slot]++;
        m->stats->sent[send->slot] += bytes;
        m->stats->received[slot] += bytes;
    }
    for (uint32_t v = 0; v < m->steps; v++)
        if (m->instance[v].step.kind == TD_RECV && m->instance[v].elements > 0 &&
            m->instance[v].partner == NO_STEP)
            model_fail(m, "nobody sends to: %s", model_describe(m, v));
}

static void note(struct model *m, uint32_t step, const struct td_slice *slice,
                 const struct td_lanes *lanes, bool writes)
{
    for (uint32_t lane = 0; lane < (lanes ? lanes->count : 1); lane++) {
        struct cursor k;
        struct access a = {.step = step, .writes = writes};
        uint64_t count = 0;
        cursor_start(&k, m, step, slice, lanes, lane);
        while (cursor_next(&k, m, &a.memory, &a.begin, &count)) {
            if (m->accesses == m->accesses_max) {
                uint32_t more = m->accesses_max ? 2 * m->accesses_max : 4096;
                struct access *larger = model_obtain(m, more, sizeof *larger);
                if (m->accesses)
                    memcpy(larger, m->access, m->accesses * sizeof *larger);
                m->access = larger;
                m->accesses_max = more;
            }
            a.end = a.begin + count;
            m->access[m->accesses++] = a;
        }
    }
}

static void note_combine(struct model *m, uint32_t v, const struct td_step *s)
{
    int64_t bytes = td_slice_bytes(&s->to);
    if (td_slice_bytes(&s->from) != bytes ||
        (s->with_lanes.count && td_slice_bytes(&s->with) != bytes) || s->from_lanes.count == 0 ||
        s->type != m->c->call.type || s->op != m->c->call.op)
        model_fail(m, "operands do not fit together: %s", model_describe(m, v));
    note(m, v, &s->from, &s->from_lanes, false);
    if (s->with_lanes.count)
        note(m, v, &s->with, &s->with_lanes, false);
    note(m, v, &s->to, &s->to_lanes, true);
}

static void note_transform(struct model *m, uint32_t v, const struct td_step *s)
{
    struct td_slice from = model_points(m, s, false, false), to = model_points(m, s, true, false);
    if (td_slice_bytes(&s->from) != td_slice_bytes(&from) ||
        td_slice_bytes(&s->to) != td_slice_bytes(&from) || s->transform.sign != m->c->fft.sign ||
        s->transform.type != m->c->fft.type)
        model_fail(m, "the transform is not what its slices say: %s", model_describe(m, v));
    note(m, v, &from, NULL, false);
    note(m, v, &to, NULL, true);
}

static void note_accesses(struct model *m)
{
    for (uint32_t v = 0; v < m->steps; v++) {
        const struct td_step *s = &m->instance[v].step;
        if (m->instance[v].elements == 0)
            continue;
        switch (s->kind) {
        case TD_SEND:
            note(m, v, &s->from, NULL, false);
            break;
        case TD_RECV:
            note(m, v, &s->to, &s->to_lanes, true);
            break;
        case TD_COPY:
            if (td_slice_bytes(&s->from) != td_slice_bytes(&s->to))
                model_fail(m, "sizes differ: %s", model_describe(m, v));
            note(m, v, &s->from, NULL, false);
            note(m, v, &s->to, &s->to_lanes, true);
            break;
        case TD_COMBINE:
            note_combine(m, v, s);
            break;
        case TD_TRANSFORM:
            note_transform(m, v, s);
            break;
        case TD_SYNC:
        case TD_STEP_KINDS:
            break;
        }
    }
}

/* ---- executing ---- */

static void gather(struct model *m, uint32_t v, const struct td_slice *slice,
                   const struct td_lanes *lanes, uint32_t lane, struct tag *out)
{
    struct cursor k;
    uint32_t memory = 0;
    uint64_t begin = 0, count = 0;
    cursor_start(&k, m, v, slice, lanes, lane);
    while (cursor_next(&k, m, &memory, &begin, &count))
        for (uint64_t i = 0; i < count; i++) {
            *out = m->memory[memory][begin + i];
            if (out++->state == POISON)
                model_fail(m, "reads element %llu of memory %u before it was written: %s",
                           (unsigned long long)(begin + i), memory, model_describe(m, v));
        }
}

static void scatter(struct model *m, uint32_t v, const struct td_slice *slice,
                    const struct td_lanes *lanes, const struct tag *tags)
{
    for (uint32_t lane = 0; lane < (lanes ? lanes->count : 1); lane++) {
        struct cursor k;
        uint32_t memory = 0;
        uint64_t begin = 0, count = 0;
        const struct tag *from = tags;
        cursor_start(&k, m, v, slice, lanes, lane);
        for (; cursor_next(&k, m, &memory, &begin, &count); from += count)
            memcpy(m->memory[memory] + begin, from, count * sizeof *from);
    }
}

/* fold adds the contributions of b to a: same place of the vector, nobody twice. */
static void fold(struct model *m, uint32_t v, struct tag *a, const struct tag *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (a[i].what != b[i].what || (a[i].state & b[i].state))
            model_fail(m, "combines what does not belong together: %s", model_describe(m, v));
        a[i].state |= b[i].state;
    }
}

static void combine(struct model *m, uint32_t v, struct tag *tags, struct tag *more)
{
    const struct td_step *s = &m->instance[v].step;
    int64_t n = m->instance[v].elements;
    for (uint32_t lane = 0; lane < s->from_lanes.count; lane++) {
        gather(m, v, &s->from, &s->from_lanes, lane, lane ? more : tags);
        if (lane)
            fold(m, v, tags, more, n);
    }
    for (uint32_t lane = 0; lane < s->with_lanes.count; lane++) {
        gather(m, v, &s->with, &s->with_lanes, lane, more);
        fold(m, v, tags, more, n);
    }
    scatter(m, v, &s->to, &s->to_lanes, tags);
}

/* line is one transform: all of one row (column), each point in its place, not yet done. */
static bool line(const struct model *m, struct tag *t, int64_t n, bool row)
{
    uint64_t width = m->c->fft.size[1], first = t->what, done = row ? ROWS_DONE : COLUMNS_DONE;
    if (n != (int64_t)m->c->fft.size[row ? 1 : 0] || (row ? first % width : first / width) != 0)
        return false;
    for (int64_t k = 0; k < n; k++)
        if (t[k].what != first + (uint64_t)k * (row ? 1 : width) || t[k].state != t[0].state ||
            (t[k].state & done))
            return false;
    for (int64_t k = 0; k < n; k++)
        t[k].state |= done;
    return true;
}

static void transform(struct model *m, uint32_t v, struct tag *tags)
{
    const struct td_step *s = &m->instance[v].step;
    struct td_slice from = model_points(m, s, false, true), to = model_points(m, s, true, true);
    gather(m, v, &from, NULL, 0, tags);
    for (int64_t b = 0; b < s->transform.batch; b++) {
        struct tag *t = tags + b * s->transform.length;
        if (!line(m, t, s->transform.length, true) && !line(m, t, s->transform.length, false))
            model_fail(m, "what is transformed is no whole row or column: %s",
                       model_describe(m, v));
    }
    scatter(m, v, &to, NULL, tags);
}

/* struct run: the engine's order on all slots: families start their steps in order, some at a
 * time; which of those under way ends first is drawn. */
struct run {
    uint64_t random;
    uint64_t next[SYMBOLIC_NODES_MAX][TD_FAMILIES_MAX];
    uint64_t done[SYMBOLIC_NODES_MAX][TD_FAMILIES_MAX], prefix[SYMBOLIC_NODES_MAX][TD_FAMILIES_MAX];
    bool *over;          /* [steps] */
    struct tag **letter; /* [steps] what a SEND gave its RECV */
    uint32_t *come;      /* [steps] SYNC: members that have come, at the first of them */
    uint32_t *flying, flights;
    uint32_t left;
    struct tag *tags, *more;
};

static uint64_t draw(struct run *r, uint64_t below)
{
    uint64_t x = r->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % below;
}

static void end_step(struct model *m, struct run *r, uint32_t v)
{
    const struct instance *n = &m->instance[v];
    uint32_t s = n->slot, f = n->family, base = m->base[s][f];
    r->over[v] = true;
    r->done[s][f]++;
    r->left--;
    while (r->prefix[s][f] < m->program[s].family[f].count && r->over[base + r->prefix[s][f]])
        r->prefix[s][f]++;
}

static bool may_start(const struct model *m, const struct run *r, uint32_t s, unsigned f)
{
    const struct td_program *p = &m->program[s];
    const struct td_family *family = &p->family[f];
    if (family->kind == TD_RECV || r->next[s][f] == family->count ||
        r->next[s][f] - r->done[s][f] >= TD_STEPS_AHEAD)
        return false;
    for (unsigned d = 0; d < family->dependencies; d++)
        if (r->prefix[s][family->dependency[d].on] <
            td_dependency_count(p, &family->dependency[d], r->next[s][f]))
            return false;
    return true;
}

/* come notes a member's coming to a SYNC; the last sets it flying on all. */
static void come(struct model *m, struct run *r, uint32_t v)
{
    uint32_t members = m->instance[v].step.among.count;
    if (++r->come[model_member(m, v, 0)] < members)
        return;
    for (uint32_t k = 0; k < members; k++)
        r->flying[r->flights++] = model_member(m, v, k);
}

static void start_steps(struct model *m, struct run *r, uint32_t s)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned f = 0; f < m->program[s].families; f++)
            while (may_start(m, r, s, f)) {
                uint32_t v = m->base[s][f] + (uint32_t)r->next[s][f]++;
                if (m->instance[v].step.kind == TD_SYNC)
                    come(m, r, v);
                else if (m->instance[v].elements == 0)
                    end_step(m, r, v);
                else
                    r->flying[r->flights++] = v;
                moved = true;
            }
    }
}

/* act does what the step does; a SEND sets its RECV flying. */
static void act(struct model *m, struct run *r, uint32_t v)
{
    struct instance *n = &m->instance[v];
    switch (n->step.kind) {
    case TD_SEND:
        r->letter[n->partner] = obtain(m, (uint64_t)n->elements, sizeof(struct tag), false);
        gather(m, v, &n->step.from, NULL, 0, r->letter[n->partner]);
        r->flying[r->flights++] = n->partner;
        return;
    case TD_RECV:
        scatter(m, v, &n->step.to, &n->step.to_lanes, r->letter[v]);
        return;
    case TD_COPY:
        gather(m, v, &n->step.from, NULL, 0, r->tags);
        scatter(m, v, &n->step.to, &n->step.to_lanes, r->tags);
        return;
    case TD_COMBINE:
        combine(m, v, r->tags, r->more);
        return;
    case TD_TRANSFORM:
        transform(m, v, r->tags);
        return;
    case TD_SYNC:
    case TD_STEP_KINDS:
        return;
    }
}

static void execute(struct model *m, uint64_t seed)
{
    struct run *r = model_obtain(m, 1, sizeof *r);
    int64_t most = 1;
    r->random = seed;
    r->over = model_obtain(m, m->steps, sizeof *r->over);
    r->letter = model_obtain(m, m->steps, sizeof *r->letter);
    r->flying = model_obtain(m, m->steps, sizeof *r->flying);
    r->come = model_obtain(m, m->steps, sizeof *r->come);
    r->left = m->steps;
    for (uint32_t v = 0; v < m->steps; v++)
        most = m->instance[v].elements > most ? m->instance[v].elements : most;
    r->tags = model_obtain(m, (uint64_t)most, sizeof *r->tags);
    r->more = model_obtain(m, (uint64_t)most, sizeof *r->more);
    for (uint32_t v = 0; v < m->steps; v++)
        if (m->instance[v].step.kind == TD_RECV && m->instance[v].elements == 0)
            end_step(m, r, v);
    for (uint32_t s = 0; s < m->group.slots; s++)
        start_steps(m, r, s);
    while (r->flights) {
        uint64_t i = draw(r, r->flights);
        uint32_t v = r->flying[i];
        r->flying[i] = r->flying[--r->flights];
        act(m, r, v);
        end_step(m, r, v);
        start_steps(m, r, m->instance[v].slot);
    }
    for (uint32_t v = 0; r->left && v < m->steps; v++)
        if (!r->over[v])
            model_fail(m, "the engine cannot get to: %s", model_describe(m, v));
}

/* ---- the collectives' promises ---- */

static struct tag *source_of(const struct model *m, uint32_t rank)
{
    return m->memory[m->group.slots + rank];
}

static struct tag *destination_of(const struct model *m, uint32_t rank)
{
    return m->memory[m->group.slots + (m->in_place ? 0 : m->group.size) + rank];
}

/* first returns what element i of a rank's source is before. */
static struct tag first(const struct model *m, uint32_t rank, uint64_t i)
{
    const struct symbolic_case *c = m->c;
    switch (c->call.kind) {
    case TD_KIND_BROADCAST:
        return (struct tag){i, rank == c->call.root ? 0 : POISON};
    case TD_KIND_ALLREDUCE:
        return (struct tag){i, (uint64_t)1 << rank};
    case TD_KIND_ALLTOALL:
        return (struct tag){i, rank};
    case TD_KIND_FFT:
        return (struct tag){td_block(c->fft.size[0], c->size, rank).begin * c->fft.size[1] + i, 0};
    case TD_KIND_BARRIER:
    case TD_KIND_PLAN_FFT:
    case TD_KIND_MAX:
        break;
    }
    return (struct tag){0, POISON};
}

/* last returns what element i of a rank's destination must be in the end. */
static struct tag last(const struct model *m, uint32_t rank, uint64_t i)
{
    const struct symbolic_case *c = m->c;
    struct tag t = first(m, rank, i);
    if (c->call.kind == TD_KIND_BROADCAST)
        t.state = 0;
    else if (c->call.kind == TD_KIND_ALLREDUCE)
        t.state = UINT64_MAX >> (64 - c->size);
    else if (c->call.kind == TD_KIND_ALLTOALL)
        t = (struct tag){rank * m->count + i % m->count, i / m->count};
    else
        t.state = ROWS_DONE | COLUMNS_DONE;
    return t;
}

static void fill(struct model *m)
{
    /* of scratch, which may be large, only what will be looked at */
    for (uint32_t i = m->group.slots; i < m->memories; i++)
        memset(m->memory[i], 0xff, m->memory_elements[i] * sizeof(struct tag));
    for (uint32_t i = 0; i < m->accesses; i++) {
        const struct access *a = &m->access[i];
        memset(m->memory[a->memory] + a->begin, 0xff, (a->end - a->begin) * sizeof(struct tag));
    }
    for (uint32_t r = 0; r < m->c->size; r++)
        for (uint64_t i = 0; i < buffer_elements(m, r); i++)
            source_of(m, r)[i] = first(m, r, i);
}

static void verify(struct model *m)
{
    for (uint32_t r = 0; r < m->c->size; r++)
        for (uint64_t i = 0; i < buffer_elements(m, r); i++) {
            struct tag is = destination_of(m, r)[i], want = last(m, r, i);
            if (is.what != want.what || is.state != want.state)
                model_fail(m, "rank %u has (%llu, %llx) at place %llu in the end, not (%llu, %llx)",
                           r, (unsigned long long)is.what, (unsigned long long)is.state,
                           (unsigned long long)i, (unsigned long long)want.what,
                           (unsigned long long)want.state);
            is = source_of(m, r)[i];
            want = first(m, r, i);
            if (!m->in_place && (is.what != want.what || is.state != want.state))
                model_fail(m, "the source of rank %u has changed", r);
        }
}

/* verify_factors: rows' times columns' factor is the plan's. */
static void verify_factors(struct model *m)
{
    double factor = td_fft_factor(&m->c->fft);
    for (uint32_t v = 0; v < m->steps; v++) {
        const struct td_step *s = &m->instance[v].step;
        if (s->kind == TD_TRANSFORM && s->transform.factor != 1 && s->transform.factor != factor)
            model_fail(m, "the factor is wrong: %s", model_describe(m, v));
    }
}

static void check_ride(struct model *m)
{
    uint64_t bytes = m->c->call.count * td_type_bytes(m->c->call.type);
    for (uint32_t s = 0; s < m->group.slots; s++) {
        const struct td_program *p = &m->program[s];
        enum td_ride want = TD_RIDE_EMPTY;
        if (bytes && p->call.kind == TD_KIND_ALLREDUCE)
            want = TD_RIDE_COMBINE;
        if (bytes && p->call.kind == TD_KIND_BROADCAST)
            want = TD_RIDE_ROOT;
        if (p->families || p->ride != want || p->ride_bytes > TD_RIDE_BYTES_MAX ||
            (want != TD_RIDE_EMPTY && p->ride_bytes != (int64_t)bytes))
            model_fail(m, "node %u lets the wrong thing ride", m->group.node[s]);
    }
}

static void check(struct model *m)
{
    const struct symbolic_case *c = m->c;
    if (td_group_build(&m->group, m->arena, c->rank_node, c->size) != TD_OK)
        model_fail(m, "no memory for the group");
    m->in_place = c->in_place || c->call.kind == TD_KIND_BROADCAST;
    m->element = (int64_t)td_type_bytes(c->call.kind == TD_KIND_FFT ? c->fft.type : c->call.type);
    m->count = c->call.count;
    if (c->call.kind == TD_KIND_ALLTOALL)
        m->count *= (uint64_t)m->element;
    if (m->element == 0 || c->call.kind == TD_KIND_ALLTOALL)
        m->element = 1;
    compile(m);
    m->stats->slots = m->group.slots;
    m->stats->steps = m->steps;
    m->stats->rides = m->program[0].ride != TD_RIDE_NONE;
    if (m->stats->rides) {
        check_ride(m);
        return;
    }
    make_memories(m);
    match(m);
    note_accesses(m);
    graph_check(m);
    verify_factors(m);
    for (unsigned order = 0; order < (c->orders ? c->orders : 1); order++) {
        fill(m);
        execute(m, c->seed + order);
        verify(m);
    }
}

const char *symbolic_check(const struct symbolic_case *c, struct symbolic_stats *stats)
{
    static struct model model;
    static char text[sizeof model.text];
    struct symbolic_stats none;
    model = (struct model){.c = c, .stats = stats ? stats : &none};
    *model.stats = (struct symbolic_stats){0};
    model.arena = td_arena_create(1 << 20);
    text[0] = '\0';
    if (!model.arena || c->size > SYMBOLIC_RANKS_MAX)
        return "the case is too large";
    if (setjmp(model.failed) == 0)
        check(&model);
    snprintf(text, sizeof text, "%s", model.text);
    give_all_back();
    td_arena_destroy(model.arena);
    return text[0] ? text : NULL;
}
