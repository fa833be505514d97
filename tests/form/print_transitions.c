/* SPDX-License-Identifier: Apache-2.0 */
/* print_transitions: writes every state machine of the daemon as Markdown: docs/states.md.
 * usage: print_transitions > docs/states.md
 * The test form_transitions compares its output with that file. */
#include <stdio.h>
#include <stdlib.h>

#include "base/transition.h"
#include "core/membership/epoch_state.h"
#include "core/membership/membership_state.h"
#include "core/membership/shrink_state.h"
#include "core/net/fabric_routed_state.h"
#include "core/net/session_state.h"
#include "core/operation/operation_state.h"
#include "io/control/link/state.h"

static const struct td_machine *const machines[] = {
    &td_operation_machine,   &td_arrival_machine,    &td_communicator_machine, &td_seat_machine,
    &td_join_machine,        &td_job_machine,        &td_succession_machine,   &td_shrink_machine,
    &td_shrink_call_machine, &td_epoch_machine,      &td_link_machine,         &td_session_machine,
    &td_neighbour_machine,   &td_connection_machine, &td_express_machine,
};

static void print_labels(const char *what, const struct td_label *label, uint32_t count)
{
    printf("| %s | meaning |\n| --- | --- |\n", what);
    for (uint32_t i = 0; i < count; i++)
        printf("| %s | %s |\n", label[i].name, label[i].meaning);
    printf("\n");
}

/* print_grid prints a row for each event and a column for each state. */
static void print_grid(const struct td_machine *m)
{
    printf("| event in state |");
    for (uint32_t s = 0; s < m->states; s++)
        printf(" %s |", m->state[s].name);
    printf("\n| --- |");
    for (uint32_t s = 0; s < m->states; s++)
        printf(" --- |");
    printf("\n");
    for (uint32_t e = 0; e < m->events; e++) {
        printf("| **%s** |", m->event[e].name);
        for (uint32_t s = 0; s < m->states; s++) {
            const struct td_transition *row = td_machine_find(m, s, e);
            printf(" %s |", !row ? "" : row->to == TD_STAY ? "stays" : m->state[row->to].name);
        }
        printf("\n");
    }
    printf("\n");
}

int main(void)
{
    printf("# State machines\n\n"
           "The program `print_transitions` writes this page from the tables in the source; the\n"
           "test `form_transitions` fails when the page is stale. Write it again with\n"
           "`build/bin/print_transitions > docs/states.md`.\n\n"
           "A cell holds the next state. *stays* means that the event is allowed and changes\n"
           "nothing. An empty cell means that the event cannot happen: the daemon asserts.\n"
           "The state in the first column is the first one.\n");
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const struct td_machine *m = machines[i];
        const char *wrong = td_machine_check(m);
        if (wrong) {
            fprintf(stderr, "print_transitions: %s: %s\n", m->name, wrong);
            return EXIT_FAILURE;
        }
        printf("\n## %s\n\n%s\n\n", m->name, m->meaning);
        print_labels("state", m->state, m->states);
        print_labels("event", m->event, m->events);
        print_grid(m);
    }
    return EXIT_SUCCESS;
}
