/* SPDX-License-Identifier: Apache-2.0 */
#include "cores.h"

#include <assert.h>
#include <stdlib.h>

#include "actions.h"
#include "faults.h"

void cores_complete(struct td_sim *sim, enum td_event_kind kind, uint64_t handle)
{
    if (sim->completions == sim->completions_room) {
        sim->completions_room = sim->completions_room ? 2 * sim->completions_room : 256;
        sim->completion = realloc(sim->completion, sim->completions_room * sizeof *sim->completion);
        assert(sim->completion);
    }
    sim->completion[sim->completions++] = (struct completion){kind, handle};
}

/* feed passes events to a core and executes its actions. */
static void feed(struct td_sim *sim, uint32_t node, const struct td_event *const *event,
                 uint32_t count)
{
    for (uint32_t handled = 0; handled < count;) {
        handled += td_core_steps(sim->node[node].core, sim->now, event + handled, count - handled,
                                 sim->actions);
        actions_execute(sim, node);
    }
}

static void feed_completions(struct td_sim *sim, uint32_t node)
{
    for (uint32_t fed = 0; fed < sim->completions;) {
        struct td_event event[SIM_GATHERED_MAX]; /* fields of other kinds stay unset */
        const struct td_event *list[SIM_GATHERED_MAX];
        uint32_t count = 0;
        for (; fed < sim->completions && count < SIM_GATHERED_MAX; count++, fed++) {
            event[count].kind = sim->completion[fed].kind;
            if (event[count].kind == TD_EVENT_SENT) {
                event[count].u.sent.handle = sim->completion[fed].handle;
            } else {
                event[count].u.computed.handle = sim->completion[fed].handle;
                event[count].u.computed.error = TD_OK;
            }
            list[count] = &event[count];
        }
        feed(sim, node, list, count);
    }
    sim->completions = 0;
}

void cores_feed_gathered(struct td_sim *sim, uint32_t node)
{
    feed(sim, node, sim->gathered, sim->gathered_count);
    sim->gathered_count = 0;
    feed_completions(sim, node);
    if (sim->node[node].stopped && sim->node[node].alive)
        td_sim_kill_node(sim, node); /* its process ends */
}

void cores_feed(struct td_sim *sim, uint32_t node, const struct td_event *event)
{
    sim->gathered[sim->gathered_count++] = event;
    cores_feed_gathered(sim, node);
}

void cores_gather(struct td_sim *sim, uint32_t node, const struct td_event *event)
{
    sim->gathered[sim->gathered_count++] = event;
    if (sim->gathered_count == SIM_GATHERED_MAX || !sim->instant)
        cores_feed_gathered(sim, node);
}
