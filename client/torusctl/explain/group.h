/* SPDX-License-Identifier: Apache-2.0 */
/* explain_group: what is said of a group's planes and tree, and how they are drawn. */
#ifndef TORUSCTL_EXPLAIN_GROUP_H
#define TORUSCTL_EXPLAIN_GROUP_H

#include <stdio.h>

#include "model/planes.h"
#include "model/tree.h"
#include "machine.h"

struct explain_group {
    struct explain_machine machine;
    char who[4096];
    const char *plot;
    uint32_t *node; /* [slots] */
    struct td_arena *arena;
    struct td_planes planes;
    struct td_tree tree;
    bool connected, whole; /* whole: a box of the machine */
    uint32_t breadth;      /* hops by breadth from the tree's root */
    uint32_t least;        /* from any */
};

/* explain_group is `torusctl explain group`. */
int explain_group(int argc, char **argv);

#endif
