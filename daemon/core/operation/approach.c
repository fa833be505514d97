/* SPDX-License-Identifier: Apache-2.0 */
#include "approach.h"

#include "core/net/fabric.h"

void td_approach(struct td_core *core, const struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    bool fft = o->least.call.kind == TD_KIND_PLAN_FFT;
    const struct td_call call = {.kind = fft ? TD_KIND_FFT : TD_KIND_REDIST};
    struct td_program program;
    core->options.compile(&(struct td_compile_input){.call = &call,
                                                     .plan = o->plan,
                                                     .group = &c->group,
                                                     .tree = &c->tree,
                                                     .slot = c->slot,
                                                     .topology = &core->options.topology,
                                                     .tuning = &core->settings.tuning},
                          &program);
    for (unsigned f = 0; f < program.families; f++) {
        if (program.family[f].kind != TD_SEND)
            continue;
        for (uint64_t i = 0; i < program.family[f].count && i < TD_APPROACH_STEPS; i++) {
            struct td_step step;
            program.step_at(&program, f, i, &step);
            if (td_step_bytes(&step) > 0)
                core->fabric->approach(core, step.peer);
        }
    }
}
