/* SPDX-License-Identifier: Apache-2.0 */
/* compute: copying and combining on plain memory, as steps of programs ask for it. Both drivers
 * call it, on their loop or on a worker thread. It does not depend on FFTW: fft/step.h executes
 * TRANSFORM steps too.
 *
 * Owns: nothing. Borrows: the memory of the view.
 * Thread-safe: two computations may run at the same time on disjoint targets. */
#ifndef TD_COMPUTE_COMPUTE_H
#define TD_COMPUTE_COMPUTE_H

#include "bases.h"
#include "model/program.h"

/* td_compute_copy executes a COPY step for bytes [at, at + bytes) of each lane of `to`: it copies
 * them from `from`. A step without a source writes zeroes. */
void td_compute_copy(const struct td_step *step, const struct td_bases *bases, uint64_t at,
                     uint64_t bytes);
/* td_compute_combine executes a COMBINE step for bytes [at, at + bytes), whole elements. It reads
 * each operand element once per lane and writes each target lane once. */
void td_compute_combine(const struct td_step *step, const struct td_bases *bases, uint64_t at,
                        uint64_t bytes);
/* td_compute_pack copies bytes [offset, offset + bytes) of the slice, counted in its loop order, to
 * `out`. */
void td_compute_pack(const struct td_slice *slice, const struct td_bases *bases, uint64_t offset,
                     uint64_t bytes, uint8_t *out);
/* td_compute_unpack copies `in` to bytes [offset, offset + bytes) of every lane of the slice. `in`
 * may be the place of these bytes in the first lane. */
void td_compute_unpack(const struct td_slice *slice, const struct td_lanes *lanes,
                       const struct td_bases *bases, uint64_t offset, uint64_t bytes,
                       const uint8_t *in);
/* td_compute_contiguous returns the address of bytes [offset, offset + bytes) of the slice if they
 * are contiguous and can be sent without packing, else NULL. */
const uint8_t *td_compute_contiguous(const struct td_slice *slice, const struct td_bases *bases,
                                     uint64_t offset, uint64_t bytes);
/* td_compute_rank returns the local rank whose buffer holds byte `offset` of the slice, or 0 in
 * scratch. */
uint32_t td_compute_rank(const struct td_slice *slice, uint64_t offset);

#endif
