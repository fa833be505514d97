/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline: the predicted time of a vector that goes from node to node in pieces on the direct
 * fabric, and the size of a piece that makes it least. A node passes on a piece when it has all of
 * it. Small pieces fill the pipeline early, but each message costs a node some time.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_COST_PIPELINE_H
#define TD_COLLECTIVES_COST_PIPELINE_H

#include <stdint.h>

/* struct td_pipeline: `sends` is how often the busiest node sends each piece; `path`, the messages
 * one after the other until the last node has the first piece; `message_bytes`, what a message
 * costs, in bytes of a link (struct td_tuning). */
struct td_pipeline {
    uint64_t bytes, sends, path, message_bytes;
};

/* td_pipeline_piece returns the power of two, 8 KiB to `most` bytes, that takes the least time. */
uint64_t td_pipeline_piece(const struct td_pipeline *l, uint64_t most);
/* td_pipeline_time returns the time with pieces of `each` bytes, in bytes that a link carries. */
uint64_t td_pipeline_time(const struct td_pipeline *l, uint64_t each);

#endif
