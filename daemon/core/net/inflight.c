/* SPDX-License-Identifier: Apache-2.0 */
#include "inflight.h"

#include <assert.h>
#include <stdlib.h>

enum { LINE_BYTES = 64 };

bool td_inflight_init(struct td_core *core)
{
    /* zeroed pages that are never touched cost nothing: most nodes use few records */
    core->inflight = calloc(TD_INFLIGHTS_MAX, sizeof *core->inflight);
    return core->inflight != NULL;
}

bool td_inflight_init_held(struct td_core *core, uint32_t count)
{
    core->held_memory = calloc(1, count * sizeof *core->held + LINE_BYTES);
    if (!core->held_memory)
        return false;
    uintptr_t at = (uintptr_t)core->held_memory;
    core->held =
        (struct td_held *)(core->held_memory + (LINE_BYTES - at % LINE_BYTES) % LINE_BYTES);
    core->held_left = count;
    core->held_free = TD_HELD_NONE;
    return true;
}

void td_inflight_fini(struct td_core *core)
{
    free(core->inflight);
    free(core->held_memory);
}

struct td_inflight *td_inflight_acquire(struct td_core *core, enum td_inflight_kind kind,
                                        struct td_operation *operation)
{
    struct td_inflight *f = core->inflights_free;
    if (kind == TD_INFLIGHT_STEP && core->inflight_steps >= TD_INFLIGHTS_MAX / 2)
        return NULL;
    if (f)
        core->inflights_free = f->next;
    else if (core->inflights_used < TD_INFLIGHTS_MAX)
        f = &core->inflight[core->inflights_used++];
    else
        return NULL;
    core->inflights++;
    core->inflight_steps += kind == TD_INFLIGHT_STEP;
    uint32_t generation = f->generation + 1;
    *f = (struct td_inflight){
        .kind = (uint8_t)kind, .generation = generation, .live = true, .operation = operation};
    return f;
}

bool td_inflight_available(const struct td_core *core, uint32_t count)
{
    return core->inflights + count <= TD_INFLIGHTS_MAX;
}

uint32_t td_inflight_index(const struct td_core *core, const struct td_inflight *f)
{
    return (uint32_t)(f - core->inflight);
}

uint64_t td_inflight_handle(const struct td_core *core, const struct td_inflight *f)
{
    return (uint64_t)f->generation << 32 | td_inflight_index(core, f);
}

struct td_inflight *td_inflight_find(const struct td_core *core, uint64_t handle)
{
    uint32_t i = (uint32_t)handle;
    assert(i < TD_INFLIGHTS_MAX);
    struct td_inflight *f = &core->inflight[i];
    assert(f->live && f->generation == (uint32_t)(handle >> 32));
    return f;
}

void td_inflight_release(struct td_core *core, struct td_inflight *f)
{
    assert(f->live);
    f->live = false;
    f->next = core->inflights_free;
    core->inflights_free = f;
    core->inflights--;
    core->inflight_steps -= f->kind == TD_INFLIGHT_STEP;
}
