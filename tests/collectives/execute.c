/* SPDX-License-Identifier: Apache-2.0 */
/* Executes the steps of all nodes in an order that the engine could choose, on memory that holds
 * tags. */
#include <string.h>

#include "model.h"
#include "random.h"

enum { ROWS_DONE = 1, COLUMNS_DONE = 2 };

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
            if (out++->what == POISON)
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

/* fold adds the contributions of b to a. Both must be of the same place of the vector, and no rank
 * may contribute twice. In order, b is the rank after all those of a. */
static void fold(struct model *m, uint32_t v, struct tag *a, const struct tag *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (a[i].what != b[i].what || (a[i].state & b[i].state))
            model_fail(m, "combines what does not belong together: %s", model_describe(m, v));
        if (m->ordered && ((b[i].state & (b[i].state - 1)) || a[i].state != b[i].state - 1))
            model_fail(m, "combines ranks %llx and %llx out of order: %s",
                       (unsigned long long)a[i].state, (unsigned long long)b[i].state,
                       model_describe(m, v));
        a[i].state |= b[i].state;
    }
}

/* write_lane writes one lane of a step's target. */
static void write_lane(struct model *m, uint32_t v, uint32_t lane, const struct tag *tags)
{
    const struct td_step *s = &m->instance[v].step;
    struct td_lanes only = s->to_lanes;
    struct td_slice to = s->to;
    to.offset += only.stride * lane;
    to.rank = (uint32_t)((int64_t)to.rank + (int64_t)only.rank_stride * lane);
    only.count = 1;
    scatter(m, v, &to, &only, tags);
}

/* combine reads and writes in the order that running results need: the target of a lane may be the
 * place of its operand. */
static void combine(struct model *m, uint32_t v, struct tag *tags, struct tag *more)
{
    const struct td_step *s = &m->instance[v].step;
    const struct td_running *r = &s->running;
    int64_t n = m->instance[v].elements;
    uint32_t operands = s->from_lanes.count + s->with_lanes.count, lane = 0;
    for (uint32_t i = 0; i < operands; i++) {
        bool with = i >= s->from_lanes.count;
        gather(m, v, with ? &s->with : &s->from, with ? &s->with_lanes : &s->from_lanes,
               with ? i - s->from_lanes.count : i, i ? more : tags);
        bool wanted =
            r->kind != TD_RUNNING_NOT && lane < s->to_lanes.count && i == r->first + lane * r->step;
        if (wanted && r->kind == TD_RUNNING_BEFORE && i > 0)
            write_lane(m, v, lane, tags);
        if (i > 0)
            fold(m, v, tags, more, n);
        if (wanted && r->kind == TD_RUNNING_UP_TO)
            write_lane(m, v, lane, tags);
        lane += wanted;
    }
    if (r->kind == TD_RUNNING_NOT)
        scatter(m, v, &s->to, &s->to_lanes, tags);
    else if (lane != s->to_lanes.count)
        model_fail(m, "a target has no operand: %s", model_describe(m, v));
}

/* line performs one transform: all points of one row (column), each at its place, none transformed
 * before. */
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
    const struct td_lanes one = {.count = 1};
    if (td_step_passes(s)) {
        gather(m, v, &s->from, NULL, 0, tags);
        scatter(m, v, &s->with, &one, tags);
    }
    gather(m, v, &from, NULL, 0, tags);
    for (int64_t b = 0; b < s->transform.batch; b++) {
        struct tag *t = tags + b * s->transform.length;
        if (!line(m, t, s->transform.length, true) && !line(m, t, s->transform.length, false))
            model_fail(m, "what is transformed is no whole row or column: %s",
                       model_describe(m, v));
    }
    scatter(m, v, &to, NULL, tags);
    if (td_step_passes(s)) {
        gather(m, v, &s->with, NULL, 0, tags);
        scatter(m, v, &s->to, &one, tags);
    }
}

/* struct run: the engine's order on all slots. Families start their steps in order, a few at a
 * time; a random step of those in progress ends first. */
struct run {
    uint64_t random;
    uint64_t next[SYMBOLIC_NODES_MAX][TD_FAMILIES_MAX];
    uint64_t done[SYMBOLIC_NODES_MAX][TD_FAMILIES_MAX], prefix[SYMBOLIC_NODES_MAX][TD_FAMILIES_MAX];
    bool *over;          /* [steps] */
    struct tag **letter; /* [steps] the tags that a SEND gave to its RECV */
    uint32_t *come; /* [steps] SYNC: number of members that have started it, at the first member */
    uint32_t *flying, flights;
    uint32_t left;
    struct tag *tags, *more;
};

static uint64_t draw(struct run *r, uint64_t below)
{
    return random_below(&r->random, below);
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

/* come records that a member has started a SYNC. The last member completes it for all. */
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

/* act executes a step. A SEND starts its RECV. */
static void act(struct model *m, struct run *r, uint32_t v)
{
    struct instance *n = &m->instance[v];
    switch (n->step.kind) {
    case TD_SEND:
        r->letter[n->partner] = model_obtain_raw(m, (uint64_t)n->elements, sizeof(struct tag));
        gather(m, v, &n->step.from, NULL, 0, r->letter[n->partner]);
        r->flying[r->flights++] = n->partner;
        return;
    case TD_RECV:
        scatter(m, v, &n->step.to, &n->step.to_lanes, r->letter[v]);
        return;
    case TD_COPY:
        for (int64_t i = 0; i < n->elements; i++)
            r->tags[i] = (struct tag){ZERO, 0};
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

void execute_steps(struct model *m, uint64_t seed)
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
