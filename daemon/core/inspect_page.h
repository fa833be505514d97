/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_page: a page of a section of the status. Lists offer all their rows in order; the page
 * takes those from its cursor on until it is full. Borrows: the core, the reply.
 * Invariant: `at` rows were offered; the reply's cursor is the first that found no room. Pure. */
#ifndef TD_CORE_INSPECT_PAGE_H
#define TD_CORE_INSPECT_PAGE_H

#include "core_internal.h"
#include "model/request.h"

enum { TD_GROUP_NODES_MAX = 2048 }; /* nodes of a machine whose groups and records list them */

struct td_page {
    struct td_core *core;
    struct td_reply *reply;
    uint64_t uid, at, cursor;
    bool sees_all, full;
    bool is_short;  /* for another node: the page fits TD_PAGE_BYTES_MAX */
    uint32_t spent; /* then: bytes that the rows before the last take at most */
};

/* td_page_row returns the next row to fill in, of a kind, or NULL if the row is not on the page. */
struct td_status_row *td_page_row(struct td_page *page, enum td_row_kind kind);
/* td_page_shows returns true if the page's user may see what belongs to user `uid`. */
bool td_page_shows(const struct td_page *page, uint64_t uid);
/* td_page_bits returns an empty set of `size` ranks, valid during the step; NULL without memory. */
uint8_t *td_page_bits(struct td_page *page, uint32_t size);
/* td_page_age returns the time since `at`, plus one: 0 means that it has not happened. */
uint64_t td_page_age(const struct td_page *page, td_time at);

#endif
