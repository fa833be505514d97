/* SPDX-License-Identifier: Apache-2.0 */
/* fint_2_int: a header that ompi/op/op.h includes and that Debian does not ship. Integers of
 * Fortran and C have the same size here; module.c checks that. */
#ifndef OMPI_FORTRAN_BASE_FINT_2_INT_H
#define OMPI_FORTRAN_BASE_FINT_2_INT_H

#define OMPI_FINT_2_INT(a) (a)
#define OMPI_INT_2_FINT(a) (a)

#endif
