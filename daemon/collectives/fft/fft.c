/* SPDX-License-Identifier: Apache-2.0 */
/* fft: a transform of any array between any layouts, by the passes and moves of fft_plan.c. A chunk
 * is sent as soon as it is transformed. If a chunk has the same lines before and after a move, it
 * is transformed when it is complete; otherwise the next pass begins when all data has arrived. */
#include <assert.h>

#include "fft_plan.h"
#include "pass.h"
#include "real_split.h"

/* pass_step writes one of the transforms of a pass. */
static void pass_step(const struct td_program *p, const struct td_pass *pass, uint64_t index,
                      struct td_step *step)
{
    *step = (struct td_step){.kind = TD_TRANSFORM, .type = (uint8_t)p->plan->fft.type};
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (td_real_split_is(pass))
        td_real_split_step(p, pass, index, step);
    else
        td_pass_step(p, pass, index, step);
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    const struct td_transform_plan *t = p->plan->transform_plan;
    unsigned i = t->phases - 1;
    while (t->phase[i].family > family)
        i--;
    const struct td_phase *phase = &t->phase[i];
    if (phase->moves)
        td_array_move_step(p, &t->move[phase->index], phase->family, family - phase->family, index,
                           step);
    else
        pass_step(p, &t->pass[phase->index], index, step);
}

/* ---- families ---- */

/* steps_of returns the number of steps of a chunk. */
static uint64_t steps_of(const struct td_program *p, const struct td_pass *pass)
{
    return td_real_split_is(pass) ? pass->parts : pass->from->there[p->slot] * pass->parts;
}

/* add_pass adds a pass. A chunk waits for the same chunk of the phase before if that is cut alike.
 */
static void add_pass(struct td_program *p, const struct td_pass *pass,
                     const struct td_phase *before)
{
    const struct td_transform_plan *t = p->plan->transform_plan;
    uint64_t here = pass->from->there[p->slot], each = steps_of(p, pass);
    unsigned f = td_program_add(p, TD_TRANSFORM, pass->chunks * each, "transform an axis");
    if (!before)
        return;
    if (!before->moves) {
        const struct td_pass *last = &t->pass[before->index];
        if (last->along == pass->along && last->chunks == pass->chunks &&
            last->lines == pass->lines && pass->along != pass->axis && last->along != last->axis)
            td_program_need(p, f, before->family, each, steps_of(p, last), 1);
        else
            td_program_need_all(p, f, before->family);
        return;
    }
    const struct td_array_move *m = &t->move[before->index];
    uint64_t from = m->from->there[p->slot];
    if (m->alike && m->along == pass->along && m->chunks == pass->chunks &&
        m->lines == pass->lines && pass->along != pass->axis) {
        td_program_need(p, f, before->family + TD_MOVE_RECV, each,
                        m->bursts * m->from->layout.owners * here, 1);
        td_program_need(p, f, before->family + TD_MOVE_COPY, each, from * here * m->pieces, 1);
    } else {
        td_array_move_needed(p, m, before->family, f);
    }
}

/* need_phase makes a family wait for all of a phase. */
static void need_phase(struct td_program *p, unsigned f, const struct td_phase *phase)
{
    if (phase->moves)
        td_array_move_needed(p, &p->plan->transform_plan->move[phase->index], phase->family, f);
    else
        td_program_need_all(p, f, phase->family);
}

/* add_move adds a move. A chunk waits for the pass that computes it, or for all of the move before.
 */
static void add_move(struct td_program *p, const struct td_array_move *m,
                     const struct td_phase *before)
{
    uint64_t from = m->from->there[p->slot], to = m->to->there[p->slot];
    unsigned first = td_array_move_add(p, m), send = first + TD_MOVE_SEND,
             copy = first + TD_MOVE_COPY;
    if (m->in_turn && from)
        td_program_need(p, send, send, from, from, -1);
    if (!before)
        return;
    if (m->relay || before->moves) {
        for (unsigned f = first; f < p->families; f++)
            if (td_array_move_reads(m, f - first))
                need_phase(p, f, before);
        return;
    }
    const struct td_pass *last = &p->plan->transform_plan->pass[before->index];
    uint64_t steps = steps_of(p, last);
    td_program_need(p, send, before->family, m->bursts * td_array_move_turns(m) * from, steps, 1);
    td_program_need(p, copy, before->family, from * to * m->pieces, steps, 1);
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    const struct td_transform_plan *t = p->plan->transform_plan;
    const struct td_phase *before = NULL;
    p->scratch_bytes = t->scratch_bytes;
    for (unsigned i = 0; i < t->phases; i++) {
        const struct td_phase *phase = &t->phase[i];
        assert(phase->family == p->families);
        if (phase->moves)
            add_move(p, &t->move[phase->index], before);
        else
            add_pass(p, &t->pass[phase->index], before);
        before = phase;
    }
}

/* cost: fft_rows is preferred if it applies. */
static uint64_t cost(struct td_query *q)
{
    (void)q;
    return TD_COST_UNKNOWN;
}

const struct td_method td_method_fft = {
    .name = "fft",
    .why = "axis by axis, each while its lines are on one node",
    .kinds = TD_KIND_BIT(TD_KIND_FFT),
    .class = TD_COST_STRAIGHT,
    .cost = cost,
    .compile = compile,
    .plan = td_fft_plan,
    .step_at = step_at,
};
