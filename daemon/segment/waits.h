/* SPDX-License-Identifier: Apache-2.0 */
/* waits: the sums of waiting in a segment. Its functions are inline because each rank that waits
 * long runs one of them in every call. Borrows: the segment. Pure. */
#ifndef TD_SEGMENT_WAITS_H
#define TD_SEGMENT_WAITS_H

#include "access.h"
#include "segment.h"

/* td_segment_sums returns the sums of a rank and a kind of call. */
static inline struct td_segment_waits *td_segment_sums(const struct td_segment *s, uint32_t rank,
                                                       uint32_t kind)
{
    return &s->waits[(size_t)rank * TD_SEGMENT_KINDS + kind];
}

/* td_segment_was_last counts a call that `rank` was the last to make, and that is DONE. The other
 * ranks may add how long they waited for the last one, until their next call in the segment:
 * td_segment_waited. */
static inline void td_segment_was_last(const struct td_segment *s, uint32_t rank, uint32_t kind)
{
    _Atomic uint64_t *last = &td_segment_sums(s, rank, kind)->last;
    td_access_write(last, td_access_read(last) + 1);
}

static inline void td_segment_waited(const struct td_segment *s, const struct td_segment_slot *slot,
                                     uint32_t kind, uint64_t ns)
{
    uint32_t last = td_access_noted(&slot->last);
    if (last < s->ranks)
        td_access_sum(&td_segment_sums(s, last, kind)->ns, ns);
}

#endif
