/* SPDX-License-Identifier: Apache-2.0 */
/* forms_rooted: broadcast, gather and scatter. */
#ifndef TORUS_OPENMPI_FORMS_ROOTED_H
#define TORUS_OPENMPI_FORMS_ROOTED_H

#include "component.h"

/* tm_forms_rooted sets the functions of these collectives in a module. */
void tm_forms_rooted(mca_coll_base_module_t *module);

#endif
