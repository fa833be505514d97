/* SPDX-License-Identifier: Apache-2.0 */
/* pieces: the pieces of a buffer of a call, one after another. `which` is 0 for the source, 1 for
 * the destination. Functions return NULL or the sentence of the error. */
#ifndef TORUS_PIECES_H
#define TORUS_PIECES_H

#include "work.h"

/* tl_pieces_reserve makes room for a number of pieces. */
const char *tl_pieces_reserve(struct tl_buffer *s, uint32_t pieces);
/* tl_pieces_cover extends the bytes that a buffer covers by `count` > 0 elements at byte `at`. */
const char *tl_pieces_cover(struct tl_work *w, int which, ptrdiff_t at, size_t count);
/* tl_pieces_step returns the distance of two elements in a buffer of the caller, in bytes. */
size_t tl_pieces_step(const struct tl_work *w, int which);
/* tl_pieces_whole writes how many elements of a buffer have `bytes` of data. */
const char *tl_pieces_whole(const struct tl_work *w, int which, size_t bytes, size_t *count);
/* tl_pieces_add appends a piece of `count` elements at element `at`. */
const char *tl_pieces_add(struct tl_work *w, int which, uint32_t rank, ptrdiff_t at, size_t count);
/* tl_pieces_check_lists checks that the lists of a buffer are complete. */
const char *tl_pieces_check_lists(const struct tl_work *w, const struct tl_counts *c);
/* tl_pieces_add_part appends part i of the lists. *next is its place if the lists have no places;
 * it becomes the next place. It starts as 0. */
const char *tl_pieces_add_part(struct tl_work *w, int which, uint32_t rank, uint32_t i,
                               const struct tl_counts *c, size_t *next);
/* tl_pieces_add_each reserves and appends a piece for each rank of the group. */
const char *tl_pieces_add_each(struct tl_work *w, int which, const struct tl_counts *c);
/* tl_pieces_add_one reserves and appends a single piece of `count` elements. */
const char *tl_pieces_add_one(struct tl_work *w, int which, uint32_t rank, size_t count);

#endif
