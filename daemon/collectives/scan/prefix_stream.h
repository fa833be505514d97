/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_stream: the prefix of all positions over a spanning tree of a grid. */
#ifndef TD_COLLECTIVES_SCAN_PREFIX_STREAM_H
#define TD_COLLECTIVES_SCAN_PREFIX_STREAM_H

#include "collectives/grid.h"

/* td_prefix_stream_compile streams positions, or (tuning.prefix ROUND_TRIPS) does them one by one.
 */
void td_prefix_stream_compile(struct td_program *p, const struct td_grid *grid);
/* td_prefix_stream_scratch returns what it may need on a node. */
int64_t td_prefix_stream_scratch(const struct td_program *p, const struct td_grid *grid);

#endif
