/* SPDX-License-Identifier: Apache-2.0 */
/* fold: reductions by operators that libtorus does not have. */
#ifndef TORUS_OPENMPI_FOLD_H
#define TORUS_OPENMPI_FOLD_H

#include "call.h"

/* tm_fold_prepare sets call->folding for contributions of `count` elements of the call's type, and
 * reserves the memory: all `parts` arrive, the first `used` are combined. No parts: no result. */
int tm_fold_prepare(struct tm_call *call, size_t count, uint32_t parts, uint32_t used,
                    void *result);

/* tm_fold combines the contributions in the order of ranks, by MPI's function of the operator, and
 * writes the result. It may run code of the program: the caller holds no lock. */
int tm_fold(const struct tm_folding *folding);

#endif
