/* SPDX-License-Identifier: Apache-2.0 */
/* programs: programs of group calls that each member runs at its own pace.
 *
 * A program is a list of steps: make a group, shrink it, free it. Its calls are those of the
 * groups. A member frees a group when its own calls there have ended, so it may be hundreds of
 * groups ahead of another member. In a legal program no creation fails while nobody dies.
 * Owns: the programs of the case. */
#ifndef SWARM_PROGRAMS_H
#define SWARM_PROGRAMS_H

#include "groups.h"

/* swarm_programs_begin draws a program of the members of a group. */
void swarm_programs_begin(struct swarm *s, uint32_t parent);
/* swarm_programs_advance makes the steps that each member can make; `settles`: no member dawdles
 * any more. */
void swarm_programs_advance(struct swarm *s, bool settles);
/* swarm_programs_waits returns true if a live member has not ended its program. It writes which. */
bool swarm_programs_waits(struct swarm *s, char *text, size_t size);
/* swarm_programs_runs returns true if a process has not ended a program. */
bool swarm_programs_runs(struct swarm *s, uint32_t process);
void swarm_programs_free(struct swarm *s);

#endif
