/* SPDX-License-Identifier: Apache-2.0 */
/* request: non-blocking and persistent calls as requests of Open MPI.
 *
 * A request retains its communicator, types and operator until it is freed. An error stands in its
 * status. A persistent call has a torus group of its own, so that starts match in any order.
 * Owns: its call. */
#ifndef TORUS_OPENMPI_REQUEST_H
#define TORUS_OPENMPI_REQUEST_H

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/request/request.h"

#include "call.h"

/* tm_request_start makes a request and starts its call in the group. */
int tm_request_start(struct ompi_communicator_t *comm, struct tm_group *group,
                     const struct tm_args *args, ompi_request_t **made);

/* tm_request_init makes an inactive persistent request. It takes over the caller's hold of the
 * group, also if it fails. */
int tm_request_init(struct ompi_communicator_t *comm, struct tm_group *group,
                    const struct tm_args *args, ompi_request_t **made);

#endif
