/* SPDX-License-Identifier: Apache-2.0 */
/* stopped: notices that the process of a rank is stopped while a call waits for it.
 *
 * An operation that has waited for TD_STOPPED_FIRST_NS looks at the ranks of this node that have
 * not called, TD_STOPPED_RANKS at a time, and after that once a second. The driver tells the states
 * of their processes (td_core_options.process_state); without it nothing happens here. A stopped
 * process and its end become events of the flight recorder, and an outage in the record of the job
 * (waits.h). The end is noticed by the next look, or by the next call of the rank. After a failure
 * nobody looks.
 *
 * Owns: `stop` of clients. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_OPERATION_STOPPED_H
#define TD_CORE_OPERATION_STOPPED_H

#include "operation.h"

#define TD_STOPPED_FIRST_NS UINT64_C(100000000)
#define TD_STOPPED_LOOK_NS UINT64_C(1000000000)
/* Until it looks at the next ranks: to look at TD_STOPPED_RANKS takes some 0.5 ms. */
#define TD_STOPPED_NEXT_NS UINT64_C(10000000)
enum { TD_STOPPED_RANKS = 32 };

/* td_stopped_begin sets the time when a new operation looks first. */
void td_stopped_begin(const struct td_core *core, struct td_operation *o);
/* td_stopped_look looks at the ranks of this node that have not called an operation, and sets the
 * time when it looks next. */
void td_stopped_look(struct td_core *core, struct td_operation *o);
/* td_stopped_over looks a last time, at TD_STOPPED_RANKS ranks: an operation fails while ranks of
 * this node have not called. */
void td_stopped_over(struct td_core *core, struct td_operation *o);
/* td_stopped_called: a rank of this node has called operation `number` of a group, as ranks count,
 * so its process runs. */
void td_stopped_called(struct td_core *core, const struct td_communicator *c,
                       const struct td_seat *seat, uint64_t number);

#endif
