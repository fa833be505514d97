/* SPDX-License-Identifier: Apache-2.0 */
/* scan_cost: quantities from which the methods of a scan predict their costs. Pure: no I/O, clock,
 * or globals. */
#ifndef TD_COLLECTIVES_COST_SCAN_COST_H
#define TD_COLLECTIVES_COST_SCAN_COST_H

#include "collectives/method.h"

/* td_scan_is_predicted returns true if the time of a scan can be predicted: on a whole box of the
 * routed fabric with at least three nodes. It makes the query's grid. */
bool td_scan_is_predicted(struct td_query *q);
/* td_scan_exchanges_cost returns the cost of two exchanges of all vectors among all nodes. */
uint64_t td_scan_exchanges_cost(struct td_query *q);

#endif
