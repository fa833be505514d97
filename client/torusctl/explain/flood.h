/* SPDX-License-Identifier: Apache-2.0 */
/* explain_flood: a program that does without the tree, ring by ring. */
#ifndef TORUSCTL_EXPLAIN_FLOOD_H
#define TORUSCTL_EXPLAIN_FLOOD_H

#include "model/program.h"
#include "machine.h"

/* explain_flood_hops returns after how many hops all nodes have heard of all. */
uint32_t explain_flood_hops(const struct td_program *p);
/* explain_flood_blocks returns how many blocks a node tells its neighbours, and the bytes of all.
 */
uint32_t explain_flood_blocks(const struct td_program *p, uint64_t *bytes);
/* explain_flood_print writes the phases as the program's node sees them. */
void explain_flood_print(const struct explain_machine *m, const struct td_program *p);
json_t *explain_flood_json(const struct explain_machine *m, const struct td_program *p);

#endif
