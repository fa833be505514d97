/* SPDX-License-Identifier: Apache-2.0 */
/* machine: the rows of all nodes. The daemon of this node passes questions on to the others; a node
 * that does not answer in time is listed, and nobody waits for it again. */
#ifndef TORUSCTL_INSPECT_MACHINE_H
#define TORUSCTL_INSPECT_MACHINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/request.h"
#include "torus/torus.h"

/* struct ins_machine: the nodes that a command asks. */
struct ins_machine {
    torus_context *c;
    uint32_t nodes;      /* of the machine */
    int64_t deadline_ns; /* CLOCK_MONOTONIC: of the section */
    double timeout_s;    /* of a section: nodes that miss it are not asked again */
    bool here;           /* only this node is asked */
    bool compact;        /* JSON objects take one line */
    bool timed;          /* rows have asked_ns and heard_ns: CLOCK_MONOTONIC of their page */
    json_t *silent;      /* [{node, error, silent_ns, heard_by}]: nodes that have not answered */
    json_t *absent;      /* [node]: those of `listed` that have not answered, not in `silent` */
    json_t *listed;      /* [node]: [peers] absent of this node; NULL: it has not been asked */
};

/* ins_machine_begin prepares a command that asks all nodes, or only this one. ins_machine_end frees
 * what it owns. */
void ins_machine_begin(struct ins_machine *m, torus_context *c, double timeout_s, bool here);
void ins_machine_end(struct ins_machine *m);
/* ins_machine_rows returns the rows of a section of all nodes that answer, as `row_json` makes
 * them; each has the node that has sent it as "at". Ages are those of the moment when it returns,
 * also after a wait for a silent node: the other nodes are asked again then, unless the rows are
 * `timed`. NULL: the connection to the daemon is lost (torus_last_error). */
json_t *ins_machine_rows(struct ins_machine *m, uint32_t section,
                         json_t *(*row_json)(const struct td_status_row *row));
/* ins_machine_lists returns true if [peers] absent of this node names a node: it is not expected to
 * be up. */
bool ins_machine_lists(struct ins_machine *m, json_int_t node);
/* ins_machine_answers writes which nodes have answered, and returns it: "node 0" if only this one
 * was asked, else "2 of 3 nodes" or "2 of 3 nodes (1 absent)". */
const char *ins_machine_answers(const struct ins_machine *m, char *text, size_t bytes);
/* ins_machine_print_silent prints the nodes that have not answered. */
void ins_machine_print_silent(const struct ins_machine *m);
/* ins_machine_seconds reads a time in seconds, such as 0.5; it returns false for anything else. */
bool ins_machine_seconds(const char *text, double *seconds);

/* The time that a command has if it is not told. */
#define INS_TIMEOUT_S 0.8
#define INS_PATIENCE_S 5.0

#endif
