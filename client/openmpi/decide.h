/* SPDX-License-Identifier: Apache-2.0 */
/* decide: which calls go through torusd.
 *
 * Invariant: the answer depends only on values that MPI makes equal on all ranks: the kind, the
 * size and members of the communicator, the bytes of calls with one count for all, whether the
 * program makes the call. The operator, type, root and buffers do not count. */
#ifndef TORUS_OPENMPI_DECIDE_H
#define TORUS_OPENMPI_DECIDE_H

#include "call.h"

/* tm_decide returns TM_TAKEN, or the reason why a call falls back. `of_comm` is the reason of the
 * communicator; one_node: all its ranks use one daemon. */
enum tm_reason tm_decide(const struct tm_args *args, enum tm_form form,
                         struct ompi_communicator_t *comm, enum tm_reason of_comm, bool one_node);

/* tm_is_short returns true for a taken call that may stay with Open MPI (pace.h). */
bool tm_is_short(const struct tm_args *args, enum tm_form form, struct ompi_communicator_t *comm,
                 bool one_node);

/* tm_weight returns what a call counts towards coll_torus_after: one, and one more for each 4 KiB
 * of a rank or block. */
uint64_t tm_weight(const struct tm_args *args, struct ompi_communicator_t *comm);

#endif
