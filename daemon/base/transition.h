/* SPDX-License-Identifier: Apache-2.0 */
/* transition: a state machine as one constant table of (states, event, next state).
 *
 * A module with states declares an enum of states (0 is the first one), an enum of events, and one
 * struct td_machine. Its state field is assigned in exactly one function, transition():
 *
 *     static void transition(struct door *d, enum door_event event)
 *     {
 *         d->state = (enum door_state)td_machine_next(&td_door_machine, d->state, event);
 *     }
 *
 * An event that the table does not list for a state is our own bug: td_machine_next asserts. An
 * event that changes nothing in a state is listed with TD_STAY. The program print_transitions
 * prints every machine into docs/states.md. tests/form/states.py checks the assignments.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_BASE_TRANSITION_H
#define TD_BASE_TRANSITION_H

#include <stdbool.h>
#include <stdint.h>

/* struct td_label: the name of a state or an event, and a sentence about it for the documents. */
struct td_label {
    const char *name, *meaning;
};

/* TD_IN(state) is a bit for the `from` of a row. A row may list several states. */
#define TD_IN(state) ((uint32_t)1 << (state))
enum { TD_STAY = UINT8_MAX, TD_MACHINE_STATES_MAX = 32 };

struct td_transition {
    uint32_t from; /* TD_IN of each state that the row is for */
    uint8_t event;
    uint8_t to; /* TD_STAY: the event is allowed, and the state stays */
};

struct td_machine {
    const char *name, *meaning;
    const struct td_label *state, *event; /* [states], [events] */
    const struct td_transition *row;      /* [rows] */
    uint32_t states, events, rows;
};

/* TD_MACHINE fills in the arrays of a struct td_machine and their lengths. */
#define TD_MACHINE(state_, event_, row_)                                                           \
    .state = (state_), .event = (event_), .row = (row_),                                           \
    .states = sizeof(state_) / sizeof *(state_), .events = sizeof(event_) / sizeof *(event_),      \
    .rows = sizeof(row_) / sizeof *(row_)

/* td_machine_find returns the row for an event in a state, NULL if the table does not allow it. */
const struct td_transition *td_machine_find(const struct td_machine *machine, uint32_t state,
                                            uint32_t event);
/* td_machine_next returns the next state. It asserts that the table allows the event. */
uint32_t td_machine_next(const struct td_machine *machine, uint32_t state, uint32_t event);
/* td_machine_check returns NULL if the table is sound: every state and event has a name, one row at
 * most is for a state and event, every event is used, and every state can be reached from state 0.
 * Otherwise it returns a sentence. */
const char *td_machine_check(const struct td_machine *machine);

#endif
