/* SPDX-License-Identifier: Apache-2.0 */
/* approach: opens the connections that the executions of a plan will use, as soon as all ranks have
 * agreed on the plan. A connection takes several round trips and a handshake; otherwise the first
 * execution would wait for them. Owns: nothing. */
#ifndef TD_CORE_OPERATION_APPROACH_H
#define TD_CORE_OPERATION_APPROACH_H

#include "operation.h"

/* td_approach reads the program of this node for a plan that was agreed on in `o`, and wants a
 * connection to each node to which it sends. Of a program with more than TD_APPROACH_STEPS
 * SEND steps in a family, it reads the first. */
enum { TD_APPROACH_STEPS = 1024 };
void td_approach(struct td_core *core, const struct td_operation *o);

#endif
