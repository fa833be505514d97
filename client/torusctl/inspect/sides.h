/* SPDX-License-Identifier: Apache-2.0 */
/* sides: which ranks of a job made which call, where the first call failed because they differed.
 */
#ifndef TORUSCTL_INSPECT_SIDES_H
#define TORUSCTL_INSPECT_SIDES_H

#include <jansson.h>

#include "machine.h"

/* ins_sides_of merges the rows of all nodes, {call, ranks, count, instance}, of a job: [{call,
 * ranks (in order; not all of very many), count}], the least one first. */
json_t *ins_sides_of(const json_t *rows, json_int_t instance);
/* ins_sides returns the same of the machine. */
json_t *ins_sides(struct ins_machine *m, json_int_t instance);
/* ins_sides_print prints who called what in a group of `size` ranks. */
void ins_sides_print(const json_t *sides, json_int_t size);

#endif
