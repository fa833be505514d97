/* SPDX-License-Identifier: Apache-2.0 */
/* select: which method serves a call. Reads only what is the same on every node. */
#ifndef TD_COLLECTIVES_SELECT_H
#define TD_COLLECTIVES_SELECT_H

#include "core/program.h"

/* td_select_compile is the td_compile_fn of both drivers. */
td_compile_fn td_select_compile;

#endif
