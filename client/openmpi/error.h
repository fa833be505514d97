/* SPDX-License-Identifier: Apache-2.0 */
/* error: torusd's errors as codes of MPI. */
#ifndef TORUS_OPENMPI_ERROR_H
#define TORUS_OPENMPI_ERROR_H

/* tm_error returns the code of MPI for an error of libtorus. MPI_Error_string of the code gives the
 * sentence `text`, until the next error with the same number. OMPI_SUCCESS for TORUS_OK. */
int tm_error(int error, const char *text);

#endif
