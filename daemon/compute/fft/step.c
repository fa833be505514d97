/* SPDX-License-Identifier: Apache-2.0 */
#include "step.h"

#include "compute/compute.h"
#include "compute/walk.h"
#include "fft.h"
#include "twiddle.h"

/* struct stage: a transform of a step, and the first bytes of both sides, each of which is laid out
 * in one piece. */
struct stage {
    const struct td_transform *transform;
    uint8_t *in, *out;
};

static uint8_t *first_byte(const struct td_slice *slice, const struct td_bases *bases)
{
    struct td_walk w;
    int64_t bytes = 0;
    td_walk_start(&w, slice, bases, NULL, 0, 0);
    return td_walk_piece(&w, INT64_MAX, &bytes);
}

/* stages_of writes the transforms of a step that has data, in order, and returns their number. */
static unsigned stages_of(const struct td_step *step, const struct td_bases *bases,
                          struct stage stage[TD_STEP_SHAPES_MAX])
{
    unsigned count = 0;
    struct stage last = {&step->transform, NULL, NULL};
    if (td_step_passes(step)) {
        last.in = last.out = first_byte(&step->with, bases);
        if (step->inner.length > 0)
            stage[count++] = (struct stage){&step->inner, first_byte(&step->from, bases), last.out};
    } else {
        last.in = first_byte(&step->from, bases);
        last.out = step->to.run ? first_byte(&step->to, bases) : last.in;
    }
    if (!last.in || !last.out)
        return 0;
    stage[count++] = last;
    return count;
}

uint64_t td_step_divisible(const struct td_step *step)
{
    bool divisible = step->kind == TD_COPY || step->kind == TD_COMBINE;
    return divisible ? (uint64_t)td_slice_bytes(&step->to) : 0;
}

void td_step_run_part(const struct td_step *step, const struct td_bases *bases, uint64_t at,
                      uint64_t bytes)
{
    if (step->kind == TD_COPY)
        td_compute_copy(step, bases, at, bytes);
    else if (step->kind == TD_COMBINE)
        td_compute_combine(step, bases, at, bytes);
}

/* uses_fftw returns true if FFTW performs a stage. */
static bool uses_fftw(const struct stage *s)
{
    const struct td_transform *t = s->transform;
    return t->kind < TD_TRANSFORM_KINDS && t->length > 0 && t->batch > 0;
}

unsigned td_step_shapes(const struct td_step *step, const struct td_bases *bases,
                        struct td_shape shape[TD_STEP_SHAPES_MAX])
{
    struct stage stage[TD_STEP_SHAPES_MAX];
    unsigned stages = step->kind == TD_TRANSFORM ? stages_of(step, bases, stage) : 0, count = 0;
    for (unsigned i = 0; i < stages; i++)
        if (uses_fftw(&stage[i]))
            shape[count++] = td_shape_of(stage[i].transform, stage[i].in, stage[i].out);
    return count;
}

/* copy copies a slice to another one. */
static void copy(const struct td_slice *from, const struct td_slice *to,
                 const struct td_bases *bases)
{
    struct td_step step;
    td_step_begin(&step, TD_COPY);
    step.to_lanes.count = 1;
    td_slice_copy(&step.from, from);
    td_slice_copy(&step.to, to);
    td_compute_copy(&step, bases, 0, (uint64_t)td_slice_bytes(to));
}

static td_err transform(const struct td_step *step, const struct td_bases *bases,
                        struct td_fft_plan *const *plan)
{
    struct stage stage[TD_STEP_SHAPES_MAX];
    unsigned stages = stages_of(step, bases, stage);
    td_err error = TD_OK;
    bool passes = stages > 0 && td_step_passes(step);
    if (passes && stages == 1)
        copy(&step->from, &step->with, bases);
    for (unsigned i = 0; i < stages && error == TD_OK; i++) {
        const struct td_transform *t = stage[i].transform;
        if (t->kind >= TD_TRANSFORM_KINDS)
            return td_twiddle_real(t, stage[i].in, stage[i].out);
        if (uses_fftw(&stage[i]))
            td_fft_execute(*plan++, t, stage[i].in, stage[i].out);
        error = t->twiddle ? td_twiddle(t, stage[i].out) : TD_OK;
    }
    if (passes && error == TD_OK)
        copy(&step->with, &step->to, bases);
    return error;
}

td_err td_step_run_by(const struct td_step *step, const struct td_bases *bases,
                      struct td_fft_plan *const plan[TD_STEP_SHAPES_MAX])
{
    switch (step->kind) {
    case TD_COPY:
    case TD_COMBINE:
        td_step_run_part(step, bases, 0, td_step_divisible(step));
        return TD_OK;
    case TD_TRANSFORM:
        return transform(step, bases, plan);
    case TD_SEND:
    case TD_RECV:
    case TD_SYNC:
    case TD_STEP_KINDS:
        break;
    }
    return TD_ERR_INTERNAL;
}

td_err td_step_run(const struct td_step *step, const struct td_bases *bases)
{
    struct td_shape shape[TD_STEP_SHAPES_MAX];
    struct td_fft_plan *plan[TD_STEP_SHAPES_MAX] = {NULL, NULL};
    unsigned shapes = td_step_shapes(step, bases, shape), found = 0;
    td_err error = TD_OK;
    for (; found < shapes && error == TD_OK; found += error == TD_OK)
        error = td_fft_prepare(&shape[found], &plan[found]);
    if (error == TD_OK)
        error = td_step_run_by(step, bases, plan);
    while (found-- > 0)
        td_fft_release(plan[found]);
    return error;
}
