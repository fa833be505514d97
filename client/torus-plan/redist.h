/* SPDX-License-Identifier: Apache-2.0 */
/* redist: the state of `torus-plan redist`. Volumes are counted in blocks of one superblock
 * if the array consists of superblocks, in elements otherwise. */
#ifndef TORUSCTL_EXPLAIN_REDIST_H
#define TORUSCTL_EXPLAIN_REDIST_H

#include <stdio.h>

#include "collectives/redist/redist_torus.h"
#include "model/layout.h"
#include "machine.h"

struct explain_redist {
    const char *text[2], *elements_text, *shape_text, *plot;
    uint64_t per_node; /* ranks */
    struct td_topology topology;
    uint64_t element_bytes;
    enum td_schedule_kind wanted;
    bool as_json, all;
    bool sized;       /* --elements was given */
    bool distributed; /* both layouts distribute blocks from index 0 on: there is a superblock */
    bool in_blocks;   /* volumes are shown in blocks */
    struct td_arena *arena;
    struct td_layout layout[2];
    struct td_schedule_axis axis[TD_DIMENSIONS_MAX];
    struct td_schedule_problem blocks; /* volumes as shown */
    struct td_schedule_problem real;   /* volumes as moved: elements, if the size is known */
    struct td_schedule_bound bound;    /* of blocks */
    struct td_schedule schedule;
    double schedule_us;
};

/* struct explain_step_size: the sizes of the messages of a step. */
struct explain_step_size {
    uint32_t messages;
    uint64_t least, most;             /* blocks */
    uint64_t elements_most, elements; /* 0 unless sized */
};
struct explain_step_size explain_step_size(const struct explain_redist *x, uint32_t step);
/* explain_meets writes the owner to which owner p sends data in a step. It returns false if there
 * is none. */
bool explain_meets(const struct explain_redist *x, uint32_t p, uint32_t step, uint32_t *q);

/* explain_redist is `torus-plan redist`; it returns the exit code. */
int explain_redist(int argc, char **argv);

#endif
