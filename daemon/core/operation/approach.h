/* SPDX-License-Identifier: Apache-2.0 */
/* approach: prepares what the executions of a plan will use, as soon as all ranks have agreed on
 * the plan: connections, which take several round trips and a handshake, plans of one-dimensional
 * transforms, and scratch memory. Otherwise the first execution would wait for them. Owns: nothing.
 */
#ifndef TD_CORE_OPERATION_APPROACH_H
#define TD_CORE_OPERATION_APPROACH_H

#include "operation.h"

/* td_approach reads the program of this node for a plan that was agreed on in `o`. It wants a
 * connection to each node to which it sends, and has the driver prepare its transforms and the
 * first TD_APPROACH_BYTES of its scratch memory. Of a program with more than TD_APPROACH_STEPS
 * steps in a family, it reads the first. */
enum { TD_APPROACH_STEPS = 1024, TD_APPROACH_BYTES = 64 << 20 };
void td_approach(struct td_core *core, const struct td_operation *o);

#endif
