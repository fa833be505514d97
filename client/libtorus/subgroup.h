/* SPDX-License-Identifier: Apache-2.0 */
/* subgroup: creation of a group from ranks of another group.
 *
 * Each member sends its daemon the list of members, and a creation number that is new for that list
 * and equal on all members. */
#ifndef TORUS_SUBGROUP_H
#define TORUS_SUBGROUP_H

#include "group.h"
#include "request.h"

/* tl_subgroup_begin checks the arguments of a call that creates a group, and clears its results. */
int tl_subgroup_begin(const torus_group *g, torus_group **made, torus_request **request);

/* tl_subgroup_new returns a group of `count` ranks of `from` (NULL: all), not yet numbered by the
 * daemon; `rank` is the index of this process. NULL: no memory. tl_group_destroy frees it. */
torus_group *tl_subgroup_new(const torus_group *from, const uint64_t *ranks, uint32_t count,
                             uint32_t rank);

/* tl_subgroup_persistent makes a group of all ranks of `g` for a persistent call: its starts are
 * matched with those of the call that the other ranks have initialized at the same position. The
 * daemon of this node makes the group at once. */
int tl_subgroup_persistent(torus_group *g, torus_group **made);

/* tl_subgroup_reply links r->new_group under the number that the daemon gave it: on_reply of a
 * request. */
int tl_subgroup_reply(torus_request *r, const struct td_reply *reply, bool *again);

#endif
