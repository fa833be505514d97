/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

#include "socket.h"

int tl_status_page(torus_context *c, uint32_t section, uint64_t cursor, struct td_reply *reply)
{
    struct td_request q = {.kind = TD_REQUEST_STATUS};
    q.u.status.section = section;
    q.u.status.cursor = cursor;
    int error = tl_call(c, &q, -1, -1, reply);
    if (error == TORUS_OK && reply->kind != TD_REPLY_STATUS)
        return tl_fail(c, TORUS_ERR_PROTOCOL, "torusd did not reply with its status");
    return error;
}
