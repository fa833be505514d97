/* SPDX-License-Identifier: Apache-2.0 */
/* terms: what this release's methods are, as the daemons of a group compare it (model/terms.h).
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_TERMS_H
#define TD_COLLECTIVES_TERMS_H

#include "model/terms.h"

/* td_collectives_terms returns the list COSTS or METHODS of this release. */
struct td_term_list td_collectives_terms(enum td_terms_list list);
/* td_collectives_term_name is the td_term_name_fn of these lists. */
td_term_name_fn td_collectives_term_name;

#endif
