/* SPDX-License-Identifier: Apache-2.0 */
/* group: the planes and the tree of a group, as text, JSON and picture. */
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
    uint32_t breadth;      /* depth of a breadth-first tree from the tree's root */
    uint32_t least;        /* the least such depth from any root */
};

/* explain_group is `torus-plan group`. */
int explain_group(int argc, char **argv);

#endif
