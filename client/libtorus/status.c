/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

#include "deadline.h"
#include "patience.h"
#include "socket.h"

int tl_status_page(torus_context *c, uint32_t section, uint64_t cursor, struct td_reply *reply)
{
    struct td_request q = {.kind = TD_REQUEST_STATUS};
    q.u.status.section = section;
    q.u.status.cursor = cursor;
    return tl_call(c, &q, -1, -1, reply);
}

int tl_status_ask(torus_context *c, uint32_t node, uint32_t section, uint64_t cursor, uint64_t *id)
{
    struct td_request q = {.kind = TD_REQUEST_STATUS, .id = *id = c->next_id++};
    q.u.status.section = section;
    q.u.status.cursor = cursor;
    q.u.status.node = node + 1;
    return tl_send(c, &q, -1);
}

int tl_reload(torus_context *c, struct td_reply *reply)
{
    struct td_request q = {.kind = TD_REQUEST_RELOAD};
    return tl_call(c, &q, -1, -1, reply);
}

int tl_end_calls(torus_context *c, uint32_t node, const struct td_message_end_calls *end,
                 uint64_t *id)
{
    struct td_request q = {.kind = TD_REQUEST_END_CALLS, .id = *id = c->next_id++};
    q.u.end_calls.node = node + 1;
    q.u.end_calls.end = *end;
    return tl_send(c, &q, -1);
}

int tl_status_next(torus_context *c, uint32_t section, struct tl_listing *l, struct td_reply *reply)
{
    enum { PAGES_MAX = 16384 };
    int64_t now_ns = tl_now_ns();
    if (l->pages == 0)
        l->until_ns = now_ns + TL_LISTING_S * (int64_t)1000000000;
    if (l->pages++ == PAGES_MAX)
        return tl_fail(c, TORUS_ERR_PROTOCOL, "torusd's listing has more than %d pages", PAGES_MAX);
    if (now_ns > l->until_ns)
        return tl_fail(c, TORUS_ERR_TIMEOUT, "torusd has not ended a listing within %d s",
                       TL_LISTING_S);
    int error = tl_status_page(c, section, l->cursor, reply);
    if (error == TORUS_OK)
        l->cursor = reply->u.status.next;
    return error;
}
