/* SPDX-License-Identifier: Apache-2.0 */
/* calls: calls of every kind on groups, fabrics and tunings of every form, drawn from a seed; and
 * the hash of a program. Owns: the arena of each call. */
#ifndef TD_TESTS_CALLS_H
#define TD_TESTS_CALLS_H

#include "base/arena.h"
#include "model/counts.h"
#include "model/plan.h"
#include "model/program.h"
#include "model/topology.h"
#include "model/tree.h"

/* struct drawn_call: the inputs of a program. */
struct drawn_call {
    struct td_arena *arena;
    struct td_topology topology;
    struct td_group group;
    struct td_tree tree;
    struct td_tuning tuning;
    struct td_call call;
    struct td_counts counts; /* of a call with counts, at this slot */
    struct td_survey survey;
    struct td_plan *plan; /* of a call that executes a plan */
    struct td_compile_input in;
};

/* calls_draw draws call number `number`; `planner` makes its plan, if any. Equal numbers give equal
 * calls on every machine. calls_free releases it. */
void calls_draw(struct drawn_call *c, uint64_t number, const struct td_planner *planner);
void calls_free(const struct drawn_call *c);
/* calls_print writes the parameters of a call and returns text. */
const char *calls_print(const struct drawn_call *c, char *text, size_t size);
/* calls_hash returns the hash of a program: its ride, its families with their dependencies, and
 * some steps of each family. Names and labels do not count. */
uint64_t calls_hash(const struct td_program *p);

#endif
