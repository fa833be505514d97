/* SPDX-License-Identifier: Apache-2.0 */
#include "inflight.h"

#include <assert.h>
#include <stdlib.h>

bool td_inflight_init(struct td_core *core)
{
    /* zeroed pages that nobody has touched cost nothing: most nodes use few flights */
    core->flight = calloc(TD_INFLIGHTS_MAX, sizeof *core->flight);
    return core->flight != NULL;
}

void td_inflight_fini(struct td_core *core)
{
    free(core->flight);
}

struct td_inflight *td_inflight_take(struct td_core *core, enum td_inflight_kind kind,
                                     struct td_operation *operation)
{
    struct td_inflight *f = core->flights_free;
    if (f)
        core->flights_free = f->next;
    else if (core->flights_used < TD_INFLIGHTS_MAX)
        f = &core->flight[core->flights_used++];
    else
        return NULL;
    core->flights++;
    uint32_t generation = f->generation + 1;
    *f = (struct td_inflight){
        .kind = (uint8_t)kind, .generation = generation, .live = true, .operation = operation};
    return f;
}

bool td_inflight_left(const struct td_core *core, uint32_t count)
{
    return core->flights + count <= TD_INFLIGHTS_MAX;
}

uint32_t td_inflight_place(const struct td_core *core, const struct td_inflight *f)
{
    return (uint32_t)(f - core->flight);
}

uint64_t td_inflight_handle(const struct td_core *core, const struct td_inflight *f)
{
    return (uint64_t)f->generation << 32 | td_inflight_place(core, f);
}

struct td_inflight *td_inflight_find(struct td_core *core, uint64_t handle)
{
    uint32_t i = (uint32_t)handle;
    assert(i < TD_INFLIGHTS_MAX);
    struct td_inflight *f = &core->flight[i];
    assert(f->live && f->generation == (uint32_t)(handle >> 32));
    return f;
}

void td_inflight_give(struct td_core *core, struct td_inflight *f)
{
    assert(f->live);
    f->live = false;
    f->next = core->flights_free;
    core->flights_free = f;
    core->flights--;
}
