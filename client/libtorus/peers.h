/* SPDX-License-Identifier: Apache-2.0 */
/* peers: the regions of other ranks of a group, mapped to be read.
 *
 * The daemon passes on the descriptor of a region when a rank first asks for it. The mapping stays
 * until its owner has dropped a region, which this rank sees in the group's segment before a later
 * call there; or until the group ends.
 * Owns: the mappings. */
#ifndef TORUS_PEERS_H
#define TORUS_PEERS_H

#include "group.h"
#include "segment/segment.h"

struct tl_peers;

/* tl_peers_new returns an empty table for a group with that segment; NULL: no memory. */
struct tl_peers *tl_peers_new(const struct td_segment *segment);
/* tl_peers_free unmaps all; `mapped`: this process has the mappings, it is not a forked child. NULL
 * is accepted. */
void tl_peers_free(struct tl_peers *p, bool mapped);
/* tl_peers_sweep unmaps the regions of ranks that have dropped regions. */
void tl_peers_sweep(struct tl_peers *p);
/* tl_peers_find returns the address of bytes of a region of a rank of the group. It asks the daemon
 * if the region is not mapped. NULL: it cannot be mapped, or has fewer bytes. The bytes may be read
 * until the next sweep. */
const uint8_t *tl_peers_find(struct tl_peers *p, torus_group *g, uint32_t rank, uint32_t region,
                             uint64_t offset, uint64_t bytes);

#endif
