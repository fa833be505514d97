/* SPDX-License-Identifier: Apache-2.0 */
#include "flight.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool td_flight_init(struct td_core *core)
{
    /* zeroed pages that nobody has touched cost nothing: most nodes use few flights */
    core->flight_memory = calloc(TD_FLIGHTS_MAX + 1, sizeof *core->flight);
    uintptr_t place = (uintptr_t)core->flight_memory, line = _Alignof(struct td_flight);
    core->flight = (struct td_flight *)((place + line - 1) / line * line);
    return core->flight_memory != NULL;
}

void td_flight_fini(struct td_core *core)
{
    free(core->flight_memory);
}

struct td_flight *td_flight_take(struct td_core *core, enum td_flight_kind kind,
                                 struct td_operation *operation)
{
    struct td_flight *f = core->flights_free;
    if (f)
        core->flights_free = f->next;
    else if (core->flights_used < TD_FLIGHTS_MAX)
        f = &core->flight[core->flights_used++];
    else
        return NULL;
    core->flights++;
    core->forwards += kind == TD_FLIGHT_FORWARD;
    uint32_t generation = f->generation + 1;
    memset(f, 0, kind == TD_FLIGHT_FORWARD ? offsetof(struct td_flight, operation) : sizeof *f);
    f->kind = (uint8_t)kind;
    f->generation = generation;
    f->live = true;
    if (kind != TD_FLIGHT_FORWARD)
        f->operation = operation;
    return f;
}

bool td_flight_left(const struct td_core *core, uint32_t count)
{
    return core->flights + count <= TD_FLIGHTS_MAX;
}

uint64_t td_flight_handle(const struct td_core *core, const struct td_flight *f)
{
    return (uint64_t)f->generation << 32 | (uint64_t)(f - core->flight);
}

struct td_flight *td_flight_find(struct td_core *core, uint64_t handle)
{
    uint32_t i = (uint32_t)handle;
    assert(i < TD_FLIGHTS_MAX);
    struct td_flight *f = &core->flight[i];
    assert(f->live && f->generation == (uint32_t)(handle >> 32));
    return f;
}

void td_flight_give(struct td_core *core, struct td_flight *f)
{
    assert(f->live);
    f->live = false;
    f->next = core->flights_free;
    core->flights_free = f;
    core->flights--;
    core->forwards -= f->kind == TD_FLIGHT_FORWARD;
}
