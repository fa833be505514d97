/* SPDX-License-Identifier: Apache-2.0 */
/* call: the program of any operation except an all-to-all of equal parts, as one node has it, by
 * families of steps and by the nodes at the other end. */
#ifndef TORUSCTL_EXPLAIN_CALL_H
#define TORUSCTL_EXPLAIN_CALL_H

#include <stdbool.h>

/* explain_call is `torusctl explain` of these operations; it returns the exit code. */
int explain_call(int argc, char **argv);
/* explain_call_known returns true if one of these operations has that name. */
bool explain_call_known(const char *name);

#endif
