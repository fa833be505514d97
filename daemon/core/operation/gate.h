/* SPDX-License-Identifier: Apache-2.0 */
/* gate: what operation.c, gate.c and prepare.c share of an operation's way through the gate. */
#ifndef TD_CORE_OPERATION_GATE_H
#define TD_CORE_OPERATION_GATE_H

#include "operation.h"

enum {
    TD_REPORT_NS = 100000000,  /* an operation that waits for so long tells who has arrived */
    TD_APPEAL_NS = 1000000000, /* an appeal without a verdict is repeated */
};

/* ---- operation.c ---- */

/* td_operation_obtain finds the operation on record, or starts a record; NULL when there is no
 * memory, or when the sequence is over or beyond the window. */
struct td_operation *td_operation_obtain(struct td_core *core, struct td_communicator *c,
                                         uint64_t sequence);
bool td_operation_at_root(const struct td_operation *o);
void td_operation_start_message(const struct td_operation *o, enum td_message_kind kind,
                                struct td_message *m);
/* td_operation_verdict is an ending that the root decided: the children are to hear of it. */
void td_operation_verdict(struct td_core *core, struct td_operation *o, td_err error,
                          const char *text);
/* td_operation_appeal asks the root for an ending; at the root it is one. */
void td_operation_appeal(struct td_core *core, struct td_operation *o, td_err error,
                         const char *text);
/* td_operation_describe returns e.g. "barrier, operation 7 of job x". */
const char *td_operation_describe(struct td_core *core, const struct td_operation *o);
/* td_operation_witness takes note of a call that a rank made; a mismatch is appealed at once. */
void td_operation_witness(struct td_core *core, struct td_operation *o, const struct td_witness *w);

/* ---- gate.c ---- */

/* td_gate_again: some node had no room; all give back what they hold and try once more, at times
 * drawn apart, so that operations that crowd each other out pass one by one. */
void td_gate_again(struct td_core *core, struct td_operation *o);
/* td_gate_survey: what the nodes know of the sizes is complete; all compile anew and announce. */
void td_gate_survey(struct td_core *core, struct td_operation *o, const struct td_survey *survey);

/* td_gate_veto promises not to tell the neighbours, if that has not been done, and says so to the
 * root, once; true when it did. */
bool td_gate_veto(struct td_core *core, struct td_operation *o);
/* td_gate_settled: the root may end the operation badly: it is good nowhere, and will not be. If
 * that is not so it asks all nodes, and the answer comes to it as an appeal. */
bool td_gate_settled(struct td_core *core, struct td_operation *o);

/* ---- prepare.c ---- */

/* td_admission_complete: whether all below have arrived, and alike. */
bool td_admission_complete(struct td_core *core, struct td_operation *o);
/* td_admission_advance goes on from there to the announcement. */
void td_admission_advance(struct td_core *core, struct td_operation *o);
/* td_admission_rides: whether a payload travels with arrival and release. */
bool td_admission_rides(const struct td_operation *o);
/* td_admission_result is where that payload's result is. */
struct td_slice td_admission_result(const struct td_operation *o);
/* td_admission_deliver writes it into the destinations; false when nothing can be computed now. */
bool td_admission_deliver(struct td_core *core, struct td_operation *o);

#endif
