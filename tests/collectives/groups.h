/* SPDX-License-Identifier: Apache-2.0 */
/* groups: ranks on machines of many shapes, in many forms, drawn from one seed. */
#ifndef TD_TESTS_GROUPS_H
#define TD_TESTS_GROUPS_H

#include "symbolic.h"

enum groups_form {
    GROUPS_WHOLE,     /* all nodes, ranks in blocks */
    GROUPS_CYCLIC,    /* all nodes, ranks in turn */
    GROUPS_SHUFFLED,  /* all nodes, ranks in random order */
    GROUPS_UNEVEN,    /* all nodes, with different numbers of ranks in random order */
    GROUPS_BOX,       /* without the last plane of the last dimension */
    GROUPS_SCATTERED, /* without some nodes */
    GROUPS_FORMS
};

struct groups_placed {
    struct td_topology topology;
    enum groups_form form;
    uint32_t size;
    uint32_t rank_node[SYMBOLIC_RANKS_MAX];
};

/* groups_draw returns a number below `below`. */
uint64_t groups_draw(uint64_t below);
/* groups_place fails the test if a case has too many ranks. */
void groups_place(struct groups_placed *g, const char *shape, enum groups_form form,
                  uint32_t per_node);
/* groups_pick puts one rank on each of a number of nodes of a machine of any size. */
void groups_pick(struct groups_placed *g, const char *shape, uint32_t nodes);
/* groups_nodes returns the number of nodes with ranks, and the greatest number of ranks on one
 * node. */
uint64_t groups_nodes(const struct groups_placed *g, uint64_t *most);

#endif
