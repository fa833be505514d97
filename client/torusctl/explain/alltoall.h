/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall: the program of an all-to-all as one node has it. It is compiled here as the daemons do,
 * so that no daemon is needed. */
#ifndef TORUSCTL_EXPLAIN_ALLTOALL_H
#define TORUSCTL_EXPLAIN_ALLTOALL_H

/* explain_alltoall is `torusctl explain alltoall`; it returns the exit code. */
int explain_alltoall(int argc, char **argv);

#endif
