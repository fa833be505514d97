/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/registry.h"
#include "model/layout.h"
#include "model.h"

enum { STEPS_MAX = 100000, ARENA_BYTES = 1 << 18, PARTS_BYTES = 2 << 20 };

/* ---- memory of the check itself ---- */

static void *blocks; /* a list, linked by the first word of each block */

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

void *model_obtain_raw(struct model *m, uint64_t count, size_t bytes)
{
    return obtain(m, count, bytes, false);
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
    k->skip = (uint64_t)slice->offset;
    k->left = slice->run;
}

/* next_part is cursor_next of a slice of counts. */
static bool next_part(struct cursor *k, struct model *m, uint32_t *memory, uint64_t *begin,
                      uint64_t *count)
{
    const struct td_slice *s = &k->slice;
    const struct td_counts *counts = &m->counts[k->slot];
    bool destination = s->space == TD_SPACE_DESTINATION;
    const struct td_part *part = NULL;
    uint32_t local = 0;
    if (s->counts != counts || s->levels || s->space == TD_SPACE_SCRATCH ||
        s->slot >= m->group.slots)
        model_fail(m, "not this node's parts: %s", model_describe(m, k->step));
    for (;; k->skip -= part->bytes, k->pair++) {
        if (k->pair >= td_counts_pairs(counts, s->slot))
            model_fail(m, "beyond the unit: %s", model_describe(m, k->step));
        part = td_counts_pair(counts, destination, s->slot, k->pair, &local);
        if (k->skip < part->bytes)
            break;
    }
    uint64_t bytes = part->bytes - k->skip;
    bytes = bytes < (uint64_t)k->left ? bytes : (uint64_t)k->left;
    uint64_t at = part->at + k->skip;
    if (at % (uint64_t)m->element || bytes % (uint64_t)m->element)
        model_fail(m, "a part of an element is moved: %s", model_describe(m, k->step));
    *memory = m->group.slots + (destination ? m->group.size : 0) +
              td_group_rank(&m->group, k->slot, local);
    *begin = at / (uint64_t)m->element;
    *count = bytes / (uint64_t)m->element;
    k->skip += bytes;
    k->left -= (int64_t)bytes;
    k->over = k->left == 0;
    return true;
}

bool cursor_next(struct cursor *k, struct model *m, uint32_t *memory, uint64_t *begin,
                 uint64_t *count)
{
    if (k->over)
        return false;
    if (k->slice.counts)
        return next_part(k, m, memory, begin, count);
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
    const struct td_slice *start = td_step_passes(step)     ? &step->with
                                   : target && step->to.run ? &step->to
                                                            : &step->from;
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

static void make_memories(struct model *m)
{
    uint32_t slots = m->group.slots, size = m->c->size;
    uint64_t longest = 0, unit = (uint64_t)m->element;
    m->memories = slots + 2 * size;
    m->memory_elements = model_obtain(m, m->memories, sizeof *m->memory_elements);
    m->memory = model_obtain(m, m->memories, sizeof(void *));
    for (uint32_t s = 0; s < slots; s++)
        m->memory_elements[s] = (promise_scratch(&m->program[s]) + unit - 1) / unit;
    for (uint32_t r = 0; r < size; r++) {
        uint64_t *of = &m->memory_elements[slots + r];
        promise_sizes(m, r, &of[0], &of[size]);
        longest = of[0] > longest ? of[0] : longest;
        longest = of[size] > longest ? of[size] : longest;
    }
    for (uint32_t i = 0; i < m->memories; i++)
        m->memory[i] = model_obtain_raw(m, m->memory_elements[i], sizeof(struct tag));
    m->want = model_obtain_raw(m, longest, sizeof *m->want);
}

/* take_parts records the counts of all ranks, as their nodes do when they call. */
static void take_parts(struct model *m)
{
    const struct symbolic_case *c = m->c;
    const uint64_t *count[2] = {c->from_count, c->to_count}, *at[2] = {c->from_at, c->to_at};
    m->counts = model_obtain(m, m->group.slots, sizeof *m->counts);
    m->need = model_obtain(m, c->size, sizeof *m->need);
    for (uint32_t s = 0; s < m->group.slots; s++)
        if (!td_counts_build(&m->counts[s], m->arena, &m->group, s))
            model_fail(m, "no memory for the parts");
    for (uint32_t r = 0; r < c->size; r++)
        for (int side = 0; side < 2; side++) {
            uint32_t slot = 0, local = 0;
            td_group_locate(&m->group, r, &slot, &local);
            const struct td_rank_counts counts = {count[side] + (size_t)r * c->size,
                                                  at[side] ? at[side] + (size_t)r * c->size : NULL,
                                                  c->size, at[side] ? c->size : 0};
            const char *wrong = td_counts_set(&m->counts[slot], local, side, &counts,
                                              td_type_bytes(c->call.type), &m->need[r][side]);
            if (wrong)
                model_fail(m, "rank %u: %s", r, wrong);
        }
}

static void compile_with(struct model *m, const struct td_survey *survey)
{
    const struct symbolic_case *c = m->c;
    m->plan.fft = c->fft;
    m->plan.rows = true;
    m->plan.method = &td_method_fft_rows;
    for (uint32_t s = 0; s < m->group.slots; s++) {
        const struct td_compile_input input = {.call = &c->call,
                                               .plan = &m->plan,
                                               .seed = c->seed,
                                               .group = &m->group,
                                               .tree = m->tree.slots ? &m->tree : NULL,
                                               .slot = s,
                                               .topology = &c->topology,
                                               .counts = m->counts ? &m->counts[s] : NULL,
                                               .survey = survey,
                                               .tuning = &c->tuning};
        c->compile(&input, &m->program[s]);
    }
    for (uint32_t s = 0; s < m->group.slots; s++)
        if (m->program[s].survey_pending != m->program[0].survey_pending ||
            (survey && m->program[s].survey_pending))
            model_fail(m, "node %u wants another survey than others", m->group.node[s]);
}

/* compile compiles the programs as the gate does: a second time if they need a survey. */
static void compile(struct model *m)
{
    struct td_survey survey = {0};
    compile_with(m, NULL);
    for (uint32_t s = 0; m->counts && s < m->group.slots; s++) {
        struct td_survey own = {0};
        td_survey_collect(&own, &m->counts[s]);
        td_survey_merge(&survey, &own);
    }
    if (m->counts &&
        !td_survey_agrees(&survey, &(bool){0}, &(uint32_t){0}, &(uint32_t){0}, &(int64_t){0}))
        model_fail(m, "the case's counts do not agree");
    if (m->program[0].survey_pending)
        compile_with(m, &survey);
}

static void expand(struct model *m)
{
    for (uint32_t s = 0; s < m->group.slots; s++) {
        const struct td_program *p = &m->program[s];
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
                m->program[s].step_at(&m->program[s], f, i, &n->step);
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

/* match_sync checks that all members of a SYNC have the step, with the same members. */
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
    bool passes = td_step_passes(s);
    if (passes && (td_slice_bytes(&s->with) != td_slice_bytes(&from) || s->inner.length > 0))
        model_fail(m, "the place in scratch memory does not fit: %s", model_describe(m, v));
    if (passes)
        note(m, v, &to, NULL, true);
    note(m, v, passes ? &s->from : &from, NULL, false);
    note(m, v, passes ? &s->to : &to, NULL, true);
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
            if (td_slice_bytes(&s->from) && td_slice_bytes(&s->from) != td_slice_bytes(&s->to))
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

/* ---- the whole check ---- */

/* verify_factors checks that the product of the factors of rows and columns is that of the plan. */
static void verify_factors(struct model *m)
{
    double factor = td_fft_factor(&m->c->fft);
    for (uint32_t v = 0; v < m->steps; v++) {
        const struct td_step *s = &m->instance[v].step;
        if (s->kind == TD_TRANSFORM && s->transform.factor != 1 && s->transform.factor != factor)
            model_fail(m, "the factor is wrong: %s", model_describe(m, v));
    }
}

/* is_ordered returns true if the result depends on the order of the ranks: scans, results that must
 * not depend on the placement, and methods that fold in rank order anyway. */
static bool is_ordered(const struct model *m)
{
    const struct td_call *call = &m->c->call;
    switch (call->kind) {
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
    case TD_KIND_REDUCE_SCATTERV:
        return true;
    case TD_KIND_PREFIX: /* a tree combines values on their way up */
        return call->mode == TD_REPRODUCIBLE_ANY ||
               strncmp(m->program[0].method->name, "prefix_", 7) != 0;
    case TD_KIND_REDUCE_SCATTER:
        return call->mode == TD_REPRODUCIBLE_ANY ||
               strcmp(m->program[0].method->name, "reduce_rank_order") == 0;
    default:
        return td_call_reduces(call->kind) && call->mode == TD_REPRODUCIBLE_ANY;
    }
}

static void check(struct model *m)
{
    const struct symbolic_case *c = m->c;
    if (td_group_build(&m->group, m->arena, c->rank_node, c->size) != TD_OK)
        model_fail(m, "no memory for the group");
    if (c->topology.nodes &&
        td_planes_of_call(&m->tree, m->arena, &c->topology, &m->group, &c->call) != TD_OK)
        model_fail(m, "no memory for the tree");
    m->in_place = c->in_place || c->call.kind == TD_KIND_BROADCAST;
    promise_units(m);
    if (td_call_has_counts(c->call.kind))
        take_parts(m);
    compile(m);
    expand(m);
    m->ordered = is_ordered(m);
    m->stats->slots = m->group.slots;
    m->stats->steps = m->steps;
    m->stats->rides = m->program[0].ride != TD_RIDE_NONE;
    promise_check_ride(m);
    make_memories(m);
    match(m);
    note_accesses(m);
    graph_check(m);
    verify_factors(m);
    for (unsigned order = 0; order < (c->orders ? c->orders : 1); order++) {
        promise_fill(m);
        execute_steps(m, c->seed + order);
        promise_verify(m);
    }
}

const char *symbolic_check(const struct symbolic_case *c, struct symbolic_stats *stats)
{
    static struct model model;
    static char text[sizeof model.text];
    static _Alignas(64) unsigned char memory[PARTS_BYTES];
    struct symbolic_stats none = {0};
    model = (struct model){.c = c, .stats = stats ? stats : &none};
    *model.stats = (struct symbolic_stats){0};
    model.arena = td_arena_within(memory, td_call_has_counts(c->call.kind) ? sizeof memory
                                                                           : (size_t)ARENA_BYTES);
    text[0] = '\0';
    if (c->size > SYMBOLIC_RANKS_MAX)
        return "the case is too large";
    if (setjmp(model.failed) == 0)
        check(&model);
    snprintf(text, sizeof text, "%s", model.text);
    give_all_back();
    return text[0] ? text : NULL;
}
