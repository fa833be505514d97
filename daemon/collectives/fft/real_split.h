/* SPDX-License-Identifier: Apache-2.0 */
/* real_split: conversion between the spectrum X of n real numbers (n even) and the spectrum Z of
 * the m = n / 2 complex numbers that are made of them in pairs. X[k] and X[m - k] depend on Z[k]
 * and Z[m - k] only (the real split of Cooley, Lewis and Welch, 1970). Therefore the array lies in
 * boxes so that one node has both elements of each pair: some of its lower half and the same number
 * of its upper half, counted from the end. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_FFT_REAL_SPLIT_H
#define TD_COLLECTIVES_FFT_REAL_SPLIT_H

#include "collectives/redist/transform_plan.h"

/* td_real_split_layout makes the layout, over `nodes`, of X (`size` is m + 1) or Z (m). Elements
 * that both have are at the same places. It returns false if memory runs out. */
bool td_real_split_layout(struct td_layout *l, struct td_arena *arena, uint64_t size, uint64_t m,
                          uint32_t nodes);
/* td_real_split_pass makes the pass from one to the other, in place; `spectrum` is the array of X.
 */
struct td_pass td_real_split_pass(const struct td_array *from, const struct td_array *to,
                                  const struct td_array *spectrum);
/* td_real_split_is returns true for such a pass. td_real_split_step writes one of its `parts`
 * steps. */
bool td_real_split_is(const struct td_pass *pass);
void td_real_split_step(const struct td_program *p, const struct td_pass *pass, uint64_t index,
                        struct td_step *step);

#endif
