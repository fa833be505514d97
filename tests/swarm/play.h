/* SPDX-License-Identifier: Apache-2.0 */
/* play: one case of the swarm: processes that form jobs and groups, call, shrink, leave and
 * die, while faults happen.
 *
 * While they happen the play demands safety: no call ends well before all ranks have made it; a
 * call that ended well has the right result; nothing is written outside of a call's buffers, nor
 * into buffers after the reply; the members of a job or group, and of the successor of a group,
 * learn of the same group; a group has one successor on all nodes together; an error names what was
 * hurt. Then the faults end, and it demands that every request is answered, that a job of all nodes
 * forms and calls, and that nothing is left.
 * Owns: the world and all records of the case. */
#ifndef SWARM_PLAY_H
#define SWARM_PLAY_H

#include <stdio.h>

#include "case.h"

/* struct swarm_report: what a case was. */
struct swarm_report {
    uint32_t happened[SWARM_FAULT_KINDS]; /* faults that found something to hurt */
    uint64_t events, calls, good, groups, shrinks;
    td_time end;     /* virtual */
    uint64_t digest; /* of all replies, in their order, with their times */
};

/* swarm_play plays a case without the faults of the bitmap `without`. If a demand is not met, it
 * calls `fail` with a sentence, which does not return. `trace` is NULL or gets each event. */
void swarm_play(const struct swarm_case *c, uint32_t without, FILE *trace,
                struct swarm_report *report, void (*fail)(const char *text));

#endif
