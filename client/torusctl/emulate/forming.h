/* SPDX-License-Identifier: Apache-2.0 */
/* forming: the job of an emulation that can no longer form, because a rank ended before it joined.
 * The daemons cannot know that the rank will never come: this process does, and ends the joins of
 * the others. */
#ifndef TORUSCTL_EMULATE_FORMING_H
#define TORUSCTL_EMULATE_FORMING_H

#include "emulation.h"

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
