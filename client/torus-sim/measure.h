/* SPDX-License-Identifier: Apache-2.0 */
/* measure: one collective of the nodes of a simulated torus, a rank each, and what its links and
 * queues did. Time is in slots: what one packet takes on a link.
 * Owns: what td_measure_fini frees. */
#ifndef TD_TORUS_SIM_MEASURE_H
#define TD_TORUS_SIM_MEASURE_H

#include "sim/world.h"

enum {
    TD_MEASURE_SLOT_NS = 1000, /* of virtual time */
    TD_MEASURE_BINS = 512,     /* of the time line, at most */
};

struct td_measure_options {
    struct td_sim_options world; /* shape, seed, settings: packet, tuning, router */
    struct td_call call;
    uint64_t bytes; /* of the call: of the vector, or of each rank's part, or for each other */
    const struct td_description *plan; /* of a redistribution: what is agreed on first; else NULL */
    double spread;     /* of a call with parts: sizes are bytes * (1 - spread ... 1 + spread) */
    const char *group; /* who takes part: node_set.h; NULL: all nodes */
    bool quiet;        /* no progress, even on a terminal */
};
/* td_measure_options_default: packets of 1 KiB, 4 slots a channel, links of a packet a slot. */
void td_measure_options_default(struct td_measure_options *options, const char *shape,
                                uint64_t seed);

struct td_measurement {
    struct td_topology topology;
    const char *method; /* of an all-to-all, as --method names it; of a redistribution, the
                           schedule; else the program's name */
    uint32_t steps;     /* of the schedule */
    char call[400];
    uint32_t ranks;
    char why[300];     /* why this one, with its name */
    double bound;      /* T_min in slots: no way of doing it is faster */
    double in_turn;    /* of a plan: the bounds of its moves, one after the other */
    double slots;      /* from the gate's release until the last rank knows of its end */
    double gate;       /* slots from the last call to the release */
    bool rides;        /* the gate is all of it, and is counted */
    double efficiency; /* bound / slots */
    struct td_utilization {
        double mean, least, most; /* of the links of a dimension, over `slots` */
    } utilization[TD_DIMENSIONS_MAX];
    uint64_t hops;  /* of packets */
    uint64_t waits; /* hops on which a packet in transit waited a slot or more */
    uint64_t events, hash;
    double seconds; /* that this process had of a core */
    uint32_t queued_max, fifo_max, held_max[TD_CHANNELS];
    uint64_t *link;   /* [nodes][directions] bytes that passed */
    double bin_slots; /* width of a bin */
    uint32_t bins;    /* of the time line in use */
    double *line;     /* [TD_MEASURE_BINS][directions] share of the links busy */
    char wrong[512];  /* what went wrong, when td_measure returned false */
};

/* td_measure runs; false when it cannot: `wrong` says why. */
bool td_measure(const struct td_measure_options *options, struct td_measurement *m);
void td_measure_fini(struct td_measurement *m);

/* td_measure_plot writes a picture (SVG): the time line by direction, and every link's load. */
bool td_measure_plot(const struct td_measurement *m, FILE *f, const char *title);

#endif
