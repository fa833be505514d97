/* SPDX-License-Identifier: Apache-2.0 */
/* forms_all: allgather, alltoall and the barrier. */
#ifndef TORUS_OPENMPI_FORMS_ALL_H
#define TORUS_OPENMPI_FORMS_ALL_H

#include "component.h"

/* tm_forms_all sets the functions of these collectives in a module. */
void tm_forms_all(mca_coll_base_module_t *module);

#endif
