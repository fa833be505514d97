/* SPDX-License-Identifier: Apache-2.0 */
/* client_rows: the rows of a STATUS reply. */
#ifndef TD_WIRE_CLIENT_ROWS_H
#define TD_WIRE_CLIENT_ROWS_H

#include "client.pb-c.h"
#include "model/request.h"
#include "wire.h"

/* struct td_wire_row: a row, encoded, with its body. */
struct td_wire_row {
    Torus__Client__Row row;
    union {
        Torus__Client__RowNode node;
        Torus__Client__RowPeer peer;
        Torus__Client__RowClient client;
        Torus__Client__RowJob job;
        Torus__Client__RowOperation operation;
        Torus__Client__RowRouter router;
        Torus__Client__RowDirection direction;
        Torus__Client__RowPlan plan;
        Torus__Client__RowRecord record;
        Torus__Client__RowWait wait;
        Torus__Client__RowLink link;
        Torus__Client__RowGroup group;
        Torus__Client__RowFact fact;
        Torus__Client__RowTrace trace;
        Torus__Client__RowSide side;
        Torus__Client__RowOutage outage;
    } body;
    Torus__Client__Absent absent[TD_ROW_ABSENTS_MAX], *absents[TD_ROW_ABSENTS_MAX];
};

/* td_wire_put_row borrows the strings, bitmaps and numbers of `row`. */
void td_wire_put_row(const struct td_status_row *row, struct td_wire_row *to);
/* td_wire_get_row returns false if a value is out of range. The row borrows from m and memory. */
bool td_wire_get_row(const Torus__Client__Row *m, struct td_wire_memory *memory,
                     struct td_status_row *row);

#endif
