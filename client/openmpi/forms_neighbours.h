/* SPDX-License-Identifier: Apache-2.0 */
/* forms_neighbours: exchanges with the neighbours in a topology. */
#ifndef TORUS_OPENMPI_FORMS_NEIGHBOURS_H
#define TORUS_OPENMPI_FORMS_NEIGHBOURS_H

#include "component.h"

/* tm_forms_neighbours sets the functions of these collectives in a module. */
void tm_forms_neighbours(mca_coll_base_module_t *module);

#endif
