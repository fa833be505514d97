/* SPDX-License-Identifier: Apache-2.0 */
/* rows: rows of the status as JSON, for the page, with the keys that torusctl's JSON has. */
#ifndef TD_IO_METRICS_ROWS_H
#define TD_IO_METRICS_ROWS_H

#include <jansson.h>

#include "model/request.h"

/* Rows of one node that are kept: of operations, and of each other list. */
enum { TD_ROWS_OPERATIONS_MAX = 64, TD_ROWS_MAX = 256 };

/* td_rows_new returns an object with the empty lists links, operations, jobs and waits; NULL: no
 * memory. */
json_t *td_rows_new(void);
/* td_rows_add adds a row to its list. Links to nodes that are no neighbours in the torus, and jobs
 * that are over, are left out. */
void td_rows_add(json_t *to, const struct td_status_row *row);
/* td_rows_text returns a text as JSON, shown as plain text (base/text.h). */
json_t *td_rows_text(const char *text);

#endif
