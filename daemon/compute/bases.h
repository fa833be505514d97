/* SPDX-License-Identifier: Apache-2.0 */
/* bases: the addresses of an operation's buffers in this process. Pure: types only. */
#ifndef TD_COMPUTE_BASES_H
#define TD_COMPUTE_BASES_H

#include "model/compute.h"

/* struct td_bases: one array of addresses for each space of a view. source[i] and destination[i]
 * belong to local rank i (NULL: the rank has no such buffer). scratch is the start of the
 * operation's share.
 *
 * Slices name bytes of packed data. The memory of a rank's buffer tells its form, which may have
 * gaps; NULL: no buffer of the space has gaps. */
struct td_bases {
    uint8_t *const *source;
    uint8_t *const *destination;
    uint8_t *scratch;
    const struct td_memory *source_memory, *destination_memory;
};

/* td_bases_forms sets the memories of spaces in which a buffer has gaps. */
static inline void td_bases_forms(struct td_bases *bases, const struct td_view *view)
{
    bases->source_memory = bases->destination_memory = NULL;
    for (uint32_t i = 0; i < view->ranks; i++) {
        if (view->source[i].form)
            bases->source_memory = view->source;
        if (view->destination[i].form)
            bases->destination_memory = view->destination;
    }
}

#endif
