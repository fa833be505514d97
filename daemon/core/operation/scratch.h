/* SPDX-License-Identifier: Apache-2.0 */
/* scratch: the scratch memory of a node. Operations reserve parts of it, from the front. Memory
 * that was not used for some seconds is returned to the system, so a daemon does not keep that of
 * the largest transform that it ever executed. Only memory behind the last part in use is returned:
 * a part that is held for long keeps what is before it. Owns: struct td_scratch. Invariant: no
 * operation holds a byte behind `kept_to`. */
#ifndef TD_CORE_OPERATION_SCRATCH_H
#define TD_CORE_OPERATION_SCRATCH_H

#include "base/arena.h"
#include "base/time.h"

struct td_core;

#define TD_SCRATCH_KEPT_NS UINT64_C(10000000000) /* memory used within this time stays */

/* Memory goes back to the system in steps: so much, for which it needs some milliseconds at most,
 * and the next one so much later. */
enum { TD_SCRATCH_STEP_BYTES = 16 << 20, TD_SCRATCH_STEP_NS = 10000000 };

struct td_scratch {
    struct td_ranges ranges;
    uint64_t used_to; /* bytes from the front that were used since the last look */
    uint64_t kept_to; /* bytes from the front that may have pages */
    td_time look_at;  /* TD_TIME_NEVER: no page is kept */
};

void td_scratch_init(struct td_scratch *s, uint64_t bytes);
/* td_scratch_take reserves `bytes` and returns their offset, or UINT64_MAX if too little is left.
 * td_scratch_give gives them back. */
uint64_t td_scratch_take(struct td_core *core, uint64_t bytes);
void td_scratch_give(struct td_core *core, uint64_t offset, uint64_t bytes);
/* td_scratch_timers has the driver return unused memory that is due, and sets the next alarm. */
void td_scratch_timers(struct td_core *core);

#endif
