/* SPDX-License-Identifier: Apache-2.0 */
/* collect: the state of a daemon as one JSON object, for status and ops. */
#ifndef TORUSCTL_INSPECT_COLLECT_H
#define TORUSCTL_INSPECT_COLLECT_H

#include <jansson.h>
#include <stdbool.h>

#include "torus/torus.h"

/* ins_collect returns the node's peers, clients, jobs and operations; NULL on an error, which
 * torus_last_error has. */
json_t *ins_collect(torus_context *c);
/* ins_is_late returns true if an operation has waited for ranks for 10 s. */
bool ins_is_late(const json_t *operation);

/* ins_options is the help of the options of ins_ask. */
extern const char ins_options[];
typedef void ins_print_fn(torus_context *c, json_t *all, bool as_json);
/* ins_ask reads the options, collects the state and prints it. It returns the exit code. */
int ins_ask(const char *name, int argc, char **argv, ins_print_fn *print);

#endif
