/* SPDX-License-Identifier: Apache-2.0 */
/* caller: whether the program makes a call, or Open MPI makes it for itself.
 *
 * Open MPI agrees on new communicators, windows and files by collectives of its own. It makes some
 * of them inside opal_progress, so their place among the calls of the program differs by rank. Such
 * a call comes from inside of libmpi; a call of the program comes from the function MPI_X. Nothing
 * else tells them apart, and what the call moves must not: ranks of a wrong program differ in it.
 * Owns: the addresses of MPI's functions. */
#ifndef TORUS_OPENMPI_CALLER_H
#define TORUS_OPENMPI_CALLER_H

#include <stdbool.h>

#include "kinds.h"

/* tm_caller_is_program returns true if `address` lies in MPI's function of the form. Without the
 * size of this function (a static libmpi) it returns false. */
bool tm_caller_is_program(enum tm_kind kind, enum tm_form form, const void *address);

#endif
