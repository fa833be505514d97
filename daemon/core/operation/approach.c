/* SPDX-License-Identifier: Apache-2.0 */
#include "approach.h"

#include <stddef.h>
#include <string.h>

#include "core/membership/account.h"
#include "core/net/fabric.h"

enum {
    ALIGNED_BYTES = 64, /* vector loads need no more */
    TRANSFORMS_MAX = 16 /* different ones of a plan that are prepared: chunks and the last ones */
};

/* approach_peers wants connections to the nodes to which a family sends. */
static void approach_peers(struct td_core *core, const struct td_program *p, unsigned family)
{
    for (uint64_t i = 0; i < p->family[family].count && i < TD_APPROACH_STEPS; i++) {
        struct td_step step;
        p->step_at(p, family, i, &step);
        if (td_step_bytes(&step) > 0)
            core->fabric->approach(core, step.peer);
    }
}

/* ---- transforms ---- */

static bool equal_loops(const struct td_transform *a, const struct td_transform *b)
{
    size_t first = offsetof(struct td_transform, length),
           bytes = offsetof(struct td_transform, factor) - first;
    return a->kind == b->kind && a->type == b->type && a->sign == b->sign &&
           memcmp(&a->length, &b->length, bytes) == 0;
}

static bool equally_aligned(const struct td_slice *a, const struct td_slice *b)
{
    return a->space == b->space && (a->run > 0) == (b->run > 0) &&
           (a->offset - b->offset) % ALIGNED_BYTES == 0;
}

/* is_alike returns true if two steps need the same one-dimensional transforms. */
static bool is_alike(const struct td_step *a, const struct td_step *b)
{
    return equal_loops(&a->transform, &b->transform) && equal_loops(&a->inner, &b->inner) &&
           equally_aligned(&a->from, &b->from) && equally_aligned(&a->to, &b->to) &&
           equally_aligned(&a->with, &b->with);
}

/* prepare_transforms has the driver prepare each different step of a family. `*count` of them are
 * prepared already. */
static void prepare_transforms(struct td_core *core, const struct td_program *p, unsigned family,
                               const struct td_communicator *c, unsigned *count)
{
    uint32_t first = core->actions->count;
    for (uint64_t i = 0; i < p->family[family].count && i < TD_APPROACH_STEPS; i++) {
        struct td_step step;
        p->step_at(p, family, i, &step);
        bool known = step.from.run == 0 || step.transform.batch == 0;
        for (uint32_t at = first; at < core->actions->count && !known; at++)
            known = is_alike(&core->actions->action[at].u.transform.step, &step);
        if (known)
            continue;
        if (*count == TRANSFORMS_MAX)
            return;
        struct td_action *a = td_core_act(core, TD_ACTION_PREPARE_TRANSFORM);
        a->u.transform.step = step;
        a->u.transform.ranks = c->ranks;
        a->u.transform.uid = c->uid;
        ++*count;
    }
}

/* prepare_scratch has the driver prepare the scratch memory that an execution would get now. */
static void prepare_scratch(struct td_core *core, const struct td_communicator *c, uint64_t bytes)
{
    if (bytes == 0 || !td_account_may(core, c->account, TD_HOLD_SCRATCH, bytes))
        return;
    uint64_t offset = td_scratch_take(core, bytes);
    if (offset == UINT64_MAX)
        return;
    td_scratch_give(core, offset, bytes);
    struct td_action *a = td_core_act(core, TD_ACTION_PREPARE_SCRATCH);
    a->u.scratch.offset = offset;
    a->u.scratch.bytes = bytes < TD_APPROACH_BYTES ? bytes : TD_APPROACH_BYTES;
}

void td_approach(struct td_core *core, const struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    bool fft = o->least.call.kind == TD_KIND_PLAN_FFT;
    const struct td_call call = {.kind = fft ? TD_KIND_FFT : TD_KIND_REDIST};
    struct td_program program;
    unsigned transforms = 0;
    core->options.compile(&(struct td_compile_input){.call = &call,
                                                     .plan = o->plan,
                                                     .group = &c->group,
                                                     .tree = &c->tree,
                                                     .slot = c->slot,
                                                     .topology = &core->options.topology,
                                                     .tuning = &core->settings.tuning},
                          &program);
    prepare_scratch(core, c, (uint64_t)program.scratch_bytes);
    for (unsigned f = 0; f < program.families; f++) {
        if (program.family[f].kind == TD_SEND)
            approach_peers(core, &program, f);
        else if (program.family[f].kind == TD_TRANSFORM)
            prepare_transforms(core, &program, f, c, &transforms);
    }
}
