/* SPDX-License-Identifier: Apache-2.0 */
/* lower_move: calls with one count for all ranks. */
#ifndef TORUS_OPENMPI_LOWER_MOVE_H
#define TORUS_OPENMPI_LOWER_MOVE_H

#include "call.h"

/* tm_lower_move is the part of tm_lower for these calls. */
int tm_lower_move(struct tm_call *call);

#endif
