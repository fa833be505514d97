/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <stdio.h>

#include "base/arena.h"
#include "layout_text.h"
#include "overlap.h"
#include "program.h"
#include "base/hash.h"

/* ---- transforms ---- */

static bool is_complex(unsigned type)
{
    return type == TD_TYPE_COMPLEX_FLOAT || type == TD_TYPE_COMPLEX_DOUBLE;
}

static bool is_real(unsigned type)
{
    return type == TD_TYPE_FLOAT || type == TD_TYPE_DOUBLE;
}

/* kind_of returns the transform of an axis, or TD_TRANSFORM_KINDS if it has none. */
static unsigned kind_of(const struct td_fft *fft, uint32_t axis)
{
    return fft->transform[axis] ? fft->transform[axis] - 1u : TD_TRANSFORM_KINDS;
}

/* halved returns the axis that is R2C or C2R, or TD_DIMENSIONS_MAX if none exists. */
static uint32_t halved(const struct td_fft *fft)
{
    for (uint32_t d = 0; d < fft->dimensions; d++)
        if (kind_of(fft, d) == TD_TRANSFORM_R2C || kind_of(fft, d) == TD_TRANSFORM_C2R)
            return d;
    return TD_DIMENSIONS_MAX;
}

void td_fft_all(struct td_fft *fft)
{
    for (uint32_t d = 0; d < fft->dimensions; d++)
        fft->transform[d] = 1 + TD_TRANSFORM_C2C;
}

/* check_kinds accepts complex axes, of which one may be R2C or C2R, or real-to-real axes only. */
static const char *check_kinds(const struct td_fft *fft)
{
    unsigned transforms = 0, halves = 0, real = 0;
    for (uint32_t d = 0; d < fft->dimensions; d++) {
        unsigned kind = kind_of(fft, d);
        if (fft->transform[d] > TD_TRANSFORM_KINDS)
            return "unknown kind of transform";
        transforms += kind != TD_TRANSFORM_KINDS;
        halves += kind == TD_TRANSFORM_R2C || kind == TD_TRANSFORM_C2R;
        real += kind > TD_TRANSFORM_C2R && kind < TD_TRANSFORM_KINDS;
        if (kind == TD_TRANSFORM_REDFT00 && fft->size[d] < 2)
            return "a DCT-I must have at least two points";
        if ((kind == TD_TRANSFORM_R2C && fft->sign != TD_FFT_FORWARD) ||
            (kind == TD_TRANSFORM_C2R && fft->sign != TD_FFT_BACKWARD))
            return "R2C must be forward, and C2R backward";
    }
    if (transforms == 0)
        return "a transform needs at least one axis";
    if (halves > 1)
        return "only one axis may be R2C or C2R; the others must be complex";
    if (real && real != transforms)
        return "real-to-real transforms cannot be combined with complex ones";
    if (real ? !is_real(fft->type) : !is_complex(fft->type))
        return real ? "the type of a real transform must be float or double"
                    : "the type of a transform must be complex float or complex double";
    return NULL;
}

const char *td_fft_check(const struct td_fft *fft)
{
    if (fft->dimensions < 1 || fft->dimensions > TD_DIMENSIONS_MAX)
        return "an array to be transformed must have 1 to 6 axes";
    if (fft->sign != TD_FFT_FORWARD && fft->sign != TD_FFT_BACKWARD)
        return "the sign of a transform must be -1 (forward) or +1 (backward)";
    if (fft->scale > TD_SCALE_FULL)
        return "the scale of a transform must be none, ortho or full";
    uint64_t points = 1;
    for (uint32_t d = 0; d < fft->dimensions; d++) {
        if (fft->size[d] == 0)
            return "an axis of a transform must have at least one point";
        if (fft->size[d] > INT32_MAX)
            return "an axis of a transform can have at most 2147483647 points";
        if (points > (uint64_t)INT64_MAX / 32 / fft->size[d])
            return "the array overflows 63 bits of bytes";
        points *= fft->size[d];
    }
    for (uint32_t d = 0; d < TD_DIMENSIONS_MAX; d++) {
        if (fft->grid[d] && d + 1 >= fft->dimensions)
            return "a grid must have fewer axes than the array";
        if (fft->grid[d] > TD_JOB_RANKS_MAX || (d && fft->grid[d] && !fft->grid[d - 1]))
            return "the sizes of a grid must be numbers of nodes";
    }
    if (fft->method >= TD_ALLTOALLS)
        return "the method of a transpose must be random, phased, pairwise or two-phase";
    return check_kinds(fft);
}

uint64_t td_fft_size(const struct td_fft *fft, unsigned side, uint32_t axis)
{
    unsigned kind = kind_of(fft, axis);
    bool half = (kind == TD_TRANSFORM_R2C && side == 1) || (kind == TD_TRANSFORM_C2R && side == 0);
    return half ? fft->size[axis] / 2 + 1 : fft->size[axis];
}

uint64_t td_fft_element(const struct td_fft *fft, unsigned side)
{
    uint32_t axis = halved(fft);
    unsigned kind = axis < TD_DIMENSIONS_MAX ? kind_of(fft, axis) : TD_TRANSFORM_C2C;
    bool real = (kind == TD_TRANSFORM_R2C && side == 0) || (kind == TD_TRANSFORM_C2R && side == 1);
    return td_type_bytes(fft->type) / (real ? 2 : 1);
}

static uint64_t fft_digest(const struct td_fft *fft)
{
    uint64_t h = td_hash_add(TD_HASH_START, fft->dimensions);
    h = td_hash_add(h, fft->type);
    h = td_hash_add(h, (uint64_t)fft->sign);
    h = td_hash_add(h, fft->scale);
    for (uint32_t d = 0; d < fft->dimensions; d++)
        h = td_hash_add(td_hash_add(td_hash_add(h, fft->size[d]), fft->transform[d]), fft->grid[d]);
    return td_hash_add(h, fft->method);
}

/* square_root uses Newton's iteration, because the core and collectives do not link libm. The last
 * bits may differ from the exact value. */
static double square_root(double x)
{
    double y = x > 1 ? x : 1;
    for (int i = 0; i < 200; i++) {
        double better = 0.5 * (y + x / y);
        if (better >= y)
            break;
        y = better;
    }
    return y;
}

/* logical returns the factor of a transform followed by its inverse. */
static double logical(const struct td_fft *fft, uint32_t axis)
{
    double n = (double)fft->size[axis];
    switch (kind_of(fft, axis)) {
    case TD_TRANSFORM_KINDS:
        return 1;
    case TD_TRANSFORM_C2C:
    case TD_TRANSFORM_R2C:
    case TD_TRANSFORM_C2R:
        return n;
    case TD_TRANSFORM_REDFT00:
        return 2 * (n - 1);
    case TD_TRANSFORM_RODFT00:
        return 2 * (n + 1);
    default:
        return 2 * n;
    }
}

double td_fft_factor(const struct td_fft *fft)
{
    double points = 1;
    for (uint32_t d = 0; d < fft->dimensions; d++)
        points *= logical(fft, d);
    switch ((enum td_fft_scale)fft->scale) {
    case TD_SCALE_ORTHO:
        return 1 / square_root(points);
    case TD_SCALE_FULL:
        return 1 / points;
    case TD_SCALE_NONE:
        break;
    }
    return 1;
}

/* ---- moves ---- */

static const char *check_redist(const struct td_redist *r)
{
    uint32_t seen = 0;
    if (r->dimensions < 1 || r->dimensions > TD_DIMENSIONS_MAX)
        return "an array must have 1 to 6 axes";
    if (r->element < 1 || r->element > 1 << 20)
        return "an element must have 1 byte to 1 MiB";
    for (uint32_t d = 0; d < r->dimensions; d++)
        seen |= r->axes[d] < r->dimensions ? 1u << r->axes[d] : 0;
    if (seen != (1u << r->dimensions) - 1)
        return "a transposition must name every axis once";
    if (r->schedule >= TD_REDIST_SCHEDULES)
        return "unknown schedule";
    return NULL;
}

static uint64_t redist_digest(const struct td_redist *r)
{
    uint64_t h = td_hash_add(td_hash_add(TD_HASH_START, r->dimensions), r->element);
    h = td_hash_add(h, r->schedule);
    for (uint32_t d = 0; d < r->dimensions; d++)
        h = td_hash_add(td_hash_add(h, r->size[d]), r->axes[d]);
    return h;
}

/* ---- plans ---- */

struct maker {
    struct td_arena *arena;
    uint32_t ranks;
    td_err error;
    char *text;
    size_t size;
};

static bool refuse(struct maker *m, const char *what)
{
    m->error = TD_ERR_INVALID;
    snprintf(m->text, m->size, "%s", what);
    return false;
}

static bool is_empty(const char *text)
{
    return !text || !*text;
}

/* read_layout reads the layout of one side, or makes blocks of axis 0 on all ranks. */
static bool read_layout(struct maker *m, const char *side, const char *text, uint32_t dimensions,
                        const uint64_t *size, uint64_t element, struct td_layout *layout)
{
    struct td_layout_wrong wrong;
    char more[200];
    if (is_empty(text)) {
        if (!td_layout_init(layout, m->arena, dimensions, size, m->ranks, false)) {
            m->error = TD_ERR_NO_MEMORY;
            snprintf(m->text, m->size, "no memory for the layout: raise [limits] memory");
            return false;
        }
        td_layout_distribute(layout, 0, 0, m->ranks);
        text = "blocks of axis 0";
    } else if (!td_layout_parse(layout, m->arena, text, dimensions, size, m->ranks, &wrong)) {
        m->error = wrong.no_memory ? TD_ERR_NO_MEMORY : TD_ERR_INVALID;
        snprintf(m->text, m->size, "the layout %s, \"%.100s\", at character %zu: %s", side, text,
                 wrong.at + 1, wrong.text);
        return false;
    }
    const char *because = td_layout_check(layout, m->ranks, element, more, sizeof more);
    if (!because)
        return true;
    m->error = TD_ERR_INVALID;
    snprintf(m->text, m->size, "the layout %s, \"%.100s\": %s", side, text, because);
    return false;
}

/* A worker makes a plan: the limit is a few tenths of a second. */
enum { WORK_MAX = 1 << 24 };

/* repeats returns true if the overlap tables of the two layouts can be made within that limit. */
static bool repeats(struct maker *m, const struct td_plan *plan)
{
    if (td_overlap_work(&plan->from, &plan->to) <= WORK_MAX)
        return true;
    return refuse(m, "the two layouts have too long a common period: choose block sizes, or "
                     "numbers of parts, with a common factor");
}

/* spectrum returns the type of the spectrum of a transform that is described by the type of its
 * numbers: along an R2C or C2R axis both describe the same transform. */
static uint32_t spectrum(const struct td_fft *fft)
{
    if (fft->dimensions > TD_DIMENSIONS_MAX || halved(fft) == TD_DIMENSIONS_MAX)
        return fft->type;
    return fft->type == TD_TYPE_DOUBLE  ? TD_TYPE_COMPLEX_DOUBLE
           : fft->type == TD_TYPE_FLOAT ? TD_TYPE_COMPLEX_FLOAT
                                        : fft->type;
}

static bool make_fft(struct maker *m, const struct td_description *d, struct td_plan *plan)
{
    const struct td_fft *fft = &plan->fft;
    plan->fft.type = spectrum(fft);
    const char *wrong = td_fft_check(fft);
    if (wrong)
        return refuse(m, wrong);
    uint64_t size[2][TD_DIMENSIONS_MAX];
    for (unsigned side = 0; side < 2; side++) {
        plan->element[side] = td_fft_element(fft, side);
        for (uint32_t a = 0; a < fft->dimensions; a++)
            size[side][a] = td_fft_size(fft, side, a);
    }
    plan->digest = fft_digest(fft);
    plan->rows = (fft->dimensions == 2 || fft->dimensions == 3) && is_empty(d->from) &&
                 is_empty(d->to) && fft->grid[0] == 0 && fft->method == TD_ALLTOALL_AUTO;
    for (uint32_t a = 0; a < fft->dimensions; a++)
        plan->rows = plan->rows && kind_of(fft, a) == TD_TRANSFORM_C2C;
    return read_layout(m, "before", d->from, fft->dimensions, size[0], plan->element[0],
                       &plan->from) &&
           read_layout(m, "after", d->to, fft->dimensions, size[1], plan->element[1], &plan->to) &&
           repeats(m, plan);
}

static bool make_redist(struct maker *m, const struct td_description *d, struct td_plan *plan)
{
    const struct td_redist *r = &plan->redist;
    const char *wrong = check_redist(r);
    if (wrong)
        return refuse(m, wrong);
    uint64_t size[TD_DIMENSIONS_MAX];
    for (uint32_t a = 0; a < r->dimensions; a++)
        size[a] = r->size[r->axes[a]];
    plan->element[0] = plan->element[1] = r->element;
    plan->digest = redist_digest(r);
    if (!read_layout(m, "before", d->from, r->dimensions, r->size, r->element, &plan->from) ||
        !read_layout(m, "after", d->to, r->dimensions, size, r->element, &plan->to))
        return false;
    td_layout_transpose(&plan->to, r->axes);
    return repeats(m, plan);
}

struct td_plan *td_plan_make(struct td_arena *arena, unsigned kind,
                             const struct td_description *description, uint32_t ranks,
                             td_err *error, char *text, size_t size)
{
    struct maker m = {arena, ranks, TD_OK, text, size};
    struct td_plan *plan = td_arena_alloc(arena, sizeof *plan);
    *error = TD_ERR_NO_MEMORY;
    snprintf(text, size, "no memory for the plan: raise [limits] memory");
    if (!plan)
        return NULL;
    bool is_fft = kind == TD_KIND_PLAN_FFT;
    plan->kind = is_fft ? TD_KIND_FFT : TD_KIND_REDIST;
    plan->fft = description->fft;
    plan->redist = description->redist;
    plan->users = 1;
    if (is_fft ? make_fft(&m, description, plan) : make_redist(&m, description, plan)) {
        plan->digest ^= td_layout_hash(&plan->from) * 3 ^ td_layout_hash(&plan->to) * 5;
        *error = TD_OK;
        return plan;
    }
    *error = m.error;
    td_plan_free(plan, arena);
    return NULL;
}

void td_plan_free(struct td_plan *plan, struct td_arena *arena)
{
    if (!plan || --plan->users > 0)
        return;
    td_arena_free(arena, plan->tables);
    td_layout_free(&plan->from, arena);
    td_layout_free(&plan->to, arena);
    td_arena_free(arena, plan);
}

uint64_t td_plan_bytes(const struct td_plan *plan, unsigned side, uint32_t rank, struct td_box *box)
{
    const struct td_layout *l = side ? &plan->to : &plan->from;
    uint32_t owner = td_layout_owner(l, rank);
    uint64_t bytes = owner == UINT32_MAX ? 0 : plan->element[side];
    *box = (struct td_box){.dimensions = l->dimensions};
    for (uint32_t d = 0; d < l->dimensions; d++) {
        bool turned = side == 1 && plan->kind == TD_KIND_REDIST;
        uint32_t axis = turned ? plan->redist.axes[d] : d; /* axis of the source */
        uint64_t count = 0;
        if (owner == UINT32_MAX)
            continue;
        struct td_owned owned = td_layout_owned(l, axis, td_layout_coordinate(l, owner, axis));
        box->begin[d] = td_owned_next(&owned, 0, &count);
        box->count[d] = td_owned_before(&owned, owned.end);
        bytes *= box->count[d];
    }
    return bytes;
}

bool td_plan_in_place(const struct td_plan *plan)
{
    return plan->kind == TD_KIND_FFT && plan->element[0] == plan->element[1] &&
           td_layout_same(&plan->from, &plan->to);
}

size_t td_plan_alignment(const struct td_plan *plan)
{
    return plan->kind == TD_KIND_FFT ? td_call_alignment(TD_KIND_FFT, plan->fft.type) : 1;
}
