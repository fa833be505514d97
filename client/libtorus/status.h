/* SPDX-License-Identifier: Apache-2.0 */
/* status: the daemon's state, for torusctl. Not part of the public library. */
#ifndef TORUS_STATUS_H
#define TORUS_STATUS_H

#include "torus/torus.h"
#include "model/request.h"

/* tl_status_page asks for one page of a section (enum td_status_section), from `cursor` on. The
 * rows are valid until the next call on the context. */
int tl_status_page(torus_context *c, uint32_t section, uint64_t cursor, struct td_reply *reply);

/* tl_status_ask sends a question for a page of a section of a node, and sets *id. The reply, or an
 * error, comes by tl_next (socket.h). */
int tl_status_ask(torus_context *c, uint32_t node, uint32_t section, uint64_t cursor, uint64_t *id);

/* tl_reload has the daemon read its configuration again. The reply, or an error, says what it has
 * taken up. */
int tl_reload(torus_context *c, struct td_reply *reply);

/* tl_end_calls asks a node to end calls of a job, and sets *id. The reply comes by tl_next: a
 * STATUS without rows, whose `next` is the number of calls that end (core/end_calls.h), or an
 * error. */
int tl_end_calls(torus_context *c, uint32_t node, const struct td_message_end_calls *end,
                 uint64_t *id);

/* struct tl_listing: a listing that is read page by page, zeroed before the first one; the last
 * page sets the cursor to 0. */
struct tl_listing {
    uint64_t cursor;
    uint32_t pages;
    int64_t until_ns;
};

/* tl_status_next asks for the next page. A listing of more than 16384 pages, or of more than 30 s,
 * is an error, whatever the daemon sends. */
int tl_status_next(torus_context *c, uint32_t section, struct tl_listing *listing,
                   struct td_reply *reply);

#endif
