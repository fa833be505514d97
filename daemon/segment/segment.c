/* SPDX-License-Identifier: Apache-2.0 */
#include "segment.h"

#include "access.h"
#include "waits.h"

enum {
    WAITS_AT = 4096, /* the head and the slots are the first page; the sums follow */
    WAITS_BYTES = 2 * TD_SEGMENT_KINDS * sizeof(uint64_t), /* of a rank */
    /* not used: a segment of another layout has another size. A client that expects another size
     * makes its calls by request. The first layout had 0 bytes here, each next one has 64 more. */
    LAYOUT_BYTES = 64,
    DROPPED_AT = 32, /* in the line of the first slot, behind the call */
};

_Static_assert((int)DROPPED_AT >= (int)TD_SEGMENT_CALL_BYTES, "the count is behind the call");

_Static_assert(sizeof(struct td_segment_slot) == 64, "a slot is one line of cache");
_Static_assert(64 + TD_SEGMENT_SLOTS * sizeof(struct td_segment_slot) <= WAITS_AT,
               "the head and the slots fit one page");

static size_t line_bytes(uint32_t data_bytes)
{
    size_t call = 64; /* a line of cache: TD_SEGMENT_CALL_BYTES of it are used */
    return call + 2 * (size_t)data_bytes;
}

static size_t bytes_with(uint32_t ranks, uint32_t data_bytes)
{
    return WAITS_AT + (size_t)ranks * WAITS_BYTES + LAYOUT_BYTES +
           TD_SEGMENT_SLOTS * (size_t)ranks * line_bytes(data_bytes);
}

uint32_t td_segment_data_bytes(uint32_t ranks)
{
    uint32_t bytes = TD_SEGMENT_DATA_MAX;
    while (bytes_with(ranks, bytes) > TD_SEGMENT_BYTES_MAX)
        bytes /= 2;
    return bytes;
}

_Static_assert(WAITS_BYTES % 64 == 0, "lines begin at a line of cache");
_Static_assert(WAITS_AT + TD_SEGMENT_RANKS_MAX * WAITS_BYTES + LAYOUT_BYTES +
                       TD_SEGMENT_SLOTS * TD_SEGMENT_RANKS_MAX * (64 + 2 * 64) <=
                   TD_SEGMENT_BYTES_MAX,
               "a line of the largest group has at least 64 bytes of data");

_Static_assert(WAITS_AT + TD_SEGMENT_RANKS_MAX * TD_SEGMENT_KINDS * sizeof(uint64_t) <=
                   TD_SEGMENT_SUM_MASK,
               "every sum of waiting is within the reach of each slot");
_Static_assert(WAITS_AT + TD_SEGMENT_SUM_MASK <=
                   WAITS_AT + WAITS_BYTES + TD_SEGMENT_SLOTS * (64 + 2 * TD_SEGMENT_DATA_MAX),
               "the least segment, of one rank, has all that is within the reach of a slot");

size_t td_segment_bytes(uint32_t ranks)
{
    return bytes_with(ranks, td_segment_data_bytes(ranks));
}

size_t td_segment_daemon_bytes(uint32_t ranks)
{
    return WAITS_AT + (size_t)ranks * WAITS_BYTES;
}

void td_segment_open(struct td_segment *s, void *memory, uint32_t ranks)
{
    uint8_t *base = memory;
    _Atomic uint64_t *sums = (_Atomic uint64_t *)(void *)(base + WAITS_AT);
    *s = (struct td_segment){.head = memory,
                             .slot = (struct td_segment_slot *)(void *)(base + 64),
                             .waited = sums,
                             .was_last = sums + (size_t)ranks * TD_SEGMENT_KINDS,
                             .line = base + td_segment_daemon_bytes(ranks),
                             .ranks = ranks,
                             .data_bytes = td_segment_data_bytes(ranks)};
}

void td_segment_close(const struct td_segment *s)
{
    td_access_set(&s->head->closed, 1);
    for (uint32_t i = 0; i < TD_SEGMENT_SLOTS; i++)
        td_access_add(&s->slot[i].gate, 1);
}

uint64_t td_segment_busy(const struct td_segment *s)
{
    return td_access_read(&s->head->busy_until);
}

void td_segment_set_busy(const struct td_segment *s, uint64_t until)
{
    td_access_write(&s->head->busy_until, until);
}

void td_segment_waits(const struct td_segment *s, uint32_t rank, uint32_t kind, uint64_t *last,
                      uint64_t *ns)
{
    size_t at = td_segment_sum_of(rank, kind);
    *last = td_access_read(&s->was_last[at]);
    *ns = td_access_read(&s->waited[at]);
}

static uint8_t *place(const struct td_segment *s, uint64_t number, uint32_t rank,
                      enum td_segment_part part, size_t offset)
{
    size_t line = (size_t)(number % TD_SEGMENT_SLOTS) * s->ranks + rank;
    size_t at = line * line_bytes(s->data_bytes) + offset;
    if (part != TD_SEGMENT_CALL)
        at += 64;
    if (part == TD_SEGMENT_RESULT)
        at += s->data_bytes;
    return s->line + at;
}

static _Atomic uint32_t *dropped_by(const struct td_segment *s, uint32_t rank)
{
    return (_Atomic uint32_t *)(void *)place(s, 0, rank, TD_SEGMENT_CALL, DROPPED_AT);
}

void td_segment_drop(const struct td_segment *s, uint32_t rank)
{
    td_access_add(dropped_by(s, rank), 1);
    td_access_add(&s->head->dropped, 1);
}

uint32_t td_segment_dropped(const struct td_segment *s)
{
    return td_access_look(&s->head->dropped);
}

uint32_t td_segment_dropped_by(const struct td_segment *s, uint32_t rank)
{
    return td_access_look(dropped_by(s, rank));
}

void td_segment_put(const struct td_segment *s, uint64_t number, uint32_t rank,
                    enum td_segment_part part, size_t offset, const void *from, size_t bytes)
{
    td_access_copy_in(place(s, number, rank, part, offset), from, bytes);
}

void td_segment_get(const struct td_segment *s, uint64_t number, uint32_t rank,
                    enum td_segment_part part, size_t offset, void *to, size_t bytes)
{
    td_access_copy_out(to, place(s, number, rank, part, offset), bytes);
}
