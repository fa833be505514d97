/* SPDX-License-Identifier: Apache-2.0 */
/* check_kinds: the checks that check_collectives runs in every group: reductions by rank, gathers
 * and scatters, counts that differ by rank. They exit with 1 and a sentence at the first
 * difference. */
#ifndef TD_TESTS_CHECK_KINDS_H
#define TD_TESTS_CHECK_KINDS_H

#include "torus/torus.h"

/* check_kinds runs them all in the group, in a group with the opposite order, and in halves of it.
 */
void check_kinds(torus_context *context, torus_group *world);
/* check_counts runs all-to-alls whose counts differ by rank. */
void check_counts(torus_context *context, torus_group *group);

#endif
