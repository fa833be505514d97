/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include "group.h"

#include <assert.h>
#include <stdio.h>

int64_t td_program_ride(const struct td_program *p)
{
    return (p->scratch_bytes + 63) & ~(int64_t)63;
}

/* shares_of returns the bytes of the shares of a slot's ranks. */
static int64_t shares_of(const struct td_program *p, uint32_t slot)
{
    return p->ride_bytes / p->group->size * td_group_slot_ranks(p->group, slot);
}

int64_t td_ride_up(const struct td_program *p, uint32_t slot)
{
    return td_ride_is_own(p->ride) ? shares_of(p, slot) : p->ride_bytes;
}

int64_t td_ride_down(const struct td_program *p, uint32_t slot)
{
    return p->ride == TD_RIDE_BLOCKS ? shares_of(p, slot) : p->ride_bytes;
}

int64_t td_slice_bytes(const struct td_slice *slice)
{
    int64_t bytes = slice->run;
    for (int i = 0; i < slice->levels; i++)
        bytes *= slice->level[i].count;
    return bytes;
}

int64_t td_step_bytes(const struct td_step *step)
{
    return td_slice_bytes(step->kind == TD_SEND ? &step->from : &step->to);
}

unsigned td_program_add(struct td_program *p, enum td_step_kind kind, uint64_t count,
                        const char *label)
{
    assert(p->families < TD_FAMILIES_MAX);
    p->family[p->families] = (struct td_family){.kind = kind, .count = count, .label = label};
    return p->families++;
}

void td_program_add_each(struct td_program *p, uint32_t families, enum td_step_kind kind,
                         uint64_t count, const char *label)
{
    for (uint32_t i = 0; i < families; i++)
        td_program_add(p, kind, count, label);
}

void td_program_need(struct td_program *p, unsigned f, unsigned on, uint64_t div, uint64_t mul,
                     int lead)
{
    struct td_family *family = &p->family[f];
    assert(family->dependencies < TD_DEPENDENCIES_MAX && on < p->families);
    family->dependency[family->dependencies++] = (struct td_dependency){
        .on = (uint8_t)on, .lead = (int8_t)lead, .div = div ? div : 1, .mul = mul};
}

void td_program_need_all(struct td_program *p, unsigned f, unsigned on)
{
    td_program_need(p, f, on, 1, UINT64_MAX, 1);
}

uint64_t td_dependency_count(const struct td_program *p, const struct td_dependency *d, uint64_t i)
{
    uint64_t count = p->family[d->on].count;
    if (d->mul == UINT64_MAX)
        return count;
    uint64_t turn = i / d->div;
    if (d->lead < 0 && turn < (uint64_t)-d->lead)
        return 0;
    turn = turn + (uint64_t)(int64_t)d->lead;
    return d->mul && turn > count / d->mul ? count : turn * d->mul;
}

const char *td_step_kind_name(enum td_step_kind kind)
{
    static const char *const names[TD_STEP_KINDS] = {"send",    "recv",      "copy",
                                                     "combine", "transform", "sync"};
    return kind < TD_STEP_KINDS ? names[kind] : "unknown";
}

static int print_slice(const struct td_slice *s, char *text, size_t size)
{
    long long bytes = td_slice_bytes(s), offset = s->offset;
    if (s->space == TD_SPACE_SCRATCH)
        return snprintf(text, size, "%lld bytes of scratch at %lld", bytes, offset);
    if (s->counts)
        return snprintf(text, size, "%lld bytes, from %lld on, of the ranks' %s slot %u", bytes,
                        offset, s->space == TD_SPACE_SOURCE ? "sources for" : "destinations from",
                        s->slot);
    return snprintf(text, size, "%lld bytes of local rank %u's %s at %lld", bytes, s->rank,
                    s->space == TD_SPACE_SOURCE ? "source" : "destination", offset);
}

int td_step_print(const struct td_step *step, char *text, size_t size)
{
    char from[128] = "", to[128] = "";
    print_slice(&step->from, from, sizeof from);
    print_slice(&step->to, to, sizeof to);
    switch (step->kind) {
    case TD_SEND:
        return snprintf(text, size, "send %s to node %u", from, step->peer);
    case TD_RECV:
        return snprintf(text, size, "recv %s from node %u", to, step->peer);
    case TD_COPY:
        return snprintf(text, size, "copy %s to %s, %u times", from, to, step->to_lanes.count);
    case TD_COMBINE:
        return snprintf(text, size, "combine (%s, %s) %u lanes of %s%s into %u of %s",
                        td_op_name(step->op), td_type_name(step->type), step->from_lanes.count,
                        from, step->with_lanes.count ? " and what was received" : "",
                        step->to_lanes.count, to);
    case TD_TRANSFORM:
        return snprintf(text, size, "transform %lld times %lld points of %s",
                        (long long)step->transform.batch, (long long)step->transform.length, from);
    case TD_SYNC:
        return snprintf(text, size, "sync with %u nodes", step->among.count);
    case TD_STEP_KINDS:
        break;
    }
    return snprintf(text, size, "no step");
}

struct td_slice td_slice_at(enum td_space space, uint32_t rank, int64_t offset, int64_t bytes)
{
    return (struct td_slice){.space = (uint8_t)space, .rank = rank, .offset = offset, .run = bytes};
}

void td_slice_loop(struct td_slice *s, int64_t count, int64_t stride, int32_t rank_stride)
{
    assert(s->levels < TD_LEVELS_MAX);
    s->level[s->levels++] =
        (struct td_level){.count = count, .stride = stride, .rank_stride = rank_stride};
}

void td_slice_simplify(struct td_slice *s)
{
    uint8_t kept = 0;
    for (int i = 0; i < s->levels; i++)
        if (s->level[i].count != 1)
            s->level[kept++] = s->level[i];
    s->levels = kept;
    while (s->levels) {
        const struct td_level *inner = &s->level[s->levels - 1];
        if (inner->rank_stride != 0 || inner->stride != s->run)
            break;
        s->run *= inner->count;
        s->levels--;
    }
}

const char *td_transform_kind_name(unsigned kind)
{
    static const char *const name[TD_TRANSFORM_KINDS] = {
        "c2c",     "r2c",     "c2r",     "redft00", "redft10", "redft01",
        "redft11", "rodft00", "rodft10", "rodft01", "rodft11",
    };
    return kind < TD_TRANSFORM_KINDS ? name[kind] : "unknown";
}

const char *td_alltoall_name(enum td_alltoall method)
{
    static const char *const names[TD_ALLTOALLS] = {"auto", "random", "phased", "pairwise",
                                                    "two-phase"};
    return method < TD_ALLTOALLS ? names[method] : "unknown";
}
