/* SPDX-License-Identifier: Apache-2.0 */
/* flood: the program of a flooded operation, ring by ring. */
#ifndef TORUSCTL_EXPLAIN_FLOOD_H
#define TORUSCTL_EXPLAIN_FLOOD_H

#include "model/program.h"
#include "machine.h"

/* explain_flood_hops returns the number of hops after which all nodes have all blocks. */
uint32_t explain_flood_hops(const struct td_program *p);
/* explain_flood_blocks returns the number of blocks that a node sends to its neighbours, and their
 * bytes. */
uint32_t explain_flood_blocks(const struct td_program *p, uint64_t *bytes);
/* explain_flood_print prints the phases of the program's node. */
void explain_flood_print(const struct explain_machine *m, const struct td_program *p);
json_t *explain_flood_json(const struct explain_machine *m, const struct td_program *p);

#endif
