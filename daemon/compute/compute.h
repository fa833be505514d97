/* SPDX-License-Identifier: Apache-2.0 */
/* compute: number crunching on plain memory: what COMPUTE actions ask for. Both drivers run it, on
 * their loop or on a worker thread.
 *
 * Owns: nothing but the cache of 1-D FFT plans (fft.h). Borrows: the memory of the view.
 * Thread-safe: two computations may run at the same time on disjoint targets. */
#ifndef TD_COMPUTE_COMPUTE_H
#define TD_COMPUTE_COMPUTE_H

#include "core/action.h"

/* struct td_bases: where a view's buffers are in this process: an array of addresses for each
 * space, source[i] for local rank i (NULL: it has none), and scratch, the start of the operation's
 * share. */
struct td_bases {
    uint8_t *const *source;
    uint8_t *const *destination;
    uint8_t *scratch;
};

/* td_compute_run executes a COPY, COMBINE or TRANSFORM step. Each operand element is read once per
 * lane and each target lane written once. Returns TD_OK, or TD_ERR_NO_MEMORY (FFT plan). */
td_err td_compute_run(const struct td_step *step, const struct td_bases *bases);
/* td_compute_pack copies bytes [offset, offset + bytes) of the slice, counted in its loop order, to
 * `out`; td_compute_unpack the other way, into every lane. `in` may be their place in the first. */
void td_compute_pack(const struct td_slice *slice, const struct td_bases *bases, uint64_t offset,
                     uint64_t bytes, uint8_t *out);
void td_compute_unpack(const struct td_slice *slice, const struct td_lanes *lanes,
                       const struct td_bases *bases, uint64_t offset, uint64_t bytes,
                       const uint8_t *in);
/* td_compute_contiguous returns the address of bytes [offset, offset + bytes) of the slice when
 * they lie in one piece, else NULL: what can be sent without packing. */
const uint8_t *td_compute_contiguous(const struct td_slice *slice, const struct td_bases *bases,
                                     uint64_t offset, uint64_t bytes);
/* td_compute_rank returns the local rank whose buffer byte `offset` of the slice is in; 0 in
 * scratch.
 */
uint32_t td_compute_rank(const struct td_slice *slice, uint64_t offset);
/* td_compute_fini frees the FFT plans. No computation may be running. */
void td_compute_fini(void);

#endif
