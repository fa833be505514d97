/* SPDX-License-Identifier: Apache-2.0 */
/* lower_reduce: reductions and scans. */
#ifndef TORUS_OPENMPI_LOWER_REDUCE_H
#define TORUS_OPENMPI_LOWER_REDUCE_H

#include "call.h"

/* tm_lower_reduce is the part of tm_lower for these calls. */
int tm_lower_reduce(struct tm_call *call);

#endif
