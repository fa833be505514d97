/* SPDX-License-Identifier: Apache-2.0 */
/* case: what a seed of the swarm draws before its world begins: the machine, the amount of
 * work, and the faults.
 * Pure: a case is a function of its seed. */
#ifndef SWARM_CASE_H
#define SWARM_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/world.h"

enum { SWARM_FAULTS_MAX = 12, SWARM_NODES_MAX = 32, SWARM_STEPS_MAX = 60 };

/* The kinds of faults, with their names for people. */
#define SWARM_FAULTS(X)                                                                            \
    X(PROCESS, "process")     /* a process dies */                                                 \
    X(DAEMON, "daemon")       /* a daemon dies, and restarts later */                              \
    X(SILENCE, "silence")     /* a daemon is silent, until it dies in the end */                   \
    X(PAUSE, "pause")         /* a daemon gets no processor for a time */                          \
    X(RESET, "reset")         /* a link is cut and comes up again */                               \
    X(ONE_WAY, "one-way")     /* nothing passes from one node to another for a time */             \
    X(SLOW, "slow")           /* a link is slow for a time */                                      \
    X(PARTITION, "partition") /* nothing passes between two sets of nodes for a time */            \
    X(TIMED_OUT, "timed-out") /* the same; both ends of each connection are told */                \
    X(CORRUPT, "corrupt")     /* frames of a link are damaged */                                   \
    X(DUPLICATE, "duplicate") /* frames of a link arrive twice */                                  \
    X(MEMORY, "memory")       /* a daemon gets no memory */                                        \
    X(COMPUTE, "compute")     /* the computations of a node take long */                           \
    X(STOP, "stop")           /* a daemon is asked to stop, and starts again later */

enum swarm_fault_kind {
#define SWARM_FAULT_VALUE(NAME, name) SWARM_##NAME,
    SWARM_FAULTS(SWARM_FAULT_VALUE)
#undef SWARM_FAULT_VALUE
        SWARM_FAULT_KINDS
};
enum { SWARM_KINDS_DRAWN = SWARM_STOP /* STOP comes in the place of some DAEMON */ };

/* struct swarm_fault: one fault. Numbers beyond what the kind or the machine has are reduced. */
struct swarm_fault {
    enum swarm_fault_kind kind;
    uint32_t step;        /* of the workload, in which it begins, */
    td_time delay_ns;     /* so long after the step */
    td_time duration_ns;  /* until it ends */
    uint32_t node, other; /* other: of a link: not `node` */
    uint64_t set;         /* of nodes; or of allocations */
};

struct swarm_case {
    uint64_t seed, workload; /* workload: the seed of what the processes do */
    char shape[16];
    bool routed;
    uint32_t express_permille, packet_bytes, credits, carry_bytes, ranks, steps, groups;
    uint64_t half_bytes, scratch_bytes; /* half of a process's region */
    uint32_t programs;                  /* percent of the steps that begin a program (programs.h) */
    uint32_t groups_max;                /* of a node, with joins; 0: enough */
    td_time latency_ns, compute_ns, request_ns, pause_ns; /* the greatest; pause: of a step */
    uint32_t faults;
    struct swarm_fault fault[SWARM_FAULTS_MAX];
};

void swarm_draw(struct swarm_case *c, uint64_t seed);
/* swarm_options sets the options of the case's world. */
void swarm_options(const struct swarm_case *c, struct td_sim_options *options);
const char *swarm_fault_name(enum swarm_fault_kind kind);
/* swarm_print_fault writes a sentence about a fault. */
void swarm_print_fault(const struct swarm_fault *f, char *text, size_t size);

#endif
