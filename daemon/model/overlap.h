/* SPDX-License-Identifier: Apache-2.0 */
/* overlap: what each owner of one layout of an array has for each owner of another.
 *
 * Along an axis that is a list of spans, which repeats after the least common multiple of the two
 * cycles; it is kept for one period. The elements of a pair of owners are the product of its axes'
 * spans, and come in one order on both sides, so a message needs no addresses.
 *
 * Owns: its tables, in the arena it was made in. Borrows: the layouts.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_OVERLAP_H
#define TD_MODEL_OVERLAP_H

#include "layout.h"

enum td_overlap_side { TD_OVERLAP_FROM, TD_OVERLAP_TO };

/* struct td_interval: `count` indices, at[side] in either owner's array; `before` come first. */
struct td_interval {
    uint64_t at[2], count, before;
};

/* struct td_spans: of two owners, along one axis. */
struct td_spans {
    uint64_t total;     /* indices of both */
    uint64_t period;    /* of these, in one period: what the spans have together */
    uint64_t stride[2]; /* by which either owner's index grows in one period */
    uint32_t count;
    struct td_interval first; /* if there is only one; else ... */
    struct td_interval *span; /* [count] */
};

struct td_overlap {
    const struct td_layout *layout[2];
    uint64_t element;                /* bytes */
    uint8_t walk[TD_DIMENSIONS_MAX]; /* axes of the common order, outermost first */
    /* [coordinate of a side][coordinate of the other]; rows that are not needed here are NULL */
    struct td_spans **row[2][TD_DIMENSIONS_MAX];
};

/* td_overlap_init makes the tables of the owners that `here` accepts on either side. `walk` may be
 * NULL: in the order of the destination's memory. False: no memory. */
typedef bool td_overlap_here_fn(const void *me, enum td_overlap_side side, uint32_t owner);
bool td_overlap_init(struct td_overlap *o, struct td_arena *arena, const struct td_layout *from,
                     const struct td_layout *to, uint64_t element, const uint8_t *walk,
                     td_overlap_here_fn *here, const void *me);
void td_overlap_free(struct td_overlap *o, struct td_arena *arena);
/* td_overlap_elements returns what owner `from` has for owner `to`; at least one of them is here.
 */
uint64_t td_overlap_elements(const struct td_overlap *o, uint32_t from, uint32_t to);
/* struct td_overlap_range: of the indices that two owners have in common along `axis`, `count` from
 * number `begin` on; of the other axes all. axis TD_DIMENSIONS_MAX: all of every axis. */
struct td_overlap_range {
    uint8_t axis;
    uint64_t begin, count;
};
/* td_overlap_lines makes the range of the indices that lie at `first` to before `first + count` in
 * the array of the owner on `side`. */
struct td_overlap_range td_overlap_lines(const struct td_overlap *o, uint32_t from, uint32_t to,
                                         enum td_overlap_side side, uint32_t axis, uint64_t first,
                                         uint64_t count);
/* td_overlap_elements_in returns what is in a range. */
uint64_t td_overlap_elements_in(const struct td_overlap *o, uint32_t from, uint32_t to,
                                const struct td_overlap_range *range);
/* td_overlap_work returns how many blocks are looked at, at most about, to make the tables on a
 * node; UINT64_MAX: more than that. */
uint64_t td_overlap_work(const struct td_layout *from, const struct td_layout *to);
/* td_overlap_along counts the indices of an axis that its part p before and part q after have in
 * common, td_overlap_count the elements of two owners; both without tables. */
uint64_t td_overlap_along(const struct td_layout *from, const struct td_layout *to, uint32_t axis,
                          uint32_t p, uint32_t q);
uint64_t td_overlap_count(const struct td_layout *from, const struct td_layout *to, uint32_t p,
                          uint32_t q);

/* struct td_overlap_cursor: goes through the bytes of a pair in the common order, as they lie in
 * one owner's array. */
struct td_overlap_cursor {
    uint32_t axes; /* those inside are whole, and their bytes together a `unit` */
    uint64_t unit, used;
    uint64_t left; /* bytes */
    bool runs;     /* neighbours along the innermost axis are neighbours in memory */
    unsigned side;
    struct td_overlap_place {
        const struct td_spans *spans;
        uint64_t stride;     /* bytes */
        uint64_t begin, end; /* of the spans' indices */
        uint64_t index;      /* now */
        uint64_t period, within;
        uint32_t span;
    } axis[TD_DIMENSIONS_MAX];
};

/* td_overlap_start begins at byte `skip` of what `from` has for `to` in a range, for `bytes` bytes.
 */
void td_overlap_start(struct td_overlap_cursor *c, const struct td_overlap *o, uint32_t from,
                      uint32_t to, enum td_overlap_side side, const struct td_overlap_range *range,
                      uint64_t skip, uint64_t bytes);
/* td_overlap_piece returns where the next piece lies in the owner's array, and its size, at most
 * `most`; 0 bytes at the end. */
uint64_t td_overlap_piece(struct td_overlap_cursor *c, uint64_t most, uint64_t *bytes);
/* td_overlap_left returns the size of the next piece. */
uint64_t td_overlap_left(const struct td_overlap_cursor *c);

#endif
