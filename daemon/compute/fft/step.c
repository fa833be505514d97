/* SPDX-License-Identifier: Apache-2.0 */
#include "step.h"

#include "compute/compute.h"
#include "compute/walk.h"
#include "fft.h"
#include "twiddle.h"

/* transform executes a TRANSFORM step. The core lays both of its sides out in one piece each. */
static td_err transform(const struct td_step *step, const struct td_bases *bases)
{
    struct td_walk from, to;
    int64_t bytes = 0;
    td_walk_start(&from, &step->from, bases, NULL, 0, 0);
    td_walk_start(&to, step->to.run ? &step->to : &step->from, bases, NULL, 0, 0);
    uint8_t *in = td_walk_piece(&from, INT64_MAX, &bytes);
    uint8_t *out = td_walk_piece(&to, INT64_MAX, &bytes);
    if (!in || !out)
        return TD_OK;
    if (step->transform.kind >= TD_TRANSFORM_KINDS)
        return td_twiddle_real(&step->transform, in, out);
    td_err error = td_fft_run(&step->transform, in, out);
    if (error == TD_OK && step->transform.twiddle)
        error = td_twiddle(&step->transform, out);
    return error;
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

td_err td_step_run(const struct td_step *step, const struct td_bases *bases)
{
    switch (step->kind) {
    case TD_COPY:
    case TD_COMBINE:
        td_step_run_part(step, bases, 0, td_step_divisible(step));
        return TD_OK;
    case TD_TRANSFORM:
        return transform(step, bases);
    case TD_SEND:
    case TD_RECV:
    case TD_SYNC:
    case TD_STEP_KINDS:
        break;
    }
    return TD_ERR_INTERNAL;
}
