/* SPDX-License-Identifier: Apache-2.0 */
/* admission: from "all ranks below have arrived" to the announcement: it compiles the program,
 * reserves scratch memory, and combines the payload that travels with the announcement.
 * Owns: nothing; its state is in the operation. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_OPERATION_ADMISSION_H
#define TD_CORE_OPERATION_ADMISSION_H

#include "operation.h"

/* td_admission_complete returns true if all ranks below have arrived with the same call. */
bool td_admission_complete(const struct td_core *core, const struct td_operation *o);
/* td_admission_advance continues from there to the announcement. */
void td_admission_advance(struct td_core *core, struct td_operation *o);
/* td_admission_planned takes the end of the computation of a transform plan (TD_COMPUTE_PLAN). If
 * its tables did not fit, they are made again in more memory. */
void td_admission_planned(struct td_core *core, struct td_operation *o, td_err error);
/* td_admission_rides returns true if a payload travels with announcement and release. */
bool td_admission_rides(const struct td_operation *o);
/* td_admission_load_release makes the result the payload of the release of a child. */
void td_admission_load_release(const struct td_operation *o, uint32_t child,
                               struct td_action *action);
/* td_admission_deliver starts the copy of the released payload to the destinations. It returns
 * false if there is no in-flight record for that. */
bool td_admission_deliver(struct td_core *core, struct td_operation *o);

#endif
