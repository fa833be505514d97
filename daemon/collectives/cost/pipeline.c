/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline.h"

enum { PIECE_MIN = 1 << 13 };

uint64_t td_pipeline_time(const struct td_pipeline *l, uint64_t each)
{
    uint64_t pieces = l->bytes > each ? (l->bytes - 1) / each + 1 : 1;
    uint64_t longest = l->bytes < each ? l->bytes : each;
    return ((pieces - 1) * l->sends + l->path) * (longest + l->message_bytes);
}

uint64_t td_pipeline_piece(const struct td_pipeline *l, uint64_t most)
{
    uint64_t best = PIECE_MIN;
    for (uint64_t each = PIECE_MIN; each <= most; each *= 2)
        if (td_pipeline_time(l, each) < td_pipeline_time(l, best))
            best = each;
    return best;
}
