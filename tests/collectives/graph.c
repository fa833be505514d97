/* SPDX-License-Identifier: Apache-2.0 */
/* Vertices 0 .. steps - 1 are the step instances. Vertex steps + i stands for "instance i and all
 * before it in its family are done", which a dependency refers to. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { BEFORE_MAX = TD_DEPENDENCIES_MAX * SYMBOLIC_NODES_MAX + 2 };

/* needed writes the vertices of v's dependencies. */
static unsigned needed(const struct model *m, uint32_t v, uint32_t *out)
{
    const struct instance *i = &m->instance[v];
    const struct td_program *p = &m->program[i->slot];
    const struct td_family *f = &p->family[i->family];
    unsigned count = 0;
    for (unsigned d = 0; d < f->dependencies; d++) {
        uint64_t need = td_dependency_count(p, &f->dependency[d], i->index);
        if (need > 0)
            out[count++] = m->steps + m->base[i->slot][f->dependency[d].on] + (uint32_t)need - 1;
    }
    return count;
}

/* before writes the vertices that must be done before v, and returns their number. */
static unsigned before(const struct model *m, uint32_t v, uint32_t out[BEFORE_MAX])
{
    unsigned count = 0;
    if (v >= m->steps) {
        v -= m->steps;
        out[count++] = v;
        if (m->instance[v].index > 0)
            out[count++] = m->steps + v - 1;
        return count;
    }
    const struct instance *i = &m->instance[v];
    if (i->step.kind == TD_RECV && i->elements > 0)
        out[count++] = i->partner;
    /* a SYNC is done when all its members have started it */
    uint32_t members = i->step.kind == TD_SYNC ? i->step.among.count : 1;
    for (uint32_t k = 0; k < members; k++)
        count += needed(m, members == 1 ? v : model_member(m, v, k), out + count);
    return count;
}

/* struct reach: bit s of row v: step s is done before vertex v begins. */
struct reach {
    uint64_t words;
    uint64_t *bits;
};

static void finish(const struct model *m, struct reach *r, uint32_t v)
{
    uint32_t from[BEFORE_MAX];
    unsigned count = before(m, v, from);
    uint64_t *row = r->bits + v * r->words;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t *other = r->bits + from[i] * r->words;
        for (uint64_t w = 0; w < r->words; w++)
            row[w] |= other[w];
        if (from[i] < m->steps)
            row[from[i] / 64] |= (uint64_t)1 << from[i] % 64;
    }
}

/* fill_reach visits every vertex after its predecessors. If it meets an open vertex, the graph has
 * a cycle. */
static void fill_reach(struct model *m, struct reach *r)
{
    enum { NEW, OPEN, DONE };
    uint32_t vertices = 2 * m->steps, depth = 0;
    uint8_t *state = model_obtain(m, vertices, 1);
    uint32_t *stack = model_obtain(m, vertices, sizeof *stack);
    for (uint32_t root = 0; root < vertices; root++) {
        if (state[root] == NEW)
            stack[depth++] = root;
        while (depth) {
            uint32_t v = stack[depth - 1], from[BEFORE_MAX], next = NO_STEP;
            state[v] = OPEN;
            unsigned count = before(m, v, from);
            for (unsigned i = 0; i < count && next == NO_STEP; i++) {
                if (state[from[i]] == OPEN)
                    model_fail(m, "a cycle goes through: %s",
                               model_describe(m, v < m->steps ? v : v - m->steps));
                if (state[from[i]] == NEW)
                    next = from[i];
            }
            if (next != NO_STEP) {
                stack[depth++] = next;
                continue;
            }
            finish(m, r, v);
            state[v] = DONE;
            depth--;
        }
    }
}

static bool ordered(const struct reach *r, uint32_t a, uint32_t b)
{
    return (r->bits[b * r->words + a / 64] >> a % 64 & 1) ||
           (r->bits[a * r->words + b / 64] >> b % 64 & 1);
}

static int by_place(const void *left, const void *right)
{
    const struct access *a = left, *b = right;
    if (a->memory != b->memory)
        return a->memory < b->memory ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* A step may write to the place that it reads, element by element. */
static bool in_place(const struct access *a, const struct access *b)
{
    return a->step == b->step && a->writes != b->writes && a->begin == b->begin && a->end == b->end;
}

static void judge(struct model *m, const struct reach *r, const struct access *a,
                  const struct access *b)
{
    if (!a->writes && !b->writes)
        return;
    if (in_place(a, b) || (a->step != b->step && ordered(r, a->step, b->step)))
        return;
    model_fail(m, "no order between: (%s) %s, and: (%s) %s, at element %llu of memory %u",
               a->writes ? "writes" : "reads", model_describe(m, a->step),
               b->writes ? "writes" : "reads", model_describe(m, b->step),
               (unsigned long long)b->begin, b->memory);
}

void graph_check(struct model *m)
{
    struct reach r = {.words = (m->steps + 63) / 64};
    r.bits = model_obtain(m, 2 * m->steps * r.words, sizeof *r.bits);
    fill_reach(m, &r);
    if (m->accesses)
        qsort(m->access, m->accesses, sizeof *m->access, by_place);
    uint32_t *open = model_obtain(m, m->accesses, sizeof *open), opened = 0;
    for (uint32_t i = 0; i < m->accesses; i++) {
        const struct access *a = &m->access[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < opened; k++) {
            const struct access *b = &m->access[open[k]];
            if (b->memory != a->memory || b->end <= a->begin)
                continue;
            judge(m, &r, b, a);
            open[kept++] = open[k];
        }
        open[kept++] = i;
        opened = kept;
    }
}
