/* SPDX-License-Identifier: Apache-2.0 */
/* forms_reduce: reductions and scans. */
#ifndef TORUS_OPENMPI_FORMS_REDUCE_H
#define TORUS_OPENMPI_FORMS_REDUCE_H

#include "component.h"

/* tm_forms_reduce sets the functions of these collectives in a module. */
void tm_forms_reduce(mca_coll_base_module_t *module);

#endif
