/* SPDX-License-Identifier: Apache-2.0 */
/* form: where the data of elements with gaps lies in memory.
 *
 * The data of an element is a list of loops over runs of bytes, or over inner loops. Element i
 * begins i extents after element 0. Programs name bytes of the *packed* data: all bytes of data
 * without the gaps, in the order of the loops. A cursor finds their positions in memory.
 *
 * Forms come from clients: td_form_check must accept a form before anything else reads it.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_FORM_H
#define TD_MODEL_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

/* struct td_form_loop: `count` turns, `stride` bytes apart. */
struct td_form_loop {
    int64_t at;      /* first turn, in bytes from the beginning of the turn around it */
    int64_t stride;  /* may be negative or 0 */
    uint64_t count;  /* at least 1 */
    uint64_t bytes;  /* of data in one turn; at least 1 */
    uint32_t inner;  /* loops inside, at any depth: they follow this one; 0: a turn is one run */
    uint32_t unused; /* 0 */
};

/* struct td_form: an element. No byte of data is before the beginning of element 0. */
struct td_form {
    uint64_t bytes, extent; /* data of an element; distance of two elements */
    uint32_t loops;         /* at most TD_FORM_LOOPS_MAX, nested TD_FORM_LEVELS_MAX deep */
    struct td_form_loop loop[];
};

static inline size_t td_form_size(uint32_t loops)
{
    return sizeof(struct td_form) + loops * sizeof(struct td_form_loop);
}

/* td_form_check returns NULL if the form is well formed, else a sentence fragment with the error.
 * *span: the bytes of memory, from the beginning of element 0, that hold the elements of the first
 * `bytes` > 0 bytes of packed data. */
const char *td_form_check(const struct td_form *form, uint64_t bytes, uint64_t *span);

/* struct td_form_cursor: a position in the packed data. */
struct td_form_cursor {
    const struct td_form *form;
    uint64_t byte;  /* of packed data */
    int64_t at;     /* its position in memory */
    uint64_t left;  /* bytes of the run from there; 0: td_form_settle has to find the next run */
    int64_t origin; /* of the element */
    uint32_t level; /* innermost one */
    struct td_form_level {
        uint32_t loop, end; /* its index; the end of the list of loops that it belongs to */
        uint64_t turn;
        int64_t at; /* beginning of the turn */
    } levels[TD_FORM_LEVELS_MAX];
};

/* td_form_seek sets the cursor to a byte of the packed data; then `left` is not 0. */
void td_form_seek(struct td_form_cursor *c, const struct td_form *form, uint64_t byte);
/* td_form_settle moves the cursor to the next run if it is at the end of one. */
void td_form_settle(struct td_form_cursor *c);
/* td_form_runs returns the number of runs of `left` bytes from the cursor on, the distance of which
 * is *stride; 1 inside of a run. The cursor must be settled. */
uint64_t td_form_runs(const struct td_form_cursor *c, int64_t *stride);
/* struct td_form_turns: `count` whole turns of a loop around the current run, or whole elements, of
 * `bytes` bytes of data each. */
struct td_form_turns {
    uint64_t count, bytes;
    int64_t stride;
};

/* td_form_turns finds the turns that begin at a settled cursor and have at most `bytes` bytes of
 * data together: those of the innermost loop with `enough` of them, else the most. There may be
 * none. */
struct td_form_turns td_form_turns(const struct td_form_cursor *c, uint64_t bytes, uint64_t enough);
/* td_form_skip moves a settled cursor by some bytes: at most `left`, or `runs` times `left`, where
 * `runs` is at most td_form_runs. */
void td_form_skip(struct td_form_cursor *c, uint64_t bytes, uint64_t runs);

#endif
