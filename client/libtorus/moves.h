/* SPDX-License-Identifier: Apache-2.0 */
/* moves: what a rank reads of the other ranks' parts of an array in a redistribution, and where it
 * belongs in this rank's part. Ranks of one node redistribute so: each rank copies its own part.
 * Owns: both layouts, and the table of the elements that this rank shares with each other one. */
#ifndef TORUS_MOVES_H
#define TORUS_MOVES_H

#include "model/plan.h"

struct tl_move;

/* tl_move_new makes the table of a rank for a plan of a redistribution, or returns NULL if memory
 * runs out. `arena` holds the plan; the function frees what it allocates there. */
struct tl_move *tl_move_new(const struct td_plan *plan, struct td_arena *arena, uint32_t rank);
/* tl_move_free accepts NULL. */
void tl_move_free(struct tl_move *m);
/* tl_move_reads returns true if this rank reads elements of `rank`, tl_move_bytes the size of that
 * rank's part. */
bool tl_move_reads(const struct tl_move *m, uint32_t rank);
uint64_t tl_move_bytes(const struct tl_move *m, uint32_t rank);
/* tl_move_copy copies this rank's part of the result to `to`. from[i]: the part of rank i of the
 * source, if this rank reads it. */
void tl_move_copy(const struct tl_move *m, uint8_t *to, const uint8_t *const *from);

#endif
