/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/hash.h"
#include "faults.h"

_Noreturn void swarm_failed(const struct swarm *s, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    int at = snprintf(text, sizeof text, "at %.6f s: ", (double)td_sim_now(s->sim) / 1e9);
    vsnprintf(text + at, sizeof text - (size_t)at, format, arguments);
    va_end(arguments);
    s->fail(text);
    abort();
}

uint64_t swarm_below(struct swarm *s, uint64_t bound)
{
    return td_hash_next(&s->random) % bound;
}

void swarm_run(struct swarm *s, td_time duration)
{
    td_time until = td_sim_now(s->sim) + duration;
    while (td_sim_now(s->sim) < until) {
        td_time next = swarm_faults_next(s);
        td_time stop = next < until ? next : until;
        if (stop > td_sim_now(s->sim))
            td_sim_run(s->sim, stop - td_sim_now(s->sim));
        swarm_faults_end(s);
    }
    td_sim_forget(s->sim);
}
