/* SPDX-License-Identifier: Apache-2.0 */
/* waits: the sums of waiting in a segment. Its functions are inline because ranks run them in every
 * call: they take at most 1 % of a call's instructions (tests/operations/recording.py). So the rank
 * that was the last finds the place of its sum, and all that waited for it only add to it.
 * Borrows: the segment. Pure. */
#ifndef TD_SEGMENT_WAITS_H
#define TD_SEGMENT_WAITS_H

#include "access.h"
#include "segment.h"

/* What is added to the address of a slot: whatever a process has noted there, the sum lies in the
 * segment, at a multiple of its size. */
enum { TD_SEGMENT_SUM_MASK = (1 << 18) - (int)sizeof(uint64_t) };

/* td_segment_sum_of returns the position of the sums of a rank and a kind of call. */
static inline size_t td_segment_sum_of(uint32_t rank, uint32_t kind)
{
    return (size_t)rank * TD_SEGMENT_KINDS + kind;
}

/* td_segment_note_last notes in a slot, before its call is DONE, which sums belong to the rank that
 * was the last to make the call, and to its kind. */
static inline void td_segment_note_last(const struct td_segment *s, struct td_segment_slot *slot,
                                        size_t sum)
{
    const uint8_t *at = (const uint8_t *)&s->waited[sum];
    td_access_note(&slot->sum, (uint32_t)(at - (const uint8_t *)slot));
}

/* td_segment_was_last is td_segment_note_last for the rank itself, which also counts the call. */
static inline void td_segment_was_last(const struct td_segment *s, struct td_segment_slot *slot,
                                       size_t sum)
{
    td_access_count(&s->was_last[sum]);
    td_segment_note_last(s, slot, sum);
}

/* td_segment_waited adds how long a rank waited for the last one of a call that is DONE, until its
 * next call in the segment. */
static inline void td_segment_waited(struct td_segment_slot *slot, uint64_t ns)
{
    uint8_t *sum = (uint8_t *)slot + (td_access_noted(&slot->sum) & TD_SEGMENT_SUM_MASK);
    td_access_sum((_Atomic uint64_t *)(void *)sum, ns);
}

#endif
