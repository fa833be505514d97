/* SPDX-License-Identifier: Apache-2.0 */
/* membership: which ranks of MPI_COMM_WORLD use torusd together, and their job.
 *
 * In MPI_Init each rank publishes its record by PMIx, with what Open MPI's own components publish,
 * and reads those of all others: no message between ranks is sent. Ranks with equal records form a
 * job of torusd; each computes its own job from the table without further messages.
 * Owns: the table, and the world group of the job. */
#ifndef TORUS_OPENMPI_MEMBERSHIP_H
#define TORUS_OPENMPI_MEMBERSHIP_H

#include "component.h"

/* tm_membership_publish opens the context and publishes the record of this rank, before MPI_Init
 * exchanges what is published. A rank without a daemon does so, too. */
void tm_membership_publish(void);
/* tm_membership_init reads the records of all ranks of MPI_COMM_WORLD, and begins to join the job.
 * It does not wait for the job. If it cannot read a record, it ends the job of MPI with a message.
 */
void tm_membership_init(struct ompi_communicator_t *world);
void tm_membership_free(void);

/* tm_membership_ranks writes the job's ranks of a communicator's members, in order, to `ranks`, and
 * whether all of them use the same daemon. It returns TM_TAKEN, or the reason why the communicator
 * is not taken. */
enum tm_reason tm_membership_ranks(struct ompi_communicator_t *comm, uint32_t *ranks,
                                   bool *one_node);

/* tm_membership_size returns the number of ranks of the job. */
uint32_t tm_membership_size(void);

/* tm_membership_world returns the world group: NULL before all ranks have joined. After a failure
 * *error and *text are set. */
torus_group *tm_membership_world(int *error, const char **text);

#endif
