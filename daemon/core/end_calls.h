/* SPDX-License-Identifier: Apache-2.0 */
/* end_calls: a user who is no rank ends an operation, or all calls of a job: its owner, or root. A
 * client asks its own daemon, or through it another one (END_CALLS, answered by SEEN). The daemon
 * appeals for the end of the operations that it has on record, so all ranks get one sentence, which
 * names the user. Joins end on each node that has some: the client asks all of them. Pure: no I/O,
 * clock, or globals. */
#ifndef TD_CORE_END_CALLS_H
#define TD_CORE_END_CALLS_H

#include "core/membership/client.h"

/* td_end_calls_request answers a client: a STATUS reply without rows, whose `next` is the number of
 * calls that end. At most TD_ENDED_MAX end in a step: the client asks again until none is left. */
enum { TD_ENDED_MAX = 16 };
void td_end_calls_request(struct td_core *core, const struct td_client *client,
                          const struct td_request *request);
/* td_end_calls_message handles END_CALLS. */
void td_end_calls_message(struct td_core *core, uint32_t from, const struct td_message *message);

#endif
