/* SPDX-License-Identifier: Apache-2.0 */
/* intergroup: operations between two disjoint groups.
 *
 * The ranks of both groups form one group, `all`: those of the group with the lower first rank of
 * the job come first. Each operation is one all-to-all with counts of that group, in which data
 * goes from one side to the other only. A reduction is folded by the ranks that receive it. Owns:
 * the group `all`. */
#ifndef TORUS_INTERGROUP_H
#define TORUS_INTERGROUP_H

#include "group.h"

struct torus_intergroup {
    torus_group *all;
    uint32_t size[2]; /* of the first and of the second side */
    uint32_t side;    /* of this rank */
};

#endif
