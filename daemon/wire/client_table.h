/* SPDX-License-Identifier: Apache-2.0 */
/* client_table: the requests, the replies and the rows of a status, and their fields: a new field
 * is a line here, and one in proto/client.proto. torusctl makes its JSON of rows by this table. */
#ifndef TD_WIRE_CLIENT_TABLE_H
#define TD_WIRE_CLIENT_TABLE_H

#include "fields.h"

/* td_wire_request returns the kind with a number (enum td_request_kind), td_wire_reply that of a
 * reply (enum td_reply_kind), td_wire_row that of a row (enum td_row_kind), or NULL. The structs
 * are members of the unions of struct td_request, td_reply and td_status_row. */
const struct td_wire_kind *td_wire_request(unsigned number);
const struct td_wire_kind *td_wire_reply(unsigned number);
const struct td_wire_kind *td_wire_row(unsigned number);

/* The special types of fields: */
extern const struct td_wire_special td_wire_elements; /* const struct td_form *, or NULL */
extern const struct td_wire_special td_wire_shape;    /* struct td_topology */
extern const struct td_wire_special td_wire_rows;     /* of a page: their number, and the rows */

#endif
