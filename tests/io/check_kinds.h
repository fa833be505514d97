/* SPDX-License-Identifier: Apache-2.0 */
/* check_kinds: what check_collectives calls for the kinds that are checked in every group:
 * reductions by rank, gathers and scatters, counts that differ. Exits with 1 and a sentence at the
 * first difference. */
#ifndef TD_TESTS_CHECK_KINDS_H
#define TD_TESTS_CHECK_KINDS_H

#include "torus/torus.h"

/* check_kinds runs them all in the group, in one the other way round, and in halves of it. */
void check_kinds(torus_context *context, torus_group *world);
/* check_counts runs all-to-alls whose counts differ by rank. */
void check_counts(torus_context *context, torus_group *group);

#endif
