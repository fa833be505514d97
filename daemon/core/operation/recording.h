/* SPDX-License-Identifier: Apache-2.0 */
/* recording: what an operation tells the flight recorder (core/recorder.h). Without a recorder
 * these do nothing. */
#ifndef TD_CORE_OPERATION_RECORDING_H
#define TD_CORE_OPERATION_RECORDING_H

#include "core/recorder.h"
#include "operation.h"

/* td_recording_add adds an event of an operation, and returns it without subject, a, b and error;
 * or NULL. */
struct td_trace_event *td_recording_add(struct td_core *core, const struct td_operation *o,
                                        enum td_trace_kind kind);
/* td_recording_call and td_recording_return: a local rank has called, or has its reply, or (`gone`)
 * has left or died instead of waiting for it. */
void td_recording_call(struct td_core *core, const struct td_operation *o, uint32_t local,
                       uint8_t call);
void td_recording_return(struct td_core *core, const struct td_operation *o, uint32_t local,
                         bool gone);
/* td_recording_stop: a rank of this node for which operation `number` waits is stopped, or goes on
 * (TD_TRACE_STOPPED, TD_TRACE_GOES_ON). */
void td_recording_stop(struct td_core *core, const struct td_communicator *c,
                       const struct td_seat *seat, uint64_t number, enum td_trace_kind kind);
void td_recording_release(struct td_core *core, const struct td_operation *o);
/* td_recording_steps: the first step of a family begins, or the last one ends. */
void td_recording_steps(struct td_core *core, const struct td_operation *o, enum td_trace_kind kind,
                        unsigned family);
/* td_recording_packet adds a packet to a flow. */
void td_recording_packet(struct td_core *core, const struct td_operation *o, uint32_t node,
                         bool out, uint32_t bytes);
/* td_recording_sent serves the notice `sent`. */
void td_recording_sent(struct td_core *core, struct td_operation *o, uint32_t node, uint32_t bytes);
/* td_recording_done and td_recording_failed: the operation ends on this node, well, which the
 * returns of its ranks tell, or not. rank, node: of the culprit, -1: unknown. */
void td_recording_done(struct td_core *core, const struct td_operation *o);
void td_recording_failed(struct td_core *core, const struct td_operation *o, int64_t rank,
                         int64_t node, const char *text);

/* struct td_recording_late: how an operation ended here before a rank called it. text: the sentence
 * if the call is the first of its job that failed on this node, else NULL; rank, node: of the
 * culprit, -1: unknown. */
struct td_recording_late {
    td_err error;
    int64_t rank, node;
    const char *text;
};

/* td_recording_late: a local rank called an operation that is over, and gets the error at once. */
void td_recording_late(struct td_core *core, const struct td_communicator *c,
                       const struct td_seat *seat, const struct td_request *request,
                       const struct td_recording_late *late);

#endif
