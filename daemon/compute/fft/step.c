/* SPDX-License-Identifier: Apache-2.0 */
#include "step.h"

#include "compute/compute.h"
#include "compute/walk.h"
#include "fft.h"
#include "twiddle.h"

/* struct sides: the first bytes of a TRANSFORM step, which is laid out in one piece on each side.
 */
struct sides {
    uint8_t *in, *out;
};

static struct sides sides_of(const struct td_step *step, const struct td_bases *bases)
{
    struct td_walk from, to;
    struct sides s;
    int64_t bytes = 0;
    td_walk_start(&from, &step->from, bases, NULL, 0, 0);
    td_walk_start(&to, step->to.run ? &step->to : &step->from, bases, NULL, 0, 0);
    s.in = td_walk_piece(&from, INT64_MAX, &bytes);
    s.out = td_walk_piece(&to, INT64_MAX, &bytes);
    return s;
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

bool td_step_shape(const struct td_step *step, const struct td_bases *bases, struct td_shape *shape)
{
    const struct td_transform *t = &step->transform;
    if (step->kind != TD_TRANSFORM || t->kind >= TD_TRANSFORM_KINDS || t->length == 0 ||
        t->batch == 0)
        return false;
    struct sides s = sides_of(step, bases);
    if (!s.in || !s.out)
        return false;
    *shape = td_shape_of(t, s.in, s.out);
    return true;
}

static td_err transform(const struct td_step *step, const struct td_bases *bases,
                        const struct td_fft_plan *plan)
{
    const struct td_transform *t = &step->transform;
    struct sides s = sides_of(step, bases);
    if (!s.in || !s.out)
        return TD_OK;
    if (t->kind >= TD_TRANSFORM_KINDS)
        return td_twiddle_real(t, s.in, s.out);
    if (plan)
        td_fft_execute(plan, t, s.in, s.out);
    return t->twiddle ? td_twiddle(t, s.out) : TD_OK;
}

td_err td_step_run_by(const struct td_step *step, const struct td_bases *bases,
                      const struct td_fft_plan *plan)
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
    struct td_shape shape;
    if (!td_step_shape(step, bases, &shape))
        return td_step_run_by(step, bases, NULL);
    struct td_fft_plan *plan = NULL;
    td_err error = td_fft_prepare(&shape, &plan);
    if (error != TD_OK)
        return error;
    error = td_step_run_by(step, bases, plan);
    td_fft_release(plan);
    return error;
}
