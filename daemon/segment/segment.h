/* SPDX-License-Identifier: Apache-2.0 */
/* segment: memory that all processes of a group share, if they are on one node. The daemon makes
 * it, passes it on, and closes it; it reads sums of waiting there, and believes no more of them
 * than a process may say of its own job.
 *
 * A segment is a head, a ring of slots and, for each slot, one line of each rank. The call with
 * number n of the group uses slot n % TD_SEGMENT_SLOTS. A line has the rank's call, its data, and
 * room for the result that this rank computes. Only its own rank writes a line. In a call with
 * rounds the data says where the rank's memory is. Each rank also has sums, by kind of call: how
 * often it was the last to call, and how long the others waited for it then.
 * Borrows: the memory. Pure. */
#ifndef TD_SEGMENT_SEGMENT_H
#define TD_SEGMENT_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TD_SEGMENT_SLOTS /* the step machine takes the least ring that is reused: 2 */
#define TD_SEGMENT_SLOTS 3
#endif

enum {
    TD_SEGMENT_RANKS_MAX = 1024,
    TD_SEGMENT_BYTES_MAX = 4 << 20,
    TD_SEGMENT_DATA_MAX = 65536, /* bytes of a rank's data, and of a result */
    TD_SEGMENT_CALL_BYTES = 32,
    TD_SEGMENT_ROUNDS_MAX = 2,
    TD_SEGMENT_KINDS = 24, /* kinds of calls that have sums: those below */
};

/* struct td_segment_head: the first line of the memory. */
struct td_segment_head {
    _Atomic uint32_t closed;     /* not 0: calls go by request from now on */
    _Atomic uint64_t busy_until; /* a hint: other processes use the processors (any clock) */
    _Atomic uint32_t dropped;    /* memory that ranks no longer share with the others, counted */
};

/* struct td_segment_slot: one line of cache. */
struct td_segment_slot {
    _Atomic uint64_t state;    /* meeting.h */
    _Atomic uint32_t gate;     /* it counts up when the operation has ended: sleepers wait for it */
    _Atomic uint32_t sleepers; /* at least as many as sleep */
    _Atomic uint32_t sum;      /* where the sum of waiting is (waits.h): read after the end */
    uint8_t rest[44];
};

/* struct td_segment: one process's view. */
struct td_segment {
    struct td_segment_head *head;
    struct td_segment_slot *slot; /* [TD_SEGMENT_SLOTS] */
    /* sums by rank and kind of call, [ranks][TD_SEGMENT_KINDS]: */
    _Atomic uint64_t *waited;   /* ns that other ranks waited for it, when it was the last */
    _Atomic uint64_t *was_last; /* calls that it was the last to make; only itself counts them */
    uint8_t *line;
    uint32_t ranks, data_bytes;
};

/* Parts of a line. The result follows the data: a call without a result has room for twice the
 * data. */
enum td_segment_part { TD_SEGMENT_CALL, TD_SEGMENT_DATA, TD_SEGMENT_RESULT };

/* td_segment_data_bytes returns the bytes of data in a line of a group of that size: a power of
 * two. */
uint32_t td_segment_data_bytes(uint32_t ranks);
/* td_segment_bytes returns the bytes of a segment, at most TD_SEGMENT_BYTES_MAX. */
size_t td_segment_bytes(uint32_t ranks);
/* td_segment_daemon_bytes returns the bytes at its begin that the daemon uses, too. */
size_t td_segment_daemon_bytes(uint32_t ranks);
/* td_segment_open makes the view of a segment of a group; zeroed memory is a new segment. */
void td_segment_open(struct td_segment *s, void *memory, uint32_t ranks);
/* td_segment_close makes all calls that have not ended go by request. The caller then wakes the
 * sleepers of each gate. */
void td_segment_close(const struct td_segment *s);
/* td_segment_busy returns the time of the last td_segment_set_busy of any rank. It is not to be
 * trusted. */
uint64_t td_segment_busy(const struct td_segment *s);
void td_segment_set_busy(const struct td_segment *s, uint64_t until);
/* td_segment_drop counts a region that a rank no longer shares. td_segment_dropped returns the
 * count of all ranks, td_segment_dropped_by that of one. */
void td_segment_drop(const struct td_segment *s, uint32_t rank);
uint32_t td_segment_dropped(const struct td_segment *s);
uint32_t td_segment_dropped_by(const struct td_segment *s, uint32_t rank);
/* td_segment_waits reads the sums of a rank (waits.h) and a kind below TD_SEGMENT_KINDS; they may
 * be anything. */
void td_segment_waits(const struct td_segment *s, uint32_t rank, uint32_t kind, uint64_t *last,
                      uint64_t *ns);
/* td_segment_put copies `bytes` bytes to the part of a rank's line, from `offset` on;
 * td_segment_get copies them out. */
void td_segment_put(const struct td_segment *s, uint64_t number, uint32_t rank,
                    enum td_segment_part part, size_t offset, const void *from, size_t bytes);
void td_segment_get(const struct td_segment *s, uint64_t number, uint32_t rank,
                    enum td_segment_part part, size_t offset, void *to, size_t bytes);

#endif
