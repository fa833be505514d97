/* SPDX-License-Identifier: Apache-2.0 */
/* segments: the memory that the processes of a group share (segment/segment.h), if all its ranks
 * are on this node. This module makes it when the first rank joins, passes it to each rank, and
 * closes it when the group breaks.
 *
 * The processes of the job may write anything there. So of the sums of waiting this module believes
 * what is possible: all ranks together have not waited for longer than all of them have had the
 * segment, nor made more calls than take so long; and no sum becomes less.
 * Owns: the segments, and what it believes of each. Borrows: the regions. */
#ifndef TD_IO_CLIENTS_SEGMENTS_H
#define TD_IO_CLIENTS_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/time.h"

struct td_regions;
struct td_segments;

/* td_segments_create returns NULL if memory runs out. td_segments_destroy closes all segments; it
 * follows once the loop has closed its handles. */
struct td_segments *td_segments_create(uv_loop_t *uv, struct td_regions *regions);
void td_segments_destroy(struct td_segments *s);
/* td_segments_share returns the descriptor of the segment of a group of `ranks` ranks, to be sent
 * to one more rank, and makes the segment before the first one. -1: the group works by requests.
 * The answer is the same for all ranks. td_segments_shared ends the use of the descriptor. */
int td_segments_share(struct td_segments *s, uint32_t group, uint32_t ranks, uint64_t uid,
                      td_time now);
void td_segments_shared(struct td_segments *s, uint32_t group);
/* td_segments_close ends a segment: the ranks make their calls by request from now on. The loop
 * ends a few segments at a time, since a user may have thousands. */
void td_segments_close(struct td_segments *s, uint32_t group);
/* td_segments_waits reads how many calls of a kind a rank of the group was the last to make in its
 * segment until `now`, and how long the others waited for it then. It returns false if there is
 * nothing, or no segment. */
bool td_segments_waits(struct td_segments *s, uint32_t group, uint32_t rank, uint32_t kind,
                       td_time now, uint64_t *last, uint64_t *ns);

#endif
