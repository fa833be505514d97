/* SPDX-License-Identifier: Apache-2.0 */
/* decisions: the order of decisions by which methods were chosen before each method had a cost. It
 * is frozen: costs must reproduce it until they are calibrated. */
#ifndef TD_TESTS_DECISIONS_H
#define TD_TESTS_DECISIONS_H

#include "model/program.h"

/* decisions_take returns the name of the method of a call. */
const char *decisions_take(const struct td_compile_input *in);

#endif
