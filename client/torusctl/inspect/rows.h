/* SPDX-License-Identifier: Apache-2.0 */
/* rows: the rows of a status as JSON objects. A row has each of its fields by name, from the table
 * of the protocol (wire/client_table.h): numbers and flags as they are, texts as plain text, a
 * choice by its word, sets of ranks and nodes as lists. */
#ifndef TORUSCTL_INSPECT_ROWS_H
#define TORUSCTL_INSPECT_ROWS_H

#include <jansson.h>

#include "model/request.h"

/* ins_row returns a row of a kind as an object, or NULL if the row is of another kind. */
json_t *ins_row(const struct td_status_row *row, enum td_row_kind kind);
/* ins_row_record returns the record of a job, or NULL for any other row. */
json_t *ins_row_record(const struct td_status_row *row);

#endif
