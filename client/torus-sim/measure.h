/* SPDX-License-Identifier: Apache-2.0 */
/* measure: one collective on a simulated torus with one rank per node, and the loads of its links
 * and queues. The unit of time is the slot: the time of one packet on a link. Owns: what
 * td_measure_fini frees. */
#ifndef TD_TORUS_SIM_MEASURE_H
#define TD_TORUS_SIM_MEASURE_H

#include "sim/world.h"

enum {
    TD_MEASURE_SLOT_NS = 1000, /* virtual time of a slot */
    TD_MEASURE_BINS = 512,     /* largest number of bins of the time line */
};

struct td_measure_options {
    struct td_sim_options world; /* shape, seed, settings: packet, tuning, router */
    struct td_call call;
    uint64_t
        bytes; /* size of the vector, of each rank's part, or of the message to each other rank */
    const struct td_description *plan; /* description of a planned call; else NULL */
    double spread;     /* call with counts by rank: sizes are bytes * (1 - spread .. 1 + spread) */
    const char *group; /* participating nodes: node_set.h; NULL: all nodes */
    bool quiet;        /* no progress, even on a terminal */
};
/* td_measure_options_default sets packets of 1 KiB, 4 slots per channel, and links that carry one
 * packet per slot. */
void td_measure_options_default(struct td_measure_options *options, const char *shape,
                                uint64_t seed);

struct td_measurement {
    struct td_topology topology;
    uint32_t packet_bytes; /* payload of a full packet */
    const char *method;    /* of an all-to-all, as --method names it; of a redistribution, the
                              schedule; else the program's name */
    uint32_t steps;        /* of the schedule */
    char call[400];
    uint32_t ranks;
    char why[300];     /* reason for the method, with its name */
    double bound;      /* T_min in slots: lower bound of the time of any method */
    double in_turn;    /* of a plan: sum of the bounds of its moves */
    double slots;      /* from the release of the gate until the last rank has completed */
    double gate;       /* slots from the last call to the release */
    bool rides;        /* the payload travels with the gate; `slots` includes the gate */
    double efficiency; /* bound / slots */
    struct td_utilization {
        double mean, least, most; /* utilization of the links of a dimension over `slots` */
    } utilization[TD_DIMENSIONS_MAX];
    uint64_t hops;  /* packet hops */
    uint64_t waits; /* hops before which a packet in transit waited at least one slot */
    uint64_t events, hash;
    double seconds; /* CPU time of this process */
    uint32_t queued_max, fifo_max, held_max[TD_CHANNELS];
    uint64_t *link;   /* [nodes][directions] bytes */
    double bin_slots; /* width of a bin */
    uint32_t bins;    /* bins of the time line in use */
    double *line;     /* [TD_MEASURE_BINS][directions] utilization */
    char wrong[512];  /* the error, if td_measure returned false */
};

/* td_measure runs the simulation. It returns false with the sentence in `wrong`. td_measure_fini is
 * due in both cases. */
bool td_measure(const struct td_measure_options *options, struct td_measurement *m);
void td_measure_fini(struct td_measurement *m);

#endif
