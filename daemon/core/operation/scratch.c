/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include "operation.h"

void td_scratch_init(struct td_scratch *s, uint64_t bytes)
{
    *s = (struct td_scratch){.look_at = TD_TIME_NEVER};
    td_ranges_init(&s->ranges, bytes);
}

uint64_t td_scratch_take(struct td_core *core, uint64_t bytes)
{
    struct td_scratch *s = &core->operations->scratch;
    uint64_t offset = td_ranges_acquire(&s->ranges, bytes);
    if (offset == UINT64_MAX || bytes == 0)
        return offset;
    uint64_t end = offset + bytes;
    s->used_to = end > s->used_to ? end : s->used_to;
    s->kept_to = end > s->kept_to ? end : s->kept_to;
    if (s->look_at == TD_TIME_NEVER)
        s->look_at = core->now + (td_time)TD_SCRATCH_KEPT_NS;
    td_core_alarm(core, s->look_at);
    return offset;
}

void td_scratch_give(struct td_core *core, uint64_t offset, uint64_t bytes)
{
    struct td_scratch *s = &core->operations->scratch;
    uint64_t end = offset + bytes;
    td_ranges_release(&s->ranges, offset, bytes);
    s->used_to = bytes > 0 && end > s->used_to ? end : s->used_to;
}

/* held_to returns the end of the last part that an operation holds. */
static uint64_t held_to(const struct td_scratch *s)
{
    const struct td_free_range *r = s->ranges.range;
    uint64_t end = s->ranges.bytes;
    for (uint32_t i = 0; i < s->ranges.count; i++)
        if (r[i].offset + r[i].bytes == s->ranges.bytes && r[i].offset < end)
            end = r[i].offset;
    return end;
}

/* return_unused returns memory behind the part that is used, and true if more is left. */
static bool return_unused(struct td_core *core, struct td_scratch *s)
{
    uint64_t held = held_to(s), used = held > s->used_to ? held : s->used_to;
    if (used >= s->kept_to)
        return false;
    uint64_t unused = s->kept_to - used,
             bytes = unused < TD_SCRATCH_STEP_BYTES ? unused : TD_SCRATCH_STEP_BYTES;
    s->kept_to -= bytes;
    struct td_action *a = td_core_act(core, TD_ACTION_RETURN_SCRATCH);
    a->u.scratch.offset = s->kept_to;
    a->u.scratch.bytes = bytes;
    a->u.scratch.last = s->kept_to == used;
    return s->kept_to > used;
}

/* return_memory has the driver return memory of the core that users have left, without scratch. */
static void return_memory(struct td_core *core)
{
    if (core->now >= core->unused_at && td_core_room(core)) {
        core->unused_at = TD_TIME_NEVER;
        td_core_act(core, TD_ACTION_RETURN_SCRATCH)->u.scratch.last = true;
    }
    td_core_alarm(core, core->unused_at);
}

void td_scratch_timers(struct td_core *core)
{
    struct td_scratch *s = &core->operations->scratch;
    return_memory(core);
    if (core->now >= s->look_at && td_core_room(core)) {
        bool more = return_unused(core, s);
        s->used_to = more ? s->used_to : 0;
        s->look_at = core->now + (more ? TD_SCRATCH_STEP_NS : (td_time)TD_SCRATCH_KEPT_NS);
        if (s->kept_to == 0)
            s->look_at = TD_TIME_NEVER;
    }
    td_core_alarm(core, s->look_at);
}
