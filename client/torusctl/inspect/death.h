/* SPDX-License-Identifier: Apache-2.0 */
/* death: the first rank of a job that died, and not because its call had failed. Pure. */
#ifndef TORUSCTL_INSPECT_DEATH_H
#define TORUSCTL_INSPECT_DEATH_H

#include <jansson.h>

/* ins_death_print prints which rank died first ("death" of a record), and when, if the first
 * failure does not tell that: the death came between two calls, or another rank is to blame. A
 * daemon that had not run noticed later that the rank had given it up, or had died: that time is
 * told as such, and if it is that of the first failure, when the daemon did not run. */
void ins_death_print(const json_t *record);

#endif
