/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_call.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "program.h"

/* The count holds the lengths of the axes: their number in the highest bits, and the same number of
 * bits for each. Long axes have the number ANY, and a hash. */
enum { AXES_SHIFT = 60, ANY = 15 };
/* The plan holds, from the lowest bits on: of a transform its sign, scale, method and the kinds of
 * the axes; of a redistribution its schedule and the order of the axes; then hashes of the grid (of
 * a redistribution: the bytes of an element) and of the layouts after and before. */
enum {
    SCALE_SHIFT = 1,
    METHOD_SHIFT = 3,
    KINDS_SHIFT = 6,
    KIND_BITS = 4,
    GRID_SHIFT = 30,
    TO_SHIFT = 40,
    FROM_SHIFT = 52,
    GRID_BITS = 10,
    LAYOUT_BITS = 12,
};
_Static_assert(TD_TRANSFORM_KINDS < 1 << KIND_BITS &&
                   KINDS_SHIFT + TD_DIMENSIONS_MAX * KIND_BITS <= GRID_SHIFT,
               "the kinds of all axes have room");

static uint64_t low(uint64_t hash, unsigned bits)
{
    return hash & (((uint64_t)1 << bits) - 1);
}

static uint64_t pack_lengths(const uint64_t *length, uint32_t axes)
{
    unsigned bits = AXES_SHIFT / axes;
    uint64_t packed = (uint64_t)axes << AXES_SHIFT, hash = TD_HASH_START;
    bool fits = true;
    for (uint32_t a = 0; a < axes; a++) {
        fits = fits && length[a] == low(length[a], bits);
        packed |= low(length[a], bits) << a * bits;
        hash = td_hash_add(hash, length[a]);
    }
    return fits ? packed : (uint64_t)ANY << AXES_SHIFT | low(hash, AXES_SHIFT);
}

static uint64_t pack_fft(const struct td_fft *fft)
{
    uint64_t packed = (uint64_t)(fft->sign > 0) | (uint64_t)fft->scale << SCALE_SHIFT |
                      (uint64_t)fft->method << METHOD_SHIFT;
    uint64_t grid = TD_HASH_START;
    for (uint32_t a = 0; a < fft->dimensions; a++) {
        packed |= (uint64_t)fft->transform[a] << (KINDS_SHIFT + a * KIND_BITS);
        grid = td_hash_add(grid, fft->grid[a]);
    }
    return packed | (fft->grid[0] ? low(grid, GRID_BITS) | 1 : 0) << GRID_SHIFT;
}

static uint64_t pack_redist(const struct td_redist *r)
{
    uint64_t packed = r->schedule;
    for (uint32_t a = 0; a < r->dimensions; a++)
        packed |= (uint64_t)r->axes[a] << (KINDS_SHIFT + a * KIND_BITS);
    return packed | low(r->element, GRID_BITS) << GRID_SHIFT;
}

void td_plan_call(const struct td_plan *plan, struct td_call *call)
{
    bool fft = call->kind == TD_KIND_PLAN_FFT;
    call->type = fft ? (uint8_t)plan->fft.type : TD_TYPE_BYTE;
    call->count = fft ? pack_lengths(plan->fft.size, plan->fft.dimensions)
                      : pack_lengths(plan->redist.size, plan->redist.dimensions);
    call->plan = (fft ? pack_fft(&plan->fft) : pack_redist(&plan->redist)) |
                 low(td_layout_hash(&plan->to), LAYOUT_BITS) << TO_SHIFT |
                 low(td_layout_hash(&plan->from), LAYOUT_BITS) << FROM_SHIFT;
}

/* ---- text ---- */

struct text {
    char *at;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t left = t->length < t->size ? t->size - t->length : 0;
    int n = vsnprintf(left ? t->at + t->length : NULL, left, format, arguments);
    va_end(arguments);
    t->length += n > 0 ? (size_t)n : 0;
}

static unsigned field(const struct td_call *call, unsigned shift, unsigned bits)
{
    return (unsigned)low(call->plan >> shift, bits);
}

static void add_lengths(struct text *t, uint64_t count, unsigned axes)
{
    if (axes == ANY)
        add(t, "lengths #%llx", (unsigned long long)low(count, AXES_SHIFT));
    for (unsigned a = 0; axes != ANY && a < axes; a++)
        add(t, "%s%llu", a ? "x" : "",
            (unsigned long long)low(count >> a * (AXES_SHIFT / axes), AXES_SHIFT / axes));
}

static void add_fft(struct text *t, const struct td_call *call, unsigned axes)
{
    static const char *const scales[] = {"none", "ortho", "full", "?"};
    unsigned method = field(call, METHOD_SHIFT, KINDS_SHIFT - METHOD_SHIFT);
    add(t, ", %s, %s, scale %s, transforms ", td_type_name(call->type),
        field(call, 0, SCALE_SHIFT) ? "backward" : "forward",
        scales[field(call, SCALE_SHIFT, METHOD_SHIFT - SCALE_SHIFT)]);
    for (unsigned a = 0; a < (axes == ANY ? TD_DIMENSIONS_MAX : axes); a++) {
        unsigned kind = field(call, KINDS_SHIFT + a * KIND_BITS, KIND_BITS);
        add(t, "%s%s", a ? "/" : "", kind ? td_transform_kind_name(kind - 1) : "-");
    }
    add(t, ", method %s", td_alltoall_name((enum td_alltoall)method));
    if (field(call, GRID_SHIFT, GRID_BITS))
        add(t, ", grid #%x", field(call, GRID_SHIFT, GRID_BITS));
}

static void add_redist(struct text *t, const struct td_call *call, unsigned axes)
{
    add(t, ", element %u bytes, axes ", field(call, GRID_SHIFT, GRID_BITS));
    for (unsigned a = 0; a < (axes == ANY ? TD_DIMENSIONS_MAX : axes); a++)
        add(t, "%s%u", a ? "/" : "", field(call, KINDS_SHIFT + a * KIND_BITS, KIND_BITS));
    add(t, ", schedule %u", field(call, 0, KINDS_SHIFT));
}

int td_plan_call_print(const struct td_call *call, char *text, size_t size)
{
    struct text t = {text, size, 0};
    unsigned axes = (unsigned)(call->count >> AXES_SHIFT);
    add(&t, "%s(", td_kind_name(call->kind));
    if (axes == 0 || (axes > TD_DIMENSIONS_MAX && axes != ANY)) {
        add(&t, "description %016llx)", (unsigned long long)call->digest);
        return (int)t.length;
    }
    add_lengths(&t, call->count, axes);
    if (call->kind == TD_KIND_PLAN_FFT)
        add_fft(&t, call, axes);
    else
        add_redist(&t, call, axes);
    add(&t, ", from layout #%03x, to layout #%03x)", field(call, FROM_SHIFT, LAYOUT_BITS),
        field(call, TO_SHIFT, LAYOUT_BITS));
    return (int)t.length;
}

/* ---- what differs ---- */

/* struct field: bits of `plan`, up to the next field. */
struct field {
    unsigned shift;
    const char *name;
};

static const char *difference(const struct field *fields, uint64_t bits)
{
    const char *name = "the description differs"; /* hashes of some bits are equal by chance */
    for (const struct field *f = fields; f->name && bits >> f->shift; f++)
        name = f->name;
    return name;
}

const char *td_plan_call_difference(const struct td_call *a, const struct td_call *b)
{
    static const struct field fft[] = {{0, "the sign differs"},
                                       {SCALE_SHIFT, "the scale differs"},
                                       {METHOD_SHIFT, "the method differs"},
                                       {KINDS_SHIFT, "the kinds of transform differ"},
                                       {GRID_SHIFT, "the grid differs"},
                                       {TO_SHIFT, "the layout after differs"},
                                       {FROM_SHIFT, "the layout before differs"},
                                       {0, NULL}};
    static const struct field redist[] = {{0, "the schedule differs"},
                                          {KINDS_SHIFT, "the order of the axes differs"},
                                          {GRID_SHIFT, "the size of an element differs"},
                                          {TO_SHIFT, "the layout after differs"},
                                          {FROM_SHIFT, "the layout before differs"},
                                          {0, NULL}};
    if (a->kind != b->kind || (a->kind != TD_KIND_PLAN_FFT && a->kind != TD_KIND_PLAN_REDIST))
        return NULL;
    if (a->count != b->count)
        return "the lengths of the axes differ";
    if (a->type != b->type)
        return "the type differs";
    uint64_t bits = a->plan ^ b->plan, layouts = bits >> TO_SHIFT << TO_SHIFT;
    if (layouts != bits) /* such a field may change a default layout, too */
        bits ^= layouts;
    return difference(a->kind == TD_KIND_PLAN_FFT ? fft : redist, bits);
}
