/* SPDX-License-Identifier: Apache-2.0 */
/* swarm: the command `torus-sim swarm`. It plays seeds in processes of its own, prints what fails,
 * and shrinks a failure to fewer faults. */
#ifndef TORUS_SIM_SWARM_H
#define TORUS_SIM_SWARM_H

/* swarm_main takes the arguments after "swarm" from argv[1] on. It returns the exit status: 0 if no
 * seed failed, 1 if one did, 2 for a wrong argument. */
int swarm_main(int argc, char **argv);

#endif
