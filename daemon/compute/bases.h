/* SPDX-License-Identifier: Apache-2.0 */
/* bases: the addresses of an operation's buffers in this process. Pure: types only. */
#ifndef TD_COMPUTE_BASES_H
#define TD_COMPUTE_BASES_H

#include <stdint.h>

/* struct td_bases: one array of addresses for each space of a view. source[i] and destination[i]
 * belong to local rank i (NULL: the rank has no such buffer). scratch is the start of the
 * operation's share. */
struct td_bases {
    uint8_t *const *source;
    uint8_t *const *destination;
    uint8_t *scratch;
};

#endif
