/* SPDX-License-Identifier: Apache-2.0 */
/* layout: who owns what of an array, and where in its memory an owner has it.
 *
 * An array of up to six axes lies on *owners*: the places of a process grid, each axis dealt out in
 * blocks round its parts (block, cyclic and cyclic(b) differ in the block alone), or one box each.
 * An owner keeps its indices in order, without gaps, in an array of its own.
 *
 * Block distribution is HPF's: block = ceil(n / parts), so 344 over 9 is 39 ... 39, 32, and
 * trailing parts may be empty. Owns: its lists, in the arena it was made in. Pure: no I/O, clock,
 * or globals. */
#ifndef TD_MODEL_LAYOUT_H
#define TD_MODEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

struct td_arena;

/* struct td_range: [begin, begin + count). */
struct td_range {
    uint64_t begin, count;
};

/* td_block returns part `part` of n indices in blocks over `parts` parts. */
struct td_range td_block(uint64_t n, uint64_t parts, uint64_t part);
/* td_block_owner returns the part that owns `index`. */
uint64_t td_block_owner(uint64_t n, uint64_t parts, uint64_t index);
/* td_share returns part `part` of n indices spread as evenly as can be: the first n % parts get one
 * more. Ranks fill nodes so. */
struct td_range td_share(uint64_t n, uint64_t parts, uint64_t part);

/* struct td_box: a rank's part of an array; rows of whole contiguous axes where count is full. */
struct td_box {
    uint32_t dimensions;
    uint64_t begin[TD_DIMENSIONS_MAX];
    uint64_t count[TD_DIMENSIONS_MAX];
};

/* struct td_axis: index i belongs to part (i + offset) / block % parts. */
struct td_axis {
    uint64_t block, offset;
    uint32_t parts;
};

struct td_layout {
    uint32_t dimensions;
    uint64_t size[TD_DIMENSIONS_MAX];
    struct td_axis axis[TD_DIMENSIONS_MAX];
    /* axes outermost first: as the places of the grid are numbered, and in an owner's memory */
    uint8_t grid_order[TD_DIMENSIONS_MAX], order[TD_DIMENSIONS_MAX];
    uint32_t owners;
    uint32_t *rank;     /* [owners] who that is */
    struct td_box *box; /* [owners], or NULL: the axes say what is whose */
};

/* struct td_owned: what one owner has along one axis: the indices from begin to before end with
 * (i + offset) / block % parts == part. */
struct td_owned {
    uint64_t begin, end, block, offset;
    uint32_t parts, part;
};

/* td_layout_init makes a layout in which nothing is dealt out, with room for `owners` ranks, which
 * are 0, 1, ... at first; `boxes` says whether there is room for a box each. False: no memory. */
bool td_layout_init(struct td_layout *layout, struct td_arena *arena, uint32_t dimensions,
                    const uint64_t *size, uint32_t owners, bool boxes);
void td_layout_free(struct td_layout *layout, struct td_arena *arena);
/* td_layout_copy makes another. False: no memory. */
bool td_layout_copy(struct td_layout *to, struct td_arena *arena, const struct td_layout *from);
/* td_layout_deal deals an axis out over `parts`; block 0: ceil(size / parts). */
void td_layout_deal(struct td_layout *layout, uint32_t axis, uint64_t block, uint32_t parts);
/* td_layout_coordinate returns an owner's part of an axis; with boxes, the owner. */
uint32_t td_layout_coordinate(const struct td_layout *layout, uint32_t owner, uint32_t axis);
/* td_layout_parts returns how many values that has. */
uint32_t td_layout_parts(const struct td_layout *layout, uint32_t axis);
struct td_owned td_layout_owned(const struct td_layout *layout, uint32_t axis, uint32_t coordinate);
/* td_layout_local writes how long an owner's array is along each axis. Returns its elements. */
uint64_t td_layout_local(const struct td_layout *layout, uint32_t owner, uint64_t *count);
/* td_layout_most writes how long the longest of them is along each axis. */
void td_layout_most(const struct td_layout *layout, uint64_t *count);
/* td_layout_strides writes how many elements lie between neighbours along each axis of the owner's
 * array. */
void td_layout_strides(const struct td_layout *layout, uint32_t owner, uint64_t *stride);
/* td_layout_owner returns which owner a rank is, or UINT32_MAX. */
uint32_t td_layout_owner(const struct td_layout *layout, uint32_t rank);
/* td_layout_check returns NULL, or why a group of `ranks` cannot have an array of such elements so:
 * a part of a sentence, in `text` or static. */
const char *td_layout_check(const struct td_layout *layout, uint32_t ranks, uint64_t element_bytes,
                            char *text, size_t text_bytes);
/* td_layout_hash depends on everything that a layout says. */
uint64_t td_layout_hash(const struct td_layout *layout);
/* td_layout_same: both say the same of the same array. */
bool td_layout_same(const struct td_layout *a, const struct td_layout *b);
/* td_layout_transpose renumbers the axes of a layout of a transposed array as they were before:
 * its axis d becomes axis axes[d]. Nothing else changes. */
void td_layout_transpose(struct td_layout *layout, const uint8_t *axes);

/* td_owned_before returns how many indices before `index` are owned. */
uint64_t td_owned_before(const struct td_owned *owned, uint64_t index);
/* td_owned_at returns the index that `before` owned ones come before; there must be one. */
uint64_t td_owned_at(const struct td_owned *owned, uint64_t before);
/* td_owned_next returns the first owned index from `index` on, or `end`; *count is how many follow
 * each other there. */
uint64_t td_owned_next(const struct td_owned *owned, uint64_t index, uint64_t *count);

#endif
