/* SPDX-License-Identifier: Apache-2.0 */
/* lower_lists: calls with counts by rank. */
#ifndef TORUS_OPENMPI_LOWER_LISTS_H
#define TORUS_OPENMPI_LOWER_LISTS_H

#include "call.h"

/* tm_lower_lists is the part of tm_lower for these calls. */
int tm_lower_lists(struct tm_call *call);

#endif
