/* SPDX-License-Identifier: Apache-2.0 */
/* model: the step instances of all nodes, and the places in memory that each reads and writes.
 * symbolic.c builds it and graph.c checks it. Memory is counted in elements. */
#ifndef TD_TESTS_MODEL_H
#define TD_TESTS_MODEL_H

#include <setjmp.h>

#include "base/arena.h"
#include "model/counts.h"
#include "model/planes.h"
#include "model/planes_call.h"
#include "symbolic.h"

#define NO_STEP UINT32_MAX
/* Tags without a place in a buffer: unwritten memory, and the zeros of a COPY without a source. */
#define POISON UINT64_MAX
#define ZERO (UINT64_MAX - 1)

/* struct instance: step `index` of a family on a slot. */
struct instance {
    struct td_step step;
    uint32_t slot;
    uint32_t family;
    uint64_t index;
    int64_t elements; /* 0: the engine skips it */
    uint32_t partner; /* the SEND of a RECV, or the RECV of a SEND */
};

/* struct access: elements [begin, begin + count) of a memory. */
struct access {
    uint32_t memory, step;
    uint64_t begin, end;
    bool writes;
};

struct model {
    const struct symbolic_case *c;
    struct td_arena *arena;
    struct td_group group;
    struct td_tree tree; /* of neighbours */
    struct td_program program[SYMBOLIC_NODES_MAX];
    struct td_plan plan;                                /* kind FFT */
    uint32_t base[SYMBOLIC_NODES_MAX][TD_FAMILIES_MAX]; /* a family's first instance */
    uint32_t steps;
    struct instance *instance;
    struct td_counts *counts; /* [slots]; NULL: a call without counts */
    uint64_t (*need)[2];      /* [size] with counts: bytes of source and destination */
    int64_t element;          /* bytes; 1 for calls that only move data and may split numbers */
    uint64_t count;           /* the call's count in those elements */
    bool in_place;
    bool ordered; /* operands must be folded in rank order, one by one */
    /* memories: the scratch memory of slot s is s; the source of rank r is slots + r; its
     * destination is slots + size + r, or the source when in place */
    uint32_t memories;
    uint64_t *memory_elements;
    struct tag {
        uint64_t what, state;
    } * *memory;
    struct tag *want; /* as long as the longest buffer */
    uint32_t accesses, accesses_max;
    struct access *access;
    struct symbolic_stats *stats;
    jmp_buf failed;
    char text[1024];
};

/* model_fail ends symbolic_check with a sentence. */
_Noreturn void model_fail(struct model *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* model_obtain returns zeroed memory, freed at the end. */
void *model_obtain(struct model *m, uint64_t count, size_t bytes);
/* model_obtain_raw returns memory with any contents. */
void *model_obtain_raw(struct model *m, uint64_t count, size_t bytes);
/* model_member returns member k's instance of a SYNC. */
uint32_t model_member(const struct model *m, uint32_t sync, uint32_t k);
/* model_describe prints a step for people, alternately in one of two static buffers. */
const char *model_describe(const struct model *m, uint32_t step);

/* struct cursor walks the pieces of one lane of a slice. */
struct cursor {
    const struct model *m;
    uint32_t slot, step;
    struct td_slice slice;
    int64_t at[TD_LEVELS_MAX];
    uint64_t pair, skip; /* of a slice of counts: the pair, and bytes of it that have been passed */
    int64_t left;
    bool over;
};
void cursor_start(struct cursor *k, const struct model *m, uint32_t step,
                  const struct td_slice *slice, const struct td_lanes *lanes, uint32_t lane);
/* cursor_next returns false at the end. It fails if the piece is not inside its buffer. */
bool cursor_next(struct cursor *k, struct model *m, uint32_t *memory, uint64_t *begin,
                 uint64_t *count);
/* model_points converts a side of a TRANSFORM to a slice. by_line: transform after transform;
 * otherwise in the order with the longer pieces. */
struct td_slice model_points(const struct model *m, const struct td_step *step, bool target,
                             bool by_line);

/* ---- graph.c, execute.c ---- */

/* graph_check checks that the graph has no cycle and no race. */
void graph_check(struct model *m);
/* execute_steps executes all steps in an order drawn from the seed. */
void execute_steps(struct model *m, uint64_t seed);

/* ---- promise.c ---- */

/* promise_units sets the model's element and count. */
void promise_units(struct model *m);
/* promise_sizes returns the elements of a rank's buffers. */
void promise_sizes(const struct model *m, uint32_t rank, uint64_t *source, uint64_t *destination);
/* promise_scratch returns the bytes of scratch memory, ride included. */
uint64_t promise_scratch(const struct td_program *p);
/* promise_check_ride checks that all nodes have the same ride, and that the gate can carry it. */
void promise_check_ride(struct model *m);
/* promise_fill fills memory with its contents before the first step. */
void promise_fill(struct model *m);
/* promise_verify compares the results with those that the collective promises. */
void promise_verify(struct model *m);

#endif
