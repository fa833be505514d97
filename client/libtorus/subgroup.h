/* SPDX-License-Identifier: Apache-2.0 */
/* subgroup: creation of a group from ranks of another group.
 *
 * Each member sends its daemon the list of members and a creation number. The number is equal on
 * all members, and differs from that of every earlier group with the same list. */
#ifndef TORUS_SUBGROUP_H
#define TORUS_SUBGROUP_H

#include "group.h"
#include "request.h"

/* tl_subgroup_begin checks the arguments of a call that creates a group, and sets *made and
 * *request to NULL. */
int tl_subgroup_begin(const torus_group *g, const char *function, torus_group **made,
                      torus_request **request);

/* tl_subgroup_new returns a group of `count` ranks of `from`, before the daemon has given it a
 * number, or NULL if memory runs out. `ranks` lists the members; NULL: all ranks. `rank` is the
 * rank of this process in the new group. tl_group_destroy frees the group. */
torus_group *tl_subgroup_new(const torus_group *from, const uint64_t *ranks, uint32_t count,
                             uint32_t rank);

/* tl_subgroup_persistent creates a group of all ranks of `g` for one persistent call. The n-th
 * persistent call that each rank initializes in `g` gets the same group, so their starts match. The
 * daemon of this node creates the group without waiting for other ranks. */
int tl_subgroup_persistent(torus_group *g, torus_group **made);

/* tl_subgroup_reply, the on_reply of a request, gives r->new_group the daemon's number and adds it
 * to the groups of the context. */
int tl_subgroup_reply(torus_request *r, const struct td_reply *reply, bool *again);

#endif
