/* SPDX-License-Identifier: Apache-2.0 */
/* lower_neighbours: exchanges along the edges of a communicator's topology. All of them are one
 * call of libtorus, torus_graph_alltoallv, with bytes.
 *
 * On a Cartesian grid a block that goes down arrives in the "up" place of its receiver. If both
 * neighbours of a dimension are the same rank, libtorus matches the first edge to a rank with its
 * first edge from here. So the destinations of a dimension are listed in the order up, down. */
#ifndef TORUS_OPENMPI_LOWER_NEIGHBOURS_H
#define TORUS_OPENMPI_LOWER_NEIGHBOURS_H

#include "call.h"

/* tm_lower_neighbours is the part of tm_lower for these calls. */
int tm_lower_neighbours(struct tm_call *call);

#endif
