/* SPDX-License-Identifier: Apache-2.0 */
/* symbolic: runs the programs of all nodes of one collective together, without network or numbers.
 * Memory holds tags that say where an element came from and what was done to it.
 *
 * Every step instance is a vertex of a graph. A step comes after the steps its dependencies name; a
 * RECV after its SEND; a SYNC after what any of its members needs to come to it. A SEND is over
 * when its bytes have been read, no later, and messages of no bytes order nothing: that is all the
 * engine promises. What rides with the gate is there before the first step. What is checked:
 *   - every SEND has its RECV, of the same size, and every RECV its SEND, but for those without
 *     bytes; every member of a SYNC has it, with the same members;
 *   - the graph has no cycle, and the engine's order of starting steps does not block it;
 *   - every slice lies within its buffer;
 *   - two accesses to the same memory, one of them a write, are ordered by the graph;
 *   - nothing is read before it was written; nothing is combined or transformed twice;
 *   - operands are folded from rank 0 on, one by one, where the result depends on it;
 *   - at the end every destination holds exactly what the collective promises, and a source that
 *     is not also a destination is as it was. */
#ifndef TD_TESTS_SYMBOLIC_H
#define TD_TESTS_SYMBOLIC_H

#include "model/group.h"
#include "model/plan.h"
#include "model/program.h"
#include "model/topology.h"

enum { SYMBOLIC_NODES_MAX = 64, SYMBOLIC_RANKS_MAX = 64 }; /* a set of ranks is one word */

struct symbolic_case {
    td_compile_fn *compile;
    struct td_call call;
    struct td_fft fft; /* kind FFT */
    uint64_t seed;
    struct td_topology topology; /* for methods that need it */
    struct td_tuning tuning;
    const uint32_t *rank_node; /* [size] */
    uint32_t size;
    /* of a call with counts, in elements: [rank][other], data that rank sends to, and receives
     * from, other */
    const uint64_t *from_count, *from_at, *to_count, *to_at; /* at: places, or NULL */
    bool in_place;   /* source and destination are one buffer; always true for a broadcast */
    unsigned orders; /* number of random orders of execution */
};

/* struct symbolic_stats: the cost of the programs, by slot. */
struct symbolic_stats {
    uint32_t slots;
    bool rides;
    uint64_t steps;
    uint64_t messages[SYMBOLIC_NODES_MAX];                           /* sent messages with bytes */
    uint64_t sent[SYMBOLIC_NODES_MAX], received[SYMBOLIC_NODES_MAX]; /* bytes */
    uint64_t scratch[SYMBOLIC_NODES_MAX];
};

/* symbolic_check returns NULL, or a static sentence about the first error. */
const char *symbolic_check(const struct symbolic_case *c, struct symbolic_stats *stats);

#endif
