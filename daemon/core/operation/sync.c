/* SPDX-License-Identifier: Apache-2.0 */
#include "sync.h"
#include "core/net/session.h"

/* The state of a step: a bit for each round in which it was signalled, the number of rounds in
 * which it has signalled, and whether it has started. */
enum { HEARD_BITS = 32, SIGNALLED_SHIFT = 32, STARTED_SHIFT = 63 };

static unsigned rounds_among(uint32_t count)
{
    unsigned rounds = 0;
    while (rounds < HEARD_BITS && (uint64_t)1 << rounds < count)
        rounds++;
    return rounds;
}

static unsigned signalled(uint64_t state)
{
    return (unsigned)(state >> SIGNALLED_SHIFT & 0xff);
}

/* signal_next signals in every round that it may: in round r + 1 after round r was received. */
static void signal_next(struct td_core *core, struct td_operation *o, unsigned family,
                        uint64_t index, const struct td_among *among)
{
    const struct td_group *g = &o->communicator->group;
    uint64_t *state = &o->engine.family[family].received[index];
    unsigned rounds = rounds_among(among->count);
    uint32_t place = (o->communicator->slot - among->first) / among->stride;
    while (signalled(*state) < rounds &&
           (signalled(*state) == 0 || *state >> (signalled(*state) - 1) & 1)) {
        uint32_t to = (uint32_t)((place + ((uint64_t)1 << signalled(*state))) % among->count);
        struct td_message m = {
            .kind = TD_MESSAGE_SYNC,
            .instance = o->communicator->instance,
            .group = o->communicator->index,
            .sequence = o->sequence,
            .u.sync = {.family = family, .round = signalled(*state), .step_index = index}};
        *state += (uint64_t)1 << SIGNALLED_SHIFT;
        td_session_send(core, g->node[among->first + to * among->stride], &m);
    }
    uint64_t all = ((uint64_t)1 << rounds) - 1;
    if (signalled(*state) == rounds && (*state & all) == all)
        td_engine_delivered(core, o, family, index);
}

/* sender returns the node that signals to this one in a round. */
static uint32_t sender(const struct td_operation *o, const struct td_among *among, unsigned round)
{
    uint32_t place = (o->communicator->slot - among->first) / among->stride;
    uint32_t before =
        (uint32_t)((place + among->count - ((uint64_t)1 << round) % among->count) % among->count);
    return o->communicator->group.node[among->first + before * among->stride];
}

uint32_t td_sync_owed_by(const struct td_operation *o, unsigned family, uint64_t index,
                         const struct td_among *among)
{
    uint64_t state = o->engine.family[family].received[index];
    unsigned round = 0, rounds = rounds_among(among->count);
    while (round + 1 < rounds && state >> round & 1)
        round++;
    return sender(o, among, round);
}

void td_sync_start(struct td_core *core, struct td_operation *o, unsigned family, uint64_t index,
                   const struct td_step *step)
{
    o->engine.family[family].received[index] |= (uint64_t)1 << STARTED_SHIFT;
    signal_next(core, o, family, index, &step->among);
}

void td_sync_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                     const struct td_message *m)
{
    struct td_operation *o = td_engine_find(c, m->sequence);
    const struct td_message_sync *sync = &m->u.sync;
    if (!o || sync->family >= o->program.families ||
        o->program.family[sync->family].kind != TD_SYNC ||
        sync->step_index >= o->program.family[sync->family].count || sync->round >= HEARD_BITS)
        return;
    struct td_step step;
    uint64_t *state = &o->engine.family[sync->family].received[sync->step_index];
    o->program.step_at(&o->program, sync->family, sync->step_index, &step);
    bool mine =
        sync->round < rounds_among(step.among.count) && sender(o, &step.among, sync->round) == from;
    if (!mine || *state >> sync->round & 1)
        return;
    *state |= (uint64_t)1 << sync->round;
    if (*state >> STARTED_SHIFT)
        signal_next(core, o, sync->family, sync->step_index, &step.among);
}
