/* SPDX-License-Identifier: Apache-2.0 */
/* gate: the messages that gather the ranks of an operation and release it.
 *
 * Announcements (ARRIVE) and reports go up the group's tree. Releases, verdicts and the list of
 * arrived ranks go down. Appeals go to the root, which decides every ending. The time limits of an
 * operation lead to appeals, reports and verdicts.
 * Owns: nothing; its state is in the operation. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_OPERATION_GATE_H
#define TD_CORE_OPERATION_GATE_H

#include "operation.h"

/* td_gate_message handles the messages of operations: ARRIVE, REPORT, RELEASE, VERDICT,
 * ANNOUNCE_AGAIN, WAITING and, at the root, APPEAL. */
void td_gate_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                     const struct td_message *message);
/* td_gate_again makes all nodes below announce once more, because a node has no scratch memory. All
 * nodes release their scratch memory and announce again after random delays, so that operations
 * that compete for memory run one by one. */
void td_gate_again(struct td_core *core, struct td_operation *o);
/* td_gate_survey makes all nodes below compile once more and announce: the sizes of all ranks are
 * known now. */
void td_gate_survey(struct td_core *core, struct td_operation *o, const struct td_survey *survey);
/* td_gate_arrived writes the ranks that are known to have arrived into bits [group.size]. */
void td_gate_arrived(const struct td_operation *o, uint8_t *bits);
/* td_gate_timers performs the actions that are due, and sets the alarm for the next. */
void td_gate_timers(struct td_core *core, struct td_operation *o);

#endif
