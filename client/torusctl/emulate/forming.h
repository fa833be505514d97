/* SPDX-License-Identifier: Apache-2.0 */
/* forming: the job of an emulation, or of torusctl run, before it has formed. If a rank ended
 * before it joined, the job can no longer form: the daemons cannot know that the rank will never
 * come, but this process does, and ends the joins of the others. */
#ifndef TORUSCTL_EMULATE_FORMING_H
#define TORUSCTL_EMULATE_FORMING_H

#include "emulation.h"

/* forming_begin lets forming_check say, 5 s after the start of the ranks, that the job waits for
 * others. */
void forming_begin(struct emulation *e);
/* forming_note takes note of the end of a rank, with its exit code. */
void forming_note(struct emulation *e, uint32_t rank, int code);
/* forming_wait_ms returns the time until forming_check is due, in milliseconds; -1: it is not. */
int forming_wait_ms(const struct emulation *e);
/* forming_check asks the daemons, if it is due, whether the job still waits for ranks, and ends its
 * joins. */
void forming_check(struct emulation *e);
/* forming_end closes the connection to the daemons. */
void forming_end(struct emulation *e);

#endif
