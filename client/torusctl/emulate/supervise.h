/* SPDX-License-Identifier: Apache-2.0 */
/* supervise: the keeper while ranks run, and the end of all processes. */
#ifndef TORUSCTL_SUPERVISE_H
#define TORUSCTL_SUPERVISE_H

#include "emulation.h"

/* supervise_run prints the output of the ranks and handles signals until all ranks have ended. */
void supervise_run(struct emulation *e);
/* supervise_stop ends all processes and removes the folder. */
void supervise_stop(struct emulation *e);

#endif
