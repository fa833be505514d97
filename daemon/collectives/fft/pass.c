/* SPDX-License-Identifier: Apache-2.0 */
#include "pass.h"

/* ---- loops of a pass ---- */

struct loop {
    uint64_t count, from, to; /* elements between two turns, on either side */
};

/* struct loops: the lines of a chunk: the two loops of a transform step, and the remaining loops.
 */
struct loops {
    uint64_t stride, to_stride;
    uint64_t batch, distance, to_distance;
    uint64_t batch2, distance2, to_distance2;
    uint64_t offset, to_offset; /* of the chunk, in elements */
    uint64_t parts;             /* turns of the remaining loops; 0: no lines */
    unsigned rests;
    struct loop rest[TD_DIMENSIONS_MAX];
};

/* merge sorts loops from the widest to the tightest stride, and merges two loops if the outer one
 * continues where the inner one ends. */
static unsigned merge(struct loop *loop, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i; j > 0 && loop[j].from > loop[j - 1].from; j--) {
            struct loop t = loop[j];
            loop[j] = loop[j - 1];
            loop[j - 1] = t;
        }
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++) {
        if (loop[i].count == 1)
            continue;
        if (kept && loop[kept - 1].from == loop[i].count * loop[i].from &&
            loop[kept - 1].to == loop[i].count * loop[i].to)
            loop[kept - 1] =
                (struct loop){loop[kept - 1].count * loop[i].count, loop[i].from, loop[i].to};
        else
            loop[kept++] = loop[i];
    }
    return kept;
}

/* take_longest removes the longest loop. */
static struct loop take_longest(struct loop *loop, unsigned *count)
{
    unsigned best = 0;
    if (*count == 0)
        return (struct loop){1, 0, 0};
    for (unsigned i = 1; i < *count; i++)
        if (loop[i].count >= loop[best].count)
            best = i;
    struct loop longest = loop[best];
    for (unsigned i = best; i + 1 < *count; i++)
        loop[i] = loop[i + 1];
    (*count)--;
    return longest;
}

/* find_loops finds the loops of an owner. */
static void find_loops(const struct td_pass *p, uint32_t owner, uint64_t chunk, struct loops *out)
{
    const struct td_layout *l = &p->from->layout;
    uint64_t count[TD_DIMENSIONS_MAX], from[TD_DIMENSIONS_MAX], to[TD_DIMENSIONS_MAX];
    struct loop loop[TD_DIMENSIONS_MAX];
    unsigned loops = 0;
    td_layout_local(l, owner, count);
    td_layout_strides(l, owner, from);
    td_layout_strides(&p->to->layout, owner, to);
    *out = (struct loops){.stride = from[p->axis], .to_stride = to[p->axis]};
    if (p->along != p->axis) {
        uint64_t begin = chunk * p->lines;
        out->offset = begin * from[p->along];
        out->to_offset = begin * to[p->along];
        uint64_t rest = begin < count[p->along] ? count[p->along] - begin : 0;
        count[p->along] = rest < p->lines ? rest : p->lines;
    }
    bool some = count[p->axis] > 0;
    for (uint32_t d = 0; d < l->dimensions; d++) {
        some = some && count[d] > 0;
        if (d != p->axis)
            loop[loops++] = (struct loop){count[d], from[d], to[d]};
    }
    if (!some)
        return;
    loops = merge(loop, loops);
    struct loop a = take_longest(loop, &loops), b = take_longest(loop, &loops);
    out->batch = a.count;
    out->distance = a.from;
    out->to_distance = a.to;
    out->batch2 = b.count;
    out->distance2 = b.from;
    out->to_distance2 = b.to;
    out->parts = 1;
    for (unsigned i = loops; i-- > 0;) {
        out->rest[out->rests++] = loop[i];
        out->parts *= loop[i].count;
    }
}

void td_pass_split(struct td_pass *p)
{
    p->parts = 1;
    for (uint32_t i = 0; i < p->from->there[p->from->own]; i++) {
        struct loops loops;
        find_loops(p, p->from->here[i], 0, &loops);
        p->parts = loops.parts > p->parts ? loops.parts : p->parts;
    }
}

enum { CHUNKS_MAX = 64 };

void td_pass_cut(struct td_pass *p, uint32_t along, uint64_t bytes)
{
    const struct td_array *a = p->from;
    uint64_t count[TD_DIMENSIONS_MAX], elements = 1;
    td_layout_most(&a->layout, count);
    for (uint32_t d = 0; d < a->layout.dimensions; d++)
        elements *= count[d];
    uint64_t all = count[along] ? count[along] : 1;
    uint64_t line = elements * a->element / all, least = (all + CHUNKS_MAX - 1) / CHUNKS_MAX;
    p->along = (uint8_t)along;
    p->lines = along == p->axis ? all : bytes / (line ? line : 1);
    p->lines = p->lines < least ? least : p->lines > all ? all : p->lines;
    p->chunks = (all + p->lines - 1) / p->lines;
    td_pass_split(p);
}

void td_pass_step(const struct td_program *p, const struct td_pass *pass, uint64_t index,
                  struct td_step *step)
{
    const struct td_array *from = pass->from, *to = pass->to;
    uint64_t here = from->there[p->slot], part = index % pass->parts;
    uint32_t place = (uint32_t)(index / pass->parts % here);
    struct loops loops;
    find_loops(pass, from->here[place], index / pass->parts / here, &loops);
    if (part >= loops.parts)
        return;
    for (unsigned i = 0; i < loops.rests; i++) {
        uint64_t turn = part % loops.rest[i].count;
        part /= loops.rest[i].count;
        loops.offset += turn * loops.rest[i].from;
        loops.to_offset += turn * loops.rest[i].to;
    }
    /* position of the first element, and an upper limit of the bytes; they need not be contiguous
     */
    int64_t bytes = (int64_t)(loops.batch * loops.batch2 * pass->length * from->element);
    step->from = td_slice_at(from->space, from->local[place],
                             from->base[place] + (int64_t)(loops.offset * from->element), bytes);
    step->to = td_slice_at(to->space, to->local[place],
                           to->base[place] + (int64_t)(loops.to_offset * to->element), bytes);
    struct td_transform *t = &step->transform;
    t->kind = pass->kind;
    t->type = (uint8_t)p->plan->fft.type;
    t->sign = (int8_t)p->plan->fft.sign;
    t->length = (int64_t)pass->length;
    t->batch = (int64_t)loops.batch;
    t->batch2 = (int64_t)loops.batch2;
    t->stride = (int64_t)loops.stride;
    t->distance = (int64_t)loops.distance;
    t->distance2 = (int64_t)loops.distance2;
    t->to_stride = (int64_t)loops.to_stride;
    t->to_distance = (int64_t)loops.to_distance;
    t->to_distance2 = (int64_t)loops.to_distance2;
    t->factor = pass->factor;
    if (pass->twiddle) {
        uint32_t across = !pass->axis; /* of two axes: the one whose index selects the twiddle */
        struct td_owned owned = td_layout_owned(
            &from->layout, across, td_layout_coordinate(&from->layout, from->here[place], across));
        t->twiddle = (int64_t)pass->twiddle;
        t->twiddle_first = (int64_t)td_owned_at(&owned, index / pass->parts / here * pass->lines);
    }
}
