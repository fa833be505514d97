/* SPDX-License-Identifier: Apache-2.0 */
/* overlap: the elements that each owner in one layout of an array shares with each owner in
 * another.
 *
 * Along one axis the shared indices form a list of spans. The list repeats after the least common
 * multiple of the two cycles, and the table stores one period. The elements of a pair of owners are
 * the product of its axes' spans. Both sides enumerate them in the same order, so a message needs
 * no addresses.
 *
 * Owns: its tables, in the arena it was made in. Borrows: the layouts.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_OVERLAP_H
#define TD_MODEL_OVERLAP_H

#include "layout.h"

enum td_overlap_side { TD_OVERLAP_FROM, TD_OVERLAP_TO };

/* struct td_interval: `count` consecutive indices, at[side] in the array of each owner, after
 * `before` others of the same period. */
struct td_interval {
    uint64_t at[2], count, before;
};

/* struct td_spans: the spans of two owners along one axis. */
struct td_spans {
    uint64_t total;     /* shared indices */
    uint64_t period;    /* shared indices in one period */
    uint64_t stride[2]; /* growth of each owner's index in one period */
    uint32_t count;
    struct td_interval first; /* the span, if count is 1; else ... */
    struct td_interval *span; /* [count] */
};

struct td_overlap {
    const struct td_layout *layout[2];
    uint64_t element;                /* bytes */
    uint8_t walk[TD_DIMENSIONS_MAX]; /* axes in the common order, outermost first */
    /* [coordinate of a side][coordinate of the other]; NULL: a row that this node does not need */
    struct td_spans **row[2][TD_DIMENSIONS_MAX];
};

/* td_overlap_init makes the tables of the owners that `here` accepts on either side. If `walk` is
 * NULL, the common order is that of the destination's memory. It returns false if memory runs out.
 */
typedef bool td_overlap_here_fn(const void *me, enum td_overlap_side side, uint32_t owner);
bool td_overlap_init(struct td_overlap *o, struct td_arena *arena, const struct td_layout *from,
                     const struct td_layout *to, uint64_t element, const uint8_t *walk,
                     td_overlap_here_fn *here, const void *me);
void td_overlap_free(struct td_overlap *o, struct td_arena *arena);
/* td_overlap_elements returns the number of elements that `from` has for `to`. At least one of them
 * must be here. */
uint64_t td_overlap_elements(const struct td_overlap *o, uint32_t from, uint32_t to);
/* struct td_overlap_range: shared indices [begin, begin + count) along `axis`, counted from the
 * first, and all indices of the other axes. axis TD_DIMENSIONS_MAX: all indices of all axes. */
struct td_overlap_range {
    uint8_t axis;
    uint64_t begin, count;
};
/* td_overlap_lines returns the range of the indices at [first, first + count) in the array of the
 * owner on `side`. */
struct td_overlap_range td_overlap_lines(const struct td_overlap *o, uint32_t from, uint32_t to,
                                         enum td_overlap_side side, uint32_t axis, uint64_t first,
                                         uint64_t count);
/* td_overlap_elements_in returns the number of elements in a range. */
uint64_t td_overlap_elements_in(const struct td_overlap *o, uint32_t from, uint32_t to,
                                const struct td_overlap_range *range);
/* td_overlap_work returns an upper estimate of the blocks that a node visits to make the tables, or
 * UINT64_MAX if it exceeds 64 bits. */
uint64_t td_overlap_work(const struct td_layout *from, const struct td_layout *to);
/* td_overlap_along returns the number of indices of an axis that part p of `from` and part q of
 * `to` share, td_overlap_count the number of elements of two owners. Neither needs tables. */
uint64_t td_overlap_along(const struct td_layout *from, const struct td_layout *to, uint32_t axis,
                          uint32_t p, uint32_t q);
uint64_t td_overlap_count(const struct td_layout *from, const struct td_layout *to, uint32_t p,
                          uint32_t q);

/* struct td_overlap_cursor: a cursor over the bytes of a pair in the common order, at their places
 * in one owner's array. */
struct td_overlap_cursor {
    uint32_t axes; /* the axes inside these are whole, and their bytes together a `unit` */
    uint64_t unit, used;
    uint64_t left; /* bytes */
    bool runs;     /* neighbours along the innermost axis are adjacent in memory */
    unsigned side;
    struct td_overlap_place {
        const struct td_spans *spans;
        uint64_t stride;     /* bytes */
        uint64_t begin, end; /* range of the spans' indices */
        uint64_t index;      /* current index */
        uint64_t period, within;
        uint32_t span;
    } axis[TD_DIMENSIONS_MAX];
};

/* td_overlap_start begins at byte `skip` of the elements that `from` has for `to` in a range, for
 * `bytes` bytes. */
void td_overlap_start(struct td_overlap_cursor *c, const struct td_overlap *o, uint32_t from,
                      uint32_t to, enum td_overlap_side side, const struct td_overlap_range *range,
                      uint64_t skip, uint64_t bytes);
/* td_overlap_piece returns the offset of the next piece in the owner's array, and its size, at most
 * `most` bytes; 0 bytes at the end. */
uint64_t td_overlap_piece(struct td_overlap_cursor *c, uint64_t most, uint64_t *bytes);
/* td_overlap_left returns the size of the next piece. */
uint64_t td_overlap_left(const struct td_overlap_cursor *c);
/* struct td_overlap_runs: `count` pieces of `bytes` bytes, `stride` apart in the owner's array. */
struct td_overlap_runs {
    uint64_t offset, bytes, stride, count;
};
/* td_overlap_runs returns the next pieces, as many as are equal and equally far apart; at the end,
 * none. td_overlap_skip moves on by the first `count` of them, or by `bytes` bytes of the first.
 */
struct td_overlap_runs td_overlap_runs(const struct td_overlap_cursor *c);
void td_overlap_skip(struct td_overlap_cursor *c, uint64_t bytes, uint64_t count);

#endif
