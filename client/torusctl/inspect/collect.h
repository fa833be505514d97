/* SPDX-License-Identifier: Apache-2.0 */
/* collect: the state of the machine as one JSON object, for status and ops. */
#ifndef TORUSCTL_INSPECT_COLLECT_H
#define TORUSCTL_INSPECT_COLLECT_H

#include <jansson.h>
#include <stdbool.h>

#include "machine.h"

/* ins_collect returns the peers of this node, and the clients, jobs and operations of all nodes
 * that answer; NULL on an error, which torus_last_error has. */
json_t *ins_collect(struct ins_machine *m);
/* ins_add_silence adds to each node that has not answered how long ago its last message came, and
 * to which node that answers ("heard_by"): a node hears only those regularly that it needs. */
void ins_add_silence(struct ins_machine *m);
/* ins_is_late returns true if an operation has waited for ranks for 10 s. */
bool ins_is_late(const json_t *operation);

/* INS_OPTIONS is the help of the options that all commands here have. */
#define INS_OPTIONS                                                                                \
    "  --here               ask this node only, not the others\n"                                  \
    "  --timeout SECONDS    time for all answers (0.8): nodes that do not answer are listed\n"     \
    "  --watch              repeat every second until interrupted\n"                               \
    "  --json               print the result as JSON\n"                                            \
    "  --socket PATH        socket of the daemon (default: the search order of libtorus(3))\n"
extern const char ins_options[];
#define INS_ARGUMENTS "[--here] [--timeout SECONDS] [--watch] [--json] [--socket PATH]"

/* struct ins_choices: these options. */
struct ins_choices {
    const char *socket;
    double timeout_s;  /* for the other nodes */
    double patience_s; /* for this node's daemon: as long, if --timeout says how long */
    bool as_json, here, watch;
};
/* ins_read_choices reads the options, and one word without a dash if `word` is not NULL. It returns
 * NULL, or the argument that is wrong. */
const char *ins_read_choices(int argc, char **argv, struct ins_choices *o, const char **word);
/* ins_state_json makes the JSON of a row of the clients, jobs or operations; NULL of any other. */
json_t *ins_state_json(const struct td_status_row *row);
/* ins_pause waits for a second, and clears a terminal, between two rounds of --watch. */
void ins_pause(void);
typedef void ins_print_fn(struct ins_machine *m, json_t *all, bool as_json);
/* ins_ask reads the options, collects the state and prints it. It returns the exit code. */
int ins_ask(const char *name, int argc, char **argv, ins_print_fn *print);

#endif
