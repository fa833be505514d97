/* SPDX-License-Identifier: Apache-2.0 */
/* layout: the distribution of an array over ranks, and the place of each element in its owner's
 * memory.
 *
 * An array of up to six axes is distributed over *owners*. Either the owners are the places of a
 * process grid, and the blocks of each axis go round its parts (block, cyclic and cyclic(b) differ
 * only in the block), or each owner has one box. An owner stores its indices in order, without
 * gaps, in an array of its own.
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
/* td_share returns part `part` of n indices spread evenly: the first n % parts parts have one more.
 * Ranks fill nodes in this way. */
struct td_range td_share(uint64_t n, uint64_t parts, uint64_t part);

/* struct td_box: a rank's part of an array, [begin, begin + count) along each axis. */
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
    /* axes, outermost first: in the numbering of the grid's places, and in an owner's memory */
    uint8_t grid_order[TD_DIMENSIONS_MAX], order[TD_DIMENSIONS_MAX];
    uint32_t owners;
    uint32_t *rank;     /* [owners] rank of each owner */
    struct td_box *box; /* [owners], or NULL: the axes define the distribution */
};

/* struct td_owned: the indices of one owner along one axis: those in [begin, end) with (i + offset)
 * / block % parts == part. */
struct td_owned {
    uint64_t begin, end, block, offset;
    uint32_t parts, part;
};

/* td_layout_init makes a layout with undistributed axes for `owners` owners, which are ranks 0, 1,
 * ... at first. `boxes` allocates a box for each. It returns false if memory runs out. */
bool td_layout_init(struct td_layout *layout, struct td_arena *arena, uint32_t dimensions,
                    const uint64_t *size, uint32_t owners, bool boxes);
void td_layout_free(struct td_layout *layout, struct td_arena *arena);
/* td_layout_copy makes a copy. It returns false if memory runs out. */
bool td_layout_copy(struct td_layout *to, struct td_arena *arena, const struct td_layout *from);
/* td_layout_distribute distributes an axis over `parts` parts; block 0 means ceil(size / parts). */
void td_layout_distribute(struct td_layout *layout, uint32_t axis, uint64_t block, uint32_t parts);
/* td_layout_coordinate returns an owner's part of an axis; with boxes, the owner itself. */
uint32_t td_layout_coordinate(const struct td_layout *layout, uint32_t owner, uint32_t axis);
/* td_layout_parts returns the number of parts of an axis; with boxes, of owners. */
uint32_t td_layout_parts(const struct td_layout *layout, uint32_t axis);
struct td_owned td_layout_owned(const struct td_layout *layout, uint32_t axis, uint32_t coordinate);
/* td_layout_local writes the length of an owner's array along each axis and returns its number of
 * elements. */
uint64_t td_layout_local(const struct td_layout *layout, uint32_t owner, uint64_t *count);
/* td_layout_most writes the greatest such length along each axis. */
void td_layout_most(const struct td_layout *layout, uint64_t *count);
/* td_layout_strides writes the stride, in elements, of each axis of the owner's array. */
void td_layout_strides(const struct td_layout *layout, uint32_t owner, uint64_t *stride);
/* td_layout_owner returns the owner that a rank is, or UINT32_MAX. */
uint32_t td_layout_owner(const struct td_layout *layout, uint32_t rank);
/* td_layout_check returns NULL if a group of `ranks` ranks can have an array of such elements in
 * this layout, else a sentence fragment, in `text` or static. */
const char *td_layout_check(const struct td_layout *layout, uint32_t ranks, uint64_t element_bytes,
                            char *text, size_t text_bytes);
/* td_layout_hash returns a hash of all fields of a layout. */
uint64_t td_layout_hash(const struct td_layout *layout);
/* td_layout_same returns true if all fields are equal. */
bool td_layout_same(const struct td_layout *a, const struct td_layout *b);
/* td_layout_transpose renumbers the axes of a transposed array's layout to those before the
 * transposition: axis d becomes axis axes[d]. Nothing else changes. */
void td_layout_transpose(struct td_layout *layout, const uint8_t *axes);

/* td_owned_before returns the number of owned indices before `index`. */
uint64_t td_owned_before(const struct td_owned *owned, uint64_t index);
/* td_owned_at returns the owned index with `before` owned indices before it. It must exist. */
uint64_t td_owned_at(const struct td_owned *owned, uint64_t before);
/* td_owned_next returns the first owned index at or after `index`, or `end`. *count is the number
 * of consecutive owned indices from there. */
uint64_t td_owned_next(const struct td_owned *owned, uint64_t index, uint64_t *count);

#endif
