/* SPDX-License-Identifier: Apache-2.0 */
/* trace: the lines of --trace, and the hash of the history. */
#ifndef TD_SIM_TRACE_H
#define TD_SIM_TRACE_H

#include "state.h"

/* trace_line prints a line; '>' is into the core, '<' out of it. Without a trace it costs one test.
 */
#define trace_line(sim, ...) ((sim)->options.trace ? trace_print(sim, __VA_ARGS__) : (void)0)
void trace_print(struct td_sim *sim, uint32_t node, char direction, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
/* trace_mix adds a number to the hash of the history. */
static inline void trace_mix(struct td_sim *sim, uint64_t value)
{
    uint64_t h = (sim->hash ^ value) * 0x9e3779b97f4a7c15u;
    sim->hash = h ^ h >> 29;
}

#endif
