/* SPDX-License-Identifier: Apache-2.0 */
/* arrival: the calls of local ranks, from the request to the operation's record, and the comparison
 * of the calls of all ranks. */
#ifndef TD_CORE_OPERATION_ARRIVAL_H
#define TD_CORE_OPERATION_ARRIVAL_H

#include "operation.h"

/* td_arrival_request handles the call of a local rank. */
void td_arrival_request(struct td_core *core, struct td_client *client,
                        const struct td_request *request);
/* td_arrival_delayed notes which silence has delayed the latest arrival, or the release, which
 * comes from a node (this one: a local rank has called): a silence of that node, a time in which
 * this daemon did not run, or the silence that the message tells of. */
void td_arrival_delayed(struct td_core *core, struct td_operation *o, uint32_t from,
                        uint32_t silent_node, uint64_t silent_ns);
/* td_arrival_told notes the silence that a verdict tells of, before td_arrival_failed. */
void td_arrival_told(const struct td_core *core, struct td_operation *o,
                     const struct td_message_verdict *verdict);
/* td_arrival_released charges the last rank with the time that the local ranks have waited;
 * td_arrival_failed charges the lost rank, or those that have not arrived, for an operation that
 * ends with an error before its release. The time in which a silence kept the rank from being heard
 * is charged to the silent node. The longest one goes on with the verdict. */
void td_arrival_released(struct td_core *core, struct td_operation *o);
void td_arrival_failed(struct td_core *core, struct td_operation *o);
/* td_arrival_culprit sets *rank (in the job) and *node to those that are to blame for the end of an
 * operation with an error, if one rank or one node is: the lost one, or the only one that has
 * not called. Otherwise it leaves them. */
void td_arrival_culprit(struct td_core *core, const struct td_operation *o, td_err error,
                        int64_t *rank, int64_t *node);
/* td_arrival_end ends an operation with TD_ERR_CANCELLED: it appeals if the operation waits, and if
 * it runs, as soon as it makes no progress. It returns false if that is under way already. `by`:
 * who ends it. */
bool td_arrival_end(struct td_core *core, struct td_operation *operation, const char *by);
/* td_arrival_cancel appeals for the end of the operation that a request began, if it waits. */
void td_arrival_cancel(struct td_core *core, struct td_client *client, uint64_t request);
/* td_arrival_witness compares a call that a rank has made with those before it. It appeals at the
 * first mismatch. */
void td_arrival_witness(struct td_core *core, struct td_operation *o, const struct td_witness *w);
/* td_arrival_mismatched returns true if two ranks have made different calls. */
bool td_arrival_mismatched(const struct td_operation *o);

#endif
