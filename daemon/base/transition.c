/* SPDX-License-Identifier: Apache-2.0 */
#include "transition.h"

#include <assert.h>
#include <stddef.h>

const struct td_transition *td_machine_find(const struct td_machine *m, uint32_t state,
                                            uint32_t event)
{
    for (uint32_t i = 0; i < m->rows; i++)
        if (m->row[i].event == event && m->row[i].from & TD_IN(state))
            return &m->row[i];
    return NULL;
}

uint32_t td_machine_next(const struct td_machine *m, uint32_t state, uint32_t event)
{
    const struct td_transition *row = td_machine_find(m, state, event);
    assert(row && "the event is not allowed in this state");
    return row->to == TD_STAY ? state : row->to;
}

/* check_row returns NULL, or a sentence on the fault of one row. */
static const char *check_row(const struct td_machine *m, uint32_t at)
{
    const struct td_transition *row = &m->row[at];
    if (row->event >= m->events || (row->to != TD_STAY && row->to >= m->states))
        return "a row names an event or a state that does not exist";
    if (row->from == 0 || (uint64_t)row->from >> m->states)
        return "a row is for no state, or for one that does not exist";
    for (uint32_t other = 0; other < at; other++)
        if (m->row[other].event == row->event && m->row[other].from & row->from)
            return "two rows are for the same state and event";
    return NULL;
}

/* reachable returns a bit for each state that events lead to from state 0. */
static uint32_t reachable(const struct td_machine *m)
{
    uint32_t reached = 1, before = 0;
    while (reached != before) {
        before = reached;
        for (uint32_t i = 0; i < m->rows; i++)
            if (m->row[i].from & reached && m->row[i].to != TD_STAY)
                reached |= TD_IN(m->row[i].to);
    }
    return reached;
}

const char *td_machine_check(const struct td_machine *m)
{
    uint64_t used = 0;
    if (m->states < 1 || m->states > TD_MACHINE_STATES_MAX || m->events < 1 || m->events > 64)
        return "it has more than 32 states or 64 events";
    for (uint32_t i = 0; i < m->states; i++)
        if (!m->state[i].name || !m->state[i].meaning)
            return "a state has no name";
    for (uint32_t i = 0; i < m->events; i++)
        if (!m->event[i].name || !m->event[i].meaning)
            return "an event has no name";
    for (uint32_t i = 0; i < m->rows; i++) {
        const char *wrong = check_row(m, i);
        if (wrong)
            return wrong;
        used |= (uint64_t)1 << m->row[i].event;
    }
    if (used != UINT64_MAX >> (64 - m->events))
        return "an event is allowed in no state";
    if (reachable(m) != UINT32_MAX >> (TD_MACHINE_STATES_MAX - m->states))
        return "a state cannot be reached";
    return NULL;
}
