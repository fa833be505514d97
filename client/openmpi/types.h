/* SPDX-License-Identifier: Apache-2.0 */
/* types: MPI's predefined types and operators in terms of libtorus. */
#ifndef TORUS_OPENMPI_TYPES_H
#define TORUS_OPENMPI_TYPES_H

#include "component.h"

/* tm_type returns the type of libtorus for a predefined type; TORUS_OPAQUE if libtorus has none. */
int tm_type(const struct ompi_datatype_t *type);

/* tm_op returns true if libtorus combines elements of the type by this operator. It sets *made_type
 * and *made_op. Types with equal signatures give equal results. */
bool tm_op(struct ompi_op_t *op, const struct ompi_datatype_t *type, int *made_type, int *made_op);

#endif
