/* SPDX-License-Identifier: Apache-2.0 */
#include "stopped.h"

#include "core/membership/waits.h"
#include "recording.h"

/* outage_of returns the outage that a state of a process is (a letter of proc(5)). */
static enum td_outage outage_of(char state)
{
    return state == 'T' ? TD_OUTAGE_STOPPED : state == 't' ? TD_OUTAGE_TRACED : TD_OUTAGE_NONE;
}

static bool is_dead(char state)
{
    return state == 'X' || state == 'Z';
}

/* note_until notes in the record of the job that a rank was stopped until a time. */
static void note_until(const struct td_communicator *c, const struct td_seat *seat, td_time to)
{
    const struct td_client_stop *stop = &seat->client->stop;
    td_waits_outage(c->waits,
                    &(struct td_outage_seen){.kind = stop->kind,
                                             .rank = td_communicator_job_rank(c, seat->rank),
                                             .pid = seat->client->pid,
                                             .from = stop->from,
                                             .to = to,
                                             .text = ""});
}

/* end ends what is known of a stopped process. Its end is between two looks. After a time without
 * looks, because no call waited, the last look counts. */
static void end(const struct td_core *core, const struct td_communicator *c,
                const struct td_seat *seat)
{
    struct td_client_stop *stop = &seat->client->stop;
    bool looked = core->now - stop->seen <= 2 * TD_STOPPED_LOOK_NS;
    note_until(c, seat, looked ? core->now : stop->seen);
    stop->kind = TD_OUTAGE_NONE;
}

/* look_at_rank looks at a rank that has not called, unless another operation has done so. */
static void look_at_rank(struct td_core *core, const struct td_operation *o,
                         const struct td_seat *seat)
{
    struct td_client_stop *stop = &seat->client->stop;
    if (!stop->looked_at || core->now - stop->looked_at >= TD_STOPPED_FIRST_NS) {
        char state = core->options.process_state(seat->client->pid);
        enum td_outage kind = outage_of(state);
        stop->looked_at = core->now;
        if (stop->kind && stop->kind != kind) {
            if (!is_dead(state))
                td_recording_stop(core, o->communicator, seat, td_operation_number(o),
                                  TD_TRACE_GOES_ON);
            end(core, o->communicator, seat);
        }
        if (kind && !stop->kind) {
            stop->kind = kind;
            stop->from = core->now;
            td_recording_stop(core, o->communicator, seat, td_operation_number(o),
                              TD_TRACE_STOPPED);
        }
        stop->seen = core->now;
    }
    if (stop->kind)
        note_until(o->communicator, seat, stop->seen);
}

void td_stopped_begin(const struct td_core *core, struct td_operation *o)
{
    o->look_at = core->options.process_state ? core->now + TD_STOPPED_FIRST_NS : TD_TIME_NEVER;
}

/* is_awaited returns true if a rank of this node has not called, and may. */
static bool is_awaited(const struct td_operation *o, uint32_t local)
{
    const struct td_seat *seat = &o->communicator->seat[local];
    return o->arrival[local].state == TD_ARRIVAL_ABSENT && td_seat_occupied(seat) && seat->client;
}

void td_stopped_look(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    uint32_t looks = 0, i = o->look_from;
    bool waits = false;
    for (; i < c->ranks && looks < TD_STOPPED_RANKS; i++)
        if (is_awaited(o, i)) {
            look_at_rank(core, o, &c->seat[i]);
            looks++;
        }
    o->look_from = i < c->ranks ? i : 0;
    for (i = 0; i < c->ranks && !waits; i++)
        waits = is_awaited(o, i);
    o->look_at = !waits         ? TD_TIME_NEVER
                 : o->look_from ? core->now + TD_STOPPED_NEXT_NS
                                : core->now + TD_STOPPED_LOOK_NS;
}

void td_stopped_over(struct td_core *core, struct td_operation *o)
{
    if (core->options.process_state)
        td_stopped_look(core, o);
    o->look_at = TD_TIME_NEVER;
}

void td_stopped_called(struct td_core *core, const struct td_communicator *c,
                       const struct td_seat *seat, uint64_t number)
{
    if (!seat->client || !seat->client->stop.kind)
        return;
    td_recording_stop(core, c, seat, number, TD_TRACE_GOES_ON);
    end(core, c, seat);
}
